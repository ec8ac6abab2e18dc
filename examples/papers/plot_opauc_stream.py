"""
OPAUC on a stream
=================

A pairwise loss needs pairs, but a stream shows each row once. OPAUC keeps the mean and covariance of each class
instead of the rows: a new row is compared with all earlier rows of the other class at once.
`AUCClassifier.partial_fit` goes one step further and solves for the exact minimiser whenever it is asked.
"""

# %%
# Rows come in blocks of 50, and one in ten is positive. After half of the stream the columns that matter change.

import matplotlib.pyplot as plt
import numpy as np

from aucmax import OAM, OPAUC, SOLAM, AUCClassifier, roc_auc

rng = np.random.default_rng(0)
N_BLOCKS, SIZE, COLUMNS = 80, 50, 20
before, after = np.zeros(COLUMNS), np.zeros(COLUMNS)
before[:6], after[3:9] = 0.6, 0.6


def draw_rows(n_rows, shift):
    """Return rows of which one in ten is positive."""
    y = np.arange(n_rows) % 10 == 0
    return rng.standard_normal((n_rows, COLUMNS)) + np.outer(y, shift), y


tests = {0: draw_rows(5000, before), 1: draw_rows(5000, after)}
models = {
    "OPAUC": OPAUC(random_state=0),
    "OPAUC, sketches of rank 5": OPAUC(rank=5, random_state=0),
    "SOLAM": SOLAM(random_state=0),
    "OAM, a buffer of rows": OAM(random_state=0),
    "exact: AUCClassifier.partial_fit": AUCClassifier(alpha=0.1),
}

# %%
# The AUC on new rows after each block.

aucs = {name: [] for name in models}
for block in range(N_BLOCKS):
    changed = int(block >= N_BLOCKS // 2)
    X, y = draw_rows(SIZE, after if changed else before)
    X_test, y_test = tests[changed]
    for name, model in models.items():
        model.partial_fit(X, y, classes=[False, True])
        aucs[name].append(roc_auc(y_test, model.decision_function(X_test)))

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for name, values in aucs.items():
    ax.plot(SIZE * np.arange(1, N_BLOCKS + 1), values, label=name, color="black" if "exact" in name else None)
ax.axvline(SIZE * N_BLOCKS / 2, color="0.6", linestyle=":")
ax.set(xlabel="rows seen", ylabel="AUC on new rows", ylim=(0.55, None))
ax.legend(fontsize="small", loc="lower right")

# %%
# Before the change all come near the exact fit, after a few hundred rows. Afterwards all of them carry the old rows
# with them: they average over the whole stream. Where the world changes, begin anew, or subtract the moments of old
# rows (:meth:`aucmax.ClassMoments.subtract`).
