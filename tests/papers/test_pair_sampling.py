"""ASAM and PSAM: convergence to the optimum over all pairs, their steps, and the pairs that they draw."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import chisquare
from sklearn.preprocessing import StandardScaler

from aucmax import ASAM, PSAM
from aucmax.papers.engine.averages import AveragedWeights
from aucmax.papers.engine.buffers import ClassBuffers
from aucmax.papers.engine.row_access import coordinates, view_rows
from aucmax.papers.engine.sample import Sample, Scaling
from aucmax.papers.psam import RESERVOIR, PairSample, PairState, pair_epoch
from aucmax.rows.memory import MemoryRows

PASSES = np.array([1, 4, 16, 64, 256])
both = pytest.mark.parametrize("kind", [ASAM, PSAM])


@pytest.fixture(scope="module")
def problem():
    """Return standardised rows, their labels, and the differences of all pairs."""
    rng = np.random.default_rng(0)
    y = (rng.random(150) < 0.3).astype(int)
    X = rng.standard_normal((150, 5)) @ (np.eye(5) + 0.3 * rng.standard_normal((5, 5)))
    X = StandardScaler().fit_transform(X + y[:, None] * np.array([0.8, 0.3, 0, 0.5, -0.4]))
    return X, y, differences(X, y)


def differences(X, y):
    return (X[y == 1][:, None] - X[y == 0]).reshape(-1, X.shape[1])


def loss(kind, s):
    short = np.maximum(1 - s, 0)
    return short if kind is PSAM else np.where(short < 1, short**2 / 2, short - 0.5)


def objective(kind, Z, alpha, w):
    return loss(kind, Z @ w).mean() + alpha / 2 * w @ w


def minimiser(kind, Z, alpha):
    """Return the minimiser of the objective by its dual, over one number in [0, 1] for each pair."""
    n, bend = len(Z), kind is ASAM

    def negative_dual(b):
        u = Z.T @ b / n
        return u @ u / (2 * alpha) - np.mean(b - bend * b**2 / 2), (Z @ u / alpha - 1 + bend * b) / n

    options = {"maxiter": 10_000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-12}
    found = minimize(negative_dual, np.full(n, 0.5), jac=True, bounds=[(0, 1)] * n, method="L-BFGS-B", options=options)
    w = Z.T @ found.x / (n * alpha)
    assert 0 <= objective(kind, Z, alpha, w) + found.fun < 1e-6
    return w


@both
@pytest.mark.parametrize("alpha", [0.03, 1.0])
def test_pair_sampling_converges_to_the_minimiser_over_all_pairs(kind, alpha, problem):
    X, y, Z = problem
    best = minimiser(kind, Z, alpha)
    fits = [kind(alpha=alpha, max_iter=int(k), random_state=0).fit(X, y).coef_[0] for k in PASSES]
    least = objective(kind, Z, alpha, best)
    gap = np.array([objective(kind, Z, alpha, w) for w in fits]) / least - 1
    assert np.all(gap > 0)
    assert np.polyfit(np.log(PASSES), np.log(gap), 1)[0] < -0.9  # the theory promises 1 / T but for logarithms
    assert gap[-1] < 5e-4
    assert np.linalg.norm(fits[-1] - best) < 0.02 * np.linalg.norm(best)


def test_psam_and_asam_have_different_minimisers(problem):
    """So that the test above tells them apart."""
    *_, Z = problem
    hinge, smoothed = (minimiser(kind, Z, 0.03) for kind in (PSAM, ASAM))
    assert objective(PSAM, Z, 0.03, smoothed) > 1.002 * objective(PSAM, Z, 0.03, hinge)
    assert objective(ASAM, Z, 0.03, hinge) > 1.002 * objective(ASAM, Z, 0.03, smoothed)


@both
@pytest.mark.parametrize("alpha", [1e4, 1e8, 1e12])
def test_pair_sampling_with_a_large_alpha_does_not_diverge(kind, alpha, problem):
    """All pairs are then short of their target, so that alpha times the minimiser is the difference of the means."""
    X, y, Z = problem
    clf = kind(alpha=alpha, max_iter=100, random_state=0).fit(X, y)
    np.testing.assert_allclose(alpha * clf.coef_[0], Z.mean(axis=0), atol=0.05)


# Steps


def one_step(kind, w, z, alpha, eta0, t=0):
    """Return the weights after a step on one pair."""
    rows = view_rows(np.stack([z, np.zeros(len(z))]), *Scaling.none(len(z)))
    state = PairState(AveragedWeights.zeros(len(z)), np.array([t, 0.0, 0.0]), ClassBuffers.empty(1))
    coordinates(state.w.u)[:] = w
    pair = np.array([0], np.uint64), np.array([1], np.uint64)
    pair_epoch(state, rows, *pair, kind()._step, alpha, 1 / eta0, 1000.0, 1000.0)
    assert state.scalars[0] == t + 1
    return coordinates(state.w.last())


def test_a_step_of_psam_is_the_proximal_map_of_the_hinge_loss():
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(60):
        w, z, eta0, t = rng.standard_normal(4), rng.standard_normal(4), 10 ** rng.uniform(-2, 2), rng.integers(99)
        eta = 1 / (0.1 * (t + 1) + 1 / eta0)
        v = one_step(PSAM, w, z, 0.1, eta0, t)

        def value(v, w=w, z=z, eta=eta):
            return eta * np.maximum(0, 1 - v @ z) + np.sum((v - w) ** 2, axis=-1) / 2

        # It is strictly convex: what is best among its neighbours is best.
        for size in (1e-3, 1e-1, 10):
            assert np.all(value(v) <= value(v + size * rng.standard_normal((300, 4))))
        along = v + np.linspace(-1e-4, 1e-4, 21)[:, None] * z
        assert value(v) <= value(along).min() + 1e-15
        seen.add("none" if np.array_equal(v, w) else "target" if abs(v @ z - 1) < 1e-9 else "full")
    assert seen == {"none", "target", "full"}


@pytest.mark.parametrize("s", [-3.0, -0.5, 0.3, 0.9, 1.2])
def test_a_step_of_asam_is_a_gradient_step(s):
    w, z = np.array([s, 0.5]), np.array([1.0, 0.0])
    slope = (loss(ASAM, s + 1e-6) - loss(ASAM, s - 1e-6)) / 2e-6
    np.testing.assert_allclose(one_step(ASAM, w, z, 0.1, 0.2), w - slope * z / (0.1 + 5), atol=1e-9)


@both
def test_no_pair_moves_its_own_score_past_its_target(kind):
    rng = np.random.default_rng(2)
    for length in (1e-8, 1e-3, 1.0, 1e3, 1e8):
        z = length * rng.standard_normal(3)
        for w in (np.zeros(3), rng.standard_normal(3) / length, -10 * z / (z @ z)):
            if w @ z < 1:
                assert one_step(kind, w, z, 1e-300, 1e30) @ z == pytest.approx(1)
    np.testing.assert_array_equal(one_step(kind, np.ones(3), np.zeros(3), 0.1, 1.0), 1)  # a pair of equal rows


def plain(kind, pairs, alpha, t0, rskip, askip):
    """Algorithm 1 of the paper, with the bound on the steps of ASAM; return w and its average."""
    d = pairs.shape[1]
    w, average, q, rcount, acount = np.zeros(d), np.zeros(d), 0, rskip, askip
    for t, x in enumerate(pairs, start=1):
        lam, short = 1 / (alpha * (t + t0)), max(0.0, 1 - w @ x)
        w = w + min(lam if kind is PSAM else lam * min(short, 1), short / (x @ x)) * x
        rcount, acount = rcount - 1, acount - 1
        if rcount <= 0:
            w, rcount = w - rskip / (t + t0) * w, rskip
        if acount <= 0:
            average, q, acount = (q * average + w) / (q + 1), q + 1, askip
    return w, average


@both
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("skips", [(16, 16), (3, 7)])
def test_pair_sampling_steps_are_algorithm_1(kind, make, skips, problem):
    X, y, _ = problem
    X = (X + 0.4) * (np.abs(X) > 0.3)
    n, rng, alpha, eta0 = len(y), np.random.RandomState(5), 0.02, 0.7
    first, second = np.flatnonzero(y == y[0]), np.flatnonzero(y != y[0])
    pairs = []
    for _ in range(2):
        x, other = X[first[rng.randint(len(first), size=n)]], X[second[rng.randint(len(second), size=n)]]
        pairs.append(x - other if y[0] else other - x)
    w, average = plain(kind, np.concatenate(pairs), alpha, 1 / (alpha * eta0), *skips)
    parameters = {"alpha": alpha, "eta0": eta0, "regularize_every": skips[0], "average_every": skips[1]}
    clf = kind(**parameters, standardize=False, max_iter=2, random_state=5).fit(make(X), y)
    np.testing.assert_allclose(clf.coef_[0], average, rtol=1e-9)
    np.testing.assert_allclose(clf.state_.w.last()[:-2], w, rtol=1e-9)
    assert clf.state_.scalars[0] == 2 * n


@both
def test_too_few_steps_for_an_average_give_the_last_weights(kind, problem):
    X, y, _ = problem
    clf = kind(average_every=10_000, standardize=False, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.coef_[0], clf.state_.w.last()[:-2])


@both
def test_the_first_step_is_one_over_the_mean_squared_distance_of_the_pairs(kind, problem):
    X, y, Z = problem
    eta0 = 1 / np.mean(np.sum(Z**2, axis=1))
    for rows in (X, sparse.csr_array(X)):
        given = kind(eta0=eta0, standardize=False, random_state=0).fit(rows, y)
        np.testing.assert_allclose(
            kind(standardize=False, random_state=0).fit(rows, y).coef_, given.coef_, rtol=1e-6, atol=1e-12
        )
    halved = kind(eta0=eta0 / 2, standardize=False, random_state=0).fit(X, y)
    assert not np.allclose(halved.coef_, given.coef_, rtol=1e-3)


@both
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_unit_of_all_columns_matters_to_alpha_alone(kind, scale, problem):
    X, y, _ = problem
    before = kind(alpha=0.01, standardize=False, random_state=0).fit(X, y)
    after = kind(alpha=0.01 * scale**2, standardize=False, random_state=0).fit(scale * X, y)
    np.testing.assert_allclose(scale * after.coef_, before.coef_, rtol=1e-6)


# Pairs


@pytest.mark.parametrize("first", [0, 1])
def test_pairs_are_drawn_uniformly(first):
    y = np.array([1, 0, 0, 1, 0, 1, 0]) ^ first
    X = np.arange(7.0)[:, None]
    rows = MemoryRows(X, y, np.array([0, 1]))
    sample = PairSample.of(Sample.of(X, rows.targets, Scaling.none(1), rows.column_statistics()[0]))
    positives, negatives = sample.draw(60_000, np.random.RandomState(0))
    assert np.all(y[positives] == 1)
    assert np.all(y[negatives] == 0)
    pairs, counts = np.unique(np.stack([positives, negatives]), axis=1, return_counts=True)
    assert pairs.shape == (2, 12)
    assert chisquare(counts).pvalue > 0.01
    assert sample.mean_norm == pytest.approx(np.mean(differences(X, y) ** 2))


@both
def test_pair_sampling_refuses_parameters(kind, problem):
    X, y, _ = problem
    for parameter, value in {"alpha": 0.0, "eta0": 0.0, "regularize_every": 0, "average_every": 0}.items():
        with pytest.raises(ValueError, match=rf"^The '{parameter}' parameter of {kind.__name__} must be .*Got 0"):
            kind(**{parameter: value}).fit(X, y)
    assert "shuffle" not in kind().get_params()


# Streams


def plain_stream(kind, X, y, draws, alpha, every, size=RESERVOIR):
    """Return the average of the weights: each row makes a step with a kept row of the other class."""
    w, kept, n_seen, norms, averaged = np.zeros(X.shape[1]), ([], []), [0, 0], [], []
    for x, c, u in zip(X, y, draws, strict=True):
        if others := kept[1 - c]:
            z = (x - others[int(u * len(others))]) * (1 if c else -1)
            norms.append(z @ z)
            t, bend = len(norms), np.mean(norms)
            if z @ w < 1:
                slope = 1 if kind is PSAM else min(1 - z @ w, 1)
                w = w + min(slope / (alpha * t + bend), (1 - z @ w) / (z @ z)) * z
            if t % every == 0:
                w = w * (alpha * (t - every) + bend) / (alpha * t + bend)
                averaged.append(w)
        n_seen[c] += 1
        slot = len(kept[c]) if len(kept[c]) < size else int(u * n_seen[c])
        kept[c][slot : slot + 1] = [x] * (slot < size)
    return np.mean(averaged, axis=0)


@both
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_a_stream_of_any_split_is_the_plain_one(kind, layout):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((400, 3)) * (rng.random((400, 3)) < 0.7), (rng.random(400) < 0.4).astype(int)
    X[:, 0] += y
    y[:5] = 0  # without a step
    expected = plain_stream(kind, X, y, np.random.RandomState(5).random_sample(400), 0.01, 16)
    for starts in ([0], [0, 3, 4, 250]):
        clf = kind(alpha=0.01, random_state=5)
        for start, stop in zip(starts, [*starts[1:], 400], strict=True):
            clf.partial_fit(layout(X[start:stop]), y[start:stop], classes=[0, 1])
        np.testing.assert_allclose(clf.coef_[0], expected, rtol=1e-9)
    repeated = kind(alpha=0.01, random_state=5).partial_fit(X[:200], y[:200], sample_weight=np.full(200, 2.0))
    twice = kind(alpha=0.01, random_state=5).partial_fit(np.repeat(X[:200], 2, axis=0), np.repeat(y[:200], 2))
    np.testing.assert_array_equal(repeated.coef_, twice.coef_)


@both
def test_a_stream_after_fit_continues_on_its_columns(kind, problem):
    X, y, Z = problem
    clf = kind(alpha=0.03, max_iter=200, random_state=0).fit(X, y)
    before = objective(kind, Z, 0.03, clf.coef_[0])
    for _ in range(20):
        clf.partial_fit(X, y)
    assert objective(kind, Z, 0.03, clf.coef_[0]) < 1.01 * before
