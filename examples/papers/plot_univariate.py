"""
Losses of single rows
=====================

`UniSqu`, `UniExp` and `UniLog` see no pairs. They minimise a loss of single rows in which both classes count alike.
Why does that rank? Because the share of the pairs in the wrong order is never more than this loss, relative to the loss
of scores that are all 0.
"""

# %%
# Two columns say something, eight do not, and one row in ten is positive.

import matplotlib.pyplot as plt
import numpy as np

from aucmax import UniExp, UniLog, UniSqu, roc_auc

rng = np.random.default_rng(0)
y = np.arange(1500) % 10 == 0
X = rng.standard_normal((1500, 10)) + np.outer(y, np.r_[2.0, 1.0, np.zeros(8)])

losses = {
    UniSqu: lambda m: (1 - m) ** 2,
    UniExp: lambda m: np.exp(-m),
    UniLog: lambda m: np.logaddexp(0, -m),
}

# %%
# A star is the minimiser, a dot a linear model whose weights are drawn around it. No dot can be above the line: a
# model of small loss has few wrong pairs. The three losses differ far from the minimum, and rank nearly alike at it.

figure, ax = plt.subplots(figsize=(5.5, 4.8), layout="constrained")
ax.plot([0, 1], [0, 1], color="black", linewidth=1, label="the bound")
for color, (algorithm, loss) in zip(("C0", "C1", "C2"), losses.items(), strict=True):
    fitted = algorithm(alpha=1e-3, solver="exact").fit(X, y)
    noise = np.linalg.norm(fitted.coef_) / 8
    weights = fitted.coef_[0] * rng.random((400, 1)) + noise * rng.standard_normal((400, 10))
    points = []
    for w in (*weights, fitted.coef_[0]):
        scores = X @ w
        # The bound holds for any intercept, so take the best of a few.
        shifts = scores.mean() + np.linspace(-2, 2, 41)[:, None] * scores.std()
        totals = loss(scores[y] - shifts).mean(axis=1) + loss(shifts - scores[~y]).mean(axis=1)
        points.append((totals.min() / (2 * loss(0)), 1 - roc_auc(y, scores)))
    x, wrong = np.transpose(points)
    assert (wrong <= x).all()
    ax.plot(x[:-1], wrong[:-1], ".", color=color, markersize=3, alpha=0.7)
    label = f"{algorithm.__name__}: AUC {1 - wrong[-1]:.4f}"
    ax.plot(x[-1], wrong[-1], "*", color=color, markersize=14, markeredgecolor="black", label=label)
ax.set(xlabel="loss of single rows, relative to that of scores of 0", ylabel="pairs in the wrong order, 1 - AUC")
ax.set(xlim=(0, 1.3), ylim=(0, 1))
ax.legend(fontsize="small", ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
