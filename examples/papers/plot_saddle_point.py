"""
SOLAM: pairs without pairs
==========================

The square loss of all pairs is a saddle point over single rows. Beside the weights there are two numbers `a` and `b`
to descend along and a third, `c`, to climb. At the optimum `a` and `b` are the mean scores of the two classes, and `c`
is their difference: all that a row has to know about the rows of the other class.
"""

# %%
# Six columns of noise, and four that are shifted in the positive class, which is one row in five.

import matplotlib.pyplot as plt
import numpy as np

from aucmax import FSAUC, SOLAM, SPAM, AUCClassifier, roc_auc


def draw_rows(n_rows, seed):
    """Return rows of ten columns."""
    y = np.arange(n_rows) % 5 == 0
    shift = np.r_[1.0, 0.8, 0.6, 0.4, np.zeros(6)]
    return np.random.default_rng(seed).standard_normal((n_rows, 10)) + np.outer(y, shift), y


X, y = draw_rows(4000, 0)
X_test, y_test = draw_rows(20_000, 1)
rows = np.unique(np.geomspace(20, len(X), 60).astype(int))

# %%
# Above, `a`, `b` and `c` as SOLAM sees one row after the other. They follow the mean scores of the classes (dashed),
# which it never computes. Below, the AUC of fits to as many rows. SPAM knows the class means, so it has no `a`, `b` and
# `c` to learn; FSAUC begins anew in stages.

solam = SOLAM(radius=1.0, average=False)
saddle, means, start = [], [], 0
for end in rows:
    solam.partial_fit(X[start:end], y[start:end], classes=[False, True])
    saddle.append(solam.state_.scalars[2:5])
    scores = X @ solam.coef_[0]
    means.append([scores[y].mean(), scores[~y].mean(), scores[~y].mean() - scores[y].mean()])
    start = end

figure, (upper, lower) = plt.subplots(2, 1, figsize=(5.5, 6.5), layout="constrained", sharex=True)
names = ("a: positives", "b: negatives", "c = b - a")
for name, found, mean, color in zip(names, np.array(saddle).T, np.array(means).T, ("C3", "C0", "0.4"), strict=True):
    upper.plot(rows, found, color=color, label=name)
    upper.plot(rows, mean, color=color, linestyle="--", linewidth=1)
upper.set(xscale="log", ylabel="saddle variables, mean scores")
upper.legend(fontsize="small", ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)

exact = roc_auc(y_test, AUCClassifier(alpha=1e-3).fit(X, y).decision_function(X_test))
for model in (SOLAM(random_state=0), SPAM(random_state=0), FSAUC(random_state=0)):
    aucs = [model.fit(X[:n], y[:n]).score(X_test, y_test) for n in rows[::4]]
    lower.plot(rows[::4], aucs, label=type(model).__name__)
lower.axhline(exact, color="black", linewidth=1, label="exact, all rows")
lower.set(xlabel="rows", ylabel="AUC on new rows")
lower.legend(fontsize="small", loc="lower right")
