"""OAM and CBR: their recursions, their buffers, and what each of their updates solves."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.base import clone

from aucmax import CBR, OAM
from aucmax.papers.cbr import STEP, soft_confidence
from aucmax.papers.engine.buffers import ClassBuffers, fifo_slots, reservoir_slots

FORMATS = pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array])


@pytest.fixture(scope="module")
def problem():
    """Rows with zeros, the first five of one class."""
    rng = np.random.default_rng(0)
    y = (rng.random(150) < 0.4).astype(int)
    y[:5] = 1
    X = (rng.random((150, 7)) < 0.6) * (
        rng.standard_normal((150, 7)) + 0.7 * y[:, None] * np.array([1, 0, -1, 0, 1, 0, 0])
    )
    X[4::9, :] = rng.standard_normal((17, 7))  # some without zeros
    X[40] = X[41] = 0
    return X, y


def walk(X, y, size, slots):
    """Yield the label of each row and its pairs with the buffer of the other class, and keep the row."""
    kept, seen = ({}, {}), [0, 0]
    for x, label, slot in zip(X, y, slots, strict=True):
        other = kept[1 - label]
        yield label, seen[1 - label], [(1 if label else -1) * (x - other[k]) for k in sorted(other)]
        seen[label] += 1
        if slot >= 0:
            kept[label][slot] = x
    assert min(seen) > size


def plain_slots(y, size, seed=None):
    """The slots of a buffer, row by row: the oldest, or a reservoir."""
    draws = None if seed is None else np.random.RandomState(seed).random_sample(len(y))
    slots, seen = [], [0, 0]
    for t, label in enumerate(y):
        slot = seen[label]
        if slot >= size:
            slot = slot % size if draws is None else int(draws[t] * (seen[label] + 1))
        slots.append(slot if slot < size else -1)
        seen[label] += 1
    return slots


def plain_oam(X, y, size, C, gradient, seed):
    w, total, mass, norms = np.zeros(X.shape[1]), 0.0, 0, []
    for _, seen, pairs in walk(X, y, size, plain_slots(y, size, seed)):
        frozen = w.copy()
        for z in pairs:
            norms.append(z @ z)
            if z @ z == 0:
                continue
            c = C * max(1, seen / size) / 2 if C else min(4 / np.mean(norms) / np.sqrt(len(norms)), 1 / (z @ z))
            w = w + (c * (frozen @ z <= 1) if gradient else min(c, max(0, 1 - w @ z) / (z @ z))) * z
        if pairs:
            mass += 1
            total += mass * w
    return w, total / (mass * (mass + 1) / 2)


@FORMATS
@pytest.mark.parametrize("update", ["sequential", "gradient"])
@pytest.mark.parametrize("C", [None, 0.1])
def test_oam_is_the_recursion_of_the_paper(rows, update, C, problem):
    X, y = problem
    w, average = plain_oam(X, y, 12, C, update == "gradient", 3)
    for expected, averaged in ((w, False), (average, True)):
        clf = OAM(update=update, C=C, buffer_size=12, average=averaged, random_state=3).partial_fit(rows(X), y)
        np.testing.assert_allclose(clf.coef_[0], expected, rtol=1e-9, atol=1e-12)


def plain_cbr(X, y, size, C, eta, diagonal, seed):
    """The formulas of the paper, with the covariance multiplied out for every pair."""
    d = X.shape[1]
    mu, sigma, phi, norms = np.zeros(d), np.eye(d), norm.ppf(eta), []
    psi, xi = 1 + phi**2 / 2, 1 + phi**2
    for _, _, pairs in walk(X, y, size, plain_slots(y, size, seed)):
        for z in pairs:
            norms.append(z @ z)
            m, v = mu @ z, z @ sigma @ z
            if phi * np.sqrt(v) <= m:
                continue
            alpha = max(0, (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi))
            alpha = min(C or STEP / np.sqrt(np.mean(norms)), alpha)
            u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
            beta = alpha * phi / (np.sqrt(u) + v * alpha * phi)
            a = sigma @ z
            mu = mu + alpha * a
            sigma = sigma - beta * np.outer(a, a)
            if diagonal:
                sigma = np.diag(np.diag(sigma))
    return mu, sigma


@FORMATS
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("buffer", ["fifo", "reservoir"])
@pytest.mark.parametrize("C", [None, 0.1, 10.0])
def test_cbr_is_the_recursion_of_the_paper(rows, covariance, buffer, C, problem):
    X, y = problem
    mu, sigma = plain_cbr(X, y, 10, C, 0.8, covariance == "diagonal", 4 if buffer == "reservoir" else None)
    clf = CBR(covariance=covariance, buffer=buffer, C=C, eta=0.8, buffer_size=10, random_state=4)
    clf.partial_fit(rows(X), y)
    np.testing.assert_allclose(clf.state_.mu[:7], mu, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(clf.coef_[0], mu / np.linalg.norm(mu), rtol=1e-7, atol=1e-10)
    expected = np.diag(sigma) if covariance == "diagonal" else np.tril(sigma)
    np.testing.assert_allclose(clf.state_.sigma, expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("estimator", [OAM(), OAM(update="gradient"), CBR(), CBR(covariance="diagonal")], ids=str)
def test_partial_fit_of_dense_and_csr_chunks_is_one_stream(estimator, problem):
    """The room of the buffers grows with the rows, and any split gives the same bits."""
    X, y = problem
    estimator = clone(estimator).set_params(buffer_size=10, random_state=0)
    csr = sparse.csr_array(X)
    once = clone_fit(estimator, [(csr, y)]).coef_
    lengths = np.diff(csr.indptr)
    assert lengths[:3].max() < lengths.max()
    for size in (1, 3, 70):
        parts = [(csr[k : k + size], y[k : k + size]) for k in range(0, len(y), size)]
        np.testing.assert_array_equal(clone_fit(estimator, parts).coef_, once)
    mixed = [(X[k : k + 30] if k % 60 else csr[k : k + 30], y[k : k + 30]) for k in range(0, len(y), 30)]
    np.testing.assert_allclose(clone_fit(estimator, mixed).coef_, once, rtol=1e-9, atol=1e-12)


def clone_fit(estimator, parts):
    clf = clone(estimator)
    for X, y in parts:
        clf.partial_fit(X, y, classes=[0, 1])
    return clf


def test_a_dense_fit_goes_on_with_csr_rows_in_the_same_units(problem):
    X, y = problem
    X = X * np.array([1, 10, 100, 1, 1, 0.1, 1]) + 3
    for estimator in (OAM(random_state=0), CBR(random_state=0)):
        dense = estimator.fit(X, y).partial_fit(X, y).coef_
        np.testing.assert_allclose(estimator.fit(X, y).partial_fit(sparse.csr_array(X), y).coef_, dense, rtol=1e-7)


# Buffers


def test_a_reservoir_is_a_uniform_sample():
    """Of 30 rows, 6 slots: each row is there with probability 1/5, after many draws, and pairs of rows too."""
    rng, n_draws = np.random.RandomState(0), 20_000
    there = np.zeros((n_draws, 30))
    for kept in there:
        slots = reservoir_slots(ClassBuffers.empty(6), np.ones(30, bool), rng.random_sample(30))
        last = {slot: row for row, slot in enumerate(slots) if slot >= 0}
        assert len(last) == 6
        kept[list(last.values())] = 1
    np.testing.assert_allclose(there.mean(axis=0), 0.2, atol=5 * np.sqrt(0.2 * 0.8 / n_draws))
    together = (there.T @ there / n_draws)[np.triu_indices(30, 1)]
    np.testing.assert_allclose(together, 6 * 5 / (30 * 29), atol=5 * np.sqrt(0.035 / n_draws))


def test_reservoir_slots_continue_from_the_rows_seen():
    rng = np.random.default_rng(0)
    positive = rng.random(40) < 0.5
    buffers = ClassBuffers.empty(4)
    np.testing.assert_array_equal(fifo_slots(buffers, positive), plain_slots(positive.astype(int), 4))
    first, second, rng = positive[:25], positive[25:], np.random.RandomState(2)
    slots = reservoir_slots(buffers, first, rng.random_sample(25))
    buffers.counts[:] = np.count_nonzero(~first), np.count_nonzero(first)
    slots = np.append(slots, reservoir_slots(buffers, second, rng.random_sample(15)))
    np.testing.assert_array_equal(slots, plain_slots(positive.astype(int), 4, seed=2))


# Updates


def test_a_sequential_step_ends_at_the_margin_if_it_may():
    for C, margin in ((1e6, 1.0), (0.02, 0.02 / 2 * 25)):
        clf = OAM(C=C, average=False).partial_fit([[1.0, 5.0], [4.0, 1.0]], [0, 1])
        assert clf.coef_[0] @ [3.0, -4.0] == pytest.approx(margin)


@pytest.mark.parametrize(("C", "mean"), [(0.03, -1.0), (100.0, -1.0), (0.5, 0.1), (100.0, 0.3)])
def test_a_soft_confidence_weighted_update_solves_its_problem(C, mean):
    """It minimises KL + C loss over all Gaussians of two dimensions, and meets the constraint where C allows it."""
    z, phi = np.array([1.0, -0.7]), norm.ppf(0.8)
    sigma = np.array([[0.9, 0.2], [0.2, 0.5]])
    mu = mean * z / (z @ z)
    v = z @ sigma @ z
    alpha, beta = soft_confidence(mu @ z, v, C, phi)
    new_mu = mu + alpha * sigma @ z
    new_sigma = sigma - beta * np.outer(sigma @ z, sigma @ z)
    inverse = np.linalg.inv(sigma)

    def loss(mu_, sigma_):
        return phi * np.sqrt(z @ sigma_ @ z) - mu_ @ z

    def divergence(mu_, sigma_):
        ratio = inverse @ sigma_
        return (np.trace(ratio) - np.log(np.linalg.det(ratio)) - 2 + (mu - mu_) @ inverse @ (mu - mu_)) / 2

    def parts(p):
        """The mean and the covariance of five numbers, the last two the second row of its factor."""
        L = np.array([[p[2], 0], [p[3], p[4]]])
        return p[:2], L @ L.T

    L = np.linalg.cholesky(sigma)
    best = minimize(
        lambda p: divergence(*parts(p)) + C * p[5],
        [*mu, L[0, 0], L[1, 0], L[1, 1], loss(mu, sigma)],
        constraints={"type": "ineq", "fun": lambda p: p[5] - loss(*parts(p))},
        bounds=[(None, None)] * 2 + [(1e-3, None), (None, None), (1e-3, None), (0, None)],
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    np.testing.assert_allclose(new_mu, best.x[:2], atol=1e-4)
    np.testing.assert_allclose(new_sigma, parts(best.x)[1], atol=1e-4)
    assert alpha > 1e-2
    gap = loss(new_mu, new_sigma)
    assert gap == pytest.approx(0, abs=1e-12) if alpha < C else gap > 0


@FORMATS
def test_scw_covariance_stays_positive_and_only_shrinks(rows):
    rng = np.random.default_rng(3)
    y = (rng.random(1500) < 0.3).astype(int)
    X = rng.standard_normal((1500, 8)) @ rng.standard_normal((8, 8)) + 0.5 * y[:, None]
    clf, before = CBR(C=1.0), np.eye(8)
    for start in range(0, 1500, 500):
        clf.partial_fit(rows(X[start : start + 500]), y[start : start + 500])
        sigma = clf.state_.sigma + np.tril(clf.state_.sigma, -1).T
        assert np.linalg.eigvalsh(sigma).min() > 0
        assert np.linalg.eigvalsh(before - sigma).min() > -1e-12
        before = sigma


ALL = [OAM(), OAM(update="gradient"), CBR(), CBR(buffer="reservoir"), CBR(covariance="diagonal")]


@pytest.mark.parametrize("estimator", ALL, ids=str)
def test_oam_and_cbr_rank_separable_rows_without_error(estimator):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 5))
    scores = X @ np.array([1.0, -2.0, 0.5, 0.0, 1.0])
    X, y = X[np.abs(scores) > 0.5], (scores[np.abs(scores) > 0.5] > 0).astype(int)
    assert clone(estimator).set_params(max_iter=30, random_state=0).fit(X, y).score(X, y) == 1


@pytest.mark.parametrize("estimator", ALL, ids=str)
def test_oam_and_cbr_at_any_scale_of_the_columns(estimator, problem):
    X, y = problem
    estimator = clone(estimator).set_params(standardize=False, random_state=0)
    plain = estimator.fit(X, y).coef_
    for scale in (1e-8, 1e8):
        coef = estimator.fit(X * scale, y).coef_
        np.testing.assert_allclose(coef / np.linalg.norm(coef), plain / np.linalg.norm(plain), rtol=1e-6, atol=1e-9)
    for scale in (np.logspace(-8, 8, 7), np.logspace(8, -8, 7)):
        assert estimator.fit(X * scale, y).score(X * scale, y) > 0.5


def test_oam_and_cbr_refuse_parameters(problem):
    X, y = problem
    with pytest.raises(ValueError, match=r"^The 'update' parameter of OAM must be a str among"):
        OAM(update="both").fit(X, y)
    for estimator in (OAM(C=0.0), CBR(C=-1.0)):
        with pytest.raises(ValueError, match=r"^The 'C' parameter of \w+ must be a float in the range \(0"):
            estimator.fit(X, y)
    with pytest.raises(ValueError, match=r"^The 'eta' parameter of CBR must be a float in the range \(0\.5, 1"):
        CBR(eta=0.5).fit(X, y)
    with pytest.raises(ValueError, match=r"^The 'buffer_size' parameter of CBR must be an int in the range \[1"):
        CBR(buffer_size=0).partial_fit(X, y)
    wide = sparse.csr_array((np.ones(2), ([0, 1], [0, 10**6])), shape=(2, 10**6 + 1))
    with pytest.raises(MemoryError, match=r"more than this machine has: keep the diagonal of the covariance instead"):
        CBR().fit(wide, [0, 1])
    assert CBR(covariance="diagonal").fit(wide, [0, 1]).score(wide, [0, 1]) == 1


def test_steps_that_overflow_get_one_sentence():
    X, y = 1e10 * np.random.default_rng(0).standard_normal((20, 2)), np.arange(20) % 2
    clf = OAM(update="gradient", C=1e300, standardize=False, random_state=0)
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match=r"^The steps of OAM diverged: lower C, or leave it"),
    ):
        clf.fit(X, y)
