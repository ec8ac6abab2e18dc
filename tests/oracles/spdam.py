"""SPDAM. Natole, Ying, Lyu: Stochastic AUC Optimization Algorithms With Linear Convergence (2019)."""

import numpy as np
from scipy.optimize import brentq


def paired_rows(X, y):
    """Return the rows x^_i of Eq. (12), corrected, and b = m- - m+."""
    m = {k: X[y == k].mean(axis=0) for k in (+1, -1)}
    x_hat = np.array([(x - m[k]) / np.sqrt(np.mean(y == k)) for x, k in zip(X, y, strict=True)])
    return x_hat, m[-1] - m[+1]


def step_sizes(n, m, kappa, lam):
    """Return sigma, tau and theta of Theorem 4.1 for batches of m of n rows of norm at most kappa.

    Corrected: sigma is the positive root of Eq. (23) (whose 1 + 1/(2 sigma) means 1/m + 1/(2 sigma m)); the printed one
    lacks the factor 2 lam.
    """
    sigma = lam * ((n - m) + np.sqrt((n - m) ** 2 + 4 * n * m * kappa**2 / lam)) / (4 * m * kappa**2)
    return sigma, 1 / (4 * sigma * kappa**2), 1 - lam / (lam + 2 * sigma * kappa**2)


def in_ball(A, c, R):
    """Return the minimiser of w'Aw/2 - c.w over |w| <= R."""
    e, U = np.linalg.eigh(A)
    z = U.T @ c
    excess = lambda mu: np.linalg.norm(z / (e + mu)) - R  # noqa: E731
    mu = 0.0 if excess(0.0) <= 0 else brentq(excess, 0.0, np.linalg.norm(c) / R, xtol=1e-15, rtol=1e-15)
    return U @ (z / (e + mu))


def spdam(X, y, batches, *, lam, steps=None, R=np.inf) -> np.ndarray:
    """SPDAM, Table 1, from beta = 0 and w = 0.

    `batches` has shape (T, m): row t holds the rows of the batch I, drawn without replacement. `steps` is
    (sigma, tau, theta); None means those of Theorem 4.1, with kappa the largest norm of the x^_i. The limit minimises
    f/2 + (lam/2)|w|^2 with f the mean square loss of pairs, over the ball |w| <= R of Eq. (11). Iterates w, one row per
    step.

    Corrected: x^ divides by sqrt(p_y), not sqrt(2 p_y), which does not match the conjugate |beta|^2/2; the 1/n of Eq.
    (13) is before the sum of both terms; the updates of Table 1 mean x^_i where they print x_i.
    """
    x_hat, b = paired_rows(X, y)
    n, m = len(X), batches.shape[1]
    sigma, tau, theta = step_sizes(n, m, np.linalg.norm(x_hat, axis=1).max(), lam) if steps is None else steps
    beta, w = np.zeros(n), np.zeros(X.shape[1])
    w_bar, u = w, x_hat.T @ beta / n
    iterates = []
    for batch in batches:
        new_beta = beta.copy()
        new_beta[batch] = (beta[batch] + sigma * x_hat[batch] @ w_bar) / (1 + sigma)
        new_u = u + x_hat[batch].T @ (new_beta[batch] - beta[batch]) / n
        u_bar = u + n / m * (new_u - u)
        new_w = in_ball(np.outer(b, b) + (lam + 1 / tau) * np.eye(len(b)), w / tau - u_bar - b, R)
        w_bar = new_w + theta * (new_w - w)
        beta, u, w = new_beta, new_u, new_w
        iterates.append(w)
    return np.array(iterates)
