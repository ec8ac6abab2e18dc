"""CBR with FIFO buffers. Khalid, Ray, Chitsaz: Confidence-Weighted Bipartite Ranking (2016)."""

import numpy as np
from scipy.special import ndtri


def scw1(m, v, C, phi):
    """SCW-I (Wang, Zhao, Hoi 2012): return alpha and beta for margin m and variance v."""
    if phi * np.sqrt(v) <= m or v == 0:
        return 0.0, 0.0
    psi, xi = 1 + phi**2 / 2, 1 + phi**2
    alpha = min(C, max(0, (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi)))
    u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
    return alpha, alpha * phi / (np.sqrt(u) + v * alpha * phi)


def cbr(X, y, order, *, C, eta=0.7, N=50) -> np.ndarray:
    """CBR with a full Sigma, from mu = 0 and Sigma = I.

    Each row updates (mu, Sigma) once for every row in the buffer of the other class, from the oldest to the newest,
    with z = y(x - x') and the constant C. A buffer holds the last N rows of its class. Not in the papers at hand,
    which only name it: OAM's frame, FIFO buffers and SCW-I, from memory of its paper. Iterates mu, one row per step.
    """
    phi = ndtri(eta)
    B, mu, Sigma, iterates = {+1: [], -1: []}, np.zeros(X.shape[1]), np.eye(X.shape[1]), []
    for i in order:
        x, k = X[i], int(y[i])
        for other in B[-k]:
            z = k * (x - other)
            Sz = Sigma @ z
            alpha, beta = scw1(mu @ z, z @ Sz, C, phi)
            mu = mu + alpha * Sz
            Sigma = Sigma - beta * np.outer(Sz, Sz)
        B[k] = [*B[k], x][-N:]
        iterates.append(mu)
    return np.array(iterates)


def cbr_diagonal(X, y, order, *, C, eta=0.7, N=50) -> np.ndarray:
    """CBR with a diagonal Sigma: `cbr`, where of the new Sigma only the diagonal is kept."""
    phi = ndtri(eta)
    B, mu, sigma, iterates = {+1: [], -1: []}, np.zeros(X.shape[1]), np.ones(X.shape[1]), []
    for i in order:
        x, k = X[i], int(y[i])
        for other in B[-k]:
            z = k * (x - other)
            alpha, beta = scw1(mu @ z, z @ (sigma * z), C, phi)
            mu = mu + alpha * sigma * z
            sigma = sigma - beta * (sigma * z) ** 2
        B[k] = [*B[k], x][-N:]
        iterates.append(mu)
    return np.array(iterates)
