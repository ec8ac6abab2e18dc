import re
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import gaussian
from problems import CLASSES, correlated_rows, dense, normal_equations, pairs
from scipy import sparse
from scipy.special import ndtr
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from aucmax import ClassMoments
from aucmax.rows.memory import MemoryRows
from aucmax.solvers.candidate import Candidate
from aucmax.solvers.square import (
    MAX_ORDER,
    MAX_ORDER_SPARSE,
    MomentProblem,
    RowProblem,
    alpha_grid,
    choose_solver,
    dual_path,
    eigen_solve,
    held_out_alpha,
    held_out_separation,
    shifted_cg,
)
from aucmax.solvers.square import (
    solve as solve_system,
)

TOL = 1e-12  # of conjugate gradients

# Each takes rows, alphas and the scale, and returns one solution a row, for X / scale.
SOLVERS = {
    "cholesky": lambda rows, alphas, scale: np.array([solve_system(*system(rows, scale), alpha) for alpha in alphas]),
    "eigen": lambda rows, alphas, scale: eigen_solve(*system(rows, scale), alphas),
    "dual": lambda rows, alphas, scale: dual_path(
        rows, alphas, scale, rows.column_statistics()[0].mean(axis=0), np.ones(2)
    ),
    "cg": lambda rows, alphas, scale: cg_path(rows, alphas, scale, TOL, max_iter=10_000).solutions,
}
every_solver = pytest.mark.parametrize("solver", SOLVERS)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """On matrices this small the threads of BLAS wait for one another, for seconds where the machine is busy."""
    with threadpool_limits(1):
        yield


def system(rows, scale):
    """M and delta of X / scale."""
    moments = rows.moments().rescaled(scale)
    return moments.pair_scatter(), moments.delta


def cg_path(rows, alphas, scale, tol, max_iter):
    """Conjugate gradients on X / scale."""
    problem, (low, high) = RowProblem(rows, False, "cg", max_iter), rows.column_statistics()[0]
    problem.scale, problem.delta = scale, (high - low) / scale
    return shifted_cg(problem.matvec, problem.delta, alphas, tol, max_iter)


def solve(solver, rows, alphas, scale=None):
    scale = np.ones(rows.n_features) if scale is None else scale
    solutions = SOLVERS[solver](rows, np.asarray(alphas, dtype=float), scale)
    assert solutions.shape == (len(alphas), rows.n_features)
    assert solutions.dtype == np.float64
    return solutions


def make_problem(solver, rows, standardize):
    if solver == "moments":
        return MomentProblem(rows.moments(), standardize)
    return RowProblem(rows, standardize, solver, max_iter=10_000)


def assert_optimal(solutions, alphas, M, delta, tol=1e-9):
    for w, alpha in zip(solutions, alphas, strict=True):
        assert np.linalg.norm(M @ w + alpha * w - delta) <= tol * np.linalg.norm(delta)


def assert_close(actual, expected, rtol=1e-9):
    """Equal up to `rtol` of the norm of each solution."""
    error, size = (np.linalg.norm(np.atleast_2d(a), axis=1) for a in (actual - expected, expected))
    assert (error <= rtol * size).all()


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


# All solvers solve the same system


@pytest.mark.parametrize("scaled", [False, True], ids=["as it is", "scaled"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["float64", "float32", "CSR", "float32 CSR"])
@pytest.mark.parametrize("shape", [(60, 8), (100, 1), (12, 30), (40, 41)], ids=str)
def test_all_solvers_agree_on_the_optimum(shape, kind, weighted, scaled):
    rows = correlated_rows(*shape, kind=kind, weighted=weighted)
    scale = np.random.default_rng(1).uniform(0.5, 2, rows.n_features) if scaled else np.ones(rows.n_features)
    M, delta = normal_equations(rows, scale)
    alphas = np.array([0.01, 100, 1]) * np.trace(M) / len(M)
    solutions = {solver: solve(solver, rows, alphas, scale) for solver in SOLVERS}
    for solver in SOLVERS:
        assert_optimal(solutions[solver], alphas, M, delta)
        assert_close(solutions[solver], solutions["cholesky"])


@pytest.mark.parametrize("solver", ["cholesky", "eigen", "cg"])
@pytest.mark.parametrize("kind", ["float64", "float32", "CSR"])
def test_solvers_of_more_rows_than_a_block(kind, solver):
    rows = correlated_rows(20_000, 3, kind=kind, weighted=True)
    M, delta = normal_equations(rows)
    assert_optimal(solve(solver, rows, [0.1, 0.001]), [0.1, 0.001], M, delta)


@pytest.mark.parametrize("solver", ["moments", "dual", "cg"])
@pytest.mark.parametrize("mean", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("shape", [(60, 8), (12, 30)], ids=str)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
def test_solvers_with_means_far_from_zero(form, shape, mean, solver):
    # Multiples of 2^-20, so that adding the mean rounds nothing away.
    rows = correlated_rows(*shape, weighted=True)
    rows.X = np.round(rows.X * 2**20) / 2**20
    M, delta = normal_equations(rows)
    far = MemoryRows(form(rows.X + mean), rows.y, CLASSES, rows.sample_weight)
    np.testing.assert_array_equal(dense(far) - mean, rows.X)
    problem = make_problem(solver, far, standardize=False)
    grid = problem.default_alphas()
    np.testing.assert_allclose(grid, make_problem(solver, rows, standardize=False).default_alphas(), rtol=1e-6)
    # A class mean is known up to its last digit only; "dual" does without.
    tol = 1e-9 if solver == "dual" else max(1e-9, 1e-13 * mean)
    for alphas in (grid[2:11:4], grid[10:11]):
        assert_optimal(problem.path(alphas, TOL), alphas, M, delta, tol)
    np.testing.assert_array_equal(dense(far) - mean, rows.X)


@st.composite
def tiny_problems(draw):
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=2, max_size=7).filter(lambda y: len(set(y)) == 2)))
    n, d = len(y), draw(st.integers(1, 5))
    X = draw(st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=n, max_size=n))
    weights = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n))
    kind = draw(st.sampled_from([np.asarray, sparse.csr_array]))
    return kind(np.array(X, dtype=float)), y, None if weights is None else np.array(weights)


@every_solver
@settings(max_examples=50, deadline=None, derandomize=True)
@given(problem=tiny_problems(), alpha=st.sampled_from([0.0, 0.01, 1.0, 50.0]))
def test_solvers_optimum_is_least_squares_on_all_pairs(solver, problem, alpha):
    rows = MemoryRows(problem[0], problem[1], CLASSES, problem[2])
    differences, shares = pairs(dense(rows), rows.y, rows.sample_weight)
    # 1/2 mean (1 - w.difference)^2 + alpha/2 |w|^2, and the shortest minimiser where there are many
    A = np.vstack([np.sqrt(shares)[:, None] * differences, np.sqrt(alpha) * np.eye(rows.n_features)])
    b = np.append(np.sqrt(shares), np.zeros(rows.n_features))
    expected = np.linalg.lstsq(A, b, rcond=1e-10)[0]
    np.testing.assert_allclose(solve(solver, rows, [alpha])[0], expected, rtol=1e-8, atol=1e-8)


# Singular systems


def with_duplicates(X):
    return np.column_stack([X, X[:, 0], X[:, 1], X[:, 0]])


SINGULAR = {
    "duplicates": with_duplicates,
    "constants": lambda X: np.column_stack([X, np.full(len(X), 0.1), np.full(len(X), -7.0)]),
    "zeros": lambda X: np.column_stack([X, np.zeros((len(X), 2))]),
    "sums": lambda X: np.column_stack([X, X[:, 0] + X[:, 1], X @ np.arange(X.shape[1])]),
    "wide": lambda X: X[:8] @ np.random.default_rng(1).normal(size=(X.shape[1], 20)),
}


@every_solver
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("case", SINGULAR)
def test_without_a_penalty_the_shortest_solution_is_found(case, kind, solver):
    base = correlated_rows(40, 4, seed=2)
    X = SINGULAR[case](base.X)
    rows = MemoryRows(kind(X), base.y[: len(X)], CLASSES)
    M, delta = normal_equations(rows)
    (w,) = solve(solver, rows, [0.0])
    assert_close(w, np.linalg.pinv(M, rcond=1e-10, hermitian=True) @ delta, rtol=1e-8)
    (nearly,) = solve(solver, rows, [1e-8])
    assert_close(nearly, w, rtol=1e-4)


@every_solver
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0])
def test_solvers_share_the_weight_of_equal_columns(alpha, solver):
    rows = correlated_rows(40, 4)
    (alone,) = solve(solver, rows, [alpha])
    (w,) = solve(solver, MemoryRows(with_duplicates(rows.X), rows.y, CLASSES), [alpha])
    assert_close(w[[0, 0, 1]], w[[4, 6, 5]])
    if alpha == 0:  # where nothing is shrunk, together they weigh what one of them did
        assert_close(w[:4] * [3, 2, 1, 1], alone)


@every_solver
@pytest.mark.parametrize("alphas", [[0.0], [0.0, 1.0]])
def test_solvers_give_columns_without_information_no_weight(alphas, solver):
    X, y = np.tile([1.0, 2.0, 0.0], (6, 1)), np.array([0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(solve(solver, MemoryRows(X, y, CLASSES), alphas), 0)


@pytest.mark.parametrize("factor", [1e-6, 0.5, 2.0, 100.0])
def test_solve_system_has_no_jump_from_cholesky_to_eigenvalues(factor):
    base = correlated_rows(40, 4)
    rows = MemoryRows(with_duplicates(base.X), base.y, CLASSES)
    M, delta = normal_equations(rows)
    alpha = factor * np.finfo(float).eps * len(M) * np.trace(M)
    assert_close(solve_system(*system(rows, np.ones(7)), alpha), np.linalg.pinv(M, rcond=1e-10) @ delta, rtol=0.05)


@pytest.mark.parametrize("solver", ["cholesky", "eigen", "dual"])
def test_solvers_keep_a_column_of_small_scale(solver):
    rows = correlated_rows(40, 4)
    scale = np.array([1, 1, 1e5, 1])
    assert_close(solve(solver, rows, [0.0], scale) / scale, solve(solver, rows, [0.0]), rtol=1e-4)


# Symmetries


@every_solver
@pytest.mark.parametrize("kind", ["float64", "CSR"])
@pytest.mark.parametrize("shape", [(60, 8), (12, 30)], ids=str)
def test_solvers_symmetries(shape, kind, solver):
    rows, alphas = correlated_rows(*shape, kind=kind, weighted=True), np.array([0.1, 1.0])
    expected = solve(solver, rows, alphas)
    X, y, weights = rows.X, rows.y, rows.sample_weight

    order = np.random.default_rng(1).permutation(rows.n_rows)
    assert_close(solve(solver, rows.take(order), alphas), expected)

    columns = np.random.default_rng(1).permutation(rows.n_features)
    assert_close(solve(solver, MemoryRows(X[:, columns], y, CLASSES, weights), alphas), expected[:, columns])

    shifted = dense(rows) + np.linspace(-5, 5, rows.n_features)
    shifted = sparse.csr_array(shifted) if kind == "CSR" else shifted
    assert_close(solve(solver, MemoryRows(shifted, y, CLASSES, weights), alphas), expected)

    assert_close(solve(solver, MemoryRows(X, 1 - y, CLASSES, weights), alphas), -expected)
    assert_close(solve(solver, MemoryRows(X, y, CLASSES[::-1], weights), alphas), -expected)
    assert_close(solve(solver, MemoryRows(X, y, CLASSES, 7 * weights), alphas), expected)

    for factor in (1e-3, 4.0):
        scaled = solve(solver, MemoryRows(factor * X, y, CLASSES, weights), factor**2 * alphas)
        assert_close(scaled, expected / factor)
        scale = np.full(rows.n_features, 1 / factor)
        assert_close(solve(solver, rows, factor**2 * alphas, scale), expected / factor)


@every_solver
def test_only_the_balance_inside_a_class_counts(solver):
    rows = correlated_rows(40, 5, weighted=True)
    weights = rows.sample_weight * np.where(rows.y == 1, 100, 0.01)
    expected = solve(solver, rows, [0.1])
    assert_close(solve(solver, MemoryRows(rows.X, rows.y, CLASSES, weights), [0.1]), expected)


@every_solver
def test_a_large_alpha_leaves_the_difference_of_the_means(solver):
    rows = correlated_rows(40, 6)
    scale = np.linspace(0.5, 2, 6)
    M, delta = normal_equations(rows, scale)
    level = np.trace(M)
    (near, far) = solve(solver, rows, [level, 1e6 * level], scale)
    assert cosine(near, delta) < 1 - 1e-5
    assert cosine(far, delta) > 1 - 1e-10
    assert_close(1e6 * level * far, delta, rtol=1e-5)


# Conjugate gradients


def positive_definite(d=40, seed=0, condition=100.0):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return U * np.geomspace(1, 1 / condition, d) @ U.T, rng.normal(size=d)


class Counted:
    """A matrix that counts its products."""

    def __init__(self, M):
        self.M, self.n_products = M, 0

    def __call__(self, v):
        self.n_products += 1
        return self.M @ v


SHIFTS = np.array([3.0, 0.0, 1e-3, 1e4, 0.2, 0.2])


def residuals(M, b, shifts, solutions):
    return np.array([np.linalg.norm(b - M @ x - shift * x) for shift, x in zip(shifts, solutions, strict=True)])


@pytest.mark.parametrize("shifts", [SHIFTS, SHIFTS + 0.5, [7.0], np.logspace(4, -6, 21)], ids=str)
@pytest.mark.parametrize("tol", [1e-12, 1e-6, 1e-2])
def test_shifted_cg_solves_all_shifts(shifts, tol):
    M, b = positive_definite()
    result = shifted_cg(lambda v: M @ v, b, np.asarray(shifts), tol, 1000)
    assert (residuals(M, b, shifts, result.solutions) <= 1.01 * tol * np.linalg.norm(b)).all()
    assert result.residual <= tol
    if tol == 1e-12:
        for shift, x in zip(shifts, result.solutions, strict=True):
            assert_close(x, np.linalg.solve(M + shift * np.eye(len(b)), b))


@pytest.mark.parametrize("tol", [1e-10, 1e-3])
@pytest.mark.parametrize("smallest", [0.0, 0.5])
def test_shifted_cg_costs_as_much_as_the_smallest_shift(smallest, tol):
    M, b = positive_definite()
    matvec, shifts = Counted(M), SHIFTS + smallest
    together = shifted_cg(matvec, b, shifts, tol, 1000)
    alone = shifted_cg(lambda v: M @ v, b, np.array([smallest]), tol, 1000)
    assert together.iterations == alone.iterations
    assert len(alone.iterations) == matvec.n_products > 3
    assert_close(together.solutions[shifts.argmin()], alone.solutions[0])
    # The smaller the shift, the worse the condition.
    larger = shifted_cg(lambda v: M @ v, b, np.array([smallest + 1]), tol, 1000)
    assert len(larger.iterations) < len(alone.iterations)


def test_shifted_cg_needs_a_product_for_each_eigenvalue():
    U, b = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 30)))[0], np.ones(30)
    M = U * np.repeat([1.0, 5.0, 20.0], 10) @ U.T
    assert len(shifted_cg(lambda v: M @ v, b, SHIFTS, 1e-10, 1000).iterations) == 3


def test_shifted_cg_of_nothing_is_nothing():
    matvec = Counted(np.eye(4))
    solutions, iterations, residual = shifted_cg(matvec, np.zeros(4), SHIFTS, 1e-8, 100)
    np.testing.assert_array_equal(solutions, np.zeros((len(SHIFTS), 4)))
    assert (iterations, residual, matvec.n_products) == ([], 0.0, 0)


@pytest.mark.parametrize("max_iter", [0, 1, 5])
def test_shifted_cg_tells_how_far_it_came(max_iter):
    M, b = positive_definite(condition=1e6)
    untouched = b.copy()
    solutions, iterations, residual = shifted_cg(lambda v: M @ v, b, SHIFTS, 1e-10, max_iter)
    expected = residuals(M, b, SHIFTS, solutions).max() / np.linalg.norm(b)
    assert len(iterations) == max_iter
    assert residual == pytest.approx(expected, rel=1e-6)
    assert residual > 1e-10
    np.testing.assert_array_equal(b, untouched)


def test_conjugate_gradients_that_did_not_converge_warn():
    rows, alphas = correlated_rows(60, 20), np.array([1.0, 1e-4])
    problem = RowProblem(rows, True, "cg", max_iter=3)
    _, iterations, residual = cg_path(rows, alphas, problem.scale, 1e-8, 3)
    message = (
        f"Conjugate gradients stopped at max_iter=3 with a relative residual of {residual:.1e} (tol=1e-08): "
        "increase max_iter, tol or alpha."
    )
    with pytest.warns(ConvergenceWarning, match=f"^{re.escape(message)}$") as caught:
        path = problem.path(alphas, 1e-8)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert path.shape == (2, 20)
    assert len(problem.iterations) == len(iterations) == 3


@pytest.mark.parametrize("pooled", [False, True])
def test_history_of_conjugate_gradients_is_the_objective(pooled):
    """The values come from the steps alone: here they are computed, for as many iterations as the history has."""
    rows, alpha, tol = correlated_rows(60, 20, weighted=True), 1e-3, 1e-6
    moments = rows.moments().pooled() if pooled else rows.moments()
    found = RowProblem(rows, True, "cg", 1000, pooled).solve(Candidate(alpha), tol)
    history = found.history()
    assert list(history) == ["value", "gradient_norm", "step", "stage"]
    assert all(values.shape == (found.n_iter,) for values in history.values())
    assert found.n_iter > 10
    assert (np.diff(history["value"]) < 0).all()
    assert not history["stage"].any()
    for n in (1, 2, found.n_iter // 2, found.n_iter):
        problem = RowProblem(rows, True, "cg", n, pooled)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            v = problem.solve(Candidate(alpha), tol).weights * problem.scale
        M, delta = moments.rescaled(problem.scale).pair_scatter(), problem.delta
        value = 0.5 + v @ M @ v / 2 - delta @ v + alpha / 2 * v @ v
        assert history["value"][n - 1] == pytest.approx(value, rel=1e-10)
        norm = np.linalg.norm(M @ v + alpha * v - delta)
        assert history["gradient_norm"][n - 1] == pytest.approx(norm, rel=1e-5)
    assert norm <= tol * np.linalg.norm(delta)
    if not pooled:
        Z, shares = pairs(rows.X, rows.y, rows.sample_weight)
        by_pairs = shares @ (1 - Z @ found.weights) ** 2 / 2 + alpha / 2 * np.sum((found.weights * problem.scale) ** 2)
        assert history["value"][-1] == pytest.approx(by_pairs, rel=1e-10)


@pytest.mark.parametrize("solver", ["moments", "dual"])
def test_direct_solvers_have_no_history(solver):
    found = make_problem(solver, correlated_rows(60, 8), standardize=True).solve(Candidate(0.1), TOL)
    assert found.history() == {}
    assert found.n_iter == 1


def test_solvers_never_make_a_million_columns_dense():
    n, d, alpha = 2000, 1_000_000, 0.1
    rng = np.random.default_rng(0)
    indices = rng.integers(0, d, (n, 20))
    X = sparse.csr_array((rng.normal(size=n * 20), indices.ravel(), np.arange(0, 20 * n + 1, 20)), shape=(n, d))
    X.sum_duplicates()
    rows = MemoryRows(X, (rng.random(n) < 0.3).astype(int), CLASSES, rng.exponential(size=n))
    tracemalloc.start()
    try:
        (w,), iterations, residual = cg_path(rows, np.array([alpha]), np.ones(d), 1e-10, 1000)
        vectors = tracemalloc.get_traced_memory()[1] / (8 * d)
    finally:
        tracemalloc.stop()
    assert vectors < 20
    assert len(iterations) > 10
    assert residual == 0
    # M w + alpha w = delta, class by class: mean of x s, less the product of the means.
    scores, Mw = rows.scores(w), alpha * w
    means, score_means = [], []
    for c in range(2):
        share = np.where(rows.y == c, rows.sample_weight, 0)
        share /= share.sum()
        means.append(rows.rmatvec(share))
        score_means.append(share @ scores)
        Mw += rows.rmatvec(share * scores) - means[c] * score_means[c]
    delta = means[1] - means[0]
    Mw += delta * (score_means[1] - score_means[0])
    assert np.linalg.norm(Mw - delta) <= 1e-9 * np.linalg.norm(delta)


# The problems that cross-validation and the classifier see


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["float64", "float32", "CSR", "float32 CSR"])
@pytest.mark.parametrize("shape", [(60, 8), (12, 30)], ids=str)
def test_problems_on_moments_and_on_rows_are_the_same(shape, kind, weighted, standardize):
    rows = correlated_rows(*shape, kind=kind, weighted=weighted)
    expected = make_problem("moments", rows, standardize)
    grid = expected.default_alphas()
    alphas, several, one = grid[:13:3], expected.path(grid[:13:3], TOL), expected.path(grid[6:7], TOL)
    assert one.shape == (1, rows.n_features)
    assert_close(one[0], several[2])
    for solver in ("dual", "cg"):
        problem = make_problem(solver, rows, standardize)
        np.testing.assert_allclose(problem.scale, expected.scale, rtol=1e-12)
        own_grid = problem.default_alphas()
        np.testing.assert_allclose(own_grid, grid[: len(own_grid)], rtol=1e-12)
        assert_close(problem.path(alphas, TOL), several)
        assert_close(problem.path(alphas[2:3], TOL), one)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("solver", ["moments", "dual", "cg"])
def test_the_path_is_that_of_the_scaled_columns(solver, weighted, standardize):
    rows = correlated_rows(60, 8, weighted=weighted)
    problem = make_problem(solver, rows, standardize)
    scaler = StandardScaler().fit(rows.X, sample_weight=rows.sample_weight)
    scale = scaler.scale_ if standardize else np.ones(8)
    M, delta = normal_equations(rows, scale)
    for alphas in ([0.3], [0.3, 30.0]):
        path = problem.path(np.array(alphas), TOL)
        assert_optimal(path * scale, alphas, M, delta)


@pytest.mark.parametrize("standardize", [False, True])
def test_the_grid_is_measured_in_mean_eigenvalues(standardize):
    rows = correlated_rows(60, 8)
    for solver, low in (("moments", 1e-6), ("dual", 1e-6), ("cg", 0.1)):
        problem = make_problem(solver, rows, standardize)
        level = np.linalg.eigvalsh(normal_equations(rows, problem.scale)[0]).mean()
        grid = problem.default_alphas()
        np.testing.assert_allclose(np.diff(np.log10(grid)), -0.5)
        np.testing.assert_allclose(grid[[0, -1]], [1e4 * level, low * level])


@pytest.mark.parametrize("solver", ["moments", "dual", "cg"])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array], ids=["float64", "float32", "CSR"])
def test_a_constant_column_gets_no_weight(form, solver):
    rows = correlated_rows(300 if solver == "dual" else 20_000, 3, weighted=True)
    rows.X[:, 1] = 0.1
    # What has no weight is not there.
    rows.X[:2, 1], rows.sample_weight[:2] = 0, 0
    rows.X = form(rows.X)
    for standardize in (True, False):
        problem = make_problem(solver, rows, standardize)
        assert problem.scale[1] == np.inf
        for alphas in ([0.1, 0.01], [0.0]):
            path = problem.path(np.array(alphas), 1e-10)
            assert (path[:, 1] == 0).all()
            assert (path[:, [0, 2]] != 0).all()


@pytest.mark.parametrize("solver", ["moments", "dual", "cg"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
def test_constant_columns_alone_give_zero(form, solver):
    weights = np.random.default_rng(0).random(7)
    rows = MemoryRows(form(np.full((7, 2), 0.1)), np.arange(7) % 2, CLASSES, weights)
    problem = make_problem(solver, rows, standardize=False)
    np.testing.assert_array_equal(problem.path(np.array([1.0, 0.0]), TOL), 0)
    assert problem.default_alphas()[0] == 1e4


def test_the_grid_of_constant_columns_is_that_of_level_one():
    np.testing.assert_allclose(alpha_grid(0.0), alpha_grid(1.0))
    np.testing.assert_allclose(alpha_grid(3.0, low=-1, high=1), 3 * np.array([10, np.sqrt(10), 1, np.sqrt(0.1), 0.1]))


def test_problems_need_both_classes():
    X, message = np.ones((4, 2)), r"AUC needs two classes, but class 1 has no row with a weight above 0\."
    with pytest.raises(ValueError, match=message):
        MomentProblem(ClassMoments(2).update(X, np.zeros(4, int)), False)
    with pytest.raises(ValueError, match=message):
        RowProblem(MemoryRows(X, np.zeros(4, int), CLASSES), False, "dual", max_iter=10)
    with pytest.raises(ValueError, match=message):
        RowProblem(MemoryRows(X, np.array([0, 0, 1, 1]), CLASSES, np.array([1.0, 1, 0, 0])), False, "cg", max_iter=10)


@pytest.mark.parametrize(
    ("form", "limit"),
    [(lambda shape: np.broadcast_to(0.0, shape), MAX_ORDER), (sparse.coo_array, MAX_ORDER_SPARSE)],
    ids=["dense", "sparse"],
)
def test_choose_solver_factors_the_smaller_side(form, limit):
    for n_rows, n_features, expected in (
        (10**6, 1, "moments"),
        (100, 100, "moments"),
        (100, 101, "dual"),
        (10, 10**6, "dual"),
        (limit, limit, "moments"),
        (10**6, limit, "moments"),
        (limit, limit + 1, "dual"),
        (limit, 10**6, "dual"),
        (limit + 1, limit + 1, "cg"),
        (10**6, limit + 1, "cg"),
        (10**6, 10**6, "cg"),
    ):
        assert choose_solver(MemoryRows(form((n_rows, n_features)), None, CLASSES)) == expected


# Shrinkage


def unequal_rows(n, d, seed=0):
    """Gaussian rows, a third of them positive, with covariances of their own."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1, -1)
    roots = np.array([np.diag(np.linspace(0.2, 2, d)), np.linspace(1, 2, d) * rng.standard_normal((d, d)) / d**0.5])
    X = np.einsum("ni,nij->nj", rng.standard_normal((n, d)), roots[(y > 0).astype(int)])
    return X + np.where(y[:, None] > 0, 1.5 * d**-0.5, 0) * rng.standard_normal(d), y


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize(("n", "d"), [(90, 12), (240, 60), (90, 120)])
def test_held_out_auc_is_the_one_of_rows_left_out(n, d, pooled):
    X, y = unequal_rows(n, d)
    problem = MomentProblem(ClassMoments(d, [-1, 1]).update(X, y), False, pooled)
    alphas = np.array([100.0, 1.0, 1e-1, 1e-2, 1e-4])
    left_out = [gaussian.left_out_auc(X, y, alpha=alpha, pooled=pooled) for alpha in alphas]
    assert np.ptp(left_out) > 0.02
    np.testing.assert_allclose(ndtr(held_out_separation(problem, alphas)), left_out, atol=0.03)
    chosen = gaussian.left_out_auc(X, y, alpha=held_out_alpha(problem), pooled=pooled)
    assert chosen > max(left_out) - 0.01


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize(("n", "d"), [(4, 1), (4, 2), (4, 50), (30, 3), (1000, 5)])
def test_held_out_alpha_stays_on_the_grid(n, d, standardize):
    for seed in range(5):
        rows = correlated_rows(n, d, seed=seed)
        problem = MomentProblem(rows.moments(), standardize)
        level = np.trace(normal_equations(rows, problem.scale)[0]) / d
        alpha = held_out_alpha(problem)
        assert alpha == 0 or 0.99e-6 * level <= alpha <= 1.01e4 * level


def test_held_out_alpha_of_single_points_and_of_little_weight():
    X, y = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([0, 1])
    assert held_out_alpha(MomentProblem(ClassMoments(2).update(X, y), False)) > 0
    X, y = unequal_rows(30, 4)
    light = [ClassMoments(4, [-1, 1]).update(X, y, np.full(30, weight)) for weight in (1e-3, 1.0, 1e6)]
    alphas = [held_out_alpha(MomentProblem(moments, False)) for moments in light]
    assert alphas[0] > 1e3
    assert alphas == sorted(alphas, reverse=True)


def test_a_ridge_is_judged_by_the_auc_and_not_by_the_covariance():
    """Few columns of large variance, none of which separates: towards the mean variance is the wrong way."""
    rng = np.random.default_rng(0)
    y = np.arange(1600) % 2
    X = rng.standard_normal((1600, 100)) + rng.standard_normal((1600, 50)) @ rng.standard_normal((50, 100)) * 3
    signal = np.linalg.svd(X[y == 0])[2][-1]  # a direction of little variance
    X += 2 * y[:, None] * signal
    moments = ClassMoments(100).update(X, y)
    problem = MomentProblem(moments, True)
    (found, least), best = problem.path(np.array([held_out_alpha(problem), 0.0]), 0.0), signal
    assert abs(cosine(found, best)) > abs(cosine(least, best)) - 0.01 > 0.5


def test_more_rows_are_shrunk_less():
    alphas = []
    for n in (50, 500, 5000):
        moments = correlated_rows(n, 10, seed=3).moments()
        alphas.append(held_out_alpha(MomentProblem(moments, True)))
    assert max(alphas[1:]) < 0.05 * alphas[0]
