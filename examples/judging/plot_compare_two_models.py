"""
Comparing two models on the same rows
=====================================

Two models that are tested on the same rows make similar mistakes. Their AUCs rise and fall together, so the
difference is known better than either of them. :func:`aucmax.compare_auc` is DeLong's paired test: two intervals may
overlap and the models differ clearly all the same.
"""

# %%
# Is a handwritten digit an 8? The first model sees all pixels, the second five of the eight lines.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from aucmax import AUCClassifier, ROCDisplay, compare_auc, roc_auc_ci

X, digits = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, digits == 8, test_size=0.5, random_state=0)
five = slice(0, 40)

scores_all = AUCClassifier("squared").fit(X_train, y_train).decision_function(X_test)
scores_five = AUCClassifier("squared").fit(X_train[:, five], y_train).decision_function(X_test[:, five])

# %%
# The test, and what a test would say that takes the two AUCs as independent.

found = compare_auc(y_test, scores_all, scores_five)
print(f"difference {found.difference:.4f}, from {found.low:.4f} to {found.high:.4f}; p = {found.pvalue:.2g}")

# %%
# On the left the two curves. On the right the three intervals: that of the difference is shorter than those of the
# two AUCs, because the rows that one model gets wrong the other often gets wrong too.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
ROCDisplay.from_predictions(y_test, scores_all, name="all pixels", ax=left)
ROCDisplay.from_predictions(y_test, scores_five, name="five lines", color="C1", ax=left)

intervals = [roc_auc_ci(y_test, scores) for scores in (scores_all, scores_five)]
for place, (each, color) in enumerate(zip(intervals, ("C0", "C1"), strict=True)):
    right.plot([each.low, each.high], [place, place], color=color, linewidth=3)
    right.plot(each.auc, place, "o", color=color)
best = found.auc_a
right.plot([best - found.high, best - found.low], [2, 2], color="black", linewidth=3)
right.plot(best - found.difference, 2, "o", color="black")
right.axvline(best, color="0.6", linestyle=":")
right.set_yticks(range(3), ["all pixels", "five lines", "five lines, given the\nAUC of all pixels"])
right.set(xlabel="AUC, 95% intervals", ylim=(2.5, -0.5))
