"""Weights of the rows in every stochastic algorithm: 2 is the row twice, 0 is the row left out."""

import numpy as np
import pytest
from scipy import sparse

from aucmax import HSGHT, SHTAUC, SPDAM, AUCClassifier, StoIHT, UniExp, UniLog, UniSqu
from aucmax.papers import ALGORITHMS
from aucmax.papers.engine.epochs import OnlineClassifier, StochasticClassifier
from aucmax.papers.engine.row_access import coordinates, weight_vector
from aucmax.papers.engine.sample import Sample, Scaling
from aucmax.papers.hard_thresholding import block_gradient
from aucmax.papers.psam import ClassSampler
from aucmax.rows.memory import MemoryRows


def is_kind(name, kind):
    return isinstance(ALGORITHMS[name].make, type) and issubclass(ALGORITHMS[name].make, kind)


STOCHASTIC = [name for name in ALGORITHMS if is_kind(name, StochasticClassifier)]
ONLINE = [name for name in STOCHASTIC if is_kind(name, OnlineClassifier)]
every_stochastic = pytest.mark.parametrize("name", STOCHASTIC)
every_online = pytest.mark.parametrize("name", ONLINE)
every_kind = pytest.mark.parametrize("kind", [np.asarray, pytest.param(sparse.csr_array, marks=pytest.mark.slow)])

# What makes a fit depend on the rows alone, and not on how many there are or on how they are numbered.
DETERMINED = {
    "SPDAM": {"tol": 1e-13},
    "HSGHT": {"batch_size": 10_000},  # one batch of all rows
    "SHTAUC": {"n_blocks": 1},
    "StoIHT": {"n_blocks": 1},
}


def make(name, **parameters):
    if name == "OPAUCr":
        parameters = {"rank": 3, **parameters}
    return ALGORITHMS[name](**{"random_state": 0, **parameters})


def determined(name):
    """Return the estimator in an order, or with batches, that repeated rows do not change."""
    clf = make(name, **DETERMINED.get(name, {}))
    return clf.set_params(shuffle=False) if "shuffle" in clf.get_params() else clf


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = (rng.random(90) < 0.3).astype(int)
    X = rng.standard_normal((90, 5)) @ rng.standard_normal((5, 5)) + y[:, None] * rng.standard_normal(5)
    X *= rng.random(X.shape) < 0.8
    return X, y, rng.integers(0, 4, 90).astype(float)


def assert_same_fit(first, second, rtol=1e-6):
    for attribute in ("coef_", "intercept_", "calibration_"):
        one, two = getattr(first, attribute), getattr(second, attribute)
        np.testing.assert_allclose(one, two, rtol=rtol, atol=rtol * np.abs(two).max())


# The meaning of a weight


@every_stochastic
@every_kind
def test_whole_weights_are_repeated_rows(name, kind, data):
    X, y, weights = data
    times = weights.astype(int)
    weighted = determined(name).fit(kind(X), y, sample_weight=weights)
    repeated = determined(name).fit(kind(np.repeat(X, times, axis=0)), np.repeat(y, times))
    assert_same_fit(weighted, repeated)
    if name != "SPDAM":  # its passes are over rows, and it ends with its gap
        assert weighted.n_iter_ == repeated.n_iter_


@every_online
@every_kind
def test_whole_weights_of_a_stream_are_repeated_rows_to_the_bit(name, kind, data):
    X, y, weights = data
    times = weights.astype(int)
    weighted, repeated = make(name), make(name)
    for part in (slice(0, 40), slice(40, 90)):
        weighted.partial_fit(kind(X)[part], y[part], sample_weight=weights[part])
        repeated.partial_fit(
            kind(np.repeat(X[part], times[part], axis=0)), np.repeat(y[part], times[part]), classes=[0, 1]
        )
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-9)
    np.testing.assert_allclose(weighted.calibration_, repeated.calibration_, rtol=1e-9)


@every_stochastic
def test_weights_of_one_are_no_weights_to_the_bit(name, data):
    X, y, _ = data
    plain, ones = make(name).fit(X, y), make(name).fit(X, y, sample_weight=np.ones(len(y)))
    for attribute in ("coef_", "intercept_", "calibration_", "convergence_"):
        np.testing.assert_array_equal(getattr(plain, attribute), getattr(ones, attribute))


@every_stochastic
def test_rows_of_weight_zero_are_left_out(name, data):
    X, y, _ = data
    kept = np.arange(len(y)) % 3 > 0
    strange = np.where(kept[:, None], X, 1e6)
    weighted = make(name).fit(strange, y, sample_weight=kept.astype(float))
    assert_same_fit(weighted, make(name).fit(X[kept], y[kept]))
    if name in ONLINE:
        weighted = make(name).partial_fit(strange, y, sample_weight=kept.astype(float))
        np.testing.assert_array_equal(weighted.coef_, make(name).partial_fit(X[kept], y[kept]).coef_)


@pytest.mark.parametrize("name", [name for name in STOCHASTIC if name not in ("ASAM", "PSAM")])  # these draw rows
def test_rows_twice_with_half_the_weight_are_the_rows(name, data):
    X, y, _ = data
    twice, both, halves = np.repeat(X, 2, axis=0), np.repeat(y, 2), np.full(180, 0.5)
    assert_same_fit(determined(name).fit(twice, both, sample_weight=halves), determined(name).fit(X, y))
    if name in ONLINE:
        np.testing.assert_array_equal(
            make(name).partial_fit(twice, both, sample_weight=halves).coef_, make(name).partial_fit(X, y).coef_
        )


@every_stochastic
def test_the_weights_of_the_classes_are_the_base_rate(name, data):
    X, y, _ = data
    clf = make(name).fit(X, y, sample_weight=np.where(y == 1, 2.5, 0.25))
    assert clf.calibration_[1] == pytest.approx(np.log(2.5 * y.sum() / (0.25 * (1 - y).sum())))


@every_online
def test_any_split_of_a_weighted_stream_gives_the_same_weights(name, data):
    X, y, _ = data
    weights = np.random.default_rng(2).uniform(0, 2, len(y))
    whole = make(name).partial_fit(X, y, sample_weight=weights)
    for size in (1, 7, 50):
        parts = make(name)
        for start in range(0, len(y), size):
            part = slice(start, start + size)
            parts.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=weights[part])
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(parts.calibration_[1], whole.calibration_[1], rtol=1e-9)


@every_stochastic
def test_fit_rows_takes_the_sample_weight_of_the_rows(name, data):
    X, y, weights = data
    entrance = make(name).fit(X, y, sample_weight=weights)
    door = make(name).fit_rows(MemoryRows(X, y, np.array([0, 1]), weights))
    np.testing.assert_array_equal(door.coef_, entrance.coef_)
    assert door.n_features_in_ == 5
    np.testing.assert_array_equal(door.classes_, [0, 1])


@every_stochastic
def test_bad_sample_weight_is_refused(name, data):
    X, y, _ = data
    clf = make(name)
    fits = [clf.fit] + ([clf.partial_fit] if name in ONLINE else [])
    for fit in fits:
        with pytest.raises(ValueError, match=r"^Negative values in data passed to `sample_weight`"):
            fit(X, y, sample_weight=np.where(y == 1, 1.0, -1.0))
        with pytest.raises(ValueError, match=r"^Input sample_weight contains NaN"):
            fit(X, y, sample_weight=np.full(len(y), np.nan))
        with pytest.raises(ValueError, match=r"^sample_weight.shape == \(3,\), expected \(90,\)"):
            fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match=r"^AUC needs two classes, but class 1 has no row with a weight above 0\.$"):
        clf.fit(X, y, sample_weight=1.0 - y)
    assert not hasattr(clf, "classes_")


@every_stochastic
def test_weights_of_too_few_or_too_many_steps_get_a_sentence(name, data):
    X, y, _ = data
    for weights in (np.full(len(y), 1 / len(y)), np.full(len(y), 1e12)):
        clf = determined(name)
        if clf._repeats_rows:
            with pytest.raises(
                ValueError, match=rf"^The weights sum to .*{type(clf).__name__} meets a row as often as"
            ):
                clf.fit(X, y, sample_weight=weights)
        else:  # only the proportions of the weights count
            clf.set_params(alpha=0.1)
            np.testing.assert_allclose(clf.fit(X, y, sample_weight=weights).coef_, clf.fit(X, y).coef_, rtol=1e-6)


# The minimisers


@every_kind
def test_spdam_has_the_minimiser_and_the_gap_of_the_weighted_loss(kind, data):
    X, y, _ = data
    weights = np.random.default_rng(3).uniform(0, 3, len(y)) * (np.arange(len(y)) % 4 > 0)
    exact = AUCClassifier("squared", alpha=0.1).fit(X, y, sample_weight=weights)
    clf = SPDAM(alpha=0.1, tol=1e-13, random_state=0).fit(kind(X), y, sample_weight=weights)
    assert_same_fit(clf, exact)

    def objective(w):
        s, scale = X @ w, np.sqrt(np.cov(X.T, aweights=weights, bias=True).diagonal())
        pairs = (1 - s[y == 1][:, None] + s[y == 0]) ** 2
        return np.average(pairs, weights=np.outer(weights[y == 1], weights[y == 0])) / 2 + 0.05 * np.sum(
            (scale * w) ** 2
        )

    # The gap over the objective bounds how far a fit that was cut short is from the minimum.
    rough = SPDAM(alpha=0.1, max_iter=3, tol=None, random_state=0).fit(kind(X), y, sample_weight=weights)
    excess = objective(rough.coef_[0]) - objective(exact.coef_[0])
    assert 0 < excess <= rough.convergence_[-1] * objective(rough.coef_[0])


@pytest.mark.parametrize("algorithm", [UniSqu, UniExp, UniLog])
@every_kind
def test_the_exact_univariate_minimisers_have_weights(algorithm, kind, data):
    X, y, weights = data
    times = weights.astype(int)
    weighted = algorithm(solver="exact", alpha=0.1).fit(kind(X), y, sample_weight=weights)
    repeated = algorithm(solver="exact", alpha=0.1).fit(kind(np.repeat(X, times, axis=0)), np.repeat(y, times))
    assert_same_fit(weighted, repeated, rtol=1e-8)
    tiny = algorithm(solver="exact", alpha=0.1).fit(kind(X), y, sample_weight=1e-6 * weights)
    np.testing.assert_allclose(tiny.coef_, weighted.coef_, rtol=1e-8)  # means do not know the scale of the weights


def test_the_univariate_square_ranks_as_the_pairwise_one_with_the_same_weights(data):
    X, y, _ = data
    weights = np.random.default_rng(3).uniform(0, 3, len(y))
    univariate = UniSqu(solver="exact", alpha=0.2).fit(X, y, sample_weight=weights).coef_[0]
    pairwise = AUCClassifier("squared", alpha=0.1).fit(X, y, sample_weight=weights).coef_[0]
    np.testing.assert_allclose(
        univariate / np.linalg.norm(univariate), pairwise / np.linalg.norm(pairwise), rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("algorithm", [SHTAUC(n_nonzero=5, n_blocks=1), StoIHT(n_nonzero=5, n_blocks=1)])
def test_one_block_converges_to_the_weighted_minimiser(algorithm, data):
    X, y, weights = data
    clf = algorithm.set_params(alpha=0.1, max_iter=3000, tol=1e-14).fit(X, y, sample_weight=weights)
    if isinstance(algorithm, SHTAUC):
        np.testing.assert_allclose(clf.coef_, AUCClassifier("squared", alpha=0.1).fit(X, y, weights).coef_, rtol=1e-6)
    else:
        hybrid = HSGHT(n_nonzero=5, alpha=0.1, batch_size=10_000, max_iter=3000, tol=1e-14).fit(X, y, weights)
        np.testing.assert_allclose(clf.coef_, hybrid.coef_, rtol=1e-6)


class EachOnce:
    """Random numbers that draw every block once."""

    def randint(self, low, high=None, size=None):
        return 1 if size is None else np.arange(size)


@pytest.mark.parametrize("algorithm", [SHTAUC(n_blocks=4), StoIHT(n_blocks=4)])
def test_the_mean_of_the_weighted_block_gradients_is_the_gradient(algorithm, data):
    X, y, _ = data
    weights = np.random.default_rng(5).uniform(0.1, 3, len(y))
    rows = MemoryRows(X, y, np.array([0, 1]), weights)
    sample = Sample.of(X, rows.targets, Scaling.none(5), rows.column_statistics()[0])
    w = weight_vector(sample.rows, np.linspace(-0.1, 0.1, 5))
    batches = algorithm._draw(algorithm._start(5, 90), sample, np.arange(90, dtype=np.uint64), EachOnce())
    total, mean = weights.sum(), np.zeros(5)
    for start, stop, mass in zip(*batches[1:], strict=True):
        masses = (mass, mass) if algorithm._loss else tuple(mass * total / rows.totals)
        g, block = np.zeros_like(w), batches.order[start:stop]
        block_gradient(
            algorithm._loss, sample.rows, y == 1, weights, sample.means, block, masses, w, 0.2, np.empty(90), g
        )
        mean += coordinates(g) / 4
    v = coordinates(w)
    if isinstance(algorithm, SHTAUC):
        z = X[y == 1][:, None] - X[y == 0]
        pairs = np.outer(weights[y == 1], weights[y == 0]) * (z @ v - 1)
        expected = np.einsum("ij,ijk->k", pairs, z) / np.outer(weights[y == 1], weights[y == 0]).sum()
    else:
        expected = X.T @ (weights * (1 / (1 + np.exp(-X @ v - 0.2)) - y)) / total
    np.testing.assert_allclose(mean, expected, rtol=1e-9, atol=1e-12)


def test_rows_are_drawn_in_proportion_to_their_weights():
    mask, weights = np.array([True, False, True, True]), np.array([1.0, 9.0, 0.5, 2.5])
    drawn = np.bincount(ClassSampler.of(mask, weights).draw(40_000, np.random.RandomState(0)), minlength=4)
    np.testing.assert_allclose(drawn / 40_000, [0.25, 0, 0.125, 0.625], atol=0.01)
    whole = np.array([1.0, 9.0, 0.0, 2.0])
    repeated = ClassSampler(np.array([0, 3, 3], np.uint32), None)
    np.testing.assert_array_equal(
        ClassSampler.of(mask, whole).draw(100, np.random.RandomState(1)), repeated.draw(100, np.random.RandomState(1))
    )
