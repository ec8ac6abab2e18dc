"""SHT-AUC, StoIHT and HSG-HT: formulas by brute force, limits known exactly, invariances, resuming."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from aucmax import HSGHT, SHTAUC, AUCClassifier, StoIHT, roc_auc, support_f1
from aucmax.datasets import make_sparse_shift
from aucmax.papers.engine.row_access import coordinates, weight_vector, zero_weights
from aucmax.papers.engine.sample import Sample, Scaling
from aucmax.papers.hard_thresholding import (
    INTERCEPT,
    LOGISTIC,
    SMOOTHNESS,
    SQUARE,
    STEPS,
    block_curvature,
    block_gradient,
    mixed_order,
)
from aucmax.rows.memory import MemoryRows

ALL = [SHTAUC, StoIHT, HSGHT]
BLOCKS = [SHTAUC(n_blocks=3), StoIHT(n_blocks=3), HSGHT(batch_size=10)]
CONTAINERS = [np.asarray, sparse.csr_array]


def names(value):
    return getattr(value, "__name__", type(value).__name__)


def two_classes(n=151, d=6, seed=0, share=0.3):
    """Return rows whose columns differ in mean and scale, some of them correlated, classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)))
    signal = X @ rng.standard_normal(d) + 2 * rng.standard_normal(n)
    y = (signal > np.quantile(signal, 1 - share)).astype(int)
    return X * 10.0 ** rng.uniform(-2, 2, d) + 5 * rng.standard_normal(d), y


class Formulas:
    """The rows of a fit as kernels see them, and the same in NumPy."""

    def __init__(self, container, n=37):
        X, y = two_classes(n)
        self.Z, self.y = (X - X.mean(axis=0)) / X.std(axis=0), y
        rows, scaling = MemoryRows(container(X), y, np.array([0, 1])), Scaling(X.mean(axis=0), 1 / X.std(axis=0))
        self.sample = Sample.of(rows.X, rows.targets, scaling, rows.column_statistics()[0])
        self.w, self.intercept = np.random.default_rng(1).standard_normal(X.shape[1]), 0.3

    def vector(self, w):
        return weight_vector(self.sample.rows, w)

    def masses(self, loss, mass):
        counts = np.bincount(self.y)
        return (mass, mass) if loss == LOGISTIC else tuple(mass * len(self.y) / counts)

    def gradient(self, loss, block, mass, w, intercept):
        """Return the gradient of the kernel, the intercept's last, and the scores."""
        g, scores = zero_weights(len(w)), np.empty(len(self.y))
        rows, positive, means = self.sample.rows, self.sample.positive, self.sample.means
        ones = np.ones(len(positive))
        masses = self.masses(loss, mass)
        last = block_gradient(loss, rows, positive, ones, means, block, masses, self.vector(w), intercept, scores, g)
        np.testing.assert_allclose(g, self.vector(coordinates(g)), rtol=1e-12, atol=1e-12)
        return np.append(coordinates(g), last), scores

    def full_gradient(self, loss, w, intercept):
        n = len(self.y)
        return self.gradient(loss, np.arange(n, dtype=np.uint64), 1 / n, w, intercept)[0]

    def curvature(self, loss, w, intercept, v, v_intercept):
        rows, positive, means = self.sample.rows, self.sample.positive, self.sample.means
        ones = np.ones(len(positive))
        block = np.arange(len(self.y), dtype=np.uint64)
        scores = self.gradient(loss, block, 1.0, w, intercept)[1]
        masses = self.masses(loss, 1 / len(self.y))
        return block_curvature(loss, rows, positive, ones, means, block, masses, scores, self.vector(v), v_intercept)

    def objective(self, loss, w, intercept):
        if loss == LOGISTIC:
            return np.mean(np.logaddexp(0, -(2 * self.y - 1) * (self.Z @ w + intercept)))
        pairs = [1 - w @ (a - b) for a in self.Z[self.y == 1] for b in self.Z[self.y == 0]]
        return np.mean(np.square(pairs)) / 2


# The formulas


@pytest.mark.parametrize("container", CONTAINERS, ids=names)
def test_shtauc_gradient_is_the_mean_over_all_pairs(container):
    data = Formulas(container)
    pairs = np.array([a - b for a in data.Z[data.y == 1] for b in data.Z[data.y == 0]])
    expected = -np.mean((1 - pairs @ data.w)[:, None] * pairs, axis=0)
    np.testing.assert_allclose(data.full_gradient(SQUARE, data.w, 0.0), np.append(expected, 0), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS, ids=names)
@pytest.mark.parametrize("loss", [SQUARE, LOGISTIC])
def test_shtauc_gradient_by_finite_differences(container, loss):
    data, h = Formulas(container), 1e-6

    def value(x):
        return data.objective(loss, x[:-1], x[-1])

    x = np.append(data.w, data.intercept)
    expected = [(value(x + h * e) - value(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    np.testing.assert_allclose(data.full_gradient(loss, data.w, data.intercept), expected, atol=1e-7)


class EachOnce:
    """Draws every block once, and a seed."""

    def randint(self, low, high=None, size=None):
        return 7 if size is None else np.arange(size)


@pytest.mark.parametrize("container", CONTAINERS, ids=names)
@pytest.mark.parametrize("algorithm", [SHTAUC, StoIHT], ids=names)
def test_the_mean_of_the_block_gradients_is_the_gradient(container, algorithm):
    data, clf = Formulas(container), algorithm(n_blocks=4)  # of 37 rows: 9, 9, 9 and 10
    state = clf._start(len(data.w), 37)
    batches = clf._draw(state, data.sample, np.arange(37, dtype=np.uint64), EachOnce())
    assert sorted(batches.stop - batches.start) == [9, 9, 9, 10]
    assert sorted(batches.order) == list(range(37))
    gradients = [
        data.gradient(clf._loss, batches.order[start:stop], mass, data.w, data.intercept)[0]
        for _, start, stop, mass in zip(range(4), *batches[1:], strict=True)
    ]
    expected = data.full_gradient(clf._loss, data.w, data.intercept)
    np.testing.assert_allclose(np.mean(gradients, axis=0), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS, ids=names)
def test_the_gradient_on_a_block_samples_only_what_is_not_known_of_all_rows(container):
    data = Formulas(container)
    block = np.concatenate([np.flatnonzero(data.y == 0)[:2], np.flatnonzero(data.y == 1)[:2]]).astype(np.uint64)
    means, counts = np.array([data.Z[data.y == c].mean(axis=0) for c in (0, 1)]), np.bincount(data.y)
    delta = means[1] - means[0]
    expected = delta * (delta @ data.w - 1)
    for i in block:
        centred = data.Z[i] - means[data.y[i]]
        expected += 9 / counts[data.y[i]] * (centred @ data.w) * centred
    actual, _ = data.gradient(SQUARE, block, 9 / 37, data.w, 0.0)
    np.testing.assert_allclose(actual[:-1], expected, rtol=1e-11, atol=1e-12)
    _, scores = data.gradient(LOGISTIC, block, 9 / 37, data.w, data.intercept)
    np.testing.assert_allclose(scores[:4], data.Z[block] @ data.w + data.intercept, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS, ids=names)
def test_the_curvature_is_what_the_gradient_changes_by(container):
    data, v = Formulas(container), np.random.default_rng(2).standard_normal(6)
    change = data.full_gradient(SQUARE, data.w + v, 0.0) - data.full_gradient(SQUARE, data.w, 0.0)
    assert data.curvature(SQUARE, data.w, 0.0, v, 0.0) == pytest.approx(change @ np.append(v, 0), rel=1e-11)

    x, full = np.append(data.w, data.intercept), np.append(v, -0.5)
    for size in (5.0, 1.0, 1e-5):
        bound = data.curvature(LOGISTIC, data.w, data.intercept, size * v, size * -0.5) / size**2
        along = [
            (data.full_gradient(LOGISTIC, *np.split(x + (t + 1e-5) * full, [6])[:1], (x + (t + 1e-5) * full)[6]) @ full)
            - (data.full_gradient(LOGISTIC, (x + t * full)[:6], (x + t * full)[6]) @ full)
            for t in np.linspace(0, size, 9)
        ]
        assert bound >= max(along) / 1e-5 * (1 - 1e-4)
    assert bound == pytest.approx(along[0] / 1e-5, rel=1e-3)  # tight for short steps


@pytest.mark.parametrize("algorithm", [SHTAUC(n_blocks=1), StoIHT(n_blocks=1), HSGHT(batch_size=10**6)], ids=names)
def test_with_all_rows_in_a_step_the_objective_never_rises(algorithm):
    data = Formulas(np.asarray, n=151)
    X, y = two_classes()
    clf = algorithm.set_params(n_nonzero=3, alpha=0.0, warm_start=True, max_iter=1, random_state=0)
    values = []
    for _ in range(30):
        w = clf.fit(X, y).state_.w[:6]
        assert np.count_nonzero(w) == 3
        values.append(data.objective(clf._loss, w, clf.state_.scalars[INTERCEPT]))
    assert np.all(np.diff(values) <= 1e-14)
    assert values[-1] < values[0] - 1e-3


def test_hard_thresholding_with_a_given_step_is_the_algorithm_of_the_paper():
    X, y = two_classes()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    M = np.cov(Z[y == 1].T, bias=True) + np.cov(Z[y == 0].T, bias=True)
    delta = Z[y == 1].mean(axis=0) - Z[y == 0].mean(axis=0)
    w = np.zeros(6)
    for _ in range(7):
        w = (w - 0.2 * (M @ w + delta * (delta @ w - 1))) / (1 + 0.2 * 0.1)
        w[np.argsort(-np.abs(w))[2:]] = 0
    clf = SHTAUC(n_nonzero=2, alpha=0.1, n_blocks=1, eta0=0.2, max_iter=7).fit(X, y)
    np.testing.assert_allclose(clf.coef_[0] * X.std(axis=0), w, rtol=1e-11)


# The limits


@pytest.mark.parametrize(("n", "d", "alpha"), [(151, 6, 0.0), (151, 6, 0.1), (40, 60, 1.0)])
@pytest.mark.parametrize("standardize", [True, False])
def test_shtauc_with_all_columns_converges_to_the_exact_minimiser(n, d, alpha, standardize):
    X, y = two_classes(n, d)
    if not standardize:
        X /= X.std(axis=0) * np.linspace(1, 2, d)
    exact = AUCClassifier(alpha=alpha, standardize=standardize).fit(X, y).coef_
    clf = SHTAUC(n_nonzero=d, alpha=alpha, n_blocks=1, standardize=standardize, warm_start=True, max_iter=100)
    errors = [np.linalg.norm(clf.fit(X, y).coef_ - exact) / np.linalg.norm(exact) for _ in range(10)]
    assert errors[-1] < 1e-11
    above = np.array([error for error in errors if error > 1e-10])
    assert np.all(above[1:] < 0.5 * above[:-1])


def test_several_blocks_converge_to_a_tolerance_that_falls_as_blocks_grow():
    errors = []
    for n in (1000, 16_000):
        X, y = two_classes(n, 5, share=0.4)
        exact = AUCClassifier(alpha=0.1).fit(X, y).coef_
        fits = [
            SHTAUC(n_nonzero=5, alpha=0.1, n_blocks=4, max_iter=15, random_state=seed).fit(X, y) for seed in range(10)
        ]
        errors.append(np.mean([np.linalg.norm((clf.coef_ - exact) * X.std(axis=0)) for clf in fits]))
    assert errors[0] < 0.1
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.parametrize("algorithm", [StoIHT(n_blocks=1), HSGHT(batch_size=20)], ids=names)
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_stoiht_with_all_columns_is_logistic_regression(algorithm, alpha):
    X, y = two_classes()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    C = 1 / (len(y) * alpha) if alpha else np.inf
    expected = LogisticRegression(C=C, tol=1e-10, solver="newton-cholesky").fit(Z, y)
    clf = algorithm.set_params(n_nonzero=6, alpha=alpha, max_iter=400, random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.coef_ * X.std(axis=0), expected.coef_, rtol=1e-6)
    assert clf.state_.scalars[INTERCEPT] == pytest.approx(expected.intercept_[0], rel=1e-6)


@pytest.mark.parametrize(("algorithm", "least"), [(SHTAUC, 1.0), (StoIHT, 1.0), (HSGHT, 0.9)], ids=names)
def test_hard_thresholding_finds_the_informative_columns(algorithm, least):
    X, y, support = make_sparse_shift(600, 300, n_informative=12, ratio=0.3, shift=0.8, random_state=0)
    assert support_f1(algorithm(n_nonzero=12, random_state=0).fit(X, y), support) >= least


def test_the_intercept_is_neither_penalised_nor_thresholded():
    X, y = two_classes(share=0.1)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    clf = StoIHT(n_nonzero=1, alpha=10.0, n_blocks=1, max_iter=200).fit(X, y)
    p = expit(Z @ clf.state_.w[:6] + clf.state_.scalars[INTERCEPT])
    assert np.mean(p) == pytest.approx(np.mean(y), rel=1e-9)


# Exactly k


@pytest.mark.parametrize("algorithm", BLOCKS, ids=names)
@pytest.mark.parametrize("k", [1, 3, 5])
def test_exactly_k_weights_are_kept_of_equal_columns_too(algorithm, k):
    X, y = two_classes()
    for data in (X, np.hstack([X, X, X]), sparse.csr_array(np.hstack([X, X, X]))):
        assert np.count_nonzero(clone(algorithm).set_params(n_nonzero=k, random_state=0).fit(data, y).coef_) == k


@pytest.mark.parametrize("algorithm", ALL, ids=names)
def test_n_nonzero_is_at_most_fifty_by_default(algorithm):
    rng = np.random.default_rng(0)
    for d in (1, 7, 80):
        X, y = rng.standard_normal((60, d)), np.arange(60) % 3 == 0
        assert np.count_nonzero(algorithm(random_state=0).fit(X, y).coef_) == min(d, 50)


@pytest.mark.parametrize("container", CONTAINERS, ids=names)
@pytest.mark.parametrize("algorithm", BLOCKS, ids=names)
def test_constant_columns_have_no_weight(algorithm, container):
    X, y = two_classes()
    X[:, [1, 4]] = 3.7
    coef = clone(algorithm).set_params(n_nonzero=5, random_state=0).fit(container(X), y).coef_[0]
    np.testing.assert_array_equal(np.flatnonzero(coef), [0, 2, 3, 5])


# Invariances


@pytest.mark.parametrize("algorithm", BLOCKS, ids=names)
def test_sparse_rows_are_fitted_as_dense_ones(algorithm):
    X, y = two_classes(300, 20)
    X[np.abs(X - X.mean(axis=0)) < 0.7 * X.std(axis=0)] = 0
    clf = clone(algorithm).set_params(n_nonzero=5, max_iter=5, random_state=0)
    expected = clf.fit(X, y).coef_
    for rows in (sparse.csr_array(X), sparse.csc_array(X)):
        np.testing.assert_allclose(clf.fit(rows, y).coef_, expected, rtol=1e-9)


@pytest.mark.parametrize("algorithm", BLOCKS, ids=names)
def test_float32_rows_are_summed_in_float64(algorithm):
    X, y = two_classes()
    clf = clone(algorithm).set_params(n_nonzero=3, max_iter=5, random_state=0)
    X = X.astype(np.float32)
    np.testing.assert_allclose(clf.fit(X, y).coef_, clf.fit(X.astype(float), y).coef_, rtol=1e-6)


@pytest.mark.parametrize("container", CONTAINERS, ids=names)
@pytest.mark.parametrize("algorithm", BLOCKS, ids=names)
def test_shifting_and_scaling_the_columns_changes_nothing(algorithm, container):
    X, y = two_classes()
    clf = clone(algorithm).set_params(n_nonzero=3, max_iter=5, random_state=0)
    expected = clf.fit(container(X), y).coef_
    scale = 10.0 ** np.arange(-3, 3)
    moved = clf.fit(container((X + 7 * np.arange(6)) * scale), y).coef_
    np.testing.assert_allclose(moved * scale, expected, rtol=1e-7)


@pytest.mark.parametrize("algorithm", [SHTAUC(n_blocks=1), StoIHT(n_blocks=1), HSGHT(batch_size=10**6)], ids=names)
def test_hard_thresholding_of_swapped_classes_and_shuffled_rows(algorithm):
    X, y = two_classes()
    clf = clone(algorithm).set_params(n_nonzero=3, max_iter=10, random_state=0)
    expected = clf.fit(X, y).coef_
    np.testing.assert_allclose(clf.fit(X, 1 - y).coef_, -expected, rtol=1e-9)
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_allclose(clf.fit(X[order], y[order]).coef_, expected, rtol=1e-9)


@pytest.mark.parametrize("algorithm", BLOCKS, ids=names)
@pytest.mark.parametrize("factor", [1e-60, 1e-6, 1.0, 1e6, 1e60])
def test_no_scale_of_the_data_makes_the_steps_diverge(algorithm, factor):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 100)) * 10.0 ** rng.uniform(-2, 2, 100), np.arange(40) % 4 == 0
    X[:2] *= 100  # outliers
    X[y] += 0.5 * X.std(axis=0)
    clf = clone(algorithm).set_params(n_nonzero=20, standardize=False, random_state=0)
    coef = clf.fit(factor * X, y).coef_[0]
    assert roc_auc(y, X @ coef) > 0.75
    np.testing.assert_allclose(factor * coef, clf.fit(X, y).coef_[0], rtol=1e-6)


# Random numbers, and going on


@pytest.mark.parametrize("algorithm", BLOCKS, ids=names)
def test_hard_thresholding_random_state_gives_the_same_bits(algorithm):
    X, y = two_classes()
    first, second, other = (
        clone(algorithm).set_params(n_nonzero=3, random_state=seed).fit(X, y).coef_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert np.any(first != other)


@pytest.mark.parametrize("container", CONTAINERS, ids=names)
@pytest.mark.parametrize("algorithm", BLOCKS, ids=names)
def test_warm_start_of_two_and_three_passes_is_five(algorithm, container):
    X, y = two_classes()
    X = container(X)
    once = clone(algorithm).set_params(n_nonzero=3, random_state=0, max_iter=5).fit(X, y)
    twice = clone(algorithm).set_params(n_nonzero=3, random_state=0, warm_start=True, max_iter=2).fit(X, y)
    saved = pickle.loads(pickle.dumps(twice))
    for clf in (twice, saved):
        clf.set_params(max_iter=3).fit(X, y)
        np.testing.assert_array_equal(clf.coef_, once.coef_)
        np.testing.assert_array_equal(clf.state_.scalars, once.state_.scalars)
        np.testing.assert_array_equal(clf.convergence_, once.convergence_)
        assert clf.n_iter_ == 5


@pytest.mark.parametrize("algorithm", BLOCKS, ids=names)
def test_warm_start_continues_with_other_rows(algorithm):
    X, y = two_classes(400)
    clf = clone(algorithm).set_params(n_nonzero=3, random_state=0, warm_start=True, max_iter=3)
    assert clf.fit(X[:150], y[:150]).fit(X, y).score(X, y) > 0.7
    assert np.isfinite(clf.fit(1000 * X, y).coef_).all()  # the smoothness is found again


def test_tol_stops_hard_thresholding():
    X, y = two_classes()
    clf = SHTAUC(n_nonzero=3, n_blocks=1, max_iter=500, tol=1e-9).fit(X, y)
    assert 3 < clf.n_iter_ < 500
    assert clf.convergence_[-1] <= 1e-9 < clf.convergence_[-2]


# Blocks and batches


def test_blocks_stay_the_same_and_have_their_share_of_both_classes():
    data = Formulas(np.asarray, n=150)
    clf, rng = SHTAUC(n_blocks=5), np.random.RandomState(0)
    state, order = clf._start(6, 150), np.argsort(data.y).astype(np.uint64)
    first, second = (clf._draw(state, data.sample, order, rng) for _ in range(2))
    np.testing.assert_array_equal(first.order, second.order)
    assert np.any(first.start != second.start)  # drawn with replacement
    assert set(first.start) <= {0, 30, 60, 90, 120}
    n_positive = data.y[first.order].reshape(5, 30).sum(axis=1)
    assert np.all(np.abs(n_positive - data.y.sum() / 5) <= 1)
    other = clf._draw(clf._start(6, 150), data.sample, order, rng)
    assert np.any(first.order != other.order)


def test_the_order_is_random_and_spreads_the_classes():
    positive = np.arange(1000) < 87
    order = mixed_order(positive, np.random.default_rng(0))
    assert sorted(order) == list(range(1000))
    assert np.all(np.abs(positive[order].reshape(10, -1).sum(axis=1) - 8.7) <= 1)
    ranks = np.array([np.argsort(mixed_order(positive, np.random.default_rng(seed))) for seed in range(200)])
    assert np.all(np.abs(ranks.mean(axis=0) - 499.5) < 6 * 289 / np.sqrt(200))  # uniform for each row


def test_the_number_of_blocks():
    sample = Sample(None, np.arange(1000) < 200)
    counts = [SHTAUC()._count_blocks(sample, d) for d in (1, 2, 4, 5, 7, 20, 21, 1000)]
    assert counts == [10, 10, 5, 4, 2, 1, 1, 1]
    twice = replace(sample, weights=np.full(1000, 2.0))
    assert [SHTAUC()._count_blocks(twice, d) for d in (7, 20, 21, 1000)] == [5, 2, 1, 1]
    assert SHTAUC(n_blocks=8)._count_blocks(sample, 1000) == 8
    assert SHTAUC(n_blocks=8)._count_blocks(replace(sample, positive=sample.positive[:5]), 1) == 5


def test_batches_grow_from_pass_to_pass_until_they_are_all_rows():
    clf, n = HSGHT(batch_size=10, growth=1.1), 500
    sample = Sample(None, np.arange(n) < 20)
    state, order = clf._start(5, n), np.arange(n)
    t = 0
    for _ in range(30):
        _, start, stop, mass = clf._draw(state, sample, order, None)
        sizes = stop - start
        assert (start[0], stop[-1]) == (0, n)
        np.testing.assert_array_equal(start[1:], stop[:-1])
        np.testing.assert_allclose(mass * sizes, 1)
        planned = np.minimum(np.floor(10 * 1.1 ** (t + np.arange(len(sizes)))), n)
        np.testing.assert_array_equal(sizes[:-1], planned[:-1])
        assert planned[-1] <= sizes[-1] < planned[-1] + 10 * 1.1 ** (t + len(sizes))
        t += len(sizes)
        state.scalars[STEPS] = t
    assert list(sizes) == [n]
    weighted = replace(sample, weights=np.arange(1.0, n + 1))
    _, start, stop, mass = clf._draw(clf._start(5, n), weighted, order[::-1], None)
    np.testing.assert_allclose(1 / mass, [np.arange(n, 0, -1)[a:b].sum() for a, b in zip(start, stop, strict=True)])
    state.scalars[STEPS] = 1e9
    assert len(clf._draw(state, sample, order, None).start) == 1


def test_hard_thresholding_default_alpha():
    X, y = two_classes(300, 40, share=0.2)
    for algorithm, curvature in ((SHTAUC, 2.0), (StoIHT, 0.2 * 0.8)):
        alpha = curvature * 7 * (1 + np.log(40 / 7)) / (4 / (1 / 60 + 1 / 240))
        clf = algorithm(n_nonzero=7, n_blocks=1, max_iter=5)
        expected = clone(clf).set_params(alpha=alpha).fit(X, y).coef_
        np.testing.assert_allclose(clf.fit(X, y).coef_, expected, rtol=1e-9)


def test_the_smoothness_is_that_of_the_sparse_directions():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 100)) + 2 * rng.standard_normal((400, 1))  # one direction of all columns is long
    y = X[:, 0] - X[:, 1] + rng.standard_normal(400) > 0
    M = 2 * np.corrcoef(X.T)
    few, all_columns = (SHTAUC(n_nonzero=k, n_blocks=1).fit(X, y).state_.scalars[SMOOTHNESS] for k in (2, 100))
    largest = np.linalg.eigvalsh(M)[-1]
    assert 0.1 < few < 0.1 * largest
    assert 0.1 < all_columns < 1.3 * largest


# Errors


@pytest.mark.parametrize("algorithm", ALL, ids=names)
def test_n_nonzero_errors_say_what_to_change(algorithm):
    X, y = two_classes()
    message = r"^n_nonzero=7 is more than the 6 columns of X: give a number from 1 to 6, or None\.$"
    with pytest.raises(ValueError, match=message):
        algorithm(n_nonzero=7).fit(X, y)
    for value in (0, -3, 2.5):
        message = (
            f"^The 'n_nonzero' parameter of {algorithm.__name__} must be an int in the range "
            rf"\[1, inf\) or None\. Got {value} instead\.$"
        )
        with pytest.raises(ValueError, match=message):
            algorithm(n_nonzero=value).fit(X, y)
    with pytest.raises(ValueError, match=r"^The 'alpha' parameter of .* must be a float in the range \[0"):
        algorithm(alpha=-1).fit(X, y)
    if algorithm is SHTAUC:
        message = r"^The steps of SHTAUC diverged: lower eta0, or leave it at None\.$"
        with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match=message):
            algorithm(eta0=1e3, max_iter=200).fit(X, y)


def test_errors_of_blocks_and_batches():
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"^The 'n_blocks' parameter of SHTAUC must be an int in the range \[1, inf\)"):
        SHTAUC(n_blocks=0).fit(X, y)
    with pytest.raises(ValueError, match=r"^The 'growth' parameter of HSGHT must be a float in the range \[1"):
        HSGHT(growth=0.9).fit(X, y)
