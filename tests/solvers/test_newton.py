"""The losses that are not square, against general solvers over all pairs."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import shifted_class, two_clouds
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifier, ClassMoments, cross_validate_path, roc_auc
from aucmax.losses.evaluation import pairwise_loss
from aucmax.losses.hinges import SmoothHinge
from aucmax.losses.pairwise import Sigmoid
from aucmax.rows.memory import MemoryRows
from aucmax.solvers import newton
from aucmax.solvers.candidate import Candidate
from aucmax.solvers.newton import HingeProblem
from aucmax.solvers.problem import newton_problem
from aucmax.solvers.square import MomentProblem, RowProblem

SMOOTH = ("squared_hinge", "logistic", "exponential")
CONVEX = (*SMOOTH, "hinge")
every_smooth_loss = pytest.mark.parametrize("loss", SMOOTH)
every_convex_loss = pytest.mark.parametrize("loss", CONVEX)
every_loss = pytest.mark.parametrize("loss", [*CONVEX, "sigmoid"])


def objective(w, X, y, loss, alpha, scale, weights=None):
    """Return value and gradient at weights of the columns as they are."""
    point = pairwise_loss(y, X @ w, loss, weights)
    value = point.value + alpha / 2 * np.sum((scale * w) ** 2)
    return value, X.T @ point.gradient + alpha * scale**2 * w


def general_solution(X, y, loss, alpha, weights=None):
    """Return the minimiser for standardised columns by scipy."""
    Z = StandardScaler().fit_transform(X, sample_weight=weights)
    found = minimize(
        objective,
        np.zeros(X.shape[1]),
        args=(Z, y, loss, alpha, np.ones(X.shape[1]), weights),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-10, "maxiter": 5000},
    )
    return found.x / StandardScaler().fit(X, sample_weight=weights).scale_


@every_smooth_loss
@pytest.mark.parametrize("alpha", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("weighted", [False, True])
def test_newton_equals_a_general_solver(loss, alpha, weighted):
    X, y = shifted_class()
    weights = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    clf = AUCClassifier(loss, alpha=alpha, tol=1e-10).fit(X, y, weights)
    assert_allclose(clf.coef_[0], general_solution(X, y, loss, alpha, weights), rtol=2e-6, atol=1e-7)
    assert clf.loss_ == loss


@every_smooth_loss
@pytest.mark.parametrize("standardize", [True, False])
def test_newton_ends_at_a_small_gradient(loss, standardize):
    X, y = shifted_class(n=400, d=8)
    clf = AUCClassifier(loss, alpha=0.01, standardize=standardize).fit(X, y)
    scale = X.std(axis=0) if standardize else np.ones(8)
    _, gradient = objective(clf.coef_[0], X, y, loss, 0.01, scale)
    _, start = objective(np.zeros(8), X, y, loss, 0.01, scale)
    assert np.linalg.norm(gradient / scale) <= 1e-6 * np.linalg.norm(start / scale)


@pytest.mark.parametrize("alpha", [1.0, 0.1, 0.01])
def test_newton_on_the_hinge_equals_its_dual_over_the_pairs(alpha):
    """A quadratic program with one variable in [0, 1] for each pair."""
    X, y = shifted_class(n=40)
    Z = StandardScaler().fit_transform(X)
    pairs = (Z[y == 1][:, None] - Z[y == 0]).reshape(-1, 5)
    n = len(pairs)

    def dual(b):
        G = b @ pairs / n
        return G @ G / (2 * alpha) - b.mean(), pairs @ G / (alpha * n) - 1 / n

    found = minimize(dual, np.full(n, 0.5), jac=True, method="L-BFGS-B", bounds=[(0, 1)] * n,
                     options={"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-12})  # fmt: skip
    clf = AUCClassifier("hinge", alpha=alpha, tol=1e-8).fit(Z, y)
    value, _ = objective(clf.coef_[0], Z, y, "hinge", alpha, np.ones(5))
    assert value == pytest.approx(-found.fun, rel=1e-6)
    assert_allclose(clf.coef_[0], found.x @ pairs / (alpha * n), rtol=2e-3, atol=2e-3)
    assert -1e-12 <= clf.dual_gap_ <= 1e-8 * value
    assert value - clf.dual_gap_ <= -found.fun + 1e-7  # the bound is one


def test_the_gap_of_the_hinge_is_closed_on_more_rows():
    X, y = shifted_class(n=2000, d=10)
    for alpha in (1.0, 1e-2, 1e-4):
        clf = AUCClassifier("hinge", alpha=alpha).fit(X, y)
        value, _ = objective(clf.coef_[0], X, y, "hinge", alpha, X.std(axis=0))
        assert clf.dual_gap_ <= 1e-6 * value
        nudge = 1e-3 * np.random.default_rng(0).standard_normal((20, 10)) * clf.coef_
        assert all(objective(clf.coef_[0] + step, X, y, "hinge", alpha, X.std(axis=0))[0] >= value - clf.dual_gap_
                   for step in nudge)  # fmt: skip


@every_loss
@pytest.mark.parametrize("solver", ["moments", "dual", "cg"])
def test_newton_by_every_solver_dense_and_sparse(loss, solver):
    shape = (40, 60) if solver == "dual" else (120, 8)
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.4)
    X[:, -1] = 3.0  # says nothing
    y = (X[:, :3].sum(axis=1) + rng.standard_normal(shape[0]) > 0).astype(int)
    alpha, tol = 0.3, 1e-7 if loss == "hinge" else 1e-9
    expected = AUCClassifier(loss, alpha=alpha, solver="moments", tol=tol).fit(X, y)
    for data in (X, sparse.csr_array(X), X.astype(np.float32)):
        clf = AUCClassifier(loss, alpha=alpha, solver=solver, tol=tol).fit(data, y)
        rough = data.dtype == np.float32 or loss == "hinge"
        assert_allclose(clf.coef_, expected.coef_, rtol=0, atol=1e-3 if rough else 1e-6)
        assert clf.coef_[0, -1] == 0


@every_loss
def test_newton_invariances(loss):
    X, y = shifted_class(n=150)
    clf = AUCClassifier(loss, alpha=0.05, tol=1e-9).fit(X, y)
    tolerances = {"rtol": 0, "atol": (1e-4 if loss == "hinge" else 1e-6) * np.abs(clf.coef_).max()}
    swapped = AUCClassifier(loss, alpha=0.05, tol=1e-9).fit(X, 1 - y)
    assert_allclose(swapped.coef_, -clf.coef_, **tolerances)
    order = np.random.default_rng(0).permutation(len(y))
    assert_allclose(AUCClassifier(loss, alpha=0.05, tol=1e-9).fit(X[order], y[order]).coef_, clf.coef_, **tolerances)
    far = AUCClassifier(loss, alpha=0.05, tol=1e-9).fit(1e3 * X + 1e4, y)
    assert_allclose(1e3 * far.coef_, clf.coef_, **tolerances)
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    assert_allclose(
        AUCClassifier(loss, alpha=0.05, tol=1e-9).fit(X, y, weights).coef_,
        AUCClassifier(loss, alpha=0.05, tol=1e-9).fit(X[repeated], y[repeated]).coef_,
        **tolerances,
    )


@every_loss
@pytest.mark.parametrize("solver", ["moments", "dual", "cg"])
def test_newton_with_a_column_far_from_zero(loss, solver):
    """The weights and, about, the steps of a column near zero; without the shift, iterations end in rounding errors."""
    X, y = shifted_class(n=150 if solver != "dual" else 40)
    X[:, 2] = np.round(1024 * X[:, 2]) / 1024  # exact after the shift by 2^40
    far = X.copy()
    far[:, 2] += 2.0**40
    tol = 1e-7 if loss == "hinge" else 1e-9
    near = AUCClassifier(loss, alpha=0.05, solver=solver, tol=tol).fit(X, y)
    for data in (far, sparse.csr_array(far)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clf = AUCClassifier(loss, alpha=0.05, solver=solver, tol=tol).fit(data, y)
        assert_allclose(clf.coef_, near.coef_, rtol=0, atol=1e-4 if loss == "hinge" else 1e-6)
        assert clf.n_iter_ <= 2 * near.n_iter_ + 5


def test_a_cross_validated_fit_with_a_column_far_from_zero():
    X, y = shifted_class(n=300)
    noise = np.random.default_rng(1).standard_normal((300, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = AUCClassifier().fit(np.hstack([X, 1e12 + noise]), y)
    ordinary = AUCClassifier().fit(np.hstack([X, noise]), y)
    assert clf.cv_results_["mean_test_score"].max() == pytest.approx(
        ordinary.cv_results_["mean_test_score"].max(), abs=1e-3
    )


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_the_default_fit_ranks_by_a_column_far_from_zero(layout):
    """By 1e12 it is rounded to multiples of 1/8192, and nothing else is lost: neither time nor digits nor a word."""
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3
    near = np.column_stack([rng.standard_normal(400) + y, rng.standard_normal((400, 2))])
    near[:, 0] = np.round(8192 * near[:, 0]) / 8192
    far = near + np.array([1e12, 0, 0])
    assert (far[:, 0] - 1e12 == near[:, 0]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ordinary, clf = AUCClassifier().fit(near, y), AUCClassifier().fit(layout(far), y)
    assert_allclose(clf.coef_, ordinary.coef_, rtol=0, atol=1e-3)
    assert clf.score(layout(far), y) == pytest.approx(ordinary.score(near, y), abs=1e-3)


@every_convex_loss
def test_newton_is_independent_of_its_start(loss):
    X, y = shifted_class()
    rows = MemoryRows(X, y, np.array([0, 1]))
    problem = newton_problem(rows, MomentProblem(rows.moments(), True), loss, 100)
    expected, n_iter, *_ = problem.solve(Candidate(0.05), 1e-8)
    for w in (expected, np.zeros(5), np.random.default_rng(0).standard_normal(5)):
        found = problem.solve(Candidate(0.05), 1e-8, start=w)
        assert_allclose(
            found.weights, expected, rtol=0, atol=(1e-3 if loss == "hinge" else 1e-6) * np.abs(expected).max()
        )
        if w is expected and loss != "hinge":  # whose corner is rounded off anew
            assert found.n_iter < n_iter


def test_far_from_the_margin_the_squared_hinge_is_the_square():
    X, y = shifted_class()
    square, hinge = (AUCClassifier(loss, alpha=1000.0).fit(X, y) for loss in ("squared", "squared_hinge"))
    assert_allclose(hinge.coef_, square.coef_, rtol=1e-9)
    assert hinge.n_iter_ == 1  # none, but scikit-learn asks for one


def count_products(monkeypatch):
    """Count what is multiplied with X or its transpose."""
    count = []
    for name in ("scores", "rmatvec"):
        verb = getattr(MemoryRows, name)

        def counted(self, *arguments, verb=verb):
            count.append(verb.__name__)
            return verb(self, *arguments)

        monkeypatch.setattr(MemoryRows, name, counted)
    return count


def test_newton_needs_few_products(monkeypatch):
    """The model of the square loss is worth something: from zero and without it, it takes several times as many."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 30)) @ rng.standard_normal((30, 30))
    y = (X[:, 0] / X[:, 0].std() + rng.standard_t(3, 3000) > 0.5).astype(int)
    rows = MemoryRows(X, y, np.array([0, 1]))
    count = count_products(monkeypatch)
    with_moments = newton_problem(rows, MomentProblem(rows.moments(), True), "squared_hinge", 100)
    count.clear()
    w = with_moments.solve(Candidate(1e-4), 1e-3).weights
    few = len(count)
    assert few <= 40
    with_diagonal = newton_problem(rows, RowProblem(rows, True, "cg", 1000), "squared_hinge", 100)
    monkeypatch.setattr(with_diagonal.square, "solutions", lambda alphas, tol: np.zeros((1, 30)))
    count.clear()
    slow = with_diagonal.solve(Candidate(1e-4), 1e-3).weights
    assert roc_auc(y, X @ slow) == pytest.approx(roc_auc(y, X @ w), abs=1e-3)
    assert len(count) > 3 * few


def test_newton_preconditioner_saves_products(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 30)) @ rng.standard_normal((30, 30))
    y = (X[:, 0] / X[:, 0].std() + rng.standard_t(3, 3000) > 0.5).astype(int)
    rows = MemoryRows(X, y, np.array([0, 1]))
    count = count_products(monkeypatch)
    problem = newton_problem(rows, MomentProblem(rows.moments(), True), "squared_hinge", 100)
    problem.solve(Candidate(1e-4), 1e-6)
    few = len(count)
    monkeypatch.setattr(problem, "preconditioner", lambda at, alpha, exact: lambda r: r)
    count.clear()
    problem.solve(Candidate(1e-4), 1e-6)
    assert len(count) > 4 * few


def test_the_sigmoid_ranks_the_rows_no_worse_than_its_start():
    rng = np.random.default_rng(0)
    raised = 0
    for seed in range(6):
        X, y = shifted_class(n=300, seed=seed)
        X[:20] *= 5 * rng.standard_normal((20, 1))  # outliers, which convex losses mind
        for alpha in (1.0, 1e-2, 1e-4):
            start, clf = (AUCClassifier(loss, alpha=alpha).fit(X, y) for loss in ("logistic", "sigmoid"))
            assert clf.score(X, y) >= start.score(X, y)
            raised += clf.score(X, y) > start.score(X, y) + 1e-3
    assert raised > 9


def test_sigmoid_of_one_slope_has_the_minimisers_of_all_slopes():
    """The gradient vanishes for one of the slopes."""
    X, y = shifted_class(n=300)
    X[:20] *= 5
    rows, scale = MemoryRows(X, y, np.array([0, 1])), X.std(axis=0)
    square = MomentProblem(rows.moments(), True)
    for alpha in 0.3 * 10.0 ** -np.arange(0, 3, 0.5):
        w, start = (
            newton_problem(rows, square, loss, 100).solve(Candidate(alpha), 1e-9).weights
            for loss in ("sigmoid", "logistic")
        )
        slopes = [X.T @ Sigmoid(slope)(rows, X @ w).gradient / scale for slope in newton.SLOPES]
        assert min(np.linalg.norm(slope + alpha * scale * w) for slope in slopes) < 1e-7
        assert roc_auc(y, X @ w) > roc_auc(y, X @ start)


@pytest.mark.parametrize("loss", [*CONVEX, "balanced_logistic", "sigmoid", "smooth_auc"])
def test_newton_history_decreases_and_ends_at_the_solution(loss):
    X, y = shifted_class(n=300)
    rows = MemoryRows(X, y, np.array([0, 1]))
    problem = newton_problem(rows, MomentProblem(rows.moments(), True), loss, 100)
    found = problem.solve(Candidate(0.01), 1e-6)
    history = found.history()
    assert list(history) == ["value", "gradient_norm", "step", "stage"]
    assert all(values.shape == (found.n_iter,) for values in history.values())
    assert (history["step"] > 0).all()
    next_stage = np.diff(history["stage"])
    assert set(next_stage) <= {0, 1}
    assert (np.diff(history["value"])[next_stage == 0] <= 1e-12).all()
    assert history["stage"][0] == 0
    assert next_stage.any() == (loss in {"hinge", "sigmoid", "smooth_auc"})
    if not next_stage.any():
        value, gradient = objective(found.weights, X, y, loss, 0.01, X.std(axis=0))
        assert history["value"][-1] == pytest.approx(value, rel=1e-12)
        assert history["gradient_norm"][-1] == pytest.approx(np.linalg.norm(gradient / X.std(axis=0)), rel=1e-4)
        assert history["gradient_norm"][-1] <= 1e-6 * problem.steepness * problem.size


@every_smooth_loss
def test_newton_history_of_a_start_at_the_minimum(loss):
    X, y = shifted_class()
    rows = MemoryRows(X, y, np.array([0, 1]))
    problem = newton_problem(rows, MomentProblem(rows.moments(), True), loss, 100)
    w = problem.solve(Candidate(0.05), 1e-9).weights
    found = problem.solve(Candidate(0.05), 1e-6, start=w)
    assert found.n_iter == 1
    assert found.history()["step"].tolist() == [0]


def test_a_sigmoid_that_ranks_the_rows_worse_is_not_taken(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 5))
    y = (X[:, 0] - X[:, 1] + rng.standard_normal(300) > 0).astype(int)
    start = AUCClassifier("logistic", alpha=1e-3).fit(X, y).score(X, y)
    monkeypatch.setattr(newton, "SLOPES", np.array([1e-4]))  # so flat that nothing but the class means is left
    assert AUCClassifier("sigmoid", alpha=1e-3).fit(X, y).score(X, y) == start


def test_newton_of_separable_classes_without_penalty():
    """The losses that have no minimum there end when the gradient has all but vanished, without a complaint."""
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    for loss in SMOOTH:
        clf = AUCClassifier(loss, alpha=0).fit(X, [0, 0, 1, 1])
        assert clf.score(X, [0, 0, 1, 1]) == 1
        assert np.isfinite(clf.coef_).all()


def test_newton_of_classes_that_do_not_differ():
    X = np.array([[1.0, 2.0], [3.0, 5.0]] * 4)
    y = np.repeat([0, 1], 4)
    for loss in (*CONVEX, "sigmoid"):
        assert not AUCClassifier(loss, alpha=0.1).fit(X, y).coef_.any()


# Hostile input


def test_loss_refuses_combinations_of_parameters():
    X, y = shifted_class(n=40)
    with pytest.raises(ValueError, match=r"^loss='hinge' needs an alpha above 0, got 0\.$"):
        AUCClassifier("hinge", alpha=0).fit(X, y)
    with pytest.raises(ValueError, match=r"^loss='logistic' is fitted with penalty='l2' alone, got penalty='l1'"):
        AUCClassifier("logistic", penalty="l1").fit(X, y)
    with pytest.raises(ValueError, match=r"^loss='hinge' is fitted with penalty='l2' alone, got n_nonzero=\(2,\)"):
        AUCClassifier("hinge", n_nonzero=2).fit(X, y)
    with pytest.raises(ValueError, match=r"^loss must be one of squared, .*, got 'huber'\.$"):
        cross_validate_path(X, y, loss="huber")
    assert not hasattr(AUCClassifier("logistic"), "partial_fit")
    moments = ClassMoments(5).update(X, y)
    with pytest.raises(
        ValueError, match=r"^Class moments are enough for the square loss alone: loss='logistic' needs the rows\.$"
    ):
        AUCClassifier("logistic").fit_moments(moments)
    assert AUCClassifier().fit_moments(moments).loss_ == "squared"
    assert AUCClassifier(penalty="l1", alpha=0.1).fit(X, y).loss_ == "squared"
    assert AUCClassifier().partial_fit(X, y).loss_ == "squared"
    blend = AUCClassifier().fit(*two_clouds())
    twice = ClassMoments(blend.n_features_in_).update(*two_clouds()).update(*two_clouds())
    assert_allclose(blend.partial_fit(*two_clouds()).coef_, AUCClassifier().fit_moments(twice).coef_, rtol=1e-9)
    assert not hasattr(blend, "blend_")
    wide = AUCClassifier().fit(X[:12] @ np.eye(5, 20), [0, 1] * 6)
    with pytest.raises(ValueError, match=r"^partial_fit continues from class moments, and the last fit kept none"):
        wide.partial_fit(X @ np.eye(5, 20), y)


def test_newton_warns_where_iterations_end_too_soon():
    X, y = shifted_class()
    with pytest.warns(ConvergenceWarning, match=r"^Newton's method stopped after 1 steps at a gradient .* times the"):
        AUCClassifier("logistic", alpha=1e-6, max_iter=1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AUCClassifier("logistic", alpha=1e-6).fit(X, y)


def test_the_bound_of_the_hinge_is_below_every_objective():
    X, y = shifted_class(n=60)
    rows = MemoryRows(X, y, np.array([0, 1]))
    problem = HingeProblem(rows, MomentProblem(rows.moments(), True), "hinge", 100)
    optimum, _ = objective(problem.solve(Candidate(0.1), 1e-8).weights, X, y, "hinge", 0.1, X.std(axis=0))
    rng = np.random.default_rng(0)
    for _ in range(50):
        loss = SmoothHinge(rng.uniform(0.01, 2))
        at = problem.with_loss(loss, problem.start(rng.standard_normal(5), 0.1))
        assert problem.lower_bound(at, 0.1) <= optimum


def test_newton_start_with_weights_of_constant_columns():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 8)) + 0.5 * y[:, None]
    X[:, [2, 5]] = 0
    found = []
    for columns in (np.arange(8), np.array([0, 1, 3, 4, 6, 7])):
        rows = MemoryRows(X[:, columns], y, np.array([0, 1]))
        problem = newton_problem(rows, RowProblem(rows, True, "cg", 1000), "squared_hinge", 100)
        found.append(problem.solve(Candidate(0.1), 1e-8, start=np.ones(len(columns))).weights)
    assert (found[0][[2, 5]] == 0).all()
    assert_allclose(found[0][[0, 1, 3, 4, 6, 7]], found[1], rtol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_newton_in_wide_rows_with_a_tiny_alpha(loss):
    """All pairs can reach the margin: the weights are then nearly the shortest ones for which they do."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 150)) * (rng.random((60, 150)) < 0.2)
    y = (X[:, :10].sum(axis=1) + 0.5 * rng.standard_normal(60) > 0).astype(int)
    fits = []
    for alpha, tol in ((1e-3, 1e-9), (1e-6, 1e-9)) if loss == "squared_hinge" else ((1e-3, 1e-7), (1e-6, 1e-7)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clf = AUCClassifier(loss, alpha=alpha, solver="cg", standardize=False, tol=tol).fit(sparse.csr_array(X), y)
        w = clf.coef_[0]
        if loss == "squared_hinge":
            _, gradient = objective(w, X, y, loss, alpha, np.ones(150))
            _, at_zero = objective(0 * w, X, y, loss, alpha, np.ones(150))
            assert np.linalg.norm(gradient) <= 1.01 * tol * np.linalg.norm(at_zero)
        else:
            assert clf.dual_gap_ <= tol
        fits.append(w)
    assert_allclose(*fits, rtol=0, atol=2e-3 * np.abs(fits[0]).max())
