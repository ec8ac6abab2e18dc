"""
The Gaussian closed form
========================

If both classes are Gaussian, the AUC of a direction :math:`w` is

.. math:: \\Phi\\left(\\frac{w \\cdot \\delta}{\\sqrt{w^\\top (S_0 + S_1) w}}\\right)

with :math:`\\delta` the difference of the means and :math:`S_0, S_1` the covariances. The best direction is
:math:`(S_0 + S_1)^{-1} \\delta`: no search, no pairs. The direction of least error is another one, and that of linear
discriminant analysis a third.
"""

# %%
# A wide class and a narrow, rarer one.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from aucmax import GaussianAUC, GaussianError, roc_auc

means = np.array([[0.0, 0.0], [1.2, 1.6]])
covariances = np.array([[[3.0, 1.2], [1.2, 1.0]], [[0.2, -0.1], [-0.1, 1.6]]])
rng = np.random.default_rng(0)
X = np.vstack([rng.multivariate_normal(means[c], covariances[c], size=n) for c, n in ((0, 1600), (1, 400))])
y = np.repeat([0, 1], [1600, 400])

models = {
    "GaussianAUC": GaussianAUC().fit(X, y),
    "GaussianError": GaussianError().fit(X, y),
    "LDA": LinearDiscriminantAnalysis().fit(X, y),
}

# %%
# Left: the rows and the three directions. Right: the AUC of every direction, by the formula and counted on the rows.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for c, color in ((0, "0.6"), (1, "tab:purple")):
    left.plot(*X[y == c].T, ".", color=color, markersize=2, alpha=0.6)

angles = np.linspace(-60, 120, 181)
directions = np.column_stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))])
spread = np.sqrt(np.einsum("kd,de,ke->k", directions, covariances.sum(axis=0), directions))
right.plot(angles, norm.cdf(directions @ (means[1] - means[0]) / spread), color="black", label="the formula")
right.plot(angles[::9], roc_auc(y, X @ directions[::9].T), "o", color="0.5", markersize=4, label="counted on the rows")
for (name, model), color in zip(models.items(), ("C0", "C1", "C2"), strict=True):
    w = model.coef_[0] / np.linalg.norm(model.coef_[0])
    left.annotate("", xy=means.mean(axis=0) + 2 * w, xytext=means.mean(axis=0), arrowprops={"color": color, "width": 2})
    angle = np.degrees(np.arctan2(w[1], w[0]))
    right.axvline(angle, color=color, label=f"{name}: AUC {roc_auc(y, X @ w):.4f}")
left.set(aspect="equal", xlabel="first column", ylabel="second column")
right.set(xlabel="angle of the direction, degrees", ylabel="AUC", ylim=(0.6, 1.0))
right.legend(fontsize="small", ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
