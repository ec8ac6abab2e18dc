"""SHT-AUC, StoIHT and HSG-HT.

Yang, Zhou, Lei, Ying: Stochastic Hard Thresholding Algorithms for AUC Maximization (2020).
"""

import numpy as np


def H(w, k):
    """Hard thresholding, Eq. (1): keep the k largest |w|; of equal ones the first, so that exactly k are kept."""
    kept = np.argsort(-np.abs(w), kind="stable")[:k]
    out = np.zeros_like(w)
    out[kept] = w[kept]
    return out


def block_rows(n, b):
    """Return the fixed contiguous blocks of b rows; the last one takes the remainder."""
    return np.split(np.arange(n), np.arange(1, n // b) * b)


def sht_auc(X, y, blocks, *, k, b, gamma) -> np.ndarray:
    """SHT-AUC, Algorithm 1, from w = 0, with the gradient of Proposition 1.

    `blocks` holds i_t, the index of the block of each step, drawn uniformly with replacement; b is the size of a
    block. The gradient is the mean over the rows of the block. Iterates, one row per step.

    The gradient in the authors' code is r(1-r) times this one: gamma here is r(1-r) times the step there.
    """
    r, x_pos, x_neg = np.mean(y == 1), X[y == 1].mean(axis=0), X[y == -1].mean(axis=0)
    B, w, iterates = block_rows(len(X), b), np.zeros(X.shape[1]), []
    diff = x_neg - x_pos
    for i_t in blocks:
        g = np.zeros_like(w)
        for i in B[i_t]:
            c = X[i] - (x_pos if y[i] == 1 else x_neg)
            g += 2 / (r if y[i] == 1 else 1 - r) * (w @ c) * c + 2 * diff + 2 * (w @ diff) * diff
        w = H(w - gamma * g / len(B[i_t]), k)
        iterates.append(w)
    return np.array(iterates)


def logistic_gradient(X, y, w, c):
    """Return the gradient in w and c of the mean of log(1 + exp(-y (w.x + c)))."""
    residual = -y / (1 + np.exp(y * (X @ w + c)))
    return X.T @ residual / len(X), residual.mean()


def stoiht(X, y, blocks, *, k, b, gamma) -> np.ndarray:
    """StoIHT (Nguyen, Needell, Woolf 2017) on the logistic loss with an intercept, which is not thresholded.

    `blocks` and b as in `sht_auc`. Blocks are drawn uniformly, so that the step gamma/(M p(i)) of its paper is gamma.
    Not in the papers at hand, which only name it. Iterates (w, intercept) of d + 1 columns, one row per step.
    """
    return _logistic_steps(X, y, [block_rows(len(X), b)[i] for i in blocks], k, gamma)


def hsg_ht(X, y, batches, *, k, gamma=3.0) -> np.ndarray:
    """HSG-HT (Zhou, Yuan, Feng 2018) on the logistic loss with an intercept, which is not thresholded.

    `batches` is a list of arrays of row indices, for example those of `growing_batches`. Not in the papers at hand,
    which only name it. Iterates (w, intercept) of d + 1 columns, one row per step.
    """
    return _logistic_steps(X, y, batches, k, gamma)


def growing_batches(n, *, tau, zeta=1.033):
    """Return the batches of a pass: contiguous rows, floor(tau zeta^t) of them in step t, the last one what is left.

    The authors of SHT-AUC start each pass with tau rows again; the paper of HSG-HT draws the rows at random instead.
    """
    batches, start = [], 0
    while start < n:
        size = int(np.floor(tau * zeta ** len(batches)))
        batches.append(np.arange(start, min(n, start + size)))
        start += size
    return batches


def _logistic_steps(X, y, batches, k, gamma):
    w, c, iterates = np.zeros(X.shape[1]), 0.0, []
    for rows in batches:
        g_w, g_c = logistic_gradient(X[rows], y[rows], w, c)
        w, c = H(w - gamma * g_w, k), c - gamma * g_c
        iterates.append(np.append(w, c))
    return np.array(iterates)
