"""
Additive curves
===============

:class:`~aucmax.AdditiveAUCClassifier` is a sum of curves, one for each column. Each can be drawn, with its interval.
Categories and missing values need no preparation. How strongly a curve is smoothed is found from the data: a column
that says nothing gets a flat line.
"""

# %%
# A table of five columns. The risk depends on four of them, in ways that no line follows.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from aucmax import AdditiveAUCClassifier, AUCClassifier, CurvesDisplay, ImportanceDisplay

rng = np.random.default_rng(0)
n = 4000
age, income = rng.uniform(20, 80, n), rng.lognormal(3.5, 0.6, n)
region = rng.choice(["north", "east", "south", "west"], n)
hours, noise = rng.uniform(0, 24, n), rng.normal(size=n)
effects = {
    "age": lambda x: 1.5 * np.cos((x - 45) / 9),
    "income": lambda x: -1.2 * np.log(x / 33),
    "hours": lambda x: 1.2 * (x > 17) - 0.4,
}
logit = effects["age"](age) + effects["income"](income) + effects["hours"](hours)
logit += pd.Series(region).map({"north": 0.0, "east": 0.8, "south": -0.8, "west": 0.0}).to_numpy()
y = rng.random(n) < 1 / (1 + np.exp(1.5 - logit))
income[rng.random(n) < 0.1] = np.nan  # one value in ten is missing
X = pd.DataFrame({"age": age, "income": income, "hours": hours, "noise": noise, "region": pd.Categorical(region)})
train, test = slice(0, 2500), slice(2500, None)

# %%
# The curves, and in black what they were drawn from.

clf = AdditiveAUCClassifier().fit(X[train], y[train])
display = CurvesDisplay.from_estimator(clf, columns=list(X.columns))
for ax, name in zip(display.axes_, X.columns, strict=True):
    if name in effects:
        grid = np.linspace(*np.nanquantile(X[name], [0.005, 0.995]), 200)
        values = X[name][train].dropna()
        ax.plot(grid, effects[name](grid) - effects[name](values).mean(), color="black", linewidth=1, linestyle="--")

# %%
# What each column is worth, measured on new rows, and what a linear model would lose.

ImportanceDisplay.from_estimator(clf, X[test], y[test])
numbers = X.drop(columns="region").fillna(X["income"].mean())
linear = AUCClassifier().fit(numbers[train], y[train])
print(f"additive {clf.score(X[test], y[test]):.3f}, linear {linear.score(numbers[test], y[test]):.3f}")
plt.show()
