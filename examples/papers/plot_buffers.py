"""
OAM and CBR: buffers and confidence
===================================

OAM compares a new row with a few rows of the other class that it has kept. How many does it need? CBR also keeps how
sure it is of each weight, and moves those most of which it knows least.
"""

# %%
# Twenty columns matter a little. The last column is 0 in nine rows of ten, but where it speaks, it speaks clearly.

import matplotlib.pyplot as plt
import numpy as np

from aucmax import CBR, OAM, AUCClassifier

rng = np.random.default_rng(0)


def draw_rows(n_rows):
    """Return rows of which one in five is positive."""
    y = np.arange(n_rows) % 5 == 0
    X = rng.standard_normal((n_rows, 21)) + 0.3 * y[:, None]
    X[:, -1] = (rng.random(n_rows) < 0.1) * (rng.standard_normal(n_rows) + np.where(y, 2, -2))
    return X, y


X, y = draw_rows(4000)
X_test, y_test = draw_rows(20_000)
blocks = np.array_split(np.arange(len(X)), 80)
seen = [block[-1] + 1 for block in blocks]

# %%
# Above, OAM with buffers of three sizes. A single row of each class is too noisy; a hundred rows rank nearly as all
# rows do. Below, two weights of CBR with one standard deviation on each side. The weight of the rare column stays
# uncertain for longer, and goes on moving.

figure, (upper, lower) = plt.subplots(2, 1, figsize=(5.5, 6.5), layout="constrained", sharex=True)
for size in (1, 10, 100):
    model = OAM(buffer_size=size, random_state=0)
    aucs = [model.partial_fit(X[k], y[k], classes=[False, True]).score(X_test, y_test) for k in blocks]
    upper.plot(seen, aucs, label=f"OAM, buffers of {size}")
exact = AUCClassifier("hinge", alpha=1e-2).fit(X, y).score(X_test, y_test)
upper.axhline(exact, color="black", linewidth=1, label="hinge of all pairs")
upper.set(ylabel="AUC on new rows")
upper.legend(fontsize="small", loc="lower right")

cbr = CBR()
states = []
for block in blocks:
    cbr.partial_fit(X[block], y[block], classes=[False, True])
    states.append((cbr.state_.mu[:21].copy(), np.sqrt(np.diag(cbr.state_.sigma))))
for column, name, color in ((0, "a common column", "C0"), (-1, "the rare column", "C1")):
    mean, spread = np.array([(mu[column], deviation[column]) for mu, deviation in states]).T
    lower.plot(seen, mean, color=color, label=name)
    lower.fill_between(seen, mean - spread, mean + spread, color=color, alpha=0.2, linewidth=0)
lower.set(xlabel="rows seen", ylabel="weight of CBR")
lower.legend(fontsize="small", loc="upper left")
