"""
Kernels by Nyström: NPSAM, NASAM, NSOLAM and NBAM
=================================================

A kernel method compares each row with all others, which takes too long with many rows. Nyström's method compares it
with a few landmarks instead, and a linear algorithm does the rest: PSAM, ASAM or SOLAM by stochastic steps, or BAM,
which finds the exact minimiser of the pairwise squared hinge loss. How many landmarks does it take?
"""

# %%
# A checkerboard, on which every line ranks at random, and eight columns of noise.

import time

import matplotlib.pyplot as plt
import numpy as np

from aucmax import NASAM, NBAM, NPSAM, NSOLAM, AUCClassifier

rng = np.random.default_rng(0)


def draw_rows(n_rows):
    """Return rows that are positive on the black squares, but for one in ten."""
    X = rng.uniform(0, 3, (n_rows, 2))
    y = (np.floor(X).sum(axis=1) % 2 == 0) ^ (rng.random(n_rows) < 0.1)
    return np.hstack([X, 0.3 * rng.standard_normal((n_rows, 8))]), y


X, y = draw_rows(3000)
X_test, y_test = draw_rows(4000)

# %%
# The columns of noise are small: they stay as they are, so that the kernel sees little of them.

pipelines = {"NPSAM": NPSAM, "NASAM": NASAM, "NSOLAM": NSOLAM, "NBAM": NBAM}
numbers = [10, 20, 40, 80, 160]
aucs, seconds = np.zeros((2, len(pipelines), len(numbers)))
for row, make in enumerate(pipelines.values()):
    make(5, random_state=0).fit(X[:200], y[:200])  # compiles
    for column, n_components in enumerate(numbers):
        model = make(n_components, random_state=0).set_params(scale="passthrough")
        start = time.process_time()
        aucs[row, column] = model.fit(X, y).score(X_test, y_test)
        seconds[row, column] = time.process_time() - start
linear = AUCClassifier("squared_hinge").fit(X, y).score(X_test, y_test)

# %%
# The best possible AUC is 0.9, since one label in ten is wrong. Left: forty landmarks, four or five a square, are
# nearly enough, and the stochastic algorithms rank about as well as the exact minimiser. Right: what they cost. NBAM
# also chooses its penalty by cross-validation.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
for name, auc, times in zip(pipelines, aucs, seconds, strict=True):
    left.plot(numbers, auc, "o-", markersize=4, label=name)
    right.plot(times, auc, "o-", markersize=4, label=name)
for ax in (left, right):
    ax.axhline(linear, color="black", linewidth=1, label="a line")
left.set(xscale="log", xlabel="landmarks", ylabel="AUC on new rows", xticks=numbers, xticklabels=numbers)
left.minorticks_off()
right.set(xlabel="seconds of processor time to fit and score", xlim=(0, None))
left.legend(fontsize="small")
