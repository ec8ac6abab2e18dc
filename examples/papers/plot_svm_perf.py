"""
SVM-perf beside the squared hinge
=================================

SVM-perf minimises the hinge of all pairs, BAM the squared hinge, and `GaussianAUC` has the direction of the square
loss. They differ in what they do with pairs that are ranked right by a large margin: the square loss punishes them,
the hinges ignore them.
"""

# %%
# One class has a long tail, to the side where it should be.

import matplotlib.pyplot as plt
import numpy as np

from aucmax import BAM, AUCClassifier, SVMPerf, roc_auc


def draw_rows(n_rows, seed):
    """Return rows of three columns; the first has a long tail in the positive class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 4 == 0
    X = rng.standard_normal((n_rows, 3))
    X[y] += [0.5, 1.0, 0.8]
    X[y, 0] += rng.exponential(1.5, y.sum()) ** 2
    return X, y


X, y = draw_rows(800, 0)
X_test, y_test = draw_rows(20_000, 1)
n_pairs = int(y.sum() * (~y).sum())
models = {
    "square": AUCClassifier("squared", alpha=1e-3),
    "squared hinge: BAM": BAM(C=1 / (2e-3 * n_pairs)),
    "hinge: SVMPerf": SVMPerf(C=1 / 1e-1),
}

# %%
# The losses along the margin of a pair, and how many pairs have which margin. The square loss pulls all pairs towards
# a margin of one, the easy ones too.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
t = np.linspace(-2, 5, 300)
losses = {
    "square": (1 - t) ** 2 / 2,
    "squared hinge: BAM": np.maximum(0, 1 - t) ** 2 / 2,
    "hinge: SVMPerf": np.maximum(0, 1 - t),
}
for name, model in models.items():
    left.plot(t, losses[name], label=name)
    scores = model.fit(X, y).decision_function(X)
    margins = (scores[y][:, None] - scores[~y][None, :]).ravel()
    auc = roc_auc(y_test, model.decision_function(X_test))
    shares = np.full(len(margins), 1 / len(margins))
    right.hist(margins, 70, range=(-2, 5), weights=shares, histtype="step", linewidth=1.6, label=f"AUC {auc:.3f}")
left.plot(t, t < 0, color="black", linewidth=1, linestyle=":", label="wrong order: 1 - AUC")
left.set(xlabel="margin of a pair, w·(x⁺ - x⁻)", ylabel="loss", ylim=(-0.1, 4))
left.legend(fontsize="small")
right.axvline(1, color="0.6", linestyle=":")
right.set(xlabel="margin of a training pair", ylabel="share of the pairs")
right.legend(fontsize="small", title="on new rows")

# %%
# The hinge has corners, and yet its minimum is exact here: the duality gap says how far off it may be.

print(f"duality gap {models['hinge: SVMPerf'].dual_gap_:.1e}")
