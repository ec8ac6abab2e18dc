"""
Hard thresholding where positives are rare
==========================================

SHT-AUC, StoIHT and HSG-HT keep the k largest weights after each step. SHT-AUC minimises a loss of pairs, the other two
the logistic loss of rows. The paper of SHT-AUC finds that the other two fall behind where positives are rare. Is it the
loss, or the steps?
"""

# %%
# 600 rows of 300 columns, ten of which are shifted in the positive class. Its share goes from a half to one in forty.

import matplotlib.pyplot as plt
import numpy as np

from aucmax import HSGHT, SHTAUC, StoIHT, roc_auc, support_f1

ROWS, COLUMNS, SUPPORT = 600, 300, np.arange(10)
shares = np.array([0.025, 0.05, 0.1, 0.2, 0.35, 0.5])


def draw_rows(n_rows, share, seed):
    """Return rows of which this share is positive."""
    y = np.arange(n_rows) < share * n_rows
    X = np.random.default_rng(seed).standard_normal((n_rows, COLUMNS))
    X[:, SUPPORT] += 0.5 * y[:, None]
    return X, y


# %%
# Means over six samples: the AUC on new rows, and the F1 of the columns found. Dotted lines are the papers' variants on
# rows of norm one, and show what the paper found. Solid lines are the defaults, whose intercept starts at the log-odds
# and whose step is found on the way. With them the logistic loss does as well: on these data it was not the loss.

SEEDS = range(6)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharex=True)
X_test, y_test = draw_rows(4000, 0.5, 99)
for color, kind in (("C0", SHTAUC), ("C1", StoIHT), ("C2", HSGHT)):
    for variant, style in (("adaptive", "o-"), ("paper", ":")):
        found = np.empty((len(shares), len(SEEDS), 2))
        for i, share in enumerate(shares):
            for seed in SEEDS:
                X, y = draw_rows(ROWS, share, seed)
                if variant == "paper":
                    X /= np.linalg.norm(X, axis=1, keepdims=True)
                model = kind(n_nonzero=10, variant=variant, random_state=seed).fit(X, y)
                found[i, seed] = roc_auc(y_test, X_test @ model.coef_[0]), support_f1(model, SUPPORT)
        auc, f1 = found.mean(axis=1).T
        label = f"{kind.__name__}, as in the paper" if variant == "paper" else kind.__name__
        left.plot(shares, auc, style, color=color, markersize=4, label=label)
        right.plot(shares, f1, style, color=color, markersize=4)
for ax, what in ((left, "AUC on new rows"), (right, "F1 of the columns found")):
    ax.set(xscale="log", xlabel="share of the positives", ylabel=what)
    ax.set_xticks(shares, shares)
    ax.minorticks_off()
left.legend(fontsize="small", loc="lower right")
