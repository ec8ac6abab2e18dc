"""ASAM and PSAM: pairs drawn at random. Khalid, Chitsaz, Ray: Proximal Stochastic AUC Maximization."""

import numpy as np


def bottou_t0(lam):
    """Bottou's rule: with typw = lam^(-1/4) and eta0 = typw/max(1, |l'(-typw)|), the first step 1/(lam t0) is eta0."""
    typw = lam**-0.25
    eta0 = typw / max(1, abs(np.clip(-typw - 1, -1, 0)))
    return 1 / (eta0 * lam)


def asam(X, pairs, *, lam, t0, rskip=16, askip=16, averaged=True) -> np.ndarray:
    """ASAM (Khalid, Ray, Chitsaz 2018), as the paper's Section III gives its loss and its steps.

    `pairs` has shape (T, 2): row t is i_t, a positive row of X, and j_t, a negative one. The step is w - l'(w.z)
    z/(lam (t + t0)) with l' = clip(w.z - 1, -1, 0), without any cap. Regularisation and averaging are those of
    Algorithm 1: `psam`. The result is w~, zero before the first average.
    """
    return _scheduled(X, pairs, lam, t0, rskip, askip, averaged, lambda u, zz, step: step * -np.clip(u - 1, -1, 0))


def psam(X, pairs, *, gamma, t0, rskip=16, askip=16, averaged=True) -> np.ndarray:
    """PSAM, Algorithm 1, with the proximal step of the appendix. `pairs` and the result as in `asam`.

    Corrected: the recursion of Section III.B applies the step to prox(w) instead of w; Algorithm 1 has w = prox(w).
    """
    return _scheduled(X, pairs, gamma, t0, rskip, askip, averaged, lambda u, zz, step: min(step, max(0, 1 - u) / zz))


def _scheduled(X, pairs, gamma, t0, rskip, askip, averaged, length):
    """Algorithm 1, with `length(w.x_t, |x_t|^2, lam_t)` for the length of the step along x_t; equal rows make none."""
    rcount, acount, q = rskip, askip, 0
    w, w_tilde = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    averages, iterates = [], []
    for t, (i, j) in enumerate(pairs, start=1):
        x = X[i] - X[j]
        lam_t = 1 / (gamma * (t + t0))
        if x @ x > 0:
            w = w + length(w @ x, x @ x, lam_t) * x
        rcount -= 1
        if rcount <= 0:
            w = w - rskip / (t + t0) * w
            rcount = rskip
        acount -= 1
        if acount <= 0:
            w_tilde = (q * w_tilde + w) / (q + 1)
            q += 1
            acount = askip
        averages.append(w_tilde)
        iterates.append(w)
    return np.array(averages if averaged else iterates)
