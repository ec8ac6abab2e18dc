"""
Choosing a threshold by cost
============================

`predict` calls a row positive if its probability is above the base rate. That is the threshold of best balanced
accuracy. Where a missed positive costs more than a false alarm, another one is better: with calibrated probabilities
it is

.. math:: p > \\frac{c_\\mathrm{alarm}}{c_\\mathrm{alarm} + c_\\mathrm{miss}}

and no model has to be fitted again.
"""

# %%
# One row in fifty is positive. A miss costs twenty times as much as a false alarm.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

from aucmax import AUCClassifier, ScoresDisplay

ALARM, MISS = 1.0, 20.0


def mean_cost(y, called):
    """Return the mean cost of a row."""
    return float(np.mean(MISS * (y & ~called) + ALARM * (~y & called)))


X, y = make_classification(
    n_samples=12_000, n_features=20, n_informative=8, weights=[0.98], flip_y=0, class_sep=0.8, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y == 1, train_size=6_000, random_state=0, stratify=y)
clf = AUCClassifier().fit(X_train, y_train)

# %%
# The scores of the two classes on new rows. The dotted line is the threshold of `predict`.

ScoresDisplay.from_estimator(clf, X_test, y_test)

# %%
# Three thresholds: that of `predict`, that of the formula, and the one that scikit-learn finds by cross-validation.

tuned = TunedThresholdClassifierCV(
    clf, scoring=make_scorer(mean_cost, greater_is_better=False), response_method="predict_proba", cv=3
).fit(X_train, y_train)
thresholds = {
    "predict: the base rate": y_train.mean(),
    "the formula": ALARM / (ALARM + MISS),
    "cross-validated": tuned.best_threshold_,
}

# %%
# The cost on new rows along all thresholds. Near the minimum the curve is flat: the formula is as good as the search.

probability = clf.predict_proba(X_test)[:, 1]
grid = np.geomspace(1e-3, 0.9, 200)
costs = [mean_cost(y_test, probability > threshold) for threshold in grid]

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
ax.plot(grid, costs, color="black")
for (name, threshold), color in zip(thresholds.items(), ("C1", "C0", "C2"), strict=True):
    cost = mean_cost(y_test, probability > threshold)
    ax.plot(threshold, cost, "o", color=color, markersize=9, label=f"{name}, {threshold:.3f}: cost {cost:.3f}")
ax.axhline(MISS * y_test.mean(), color="0.6", linestyle=":", label="calling nothing positive")
ax.set(xscale="log", xlabel="threshold on the probability", ylabel="mean cost of a test row")
ax.legend(fontsize="small")
