"""L1, elastic net and L0: optimality, brute force, and the same answers from moments and from rows."""

import itertools
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import CLASSES, correlated_rows, normal_equations, pairs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path
from threadpoolctl import threadpool_limits

from aucmax.rows.memory import MemoryRows
from aucmax.solvers.best_subset import Exchange, Search, SubsetProblem
from aucmax.solvers.candidate import Candidate
from aucmax.solvers.elastic_net import ElasticNetProblem
from aucmax.solvers.square import MomentProblem, RowProblem

KINDS = ["float64", "float32", "CSR", "float32 CSR"]
every_source = pytest.mark.parametrize("source", ["moments", "rows"])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(1):
        yield


def make_loss(source, rows, standardize=True):
    if source == "moments":
        return MomentProblem(rows.moments(), standardize)
    return RowProblem(rows, standardize, "cg", max_iter=10_000)


def scaled(loss, W):
    """The weights of X / scale."""
    return W * np.where(np.isfinite(loss.scale), loss.scale, 0)


# M by its products and blocks


def test_the_normal_equations_are_means_over_the_pairs():
    rows = correlated_rows(weighted=True)
    M, delta = normal_equations(rows)
    Z, shares = pairs(rows.X, rows.y, rows.sample_weight)
    assert_allclose(M, (Z.T * shares) @ Z, rtol=1e-10)
    assert_allclose(delta, shares @ Z, rtol=1e-10)


@every_source
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_products_and_blocks_are_those_of_all_pairs(kind, weighted, source):
    rows = correlated_rows(kind=kind, weighted=weighted)
    loss = make_loss(source, rows)
    M, delta = normal_equations(rows, loss.scale)
    columns, v = np.array([0, 3, 6]), np.array([1.0, -2.0, 0.5])
    assert_allclose(loss.delta, delta, atol=1e-12)
    assert_allclose(loss.diagonal, np.diagonal(M), rtol=1e-9)
    assert_allclose(loss.product(columns, v), M[:, columns] @ v, atol=1e-12)
    assert_allclose(loss.product(columns[:0], v[:0]), 0)
    assert_allclose(loss.block(columns), M[np.ix_(columns, columns)], atol=1e-12)


def test_the_grids_of_alphas():
    rows = correlated_rows()
    for solver in ("moments", "dual", "cg"):
        loss = make_loss("moments", rows) if solver == "moments" else RowProblem(rows, True, solver, max_iter=10)
        M, delta = normal_equations(rows, loss.scale)
        grid = ElasticNetProblem(loss, 0.4, max_iter=10).default_alphas()
        assert_allclose(grid[0], np.abs(delta).max() / 0.4)
        assert_allclose(np.diff(np.log10(grid)), -0.1)
        assert len(grid) == (16 if solver == "cg" else 31)
        coarse = SubsetProblem(loss, (1,), max_iter=10).default_alphas()
        assert_allclose(coarse, np.trace(M) / len(M) * np.logspace(2, -3, 6))


# L1 and elastic net


def assert_optimal(V, alphas, l1_ratio, M, delta, tol):
    """0 is a subgradient of 1/2 v'Mv - delta.v + alpha (l1_ratio |v|_1 + (1 - l1_ratio)/2 |v|^2)."""
    for v, alpha in zip(V, alphas, strict=True):
        g, l1 = M @ v - delta + alpha * (1 - l1_ratio) * v, alpha * l1_ratio
        assert_allclose(g[v != 0], -l1 * np.sign(v[v != 0]), rtol=0, atol=tol * l1)
        assert np.abs(g[v == 0]).max(initial=0) <= l1 * (1 + tol)


@every_source
@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    shape=st.sampled_from([(60, 8), (30, 30), (15, 60), (20, 250), (50, 1)]),
    kind=st.sampled_from(KINDS),
    weighted=st.booleans(),
    standardize=st.booleans(),
    l1_ratio=st.sampled_from([1.0, 0.7, 0.1]),
)
def test_elastic_net_path_is_optimal_at_every_alpha(source, seed, shape, kind, weighted, standardize, l1_ratio):
    rows = correlated_rows(*shape, seed=seed, kind=kind, weighted=weighted)
    loss = make_loss(source, rows, standardize)
    problem = ElasticNetProblem(loss, l1_ratio, max_iter=1000)
    alphas = problem.default_alphas()
    V = scaled(loss, problem.path(alphas, 1e-6))
    M, delta = normal_equations(rows, loss.scale)
    assert_optimal(V, alphas, l1_ratio, M, delta, 2e-6)
    assert not V[0].any()
    assert V[1].any()


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.05])
def test_a_path_is_that_of_scikit_learn(l1_ratio):
    rows = correlated_rows(80, 12)
    loss = make_loss("moments", rows)
    problem = ElasticNetProblem(loss, l1_ratio, max_iter=1000)
    alphas = problem.default_alphas()
    # A design of 12 rows whose normal equations are M and delta: R'R = M, R'z = delta
    M, delta = normal_equations(rows, loss.scale)
    R = np.linalg.cholesky(M).T
    z = np.linalg.solve(R.T, delta)
    n = np.sqrt(len(R))
    _, theirs, _ = enet_path(n * R, n * z, l1_ratio=l1_ratio, alphas=alphas, tol=1e-13, max_iter=100_000)
    assert_allclose(scaled(loss, problem.path(alphas, 1e-10)), theirs.T, atol=1e-6)


@every_source
@pytest.mark.parametrize("l1_ratio", [1.0, 0.3, 1 / 3])
def test_the_largest_alpha_of_the_grid_is_the_smallest_that_leaves_nothing(l1_ratio, source):
    for seed in range(10):
        problem = ElasticNetProblem(make_loss(source, correlated_rows(seed=seed)), l1_ratio, max_iter=1000)
        alpha = problem.default_alphas()[0]
        w, below = problem.path(np.array([alpha, 0.999 * alpha]), 1e-6)
        assert not w.any()
        assert np.count_nonzero(below) == 1
        assert below[np.argmax(np.abs(problem.base.delta))] != 0


@every_source
def test_a_vanishing_share_of_l1_is_l2(source):
    rows, alphas = correlated_rows(), np.array([1.0, 0.1])
    loss = make_loss(source, rows)
    ridge = loss.path(alphas, 1e-12)
    assert_allclose(ElasticNetProblem(loss, 1e-9, max_iter=1000).path(alphas, 1e-3), ridge, rtol=1e-6)
    assert not np.allclose(ElasticNetProblem(loss, 0.1, max_iter=1000).path(alphas, 1e-3), ridge, rtol=0.01)


@every_source
def test_elastic_net_without_penalty_is_the_shortest_solution(source):
    loss = make_loss(source, correlated_rows(12, 30))
    path = ElasticNetProblem(loss, 1.0, max_iter=1000).path(np.array([0.1, 0.0]), 1e-10)
    assert_allclose(path[1], loss.path(np.array([0.0]), 1e-10)[0])


def test_wide_rows_form_blocks_of_few_columns():
    rows = correlated_rows(100, 3000, kind="CSR")
    problem = ElasticNetProblem(make_loss("rows", rows), 1.0, max_iter=1000)
    sizes, block = [], problem.base.block
    problem.base.block = lambda columns: sizes.append(len(columns)) or block(columns)
    problem.path(problem.default_alphas(), 1e-6)
    assert max(sizes) < 300
    # From nothing to a small alpha, where most columns want to join
    sizes.clear()
    alpha = problem.default_alphas()[:1] / 30
    problem.path(alpha, 1e-6)
    assert sizes[0] == 100
    assert max(sizes) < 1000


DEPENDENT = {
    "duplicates": lambda X: np.column_stack([X, X[:, :4]]),
    "opposites": lambda X: np.column_stack([X, -2 * X[:, :4]]),
    "sums": lambda X: np.column_stack([X, X[:, 0] + X[:, 1], X @ np.arange(X.shape[1])]),
    "one-hot": lambda X: np.column_stack([X, X[:, 0] > 0, X[:, 0] <= 0, np.ones(len(X))]),
    "units": lambda X: X * np.logspace(-5, 5, X.shape[1]),
    "hardly any rows": lambda X: X[:6] @ np.random.default_rng(1).normal(size=(X.shape[1], 100)),
}


@every_source
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("case", DEPENDENT)
def test_elastic_net_of_dependent_columns(case, l1_ratio, source):
    base = correlated_rows(40, 6, seed=3)
    X = DEPENDENT[case](base.X)
    rows = MemoryRows(X, base.y[: len(X)], CLASSES)
    for standardize in (True, False):
        loss = make_loss(source, rows, standardize)
        problem = ElasticNetProblem(loss, l1_ratio, max_iter=1000)
        alphas = problem.default_alphas()
        W = problem.path(alphas, 1e-6)
        assert_optimal(scaled(loss, W), alphas, l1_ratio, *normal_equations(rows, loss.scale), 1e-4)
        assert not W[:, X.std(axis=0) == 0].any()


@every_source
def test_constant_columns_alone_give_zero(source):
    loss = make_loss(source, MemoryRows(np.full((6, 2), 0.1), np.array([0, 1, 0, 1, 0, 1]), CLASSES))
    for problem in (ElasticNetProblem(loss, 1.0, max_iter=10), SubsetProblem(loss, (1, 2), max_iter=10)):
        assert_array_equal(problem.path(problem.default_alphas(), 1e-6), 0)


def test_coordinate_descent_that_stops_short_warns():
    problem = ElasticNetProblem(make_loss("moments", correlated_rows(100, 30)), 1.0, max_iter=2)
    alphas = problem.default_alphas()[20:21]
    message = (
        r"^Coordinate descent stopped at max_iter=2 sweeps with a gradient that is \d\.\de[+-]\d\d of the L1 penalty "
        r"off the optimum \(tol=1e-09\): increase max_iter, tol or alpha\.$"
    )
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        problem.path(alphas, 1e-9)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert sum(one.n_sweeps for one in problem.iterations) == 2


@every_source
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_history_of_coordinate_descent_ends_at_the_optimum(source, l1_ratio):
    rows = correlated_rows(60, 200, mixing=2.0)
    loss = make_loss(source, rows)
    problem = ElasticNetProblem(loss, l1_ratio, max_iter=1000)
    alpha = problem.default_alphas()[15]
    found = problem.solve(Candidate(alpha), 1e-6)
    history, v = found.history(), scaled(loss, found.weights)
    assert list(history) == ["value", "error", "n_columns", "n_sweeps"]
    assert len(history["value"]) > 2
    assert (np.diff(history["value"]) < 0).all()
    assert (np.diff(history["n_columns"]) > 0).all()
    assert history["value"][0] == 0.5  # no column yet
    M, delta = normal_equations(rows, loss.scale)
    value = 0.5 + v @ M @ v / 2 - delta @ v + alpha * (l1_ratio * np.abs(v).sum() + (1 - l1_ratio) / 2 * v @ v)
    assert history["value"][-1] == pytest.approx(value, rel=1e-9)
    gradient, l1 = M @ v - delta + alpha * (1 - l1_ratio) * v, alpha * l1_ratio
    error = np.where(v == 0, np.abs(gradient) - l1, np.abs(gradient + l1 * np.sign(v))).max() / l1
    assert history["error"][-1] == pytest.approx(error, abs=1e-9)
    assert history["error"][-1] <= 1e-6 < history["error"][:-1].min()
    assert found.n_iter == history["n_sweeps"].sum()


# L0


def subset_path(loss, numbers, alphas, max_iter=1000):
    """Shape (numbers, alphas, columns), for X / scale."""
    W = SubsetProblem(loss, tuple(numbers), max_iter).path(np.asarray(alphas, dtype=float))
    return scaled(loss, W).reshape(len(numbers), len(alphas), -1)


def restricted(M, delta, alpha, columns):
    """What the objective falls by on these columns, and the weights."""
    columns = list(columns)
    v = np.linalg.solve(M[np.ix_(columns, columns)] + alpha * np.eye(len(columns)), delta[columns])
    return delta[columns] @ v / 2, v


def fall(M, delta, alpha, v):
    return delta @ v - (v @ M @ v + alpha * v @ v) / 2


def test_best_subset_is_the_best_of_all_supports():
    misses = total = 0
    for seed in range(48):
        rows = correlated_rows(30, 6, seed=seed, kind=KINDS[seed % 4], weighted=seed % 3 == 0)
        loss = make_loss(("moments", "rows")[seed // 4 % 2], rows)
        M, delta = normal_equations(rows, loss.scale)
        alphas = [1.0, 0.01]
        V = subset_path(loss, range(1, 6), alphas)
        for k, (a, alpha) in itertools.product(range(1, 6), enumerate(alphas)):
            best = max(restricted(M, delta, alpha, S)[0] for S in itertools.combinations(range(6), k))
            found = fall(M, delta, alpha, V[k - 1, a])
            assert np.count_nonzero(V[k - 1, a]) == k
            assert 0.9 * best <= found <= best * (1 + 1e-9)
            misses += found < best * (1 - 1e-6)
            total += 1
    assert misses <= 0.01 * total  # a search, not an enumeration


def hard_thresholding(M, delta, alpha, k):
    """Plain iterative hard thresholding, and the best weights on its last support."""
    v, A = np.zeros(len(delta)), M + alpha * np.eye(len(delta))
    step = 1 / np.linalg.eigvalsh(A)[-1]
    for _ in range(500):
        v -= step * (A @ v - delta)
        v[np.argsort(-np.abs(v))[k:]] = 0
    return restricted(M, delta, alpha, np.flatnonzero(v))[0]


@every_source
@pytest.mark.parametrize(("n", "d"), [(60, 25), (25, 50)])
def test_no_exchange_helps_and_simpler_ways_are_no_better(n, d, source):
    for seed in range(3):
        rows = correlated_rows(n, d, seed=seed, mixing=2.0)
        loss = make_loss(source, rows)
        M, delta = normal_equations(rows, loss.scale)
        for k, alpha in itertools.product((1, 8), (0.01, 1.0)):
            v = subset_path(loss, [k], [alpha])[0, 0]
            inside, outside = np.flatnonzero(v), np.flatnonzero(v == 0)
            assert len(inside) == k
            gain, best = restricted(M, delta, alpha, inside)
            assert_allclose(v[inside], best, rtol=1e-7)
            for i, j in itertools.product(range(k), outside):
                assert restricted(M, delta, alpha, np.append(np.delete(inside, i), j))[0] <= gain * (1 + 1e-7)
            assert hard_thresholding(M, delta, alpha, k) <= gain * (1 + 1e-7)
            assert restricted(M, delta, alpha, np.argsort(-np.abs(delta))[:k])[0] <= gain * (1 + 1e-9)


@every_source
@pytest.mark.parametrize("shape", [(60, 8), (12, 30)], ids=str)
def test_best_subset_of_all_columns_is_the_fit_without_a_limit(shape, source):
    loss = make_loss(source, correlated_rows(*shape, weighted=True))
    for alphas in ([1.0, 0.01], [0.0]):
        ridge = loss.path(np.array(alphas), 1e-13)
        assert_allclose(subset_path(loss, [shape[1]], alphas)[0], scaled(loss, ridge), rtol=1e-6, atol=1e-9)


def test_a_large_alpha_keeps_the_largest_differences():
    loss = make_loss("moments", correlated_rows(30, 50))
    (v,) = subset_path(loss, [7], [1e8])[0]
    assert_array_equal(np.flatnonzero(v), np.sort(np.argsort(-np.abs(loss.delta))[:7]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("shape", [(60, 20), (20, 60)], ids=str)
def test_moments_and_rows_agree(shape, weighted, kind):
    rows = correlated_rows(*shape, kind=kind, weighted=weighted)
    moments, by_rows = make_loss("moments", rows), make_loss("rows", rows)
    alphas = ElasticNetProblem(moments, 0.8, 1000).default_alphas()[::10]
    for make in (lambda loss: ElasticNetProblem(loss, 0.8, 1000), lambda loss: SubsetProblem(loss, (1, 3, 9), 1000)):
        assert_allclose(make(by_rows).path(alphas, 1e-9), make(moments).path(alphas, 1e-9), rtol=1e-5, atol=1e-8)
        grid = make(moments).default_alphas()
        assert_allclose(make(by_rows).default_alphas()[: len(grid)], grid[: len(make(by_rows).default_alphas())])


def test_subset_path_is_independent_of_other_candidates():
    loss = make_loss("moments", correlated_rows(25, 40))
    numbers, alphas = [2, 5, 11], [1.0, 0.1, 0.001]
    together = subset_path(loss, numbers, alphas)
    for (i, k), (a, alpha) in itertools.product(enumerate(numbers), enumerate(alphas)):
        assert_array_equal(subset_path(loss, [k], [alpha])[0, 0], together[i, a])


@every_source
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("case", DEPENDENT)
def test_best_subset_of_dependent_columns_has_n_nonzero_weights(case, alpha, source):
    base = correlated_rows(40, 6, seed=3)
    X = DEPENDENT[case](base.X)
    rows = MemoryRows(X, base.y[: len(X)], CLASSES)
    loss = make_loss(source, rows)
    n_usable = np.count_nonzero(X.std(axis=0))
    M, delta = normal_equations(rows, loss.scale)
    previous = 0.0
    numbers = [k for k in (1, 2, 3, 5, 6, 7, 8, 9, 10, 20, 50, 100) if k <= X.shape[1]]
    for k, (v,) in zip(numbers, subset_path(loss, numbers, [alpha]), strict=True):
        assert np.count_nonzero(v) == min(k, n_usable)
        assert not v[X.std(axis=0) == 0].any()
        gain = fall(M, delta, alpha, v)
        assert gain >= previous * (1 - 1e-6)
        previous = gain


def test_an_exchange_changes_what_it_should():
    rows = correlated_rows(50, 15)
    search = Search(make_loss("moments", rows), alpha=0.1, max_iter=10)
    state = Exchange(search, np.array([1, 4, 9, 12]))
    for i, j in [(0, 7), (3, 1), (1, 14), (0, 12), (2, 7)]:
        state.replace(i, j)
        fresh = Exchange(search, state.columns)
        for name in ("B", "W", "v", "r", "s", "outside"):
            assert_allclose(getattr(state, name), getattr(fresh, name), atol=1e-9)


def test_a_search_that_stops_short_warns():
    problem = SubsetProblem(make_loss("moments", correlated_rows(40, 120, mixing=2.0)), (20,), max_iter=1)
    message = "The search for the best columns stopped after max_iter=1 exchanges: increase max_iter."
    with pytest.warns(ConvergenceWarning, match=f"^{re.escape(message)}$") as caught:
        problem.path(np.array([1e-3]))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = SubsetProblem(problem.base, (20,), max_iter=1000)
        problem.path(np.array([1e-3]))
    assert 1 < len(problem.iterations) < 1000


@every_source
def test_history_of_exchanges_ends_at_the_objective(source):
    rows, alpha = correlated_rows(40, 120, mixing=2.0), 1e-3
    loss = make_loss(source, rows)
    found = SubsetProblem(loss, (3, 20), max_iter=1000).solve(Candidate(alpha, 20), 0)
    history, v = found.history(), scaled(loss, found.weights)
    assert list(history) == ["value", "gain"]
    assert all(values.shape == (found.n_iter,) for values in history.values())
    assert found.n_iter > 1
    assert (history["gain"] > 0).all()
    assert_allclose(-np.diff(history["value"]), history["gain"][1:])
    value = 0.5 - fall(*normal_equations(rows, loss.scale), alpha, v)
    assert history["value"][-1] == pytest.approx(value, abs=1e-6)  # columns are compared with a ridge of 1e-8
    assert_array_equal(found.weights, SubsetProblem(loss, (3, 20), 1000).path(np.array([alpha]))[1])
    one = SubsetProblem(loss, (1,), max_iter=1000).solve(Candidate(10.0), 0)  # the class means decide
    assert one.history()["gain"].tolist() == [0.0]
