"""
Curves and the ladder
=====================

:class:`~aucmax.TableClassifier` reads a raw table and fits a sum of terms: lines, curves and levels, and surfaces of
two columns. How many of them the table needs is found on held-out rows. Each curve can be drawn, with its interval.
"""

# %%
# A table of five columns. The risk depends on four of them, in ways that no line follows. Categories and missing values
# need no preparation.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from aucmax import CurvesDisplay, ImportanceDisplay, TableClassifier

rng = np.random.default_rng(0)
n = 4000
X = pd.DataFrame(
    {
        "age": rng.uniform(20, 80, n),
        "income": rng.lognormal(3.5, 0.6, n),
        "hours": rng.uniform(0, 24, n),
        "noise": rng.normal(size=n),
        "region": rng.choice(["north", "east", "south", "west"], n),
    }
)
effects = {
    "age": lambda x: 1.5 * np.cos((x - 45) / 9),
    "income": lambda x: -1.2 * np.log(x / 33),
    "hours": lambda x: 1.2 * (x > 17) - 0.4,
    "region": lambda x: x.map({"north": 0.0, "east": 0.8, "south": -0.8, "west": 0.0}),
}
logit = sum(effect(X[name]) for name, effect in effects.items())
y = rng.random(n) < 1 / (1 + np.exp(1.5 - logit))
X.loc[rng.random(n) < 0.1, "income"] = np.nan  # one value in ten is missing
train, test = slice(0, 2500), slice(2500, None)

# %%
# The ladder: the lowest rung is taken that is about as good as the best one. Nothing in this table needs surfaces.

clf = TableClassifier().fit(X[train], y[train])
print(pd.DataFrame(clf.ladder_).round(4).to_string(index=False))
print(f"{clf.cv_auc_:.3f} on held-out rows, {clf.score(X[test], y[test]):.3f} on new ones")

# %%
# The curves, and in black what they were drawn from. A column that says nothing gets a flat curve.

display = CurvesDisplay.from_estimator(clf, columns=list(X.columns))
for ax, name in zip(display.axes_[:3], X.columns, strict=False):
    grid = np.linspace(*X[name].quantile([0.005, 0.995]), 200)
    middle = effects[name](X[name][train].dropna()).mean()
    ax.plot(grid, effects[name](grid) - middle, color="black", linewidth=1, linestyle="--")

# %%
# What each column is worth, measured on new rows.

ImportanceDisplay.from_estimator(clf, X[test], y[test])
plt.show()
