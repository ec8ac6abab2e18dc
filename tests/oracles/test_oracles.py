"""The oracles themselves: pairs by brute force, finite differences, known minimisers, limit cases."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from oracles import cbr, gaussian, hard_thresholding, oam, opauc, pair_sampling, saddle_point, spam, spdam, univariate


def problem(n=24, d=3, seed=0, shift=1.0):
    """Rows that are not centred, a third of them positive."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1, -1)
    X = 0.3 + 0.5 * rng.standard_normal((n, d))
    X[y == 1, 0] += shift
    X[y == 1, 1] -= 0.5 * shift
    return X, y


def passes(n, number, seed=0):
    """Return the order of several passes, each shuffled."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(n) for _ in range(number)])


def pairs_of(X, y):
    return (X[y == 1][:, None] - X[y == -1][None]).reshape(-1, X.shape[1])


def square_minimiser(X, y, lam):
    """Return the minimiser of the mean of (1 - w.z)^2/2 over all pairs plus (lam/2)|w|^2."""
    Z = pairs_of(X, y)
    return np.linalg.solve(Z.T @ Z / len(Z) + lam * np.eye(X.shape[1]), Z.mean(axis=0))


def slope(F, w, h=1e-6):
    """Return the gradient of F at w by central differences."""
    return np.array([(F(w + h * e) - F(w - h * e)) / (2 * h) for e in np.eye(len(w))])


def before(W):
    """Return the iterates before each step."""
    return np.vstack([np.zeros(W.shape[1]), W[:-1]])


# OPAUC, OPAUCr


def opauc_gradient(X, y, seen, i, w, lam):
    """Return the gradient of L_t at w: the mean over the earlier rows of the other class, as a plain loop."""
    Z = [y[i] * (X[i] - X[j]) for j in seen if y[j] != y[i]]
    return lam * w - np.mean([(1 - w @ z) * z for z in Z], axis=0) if Z else np.zeros_like(w)


def test_opauc_steps_along_the_mean_gradient_of_earlier_pairs():
    X, y = problem()
    order, eta, lam = passes(len(X), 2), 0.05, 0.1
    W = opauc.opauc(X, y, order, eta=eta, lam=lam)
    steps = [opauc_gradient(X, y, order[:t], i, w, lam) for t, (i, w) in enumerate(zip(order, before(W), strict=True))]
    np.testing.assert_allclose(W, before(W) - eta * np.array(steps), atol=1e-13)
    assert np.abs(W[-1]).max() > 0.1


def test_opauc_r_of_full_rank_is_opauc():
    X, y = problem()
    order = passes(len(X), 2)
    full_rank = np.sqrt(len(order)) * np.eye(len(order))
    expected = opauc.opauc(X, y, order, eta=0.05, lam=0.1)
    np.testing.assert_allclose(opauc.opauc_r(X, y, order, full_rank, eta=0.05, lam=0.1), expected, atol=1e-13)


def test_the_printed_centring_of_opauc_r_leaves_most_of_the_mean():
    # With R R' = I, |h|^2 is 1/T exactly, so S^ exceeds the covariance by (1 - 1/T) c c'.
    X, y = problem()
    order, eta, lam = passes(len(X), 1), 0.05, 0.1
    R = np.sqrt(len(order)) * np.eye(len(order))
    W = opauc.opauc_r(X, y, order, R, eta=eta, lam=lam, centering="paper")
    for t, (i, w, new) in enumerate(zip(order, before(W), W, strict=True)):
        seen = [j for j in order[:t] if y[j] != y[i]]
        c = X[seen].mean(axis=0) if seen else np.zeros(X.shape[1])
        excess = (1 - 1 / max(1, len(seen))) * c * (c @ w)
        np.testing.assert_allclose(new, w - eta * (opauc_gradient(X, y, order[:t], i, w, lam) + excess), atol=1e-13)


def test_opauc_r_sketches_the_covariance_without_bias():
    # One step from a fixed state: negatives first, then two positives, the second of which reads the sketch.
    rng = np.random.default_rng(0)
    X, y = 3 + rng.standard_normal((12, 2)), np.r_[-np.ones(10), 1, 1]
    order = np.arange(12)
    ends = [opauc.opauc_r(X, y, order, rng.standard_normal((12, 5)), eta=0.1, lam=0.0)[-1] for _ in range(600)]
    exact = opauc.opauc(X, y, order, eta=0.1, lam=0.0)[-1]
    error = np.std(ends, axis=0) / np.sqrt(len(ends))
    assert np.all(np.abs(np.mean(ends, axis=0) - exact) < 4 * error)
    assert np.all(error < 0.01)


# SOLAM, regSOLAM, FSAUC, SPAM


def saddle_function(v, alpha, x, label, p):
    """Return F of Eq. (6) of Natole et al. (2019) without its penalty, for v = (w, a, b)."""
    s, a, b = v[:-2] @ x, v[-2], v[-1]
    square = (1 - p) * (s - a) ** 2 if label == 1 else p * (s - b) ** 2
    return square + 2 * (1 + alpha) * (-(1 - p) * s if label == 1 else p * s) - p * (1 - p) * alpha**2


@pytest.mark.parametrize("label", [1, -1])
def test_saddle_gradients_are_those_of_the_saddle_function(label):
    x, v, alpha, p = np.array([0.3, -1.2]), np.array([0.5, 0.4, -0.7, 0.2]), 0.6, 0.3
    g_w, g_a, g_b, g_alpha = saddle_point.gradients(v[:2], v[2], v[3], alpha, x, label, p)
    expected = slope(lambda v: saddle_function(v, alpha, x, label, p), v)
    np.testing.assert_allclose([*g_w, g_a, g_b], expected, atol=1e-8)
    (in_alpha,) = slope(lambda alpha: saddle_function(v, alpha[0], x, label, p), np.array([alpha]))
    assert g_alpha == pytest.approx(in_alpha, abs=1e-8)


def test_saddle_gradients_vanish_on_average_at_the_minimiser_of_the_square_loss():
    X, y = problem()
    w = square_minimiser(X, y, 0.0)
    a, b = w @ X[y == 1].mean(axis=0), w @ X[y == -1].mean(axis=0)
    all_rows = [saddle_point.gradients(w, a, b, b - a, x, k, np.mean(y == 1)) for x, k in zip(X, y, strict=True)]
    for parts in zip(*all_rows, strict=True):
        np.testing.assert_allclose(np.mean(parts, axis=0), 0, atol=1e-13)


def relative_distance(w, target):
    return np.linalg.norm(w - target) / np.linalg.norm(target)


def assert_tends_to(W, target):
    """The error is small, and falls at least to half in eight times the steps: 1/sqrt(T) would be 0.35."""
    middle, last = (relative_distance(w, target) for w in (W[len(W) // 8], W[-1]))
    assert last < 0.03
    assert last < middle / 2


def test_solam_tends_to_the_minimiser_of_the_square_loss():
    X, y = problem()
    W = saddle_point.solam(X, y, passes(len(X), 700), zeta=1.0, R=20.0, kappa=3.0)
    assert_tends_to(W, square_minimiser(X, y, 0.0))


@pytest.mark.parametrize("penalty", ["gradient", "prox"])
def test_reg_solam_tends_to_the_minimiser_with_the_penalty(penalty):
    X, y = problem()
    lam, p = 0.1, np.mean(y == 1)
    order = passes(len(X), 400)
    W = saddle_point.reg_solam(X, y, order, zeta=1.0, lam=lam, kappa=3.0, penalty=penalty)
    assert_tends_to(W, square_minimiser(X, y, lam / (2 * p * (1 - p))))
    assert relative_distance(W[-1], square_minimiser(X, y, lam / 2)) > 0.2


def test_solam_stays_in_its_sets_and_averages_with_the_steps():
    X, y = problem()
    order = passes(len(X), 2)
    W = saddle_point.solam(X, y, order, zeta=1.0, R=0.3, kappa=3.0, averaged=False)
    norms = np.linalg.norm(W, axis=1)
    assert norms.max() == pytest.approx(0.3)
    gamma = 1 / np.sqrt(np.arange(1, len(W) + 1))
    averages = np.cumsum(gamma[:, None] * before(W), axis=0) / np.cumsum(gamma)[:, None]
    np.testing.assert_allclose(saddle_point.solam(X, y, order, zeta=1.0, R=0.3, kappa=3.0), averages, atol=1e-13)


def test_into_ball_is_on_the_way_to_its_centre():
    center, v = np.array([1.0, 2.0]), np.array([4.0, 6.0])
    np.testing.assert_allclose(saddle_point.into_ball(v, center, 2.5), [2.5, 4.0])
    np.testing.assert_array_equal(saddle_point.into_ball(v, center, 5.1), v)


def test_into_l1_ball_is_the_nearest_point():
    # The nearest point v to w of a convex set: (w - v).(u - v) <= 0 for all u of the set, here its corners.
    w = np.array([0.9, -0.4, 0.05, 2.0])
    v = saddle_point.into_l1_ball(w, 1.5)
    assert np.abs(v).sum() == pytest.approx(1.5)
    corners = 1.5 * np.vstack([np.eye(4), -np.eye(4)])
    assert np.all((corners - v) @ (w - v) <= 1e-12)
    np.testing.assert_array_equal(saddle_point.into_l1_ball(w, 4.0), w)


def test_fsauc_tends_to_the_minimiser_of_the_square_loss_in_a_wide_ball():
    X, y = problem()
    order, target = passes(len(X), 400), square_minimiser(X, y, 0.0)
    W = saddle_point.fsauc(X, y, order, R=20.0, eta=0.05)
    assert relative_distance(W[-1], target) < 0.03
    # Of the first of four stages with a constant step, the average of fewer steps is worse.
    assert relative_distance(W[len(W) // 64], target) > 0.1


def test_fsauc_stays_in_the_l1_ball_and_averages_each_stage():
    X, y = problem()
    order = passes(len(X), 50)
    m, n0 = saddle_point.fsauc_stages(len(order))
    assert (m, n0) == (2, 600)
    W = saddle_point.fsauc(X, y, order, R=0.5, eta=0.5, averaged=False)
    assert len(W) == m * n0
    assert np.abs(W).sum(axis=1).max() == pytest.approx(0.5)
    averages = saddle_point.fsauc(X, y, order, R=0.5, eta=0.5)
    np.testing.assert_allclose(averages[n0 - 1 :: n0], W.reshape(m, n0, -1).mean(axis=1), atol=1e-13)


def test_fsauc_restarts_at_the_average_of_the_stage():
    X, y = problem()
    order = passes(len(X), 50)
    W, averages = (saddle_point.fsauc(X, y, order, R=20.0, eta=0.01, averaged=averaged) for averaged in (False, True))
    n0 = saddle_point.fsauc_stages(len(order))[1]
    last_step = np.linalg.norm(W[n0 - 1] - W[n0 - 2])
    assert np.linalg.norm(W[n0] - averages[n0 - 1]) < 5 * last_step
    assert np.linalg.norm(W[n0 - 1] - averages[n0 - 1]) > 10 * last_step


def test_fsauc_constants_of_a_stage():
    # delta = 12/e^2 makes L = 2: for n0 = 1600 and q = 1/2 the root is of 800 - 80, and the denominator is 0.45.
    delta, R, r = 12 / np.exp(2), 3.0, 0.7
    D, beta = saddle_point.fsauc_next_stage(0.5, 1600, R, r, delta)
    assert pytest.approx(2 * np.sqrt(2) * r + 48 * np.sqrt(2) * R / np.sqrt(720)) == D
    assert beta == pytest.approx(9 + 288 * 16 / 0.45)
    assert saddle_point.fsauc_next_stage(0.5, 10, R, r, delta) == (1e7, 1e7)


def test_spam_l2_tends_to_the_minimiser_with_the_penalty():
    X, y = problem()
    p, beta = np.mean(y == 1), 0.1
    W = spam.spam(X, y, passes(len(X), 400), C=0.3, beta1=beta)
    assert_tends_to(W, square_minimiser(X, y, beta / (2 * p * (1 - p))))


@pytest.mark.parametrize("beta1", [0.0, 0.1])
def test_spam_l1_tends_to_a_point_that_meets_the_optimality_condition(beta1):
    X, y = problem()
    p, beta2, Z = np.mean(y == 1), 0.05, pairs_of(X, y)
    w = spam.spam(X, y, passes(len(X), 400), C=1.0, beta1=beta1, beta2=beta2)[-1]
    g = -2 * p * (1 - p) * ((1 - Z @ w) @ Z) / len(Z) + beta1 * w
    large = np.abs(w) > 0.1
    assert large.any()
    assert not large.all()
    np.testing.assert_allclose(g[large], -beta2 * np.sign(w[large]), atol=0.01)
    assert np.all(np.abs(g[~large]) < beta2 + 0.01)


def test_one_step_of_spam_solves_the_proximal_problem():
    X, y = problem()
    C, beta1, beta2 = 0.5, 0.3, 0.5
    w = spam.spam(X, y, [0], C=C, beta1=beta1, beta2=beta2, averaged=False)[0]
    u = C * 2 * (1 - np.mean(y == 1)) * X[0]  # -eta g at w = 0, for a positive
    assert y[0] == 1
    assert np.any(w == 0)
    assert np.any(w != 0)
    residual = (u - w - C * beta1 * w) / (C * beta2)  # a subgradient of |w|_1
    np.testing.assert_allclose(residual[w != 0], np.sign(w[w != 0]), atol=1e-12)
    assert np.all(np.abs(residual) <= 1 + 1e-12)


# SPDAM


def test_spdam_steps_solve_the_conditions_of_the_theorem():
    n, m, kappa, lam = 50, 5, 1.7, 0.03
    sigma, tau, theta = spdam.step_sizes(n, m, kappa, lam)
    assert 1 / m + 1 / (2 * sigma * m) - 1 / n == pytest.approx(theta * (1 / m + 1 / (2 * sigma * m)))
    assert 1 / (2 * tau) == pytest.approx(theta * (lam + 1 / (2 * tau)))
    assert tau == pytest.approx(1 / (4 * sigma * kappa**2))


def test_the_second_step_of_spdam_minimises_its_subproblem():
    # The first step starts from beta = 0, so the second is the first with a dual update, at w_bar = (1 + theta) w.
    X, y = problem()
    batches, lam = np.array([[0, 1, 2], [3, 4, 9]]), 0.1
    x_hat, b = spdam.paired_rows(X, y)
    sigma, tau, theta = spdam.step_sizes(len(X), 3, max(np.sqrt(x @ x) for x in x_hat), lam)
    w, new = spdam.spdam(X, y, batches, lam=lam)
    beta = [sigma / (1 + sigma) * (1 + theta) * w @ x_hat[i] for i in batches[1]]
    u_bar = beta @ x_hat[batches[1]] / 3

    def subproblem(v):
        return u_bar @ v + (b @ v) ** 2 / 2 + b @ v + lam / 2 * v @ v + (v - w) @ (v - w) / (2 * tau)

    np.testing.assert_allclose(slope(subproblem, new), 0, atol=1e-8)


def test_spdam_converges_linearly_to_the_minimiser():
    X, y = problem()
    rng = np.random.default_rng(0)
    batches = np.array([rng.permutation(len(X))[:6] for _ in range(800)])
    W = spdam.spdam(X, y, batches, lam=0.1)
    errors = [relative_distance(W[t], square_minimiser(X, y, 0.1)) for t in (0, 100, 200, 300, 799)]
    assert np.all(np.diff(np.log(errors[:4])) < -1)
    assert errors[-1] < 1e-13


# SHT-AUC, StoIHT, HSG-HT


def test_hard_thresholding_keeps_exactly_k():
    np.testing.assert_array_equal(hard_thresholding.H(np.array([1.0, -3, 2, 0]), 2), [0, -3, 2, 0])
    np.testing.assert_array_equal(hard_thresholding.H(np.array([1.0, -1, 1, 1]), 2), [1, -1, 0, 0])


def test_hard_thresholding_blocks_are_contiguous():
    blocks = hard_thresholding.block_rows(11, 3)
    assert [list(rows) for rows in blocks] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9, 10]]


def test_sht_auc_with_one_block_is_gradient_descent_on_pairs():
    X, y = problem()
    Z = pairs_of(X, y)
    w, gamma = np.zeros(3), 0.05
    for iterate in hard_thresholding.sht_auc(X, y, np.zeros(20, dtype=int), k=2, b=len(X), gamma=gamma):
        g = slope(lambda w: np.mean((1 - Z @ w) ** 2), w)
        w = hard_thresholding.H(w - gamma * g, 2)
        np.testing.assert_allclose(iterate, w, atol=1e-7)


def test_gradients_of_equal_blocks_have_the_mean_of_the_whole():
    X, y = problem()
    whole = hard_thresholding.sht_auc(X, y, [0], k=3, b=24, gamma=0.05)[0]
    parts = [hard_thresholding.sht_auc(X, y, [i], k=3, b=6, gamma=0.05)[0] for i in range(4)]
    np.testing.assert_allclose(np.mean(parts, axis=0), whole, atol=1e-13)


def test_thresholded_iterates_have_at_most_k_nonzeros():
    X, y = problem(d=8)
    blocks = np.random.default_rng(0).integers(0, 4, 40)
    batches = hard_thresholding.growing_batches(len(X), tau=2, zeta=1.5)
    for W in (
        hard_thresholding.sht_auc(X, y, blocks, k=3, b=6, gamma=0.05),
        hard_thresholding.stoiht(X, y, blocks, k=3, b=6, gamma=0.5)[:, :-1],
        hard_thresholding.hsg_ht(X, y, batches, k=3)[:, :-1],
    ):
        assert np.all(np.count_nonzero(W, axis=1) == 3)


def test_stoiht_descends_the_logistic_loss_of_the_block():
    X, y = problem()
    blocks, k, b = np.array([2, 0, 1, 0]), 2, 7
    v = np.zeros(4)
    for i, iterate in zip(blocks, hard_thresholding.stoiht(X, y, blocks, k=k, b=b, gamma=0.5), strict=True):
        rows = np.arange(b * i, len(X) if i == 2 else b * i + b)
        g = slope(lambda v, rows=rows: np.mean(np.log1p(np.exp(-y[rows] * (X[rows] @ v[:-1] + v[-1])))), v)
        v = v - 0.5 * g
        v[:-1] = hard_thresholding.H(v[:-1], k)
        np.testing.assert_allclose(iterate, v, atol=1e-8)


def test_hsg_ht_grows_its_batches_and_uses_every_row_once():
    batches = hard_thresholding.growing_batches(100, tau=3, zeta=1.5)
    assert [len(rows) for rows in batches] == [3, 4, 6, 10, 15, 22, 34, 6]
    np.testing.assert_array_equal(np.concatenate(batches), np.arange(100))


def test_hsg_ht_with_all_rows_is_stoiht_with_one_block():
    X, y = problem()
    batches = [np.arange(len(X))] * 5
    expected = hard_thresholding.stoiht(X, y, np.zeros(5, dtype=int), k=2, b=len(X), gamma=3.0)
    np.testing.assert_array_equal(hard_thresholding.hsg_ht(X, y, batches, k=2), expected)


# OAM, CBR


def test_oam_gradients_with_full_buffers_descend_the_hinge_of_earlier_pairs():
    X, y = problem()
    order, C = passes(len(X), 1), 0.1
    W = oam.oam_gra(X, y, order, np.full(len(X), -1), C=C, N=len(X))
    for t, (i, w, new) in enumerate(zip(order, before(W), W, strict=True)):
        Z = [y[i] * (X[i] - X[j]) for j in order[:t] if y[j] != y[i]]
        expected = -slope(lambda w, Z=Z: sum(max(0, 1 - w @ z) for z in Z), w) if Z else np.zeros(3)
        np.testing.assert_allclose(new - w, C / 2 * expected, atol=1e-8)


def test_a_sequential_step_of_oam_projects_on_the_margin_or_stops_at_its_cap():
    w, z = np.array([0.1, -0.2]), np.array([1.0, 2.0])
    assert oam.sequential(w, [z], 1e6) @ z == pytest.approx(1)
    np.testing.assert_allclose(oam.sequential(w, [z], 0.02), w + 0.01 * z)
    np.testing.assert_array_equal(oam.sequential(3 * z, [z], 1e6), 3 * z)
    np.testing.assert_array_equal(oam.sequential(w, [0 * z], 1e6), w)


def test_oam_seq_and_oam_gra_coincide_for_buffers_of_one_row():
    X, y = problem()
    order, slots = passes(len(X), 1), np.zeros(len(X), dtype=int)
    sequential = oam.oam_seq(X, y, order, slots, C=1e-4, N=1)
    np.testing.assert_allclose(sequential, oam.oam_gra(X, y, order, slots, C=1e-4, N=1), atol=1e-15)
    assert np.abs(sequential[-1]).max() > 1e-4


def test_oam_weighs_the_other_class_by_what_its_buffer_stands_for():
    # Five negatives, a buffer of two: C_t = C 5/2. The third takes slot 0, the fourth none, the fifth slot 1.
    X, y = np.eye(6), np.array([-1, -1, -1, -1, -1, 1])
    W = oam.oam_gra(X, y, np.arange(6), np.array([-1, -1, 0, -1, 1, -1]), C=0.1, N=2)
    expected = 0.1 * 2.5 / 2 * np.array([0, 0, -1, 0, -1, 2])
    np.testing.assert_allclose(W[-1], expected, atol=1e-15)
    np.testing.assert_array_equal(W[:-1], 0)


def test_scw_meets_its_constraint_and_its_variance():
    phi, m, v = ndtri(0.7), -0.4, 1.7
    alpha, beta = cbr.scw1(m, v, np.inf, phi)
    new_m, new_v = m + alpha * v, v - beta * v**2
    assert new_m == pytest.approx(phi * np.sqrt(new_v))
    assert cbr.scw1(phi * np.sqrt(v) + 0.01, v, np.inf, phi) == (0.0, 0.0)
    assert 0 < cbr.scw1(phi * np.sqrt(v) - 0.01, v, np.inf, phi)[0] < 0.01


def test_scw_with_a_cap_minimises_the_divergence_plus_the_hinge():
    # In one dimension, KL(N(mu', s') | N(mu, s)) + C (phi sqrt(s') - mu') for z = 1; alpha is C where the cap binds.
    phi, mu, s, C = ndtri(0.7), -0.4, 1.7, 0.3
    alpha, beta = cbr.scw1(mu, s, C, phi)
    assert alpha == C

    def objective(v):
        divergence = (np.log(s / v[1]) + v[1] / s + (v[0] - mu) ** 2 / s - 1) / 2
        return divergence + C * (phi * np.sqrt(v[1]) - v[0])

    np.testing.assert_allclose(slope(objective, np.array([mu + alpha * s, s - beta * s**2])), 0, atol=1e-8)


def test_cbr_updates_once_for_each_row_of_the_last_n():
    # Pairs z of unit vectors: only the last two negatives meet the positive.
    X, y = np.eye(5), np.array([-1, -1, -1, -1, 1])
    for method in (cbr.cbr, cbr.cbr_diagonal):
        W = method(X, y, np.arange(5), C=0.1, N=2)
        np.testing.assert_array_equal(W[:-1], 0)
        np.testing.assert_array_equal(W[-1] != 0, [False, False, True, True, True])


def test_cbr_with_one_column_is_the_same_with_a_diagonal():
    X, y = problem()
    order = passes(len(X), 2)
    full, diagonal = (method(X[:, :1], y, order, C=0.5, N=5) for method in (cbr.cbr, cbr.cbr_diagonal))
    np.testing.assert_allclose(full, diagonal, atol=1e-12)
    assert np.abs(full[-1]) > 0.1


# ASAM, PSAM


def test_bottou_t0_makes_the_first_step_the_typical_weight():
    for lam in (1e-2, 1e-5):
        assert 1 / (lam * pair_sampling.bottou_t0(lam)) == pytest.approx(lam**-0.25)


def draw_pairs(y, number, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.choice(np.flatnonzero(y == k), number) for k in (1, -1)])


def test_asam_and_psam_coincide_where_the_cap_does_not_bind():
    # Each pair is orthogonal to all others, so w.z = 0 at each step: ASAM's slope is -1, and PSAM's for short steps.
    X, pairs = np.eye(80), np.arange(80).reshape(40, 2)
    schedule = {"t0": 10.0, "rskip": 4, "askip": 3}
    for averaged in (True, False):
        W = pair_sampling.asam(X, pairs, lam=0.5, averaged=averaged, **schedule)
        np.testing.assert_array_equal(W, pair_sampling.psam(X, pairs, gamma=0.5, averaged=averaged, **schedule))
    long_steps = {**schedule, "t0": 0.0, "averaged": False}
    first = [
        method(X, pairs[:1], **long_steps)[0]
        for method in (
            lambda *a, **k: pair_sampling.asam(*a, lam=0.1, **k),
            lambda *a, **k: pair_sampling.psam(*a, gamma=0.1, **k),
        )
    ]
    np.testing.assert_allclose([first[0][0], first[1][0]], [10.0, 0.5])


def test_psam_steps_solve_the_proximal_problem():
    X, y = problem()
    pairs, gamma, t0 = draw_pairs(y, 60), 0.05, 20.0
    W = pair_sampling.psam(X, pairs, gamma=gamma, t0=t0, rskip=1000, askip=1, averaged=False)
    kinds = set()
    for t, ((i, j), w, v) in enumerate(zip(pairs, before(W), W, strict=True), start=1):
        z, lam_t = X[i] - X[j], 1 / (gamma * (t + t0))
        # v - w = lam_t s z, where s is in minus the subdifferential of the hinge at v: 0, 1, or between at the kink.
        s = (v - w) @ z / (lam_t * z @ z)
        np.testing.assert_allclose(v - w, lam_t * s * z, atol=1e-12)
        kind = "kink" if abs(v @ z - 1) < 1e-9 else "flat" if v @ z > 1 else "steep"
        assert {"kink": -1e-9 <= s <= 1 + 1e-9, "flat": abs(s) < 1e-9, "steep": abs(s - 1) < 1e-9}[kind]
        kinds.add(kind)
    assert kinds == {"kink", "flat", "steep"}


def test_asam_steps_along_the_gradient_of_its_smooth_hinge():
    # l' = clip(u - 1, -1, 0) is the slope of 1/2 - u below 0, (1 - u)^2/2 up to 1, and 0 above.
    X, y = problem()
    pairs, lam, t0 = draw_pairs(y, 60), 0.02, 20.0
    W = pair_sampling.asam(X, pairs, lam=lam, t0=t0, rskip=1000, askip=1, averaged=False)
    for t, ((i, j), w, v) in enumerate(zip(pairs, before(W), W, strict=True), start=1):

        def loss(w, z=X[i] - X[j]):
            return 0.5 - w @ z if w @ z < 0 else max(0, 1 - w @ z) ** 2 / 2

        np.testing.assert_allclose(v - w, -slope(loss, w) / (lam * (t + t0)), atol=1e-6)


@pytest.mark.parametrize("name", ["asam", "psam"])
def test_pair_sampling_averages_and_shrinks_every_skip_th_step(name):
    X, y = problem()
    strength = {"asam": "lam", "psam": "gamma"}[name]
    run = getattr(pair_sampling, name)
    arguments = {strength: 0.05, "t0": 20.0, "askip": 4}
    pairs = draw_pairs(y, 22)
    W, averages = (run(X, pairs, rskip=3, averaged=averaged, **arguments) for averaged in (False, True))
    for t in range(1, 23):
        taken = W[3:t:4]
        expected = taken.mean(axis=0) if len(taken) else np.zeros(3)
        np.testing.assert_allclose(averages[t - 1], expected, atol=1e-14)
    unshrunk = run(X, pairs[:3], rskip=100, averaged=False, **arguments)
    np.testing.assert_allclose(W[:2], unshrunk[:2], atol=1e-15)
    np.testing.assert_allclose(W[2], (1 - 3 / 23) * unshrunk[2], atol=1e-15)


# Uni-Exp, Uni-Log, Uni-Squ

LOSSES = {"exp": lambda s: np.exp(-s), "log": lambda s: np.log1p(np.exp(-s)), "squ": lambda s: (1 - s) ** 2}


@pytest.mark.parametrize("name", LOSSES)
def test_univariate_steps_have_the_gradient_of_the_objective_as_their_mean(name):
    X, y = problem()
    eta, lam, loss, run = 0.01, 0.3, LOSSES[name], getattr(univariate, f"uni_{name}")

    def objective(w):
        return loss(X[y == 1] @ w).mean() + loss(-X[y == -1] @ w).mean() + lam / 2 * w @ w

    w = run(X, y, [0, 1], eta=eta, lam=lam)[-1]
    steps = [run(X, y, [0, 1, i], eta=eta, lam=lam)[-1] - w for i in range(len(X))]
    np.testing.assert_allclose(np.mean(steps, axis=0), -eta * slope(objective, w), atol=1e-9)


# Gaussian AUC and error


@pytest.mark.parametrize("F", [gaussian.F_auc, gaussian.F_error])
def test_gaussian_gradients_are_those_of_the_values_and_no_scale_matters(F):
    moments = gaussian.class_moments(*problem())
    w = np.array([0.7, -0.4, 0.3])
    value, g = F(w, *moments)
    np.testing.assert_allclose(g, slope(lambda w: F(w, *moments)[0], w), atol=1e-8)
    assert F(5 * w, *moments)[0] == pytest.approx(value)
    assert w @ g == pytest.approx(0, abs=1e-12)


def test_gaussian_values_are_shares_of_draws():
    X, y = problem()
    positives, negatives = gaussian.class_moments(X, y)
    w, rng = np.array([0.7, -0.4, 0.3]), np.random.default_rng(0)
    pos, neg = (rng.multivariate_normal(mean, cov, 100_000) @ w for mean, cov, _ in (positives, negatives))
    assert gaussian.F_auc(w, positives, negatives)[0] == pytest.approx(np.mean(pos < neg), abs=0.006)
    error = positives[2] * np.mean(pos < 0) + negatives[2] * np.mean(neg >= 0)
    assert gaussian.F_error(w, positives, negatives)[0] == pytest.approx(error, abs=0.006)


def test_gaussian_auc_descends_to_its_closed_form():
    X, y = problem(n=60)
    (m_pos, S_pos, _), (m_neg, S_neg, _) = gaussian.class_moments(X, y)
    W = gaussian.gaussian_auc(X, y, max_iter=5000)
    best = np.linalg.solve(S_pos + S_neg, m_pos - m_neg)
    np.testing.assert_allclose(W[-1] / np.linalg.norm(W[-1]), best / np.linalg.norm(best), atol=1e-5)


def test_gaussian_error_descends_to_a_stationary_point():
    X, y = problem(n=60, shift=0.5)
    moments = gaussian.class_moments(X, y)
    W = gaussian.gaussian_error(X, y, max_iter=5000)
    first, last = (np.linalg.norm(gaussian.F_error(w, *moments)[1]) for w in W[[0, -1]])
    assert last < 1e-6 * first


def test_gaussian_backtracking_refuses_a_step_without_decrease():
    # On |w|^2 the step 1 leads from w to -w, where the value is the same; half of it leads to the minimum.
    W = gaussian.descend(lambda w: (w @ w, 2 * w), np.array([1.0, -2.0]))
    np.testing.assert_array_equal(W, [[1, -2], [0, 0]])


@pytest.mark.parametrize("name", ["auc", "error"])
def test_gaussian_descent_decreases_enough_and_ends_after_250_steps(name):
    X, y = problem(n=60)
    moments = gaussian.class_moments(X, y)
    F, run = getattr(gaussian, f"F_{name}"), getattr(gaussian, f"gaussian_{name}")
    W = run(X, y, tol=0.0)
    assert len(W) == 251
    np.testing.assert_allclose(W[0] @ moments[1][0], 0, atol=1e-12)
    assert np.linalg.norm(W[0]) == pytest.approx(1)
    for w, new in pairwise(W[:21]):
        value, g = F(w, *moments)
        alpha = -(new - w) @ g / (g @ g)
        np.testing.assert_allclose(new, w - alpha * g, atol=1e-12)
        assert np.log2(alpha) == pytest.approx(round(np.log2(alpha)), abs=1e-9)
        assert alpha <= 1 + 1e-12
        assert F(new, *moments)[0] <= value - 1e-4 * alpha * g @ g + 1e-15


# Misprints: why a line of a paper cannot be as it is printed (docs/guide/misprints.md)


def test_the_printed_recursion_of_opauc_is_not_the_covariance():
    X, _ = problem()
    printed = corrected = np.zeros((3, 3))
    c = np.zeros(3)
    for T, x in enumerate(X, start=1):
        old, c = c, c + (x - c) / T
        shift = np.outer(old, old) - np.outer(c, c)
        printed = printed + (np.outer(x, x) - printed) / T + shift
        corrected = corrected + (np.outer(x, x) - corrected - np.outer(old, old)) / T + shift
    np.testing.assert_allclose(corrected, np.cov(X.T, bias=True), atol=1e-14)
    assert np.abs(printed - np.cov(X.T, bias=True)).max() > 0.05


def test_the_penalty_of_reg_solam_is_not_beside_the_loss_as_in_its_equation_3():
    """The best a, b and alpha of (6) leave p (1 - p) (f(w) - 1) + lambda/2 |w|^2."""
    X, y = problem()
    p, lam, w = np.mean(y == 1), 0.7, np.array([0.5, -0.2, 0.3])
    s = X @ w
    a, b = s[y == 1].mean(), s[y == -1].mean()
    alpha = b - a
    positive = (1 - p) * (s - a) ** 2 - 2 * (1 + alpha) * (1 - p) * s
    negative = p * (s - b) ** 2 + 2 * (1 + alpha) * p * s
    saddle = np.mean(np.where(y == 1, positive, negative) - p * (1 - p) * alpha**2) + lam / 2 * w @ w
    f = np.mean((1 - pairs_of(X, y) @ w) ** 2)
    assert saddle == pytest.approx(p * (1 - p) * (f - 1) + lam / 2 * w @ w)
    assert saddle != pytest.approx(p * (1 - p) * (f - 1 + lam / 2 * w @ w), rel=0.01)


def test_the_printed_recursion_of_psam_moves_where_the_loss_is_zero():
    """Section III.B steps along prox(w); where a pair has its margin, prox(w) = w, and nothing should happen."""
    X, w, lam, t0 = np.array([[2.0, 0.0], [0.0, 0.0]]), np.array([1.0, 1.0]), 0.1, 5.0
    z = X[0] - X[1]
    prox = w + min(1 / (lam * t0), max(0.0, 1 - w @ z) / (z @ z)) * z
    np.testing.assert_array_equal(prox, w)
    assert np.abs(w - prox / (lam * (1 + t0)) - w).max() > 1


def test_the_printed_gaussian_auc_is_the_auc_and_not_one_minus_it():
    X, y = problem()
    (m_pos, S_pos, _), (m_neg, S_neg, _) = gaussian.class_moments(X, y)
    w = m_pos - m_neg  # ranks most pairs right
    printed = 1 - ndtr(w @ (m_neg - m_pos) / np.sqrt(w @ (S_pos + S_neg) @ w))
    auc = np.mean(pairs_of(X, y) @ w > 0)
    assert printed == pytest.approx(auc, abs=0.05)
    assert gaussian.F_auc(w, *gaussian.class_moments(X, y))[0] == pytest.approx(1 - printed)


def test_the_printed_test_of_the_backtracking_lets_a_step_rise():
    """On |w|^2 the step from w to -w (1 + 1e-5) is refused unless the sign of the last term is turned."""
    w, alpha = np.array([1.0]), 1 + 0.5e-5
    g, trial = 2 * w, w - alpha * 2 * w
    assert trial @ trial > w @ w
    assert not trial @ trial > w @ w + 1e-4 * alpha * g @ g  # printed: accepted
    assert trial @ trial > w @ w - 1e-4 * alpha * g @ g  # refused


def test_the_printed_pairwise_hinge_is_less_for_the_wrong_order():
    X, y = problem()
    Z = pairs_of(X, y)
    w = Z.mean(axis=0)  # ranks most pairs right

    def printed(w):
        return np.maximum(0, 1 - (-Z @ w)).mean()  # (6): the score of the negative less that of the positive

    assert np.mean(Z @ w > 0) > 0.8
    assert printed(-w) < printed(w)
    assert np.maximum(0, 1 - Z @ w).mean() < np.maximum(0, 1 + Z @ w).mean()


def test_a_mean_f1_is_at_most_what_the_mean_jaccard_index_allows():
    """F1 = 2 J / (1 + J) of each run is concave in J; Table II has .365 beside a Jaccard index of .200."""
    J = np.random.default_rng(0).uniform(0, 1, (100, 20)) * np.linspace(0.1, 1, 100)[:, None]
    assert np.all((2 * J / (1 + J)).mean(axis=1) <= 2 * J.mean(axis=1) / (1 + J.mean(axis=1)) + 1e-15)
    assert 2 * 0.200 / (1 + 0.200) < 0.365
