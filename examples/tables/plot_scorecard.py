"""
A scorecard
===========

A :class:`~aucmax.Scorecard` is a :class:`~aucmax.TableClassifier` in whole points. Anybody can add them up, and each
score has its reasons. It can be written as a table, as SQL and as Python source.
"""

# %%
# Loans: the positive class is a default, so fewer points should mean more risk. ``points_to_double`` is negative
# then.

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from aucmax import Scorecard, TableClassifier

rng = np.random.default_rng(1)
n = 3000
X = pd.DataFrame(
    {
        "income": rng.lognormal(3.5, 0.5, n).round(),
        "years employed": rng.integers(0, 30, n).astype(float),
        "debts": rng.poisson(1.5, n).astype(float),
        "home": rng.choice(["own", "rent", "family"], n, p=[0.5, 0.4, 0.1]),
    }
)
logit = (
    -2 - 1.2 * np.log(X["income"] / 33) - 0.08 * X["years employed"] + 0.6 * X["debts"] + 0.7 * (X["home"] == "rent")
)
y = (rng.random(n) < 1 / (1 + np.exp(-logit))).to_numpy()

# %%
# Curves of a given shape, so that the card can be defended: more income or years never cost points, more debts never
# gain any. Neighbouring steps are merged until 20 lines are left.

shapes = {"income": -1, "years employed": -1, "debts": 1}
model = TableClassifier("curves", monotonic_cst=shapes).fit(X[:2000], y[:2000])
card = Scorecard(model, 20, points_to_double=-20)
lost = card.auc_lost(X[2000:], y[2000:])
print(f"test AUC {lost.auc_a:.3f}; the card costs {lost.difference:.4f} ({lost.low:.4f} to {lost.high:.4f})")
print(card)

# %%
# The card, and one applicant. Every row starts with the base points.

lines = card.table()
applicant = X[2000:][card.score(X[2000:]) < np.quantile(card.score(X), 0.1)].head(1)

figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 5), layout="constrained", width_ratios=[1.3, 1])
points = np.array([entry.points for entry in lines])
left.barh(range(len(lines)), points, color=np.where(points < 0, "C1", "C0"), alpha=0.7)
left.set_yticks(range(len(lines)), [f"{entry.column}: {entry.values}" for entry in lines], fontsize="small")
left.axvline(0, color="black", linewidth=0.8)
left.set(xlabel="points", title=f"base points {card.base_points}", ylim=(len(lines) - 0.5, -0.5))

names, points, _ = card.contributions(applicant)
parts = points[0]
order = np.argsort(parts)
steps = card.base_points + np.concatenate([[0], np.cumsum(parts[order])])
for place, (low, high) in enumerate(itertools.pairwise(steps)):
    right.barh(place, high - low, left=low, color="C1" if high < low else "C0", alpha=0.7)
    right.text(max(low, high) + 1, place, f"{high - low:+d}", va="center")
right.axvline(card.base_points, color="0.6", linestyle=":")
right.set_yticks(range(len(order)), [f"{names[j]}: {applicant.iloc[0][names[j]]}" for j in order])
right.set(ylim=(len(order) - 0.5, -0.5), xlabel="score", title=f"an applicant with {card.score(applicant)[0]} points")
right.use_sticky_edges = False  # room for the numbers
right.margins(x=0.2)

# %%
# The reasons of that score, and the card as SQL.

for line in card.reasons(applicant, n_reasons=3)[0]:
    print(f"{line.column} {line.values}: {line.points:+d} points")
print(card.to_sql("duckdb", table="loans")[-900:])
