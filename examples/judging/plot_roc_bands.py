"""
ROC curves with their bands
===========================

An AUC that was measured on few rows is uncertain, and so is the ROC curve. Here the classes are Gaussian, so the true
curve is known: with means :math:`d` standard deviations apart, the true positive rate at a false positive rate
:math:`u` is :math:`\\Phi(d + \\Phi^{-1}(u))`, and the AUC is :math:`\\Phi(d / \\sqrt 2)`.
"""

# %%
# Two classes of scores, and the curve that infinitely many rows would give.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from aucmax import ROCDisplay, roc_auc_ci

DISTANCE = 1.5
TRUE_AUC = norm.cdf(DISTANCE / np.sqrt(2))
fpr = np.linspace(0, 1, 500)
true_tpr = norm.cdf(DISTANCE + norm.ppf(fpr))


def draw_rows(n_rows, seed):
    """Return labels and scores; one row in five is positive."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 5 == 0
    return y, rng.normal(DISTANCE * y)


# %%
# The band of 50 rows is wide, the band of 5,000 is a line. It holds at each false positive rate separately. The
# interval in the legend is DeLong's, of the area.

figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
for ax, n_rows in zip(axes, (50, 500, 5000), strict=True):
    y, scores = draw_rows(n_rows, seed=1)
    ROCDisplay.from_predictions(y, scores, ax=ax)
    ax.plot(fpr, true_tpr, color="black", linewidth=1, linestyle="--")
    ax.set_title(f"{n_rows:,} rows (dashed: the truth, {TRUE_AUC:.3f})", fontsize="medium")

# %%
# Does the interval keep its promise? It should hold the true AUC in 95% of all samples. With twenty positives it does
# so a little less often: it is an approximation for many rows.

for n_rows in (100, 1000):
    intervals = [roc_auc_ci(*draw_rows(n_rows, seed)) for seed in range(500)]
    covered = np.mean([each.low <= TRUE_AUC <= each.high for each in intervals])
    print(f"{n_rows:,} rows: {covered:.1%} of the intervals hold the true AUC")
