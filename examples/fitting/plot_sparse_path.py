"""
The path of a sparse fit
========================

With ``penalty="l1"`` most weights are exactly 0. The smaller alpha, the more columns come in. With `n_nonzero` their
number is given, and the best columns are searched for.
"""

# %%
# Sixty columns, of which six are shifted in the positive class.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from aucmax import AUCClassifier, PathDisplay, WeightsDisplay
from aucmax.datasets import make_sparse_shift

X, y, support = make_sparse_shift(1500, 60, n_informative=6, ratio=0.2, shift=0.4, random_state=0)
X = pd.DataFrame(X).add_prefix("x")
clf = AUCClassifier(penalty="l1").fit(X, y)
print(f"alpha {clf.alpha_:.3g}, {np.count_nonzero(clf.coef_)} weights, cross-validated among {len(clf.alphas_)} alphas")

# %%
# Above, the weights along alpha: the columns that matter in colour. Below, the cross-validated AUC. The dot is the
# choice.

path = np.array([AUCClassifier(penalty="l1", alpha=alpha).fit(X, y).coef_[0] for alpha in clf.alphas_])
figure, (upper, lower) = plt.subplots(2, 1, figsize=(7, 7), layout="constrained", sharex=True, height_ratios=[1.3, 1])
for j, weights in enumerate(path.T):
    upper.plot(clf.alphas_, weights, color=f"C{list(support).index(j)}" if j in support else "0.75", linewidth=1.4)
upper.axvline(clf.alpha_, color="black", linewidth=0.8, linestyle=":")
upper.set_ylabel("weight")
PathDisplay.from_estimator(clf, ax=lower)
lower.invert_xaxis()

# %%
# The AUC alone lets a few columns in that do not matter: they hardly change the order. Six columns, searched for:

best = AUCClassifier(n_nonzero=6).fit(X, y)
print("found", *X.columns[np.flatnonzero(best.coef_)], "of", *X.columns[support])

# %%
# Their weights, times the standard deviations of the columns, so that units do not matter.

WeightsDisplay.from_estimator(best, X)
