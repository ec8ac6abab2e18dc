"""OPAUC and OPAUCr. Gao, Jin, Zhu, Zhou: One-Pass AUC Optimization (2013)."""

import numpy as np


def opauc(X, y, order, *, eta, lam) -> np.ndarray:
    """Algorithm 1 with full covariance matrices, Eqs. (4) and (5).

    eta is the constant step of the paper's experiments, or one step size for each t. There is no step before the other
    class has been seen, since L_t = 0 then. Iterates, one row per step.

    Corrected: the printed update of Gamma lacks -c_{t-1} c_{t-1}' in the fraction, so that it is no covariance. The
    printed S divides c c' by T, where the mean of x x' less c c' is meant.
    """
    d = X.shape[1]
    eta = np.broadcast_to(eta, len(order))
    T, c, Gamma = {+1: 0, -1: 0}, {+1: np.zeros(d), -1: np.zeros(d)}, {+1: np.zeros((d, d)), -1: np.zeros((d, d))}
    w, iterates = np.zeros(d), []
    for t, i in enumerate(order):
        x, k = X[i], int(y[i])
        T[k] += 1
        old = c[k]
        c[k] = old + (x - old) / T[k]
        Gamma[k] = (
            Gamma[k]
            + (np.outer(x, x) - Gamma[k] - np.outer(old, old)) / T[k]
            + np.outer(old, old)
            - np.outer(c[k], c[k])
        )
        if T[-k] > 0:
            u = x - c[-k]
            w = w - eta[t] * (lam * w - k * u + u * (u @ w) + Gamma[-k] @ w)
        iterates.append(w)
    return np.array(iterates)


def opauc_r(X, y, order, R, *, eta, lam, centering="corrected") -> np.ndarray:
    """Algorithm 1 with covariance matrices of rank tau, Eqs. (8) to (11).

    R has shape (len(order), tau): row t is r_t, drawn from N(0, I). Iterates, one row per step.

    Corrected: the scales 1/tau and 1/sqrt(m) of the text both stand for 1/sqrt(tau), without which R R' is not the
    identity on average. The printed S^ = Z Z'/T - c^ c^' hardly centres, since E|h|^2 = 1/T for the mean h of the r;
    `centering="corrected"` is (Z - T c h')(Z - T c h')'/T, `centering="paper"` the printed S^.
    """
    d, tau = X.shape[1], R.shape[1]
    eta = np.broadcast_to(eta, len(order))
    T, c = {+1: 0, -1: 0}, {+1: np.zeros(d), -1: np.zeros(d)}
    h, Z = {+1: np.zeros(tau), -1: np.zeros(tau)}, {+1: np.zeros((d, tau)), -1: np.zeros((d, tau))}
    w, iterates = np.zeros(d), []
    for t, i in enumerate(order):
        x, k, r = X[i], int(y[i]), R[t] / np.sqrt(tau)
        T[k] += 1
        c[k] = c[k] + (x - c[k]) / T[k]
        h[k] = h[k] + (r - h[k]) / T[k]
        Z[k] = Z[k] + np.outer(x, r)
        if T[-k] > 0:
            c_hat = np.outer(c[-k], h[-k])
            if centering == "paper":
                Sw = Z[-k] @ (Z[-k].T @ w) / T[-k] - c_hat @ (c_hat.T @ w)
            else:
                A = Z[-k] - T[-k] * c_hat
                Sw = A @ (A.T @ w) / T[-k]
            u = x - c[-k]
            w = w - eta[t] * (lam * w - k * u + u * (u @ w) + Sw)
        iterates.append(w)
    return np.array(iterates)
