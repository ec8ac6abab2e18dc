"""SPAM with three penalties. Natole, Ying, Lyu: Stochastic Proximal Algorithms for AUC Maximization (2018)."""

import numpy as np


def spam(X, y, order, *, C, beta1=0.0, beta2=0.0, averaged=True) -> np.ndarray:
    """SPAM, Algorithm 1, with the penalty Omega(w) = (beta1/2)|w|^2 + beta2 |w|_1.

    SPAM-l2 has beta2 = 0, SPAM-l1 beta1 = 0, and SPAM-l1/l2 (the elastic net) neither. Share of positives and class
    means are those of all of X. Step eta_t = C/sqrt(t). The limit minimises p(1-p) f + Omega with f the mean square
    loss of pairs. The result is the plain average of the new iterates, as in the authors' code; the code of Yang et
    al. (2020) takes the last one.

    Corrected: alpha = b - a (a - b biases the gradient). Not in the papers at hand: from memory of its own listing,
    checked with the authors' code.
    """
    p, m_pos, m_neg = np.mean(y == 1), X[y == 1].mean(axis=0), X[y == -1].mean(axis=0)
    w, w_bar = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    averages, iterates = [], []
    for t, i in enumerate(order, start=1):
        eta = C / np.sqrt(t)
        a, b = w @ m_pos, w @ m_neg
        alpha, s = b - a, w @ X[i]
        g = 2 * (1 - p) * (s - a - 1 - alpha) * X[i] if y[i] == 1 else 2 * p * (s - b + 1 + alpha) * X[i]
        u = w - eta * g
        w = np.sign(u) * np.maximum(0, np.abs(u) - eta * beta2) / (1 + eta * beta1)
        w_bar = w_bar + (w - w_bar) / t
        averages.append(w_bar)
        iterates.append(w)
    return np.array(averages if averaged else iterates)
