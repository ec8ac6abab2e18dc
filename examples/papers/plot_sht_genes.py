"""
SHT-AUC on data like genes
==========================

A thousand columns, few rows, and a handful of columns that matter: SHT-AUC keeps the k largest weights after
every step. Beside it are the search of `AUCClassifier` for the best k columns, and the L1 penalty, which chooses the
number of columns by alpha.
"""

# %%
# 150 rows of 1,000 columns in groups that are correlated, as genes of one pathway are; ten columns are shifted.

import matplotlib.pyplot as plt
import numpy as np

from aucmax import SHTAUC, AUCClassifier, roc_auc, support_f1

COLUMNS, GROUP = 1000, 5
support = np.arange(0, 10 * GROUP, GROUP)  # one column of each of the first ten groups


def draw_rows(n_rows, seed):
    """Return rows whose columns are correlated within groups of five, and of which one in three is positive."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 3 == 0
    shared = np.repeat(rng.standard_normal((n_rows, COLUMNS // GROUP)), GROUP, axis=1)
    X = 0.6 * shared + 0.8 * rng.standard_normal((n_rows, COLUMNS))
    X[:, support] += 0.7 * y[:, None]
    return X, y


X, y = draw_rows(150, 0)
X_test, y_test = draw_rows(3000, 1)

# %%
# Fits with more and more weights.

numbers = [2, 5, 10, 20, 40, 80]
alphas = np.geomspace(0.5, 0.05, 8)
fits = {
    "SHTAUC": [SHTAUC(n_nonzero=k, random_state=0).fit(X, y) for k in numbers],
    "AUCClassifier(n_nonzero=k)": [AUCClassifier(n_nonzero=k, alpha=3).fit(X, y) for k in numbers],
    'AUCClassifier(penalty="l1")': [AUCClassifier(penalty="l1", alpha=alpha).fit(X, y) for alpha in alphas],
}

# SHT-AUC often keeps the same columns as the search: its wide line and open squares stay visible around the other's.
styles = {
    "SHTAUC": {"marker": "s", "markersize": 11, "markerfacecolor": "none", "linewidth": 6, "alpha": 0.55},
    "AUCClassifier(n_nonzero=k)": {"marker": "o", "markersize": 4},
    'AUCClassifier(penalty="l1")': {"marker": "^", "linestyle": "--"},
}
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharex=True)
for name, models in fits.items():
    kept = [model for model in models if 2 <= np.count_nonzero(model.coef_) <= 100]
    n_weights = [np.count_nonzero(model.coef_) for model in kept]
    left.plot(
        n_weights, [roc_auc(y_test, model.decision_function(X_test)) for model in kept], label=name, **styles[name]
    )
    right.plot(n_weights, [support_f1(model, support) for model in kept], label=name, **styles[name])
for ax, what in ((left, "AUC on new rows"), (right, "F1 of the columns found")):
    ax.axvline(len(support), color="0.6", linestyle=":")
    ax.set(xscale="log", xlabel="nonzero weights", ylabel=what)
    ax.set_xticks(numbers, numbers)
    ax.minorticks_off()
left.legend(fontsize="small")

# %%
# Many more weights than columns that matter cost all three. The number of weights is best cross-validated:
# ``AUCClassifier(n_nonzero=[5, 10, 20])``.
