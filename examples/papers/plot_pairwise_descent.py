"""
Pairwise losses by gradient descent
===================================

`PairwiseDescent` is what the Gaussian AUC was compared with: gradient descent on the loss of all pairs, whose steps are
halved until the loss falls enough. The direction is good after a few steps. The length of the weights, which does not
matter for the AUC, takes most of the iterations.
"""

# %%
# Two columns, so that the losses can be drawn. Each fit ends after a number of steps, which is meant: no warnings.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from aucmax import AUCClassifier, GaussianAUC, PairwiseDescent

warnings.filterwarnings("ignore", category=ConvergenceWarning)
rng = np.random.default_rng(3)
y = np.arange(60) % 3 == 0
X = rng.standard_normal((60, 2)) @ [[1.0, 0.9], [0.0, 0.4]] + np.outer(y, [0.3, 0.9])
X = (X - X.mean(axis=0)) / X.std(axis=0)
pairs = (X[y][:, None] - X[~y][None, :]).reshape(-1, 2)
LOSSES = {"hinge": lambda t: np.maximum(0, 1 - t), "logistic": lambda t: np.logaddexp(0, -t)}

# %%
# The mean loss of all pairs by the two weights, the descent (dots: its steps 1 to 15, then some of the later ones up to
# 250), the minimum (star) and, dashed, the direction of `GaussianAUC`, which needs no descent at all. Both descents
# turn into the valley within a few steps, the hinge in a zigzag over its edges, and then creep along it.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
gaussian = GaussianAUC(alpha=0).fit(X, y).coef_[0]
for ax, (name, loss) in zip(axes, LOSSES.items(), strict=True):
    steps = [*range(1, 16), 20, 30, 40, 60, 80, 100, 150, 200, 250]
    path = np.array([PairwiseDescent(name, alpha=1e-3, max_iter=k).fit(X, y).coef_[0] for k in steps])
    exact = AUCClassifier(name, alpha=1e-3).fit(X, y).coef_[0]
    size = 1.3 * np.abs(exact).max()
    first, second = np.linspace(-size, 0.3 * size, 101), np.linspace(-0.2 * size, size, 101)
    values = loss(np.stack(np.meshgrid(first, second), axis=-1) @ pairs.T).mean(axis=-1)
    levels = values.min() + np.geomspace(2e-3, 1, 16) * np.ptp(values)
    ax.contour(first, second, values, levels=levels, cmap="Greys_r", linewidths=0.7)
    ax.plot(*np.outer(gaussian / np.abs(gaussian).max(), [0, size]), "--", color="C2", label="GaussianAUC")
    ax.plot(*path.T, "o-", color="C0", markersize=3, linewidth=1, label="PairwiseDescent")
    ax.plot(*exact, "*", color="C3", markersize=13, label="minimum")
    ax.set(title=name, xlabel="first weight", ylabel="second weight", xlim=first[[0, -1]], ylim=second[[0, -1]])
    ax.legend(fontsize="small", loc="upper right")
