"""
OPAUC on many columns, four ways
================================

OPAUC needs the covariances of all columns: for d columns d * d numbers, and as much time a row. There are four ways to
spend less. OPAUCr sketches the covariances at random; OPAUCf, OPAUCrp and OPAUCpca reduce the columns first, by drawing
some, by random projection, or to principal components.
"""

# %%
# 400 columns, in which 20 factors of falling strength are mixed; one of the weaker factors and ten single columns say
# which rows are positive.

import matplotlib.pyplot as plt
import numpy as np

from aucmax import OPAUC, OPAUCf, OPAUCpca, OPAUCrp

COLUMNS, FACTORS = 400, 20
rng = np.random.default_rng(0)
loadings = rng.standard_normal((FACTORS, COLUMNS)) * 0.8 ** np.arange(FACTORS)[:, None]


def draw_rows(n_rows, seed):
    """Return rows of which one in four is positive."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 4 == 0
    factors = rng.standard_normal((n_rows, FACTORS))
    factors[y, 6] += 1.2
    X = factors @ loadings + rng.standard_normal((n_rows, COLUMNS))
    X[:, :10] += 0.2 * y[:, None]
    return X, y


X, y = draw_rows(1500, 0)
X_test, y_test = draw_rows(4000, 1)

# %%
# The AUC on new rows by what is kept of the columns: the rank of the sketch, or the number of columns that remain.
# A reduction loses what it leaves out or mixes up. Principal components have the largest variances: they say nothing
# until the factor that matters is one of them. The sketch loses least: it keeps the weights of all columns, and only
# the covariances in its gradient are rough.

ranks = [2, 5, 10, 20, 50, 100, 200]
ways = {
    "OPAUCr, sketched covariances": lambda k: OPAUC(rank=k, random_state=0),
    "OPAUCpca, principal components": lambda k: OPAUCpca(k, random_state=0),
    "OPAUCrp, random projection": lambda k: OPAUCrp(k, random_state=0),
    "OPAUCf, columns drawn": lambda k: OPAUCf(k, random_state=0),
}
figure, ax = plt.subplots(figsize=(6.5, 4.4), layout="constrained")
for name, make in ways.items():
    ax.plot(ranks, [make(k).fit(X, y).score(X_test, y_test) for k in ranks], "o-", markersize=4, label=name)
full = OPAUC(random_state=0).fit(X, y).score(X_test, y_test)
ax.axhline(full, color="black", linewidth=1, label="OPAUC, full covariances")
ax.set(xscale="log", xlabel="rank, or columns that remain", ylabel="AUC on new rows")
ax.set_xticks(ranks, ranks)
ax.minorticks_off()
ax.legend(fontsize="small", loc="lower right")
