"""Gaussian AUC and Gaussian error by gradient descent.

Ghanbari, Scheinberg: Directly and Efficiently Optimizing Prediction Error and AUC of Linear Classifiers (2018).
"""

import numpy as np
from scipy.special import ndtr


def class_moments(X, y):
    """Return the mean, covariance (divided by the class count) and share of the positives, and of the negatives."""
    return [
        (X[y == k].mean(axis=0), np.cov(X[y == k].T, bias=True).reshape(2 * X.shape[1:]), np.mean(y == k))
        for k in (1, -1)
    ]


def start(mu_pos, mu_neg):
    """Section 4: the part of mu+ orthogonal to mu-, normalised; it is 0/0 where the means are parallel."""
    w = mu_pos - (mu_neg @ mu_pos) / (mu_neg @ mu_neg) * mu_neg
    return w / np.linalg.norm(w)


def phi_and_gradient(w, mu, Sigma):
    """Lemma 2: phi(w.mu/sqrt(w'Sigma w)) and its gradient in w."""
    mu_Z, sigma_Z = w @ mu, np.sqrt(w @ Sigma @ w)
    density = np.exp(-0.5 * (mu_Z / sigma_Z) ** 2) / np.sqrt(2 * np.pi)
    return ndtr(mu_Z / sigma_Z), density * (sigma_Z * mu - mu_Z / sigma_Z * (Sigma @ w)) / sigma_Z**2


def F_error(w, positives, negatives):
    """Theorems 2 and 3: the error of sign(w.x), and its gradient."""
    (mu_pos, Sigma_pos, P_pos), (mu_neg, Sigma_neg, P_neg) = positives, negatives
    phi_pos, g_pos = phi_and_gradient(w, mu_pos, Sigma_pos)
    phi_neg, g_neg = phi_and_gradient(w, mu_neg, Sigma_neg)
    return P_pos * (1 - phi_pos) + P_neg * phi_neg, P_neg * g_neg - P_pos * g_pos


def F_auc(w, positives, negatives, Sigma_cross=0.0):
    """Theorems 6 and 7: 1 - AUC, and its gradient. Sigma_cross is Sigma+-, 0 if rows of the classes are independent.

    Corrected: with mu^ = mu- - mu+, 1 - AUC is phi(mu_Z/sigma_Z); the printed 1 - phi(mu_Z/sigma_Z) is the AUC.
    """
    (mu_pos, Sigma_pos, _), (mu_neg, Sigma_neg, _) = positives, negatives
    return phi_and_gradient(w, mu_neg - mu_pos, Sigma_neg + Sigma_pos - np.transpose(Sigma_cross) - Sigma_cross)


def F_log(w, X, y, lam):
    """(3) with lam/2 |w|^2: the mean logistic loss of single rows, and its gradient."""
    margins = y * (X @ w)
    slopes = -y / (1 + np.exp(margins)) / len(y)
    return np.mean(np.log1p(np.exp(-margins))) + lam / 2 * w @ w, slopes @ X + lam * w


def F_hinge(w, X, y):
    """(6), with the sign of the margins corrected, and its gradient: the mean over all pairs."""
    Z = (X[y == 1][:, None] - X[y == -1]).reshape(-1, X.shape[1])
    return np.mean(np.maximum(0, 1 - Z @ w)), -((Z @ w < 1) @ Z) / len(Z)


def descend(F, w, *, c=1e-4, beta=0.5, alpha0=1.0, tol=1e-7, max_iter=250) -> np.ndarray:
    """Algorithm 1: gradient descent, the step multiplied by beta from alpha0 on until the decrease is enough.

    Iterates, one row per step, w0 first.

    Corrected: a trial is refused while F(trial) > F(w) - c alpha |grad|^2 (printed with +); w_{k-1} and w_k of the
    listing are both the current w.
    """
    value, g = F(w)
    first, iterates = np.linalg.norm(g), [w]
    while np.linalg.norm(g) >= tol * first and len(iterates) <= max_iter:
        alpha = alpha0
        while F(w - alpha * g)[0] > value - c * alpha * (g @ g):
            alpha *= beta
        w = w - alpha * g
        value, g = F(w)
        iterates.append(w)
    return np.array(iterates)


def gaussian_error(X, y, *, w0=None, **options) -> np.ndarray:
    """Minimise F_error with the moments of X by `descend`, from `start` unless w0 is given."""
    positives, negatives = class_moments(X, y)
    w0 = start(positives[0], negatives[0]) if w0 is None else w0
    return descend(lambda w: F_error(w, positives, negatives), w0, **options)


def gaussian_auc(X, y, *, w0=None, Sigma_cross=0.0, **options) -> np.ndarray:
    """Minimise F_AUC with the moments of X by `descend`, from `start` unless w0 is given."""
    positives, negatives = class_moments(X, y)
    w0 = start(positives[0], negatives[0]) if w0 is None else w0
    return descend(lambda w: F_auc(w, positives, negatives, Sigma_cross), w0, **options)


def left_out_auc(X, y, *, alpha, pooled=False) -> float:
    """Return the Gaussian AUC of rows left out one by one, each scored from the middle of the other rows' class means.

    The weights are (T + alpha I)^-1 (mu+ - mu-) without the row, with T = Sigma+ + Sigma-, or twice the pooled
    covariance.
    """
    scores = np.empty(len(y))
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        (mu_pos, S_pos, P_pos), (mu_neg, S_neg, P_neg) = class_moments(X[others], y[others])
        T = 2 * (P_pos * S_pos + P_neg * S_neg) if pooled else S_pos + S_neg
        w = np.linalg.solve(T + alpha * np.eye(len(T)), mu_pos - mu_neg)
        scores[i] = (X[i] - (mu_pos + mu_neg) / 2) @ w
    gap = scores[y == 1].mean() - scores[y == -1].mean()
    return ndtr(gap / np.sqrt(scores[y == 1].var() + scores[y == -1].var()))
