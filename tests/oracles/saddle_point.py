"""SOLAM, regSOLAM and FSAUC: the square loss of pairs as a saddle point in (w, a, b) and alpha."""

import numpy as np


def gradients(w, a, b, alpha, x, label, p):
    """Return the gradients of F in w, a, b and alpha at one row.

    F = (1-p)(w.x - a)^2 [y=1] + p (w.x - b)^2 [y=-1] + 2(1 + alpha)(p w.x [y=-1] - (1-p) w.x [y=1]) - p(1-p) alpha^2
    is Eq. (6) of Natole, Ying, Lyu (2019) without its penalty.
    """
    s = w @ x
    if label == 1:
        g_w, g_a, g_b = 2 * (1 - p) * (s - a - 1 - alpha) * x, -2 * (1 - p) * (s - a), 0.0
        return g_w, g_a, g_b, -2 * (1 - p) * s - 2 * p * (1 - p) * alpha
    g_w, g_a, g_b = 2 * p * (s - b + 1 + alpha) * x, 0.0, -2 * p * (s - b)
    return g_w, g_a, g_b, 2 * p * s - 2 * p * (1 - p) * alpha


def into_ball(v, center, radius):
    """Return the point nearest to v of the Euclidean ball."""
    distance = np.linalg.norm(v - center)
    return v if distance <= radius else center + (v - center) * (radius / distance)


def into_l1_ball(w, R):
    """Return the point nearest to w of the ball |w|_1 <= R: soft thresholding at the level that makes the norm R."""
    if np.abs(w).sum() <= R:
        return w
    u = np.sort(np.abs(w))[::-1]
    level = (np.cumsum(u) - R) / np.arange(1, len(u) + 1)
    theta = level[np.flatnonzero(u > level)[-1]]
    return np.sign(w) * np.maximum(0, np.abs(w) - theta)


def solam(X, y, order, *, zeta, R, kappa, start=None, averaged=True) -> np.ndarray:
    """SOLAM. Ying, Wen, Lyu: Stochastic Online AUC Maximization (2016), Algorithm 1.

    Step gamma_t = zeta/sqrt(t); the share of positives p is the running one, with the current row. All gradients are
    taken at the old values. kappa bounds the norm of the rows (1 for rows of unit norm). `start` is (w, a, b, alpha),
    zero unless given: the paper takes any feasible point, and the authors' code the corner w = R/sqrt(d), a = b = R,
    alpha = 2R. The result is the average of v_t, the iterate before step t, with weight gamma_t; plain iterates are
    those after the step.

    Corrected: the authors' code keeps a and b below R from above only; here |a|, |b| <= R kappa. Not in the papers at
    hand: from memory of its own listing, checked with the authors' code.
    """
    w, a, b, alpha = (np.zeros(X.shape[1]), 0.0, 0.0, 0.0) if start is None else start
    p, gamma_bar, w_bar = 0.0, 0.0, np.zeros(X.shape[1])
    averages, iterates = [], []
    for t, i in enumerate(order, start=1):
        p = ((t - 1) * p + (y[i] == 1)) / t
        gamma = zeta / np.sqrt(t)
        g_w, g_a, g_b, g_alpha = gradients(w, a, b, alpha, X[i], y[i], p)
        gamma_bar += gamma
        w_bar = w_bar + gamma / gamma_bar * (w - w_bar)
        w = into_ball(w - gamma * g_w, 0.0, R)
        a = np.clip(a - gamma * g_a, -R * kappa, R * kappa)
        b = np.clip(b - gamma * g_b, -R * kappa, R * kappa)
        alpha = np.clip(alpha + gamma * g_alpha, -2 * R * kappa, 2 * R * kappa)
        averages.append(w_bar)
        iterates.append(w)
    return np.array(averages if averaged else iterates)


def reg_solam(X, y, order, *, zeta, lam, kappa, penalty="gradient", start=None, averaged=True) -> np.ndarray:
    """regSOLAM. Natole, Ying, Lyu: Stochastic AUC Optimization Algorithms With Linear Convergence (2019), Section 5.1.

    SOLAM on Eq. (6), whose penalty (lam/2)|w|^2 is in F, with R = sqrt(2/lam). The penalty takes part by its gradient
    lam w (`penalty="gradient"`), or by its proximal step w/(1 + gamma lam) before the projection (`penalty="prox"`).
    On average F is p(1-p)(f - 1) + (lam/2)|w|^2 with f the mean square loss of pairs, so the limit minimises p(1-p) f
    + (lam/2)|w|^2, and not problem (3) of the paper, f + (lam/2)|w|^2. The text has no listing: the rest is `solam`.
    """
    w, a, b, alpha = (np.zeros(X.shape[1]), 0.0, 0.0, 0.0) if start is None else start
    R = np.sqrt(2 / lam)
    p, gamma_bar, w_bar = 0.0, 0.0, np.zeros(X.shape[1])
    averages, iterates = [], []
    for t, i in enumerate(order, start=1):
        p = ((t - 1) * p + (y[i] == 1)) / t
        gamma = zeta / np.sqrt(t)
        g_w, g_a, g_b, g_alpha = gradients(w, a, b, alpha, X[i], y[i], p)
        gamma_bar += gamma
        w_bar = w_bar + gamma / gamma_bar * (w - w_bar)
        if penalty == "prox":
            w = into_ball((w - gamma * g_w) / (1 + gamma * lam), 0.0, R)
        else:
            w = into_ball(w - gamma * (g_w + lam * w), 0.0, R)
        a = np.clip(a - gamma * g_a, -R * kappa, R * kappa)
        b = np.clip(b - gamma * g_b, -R * kappa, R * kappa)
        alpha = np.clip(alpha + gamma * g_alpha, -2 * R * kappa, 2 * R * kappa)
        averages.append(w_bar)
        iterates.append(w)
    return np.array(averages if averaged else iterates)


def fsauc_stages(T):
    """Return the number of stages of T steps, and the steps of a stage."""
    m = max(1, int(np.floor(0.5 * np.log2(2 * T / np.log2(T)))) - 1)
    return m, T // m


def fsauc_next_stage(p, n0, R, r, delta):
    """Return D and beta of the next stage, whose radius is r."""
    L, q = np.log(12 / delta), min(p, 1 - p)
    under_root, denominator = q * n0 - np.sqrt(2 * n0 * L), q - np.sqrt(2 * L / n0)
    D = 2 * np.sqrt(2) * r + 12 * np.sqrt(2) * (2 + np.sqrt(2 * L)) * R / np.sqrt(under_root) if under_root > 0 else 1e7
    beta = 9 + 288 * (2 + np.sqrt(2 * L)) ** 2 / denominator if denominator > 0 else 1e7
    return D, beta


def fsauc(X, y, order, *, R, eta, delta=0.1, averaged=True, lengths=None) -> np.ndarray:
    """FSAUC. Liu, Zhang, Chen, Wang, Yang: Fast Stochastic AUC Maximization with O(1/n)-Convergence Rate (2018).

    Stages of SOLAM with half its gradients on an l1 ball, kappa = 1: each restarts at the average of the last one, in
    a ball of half the radius. The share of positives p and the class means are running ones over all rows seen, with
    the current row. Not in the papers at hand: stages, constants and averages are those of the authors' code. The
    result is the average of the new iterates of the running stage. T - m n0 rows at the end of `order` are not used.
    Stages can have other `lengths`.
    """
    m, n0 = fsauc_stages(len(order))
    ends = np.cumsum(lengths or [n0] * m)
    d = X.shape[1]
    v1, alpha1, r, beta = np.zeros(d + 2), 0.0, 2 * np.sqrt(3) * R, 9.0
    D = 2 * np.sqrt(2) * r
    count, total = {+1: 0, -1: 0}, {+1: np.zeros(d), -1: np.zeros(d)}
    averages, iterates = [], []
    for begin, end in zip([0, *ends], ends, strict=False):
        n0 = end - begin
        v, alpha, v_sum = v1, alpha1, np.zeros(d + 2)
        for i in order[begin:end]:
            count[int(y[i])] += 1
            total[int(y[i])] = total[int(y[i])] + X[i]
            p = count[+1] / (count[+1] + count[-1])
            g_w, g_a, g_b, g_alpha = gradients(v[:d], v[d], v[d + 1], alpha, X[i], y[i], p)
            v = v - eta * np.concatenate([g_w, [g_a, g_b]]) / 2
            alpha = np.clip(alpha + eta * g_alpha / 2, -2 * R, 2 * R)
            v = np.concatenate([into_l1_ball(v[:d], R), np.clip(v[d:], -R, R)])
            v = into_ball(v, v1, r)
            alpha = np.clip(alpha, alpha1 - D, alpha1 + D)
            v_sum = v_sum + v
            averages.append(v_sum[:d] / (len(averages) - begin + 1))
            iterates.append(v[:d])
        r = r / 2
        D, new_beta = fsauc_next_stage(p, n0, R, r, delta)
        eta, beta = min(eta * np.sqrt(new_beta / beta) / 2, eta), new_beta
        v1 = v_sum / n0
        alpha1 = (total[-1] / max(1, count[-1]) - total[+1] / max(1, count[+1])) @ v1[:d]
    return np.array(averages if averaged else iterates)
