"""Online Uni-Exp, Uni-Log and Uni-Squ: class-weighted univariate losses.

Gao et al. (2013), Section 6.1, after Kotlowski, Dembczynski, Huellermeier (2011). The texts have no listing: this is
stochastic gradient descent with the explicit gradient on

    (1/n+) sum over positives of l(w.x) + (1/n-) sum over negatives of l(-w.x) + (lam/2)|w|^2,

so a row of class k counts n/n_k times. The class counts are those of all of X, the step eta is constant, and there is
no intercept: the texts name none. Iterates, one row per step.
"""

import numpy as np


def uni_exp(X, y, order, *, eta, lam=0.0) -> np.ndarray:
    """Uni-Exp, l(s) = exp(-s)."""
    return _descend(X, y, order, eta, lam, lambda s: -np.exp(-s))


def uni_log(X, y, order, *, eta, lam=0.0) -> np.ndarray:
    """Uni-Log, l(s) = log(1 + exp(-s))."""
    return _descend(X, y, order, eta, lam, lambda s: -1 / (1 + np.exp(s)))


def uni_squ(X, y, order, *, eta, lam=0.0) -> np.ndarray:
    """Uni-Squ, l(s) = (1 - s)^2."""
    return _descend(X, y, order, eta, lam, lambda s: -2 * (1 - s))


def _descend(X, y, order, eta, lam, slope):
    share = {k: np.mean(y == k) for k in (+1, -1)}
    w, iterates = np.zeros(X.shape[1]), []
    for i in order:
        g = slope(y[i] * (w @ X[i])) * y[i] * X[i] / share[int(y[i])]
        w = w - eta * (g + lam * w)
        iterates.append(w)
    return np.array(iterates)
