"""
Moments by map and reduce
=========================

The pairwise square loss sees the data only through the count, mean and covariance of each class. Machines that hold
some of the rows each compute these :class:`~aucmax.ClassMoments`. Merged, they give the fit to all rows, exactly and
in any order.
"""

# %%
# Forty machines with 500 rows each. What they send is a few kilobytes, whatever the number of rows.

import matplotlib.pyplot as plt
import numpy as np

from aucmax import AUCClassifier, ClassMoments

rng = np.random.default_rng(0)
y = rng.random(20_000) < 0.05
direction = rng.standard_normal(30) / 6
X = rng.standard_normal((20_000, 30)) * rng.uniform(0.2, 5, 30) + np.outer(y, direction)
machines = np.array_split(np.arange(20_000), 40)

parts = [ClassMoments(30).update(X[rows], y[rows]) for rows in machines]  # map
merged = parts[0].merge(*parts[1:])  # reduce

# %%
# The weights are those of a fit to all rows, up to rounding. So are those of a stream.

whole = AUCClassifier(alpha=0.1).fit(X, y).coef_[0]
from_parts = AUCClassifier(alpha=0.1).fit_moments(merged).coef_[0]
print(f"largest difference {abs(from_parts - whole).max() / abs(whole).max():.1e}")

# %%
# What each further machine adds: the AUC on new rows rises, and the weights come closer to those of all rows. With
# the last machine the difference drops to rounding.

y_test = rng.random(20_000) < 0.05
X_test = rng.standard_normal((20_000, 30)) * X.std(axis=0) + np.outer(y_test, direction)
differences, aucs = [], []
for k in range(1, len(parts) + 1):
    clf = AUCClassifier(alpha=0.1).fit_moments(parts[0].merge(*parts[1:k]))
    differences.append(np.linalg.norm(clf.coef_[0] - whole) / np.linalg.norm(whole))
    aucs.append(clf.score(X_test, y_test))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.plot(range(1, 41), aucs, "o-", markersize=3)
left.set(xlabel="machines", ylabel="test AUC")
right.semilogy(range(1, 41), differences, "o-", markersize=3, color="C1")
right.set(xlabel="machines", ylabel="relative difference of the weights\nfrom the fit to all rows")
