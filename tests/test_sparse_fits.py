"""L1, elastic net and L0: optimality conditions, closed forms and brute force, from moments and from rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from aucmax import AUCClassifier, ClassMoments, cross_validate_path, roc_auc
from aucmax.data import Rows
from aucmax.solvers.lasso import LassoProblem
from aucmax.solvers.squared import MomentProblem, RowProblem
from aucmax.solvers.subset import SubsetProblem

CLASSES = np.array([0, 1])
TOL = 1e-9
SOLVERS = ("moments", "dual", "cg")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(1):
        yield


def make(seed, n=60, d=8, informative=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))
    X[y == 1, :informative] += rng.standard_normal(informative)
    return X, y


def losses(X, y):
    """Return the square loss of dense rows as moments, of dense and of CSR rows as rows."""
    rows = [Rows(container(X), y, CLASSES) for container in (np.asarray, sparse.csr_array)]
    return [
        MomentProblem(rows[0].moments()[0], True),
        *(RowProblem(r, True, "cg", 10_000) for r in rows),
        RowProblem(rows[0], True, "dual", 10_000),
    ]


def quadratic(X, y):
    """Return M and delta of the standardised columns."""
    moments = ClassMoments(X.shape[1]).update(X, y).standardized()
    return moments.pair_scatter(), moments.delta, ClassMoments(X.shape[1]).update(X, y).std()


# L1 and elastic net


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6), n=st.integers(6, 40), d=st.integers(1, 12), l1_ratio=st.sampled_from([0.1, 0.6, 1.0])
)
def test_every_point_of_a_path_satisfies_the_optimality_conditions(seed, n, d, l1_ratio):
    X, y = make(seed, n, d, informative=min(3, d))
    M, delta, std = quadratic(X, y)
    for loss in losses(X, y):
        problem = LassoProblem(loss, l1_ratio, max_iter=100_000)
        alphas = problem.default_alphas()[::6]
        for alpha, w in zip(alphas, problem.path(alphas, TOL), strict=True):
            v, l1, l2 = w * std, alpha * l1_ratio, alpha * (1 - l1_ratio)
            gradient = M @ v - delta + l2 * v
            size = 1e-7 * max(1, np.abs(delta).max())
            assert np.all(np.abs(gradient) <= l1 + size)
            np.testing.assert_allclose(gradient[v != 0], -l1 * np.sign(v[v != 0]), atol=size)


@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
def test_equals_scikit_learn_on_a_design_with_these_normal_equations(l1_ratio):
    X, y = make(0)
    M, delta, std = quadratic(X, y)
    root = linalg.cholesky(M)
    alphas = np.array([0.3, 0.1, 0.03, 0.01])
    d = len(delta)
    target = linalg.solve_triangular(root.T, delta, lower=True)
    # scikit-learn's loss is a mean over the d rows of the design
    _, coefs, _ = enet_path(root, target, l1_ratio=l1_ratio, alphas=alphas / d, tol=1e-12, max_iter=100_000)
    for loss in losses(X, y):
        ours = LassoProblem(loss, l1_ratio, 100_000).path(alphas, TOL) * std
        np.testing.assert_allclose(ours, coefs.T, atol=1e-7)
    assert 0 < np.count_nonzero(coefs[:, 0]) < d


@pytest.mark.parametrize(("penalty", "l1_ratio"), [("l1", 1.0), ("elasticnet", 0.4)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_first_alpha_is_the_smallest_that_leaves_no_weight(penalty, l1_ratio, solver):
    X, y = make(1)
    path = cross_validate_path(X, y, penalty=penalty, l1_ratio=l1_ratio, solver=solver)
    _, delta, _ = quadratic(X, y)
    assert path.alphas[0] == pytest.approx(np.abs(delta).max() / l1_ratio)
    fit = {"penalty": penalty, "l1_ratio": l1_ratio, "solver": solver}
    assert not AUCClassifier(alpha=path.alphas[0], **fit).fit(X, y).coef_.any()
    assert np.count_nonzero(AUCClassifier(alpha=0.999 * path.alphas[0], **fit).fit(X, y).coef_) == 1


def test_limits_of_the_elastic_net():
    X, y = make(2)
    nearly_l2 = AUCClassifier(penalty="elasticnet", l1_ratio=1e-5, alpha=0.1).fit(X, y)
    np.testing.assert_allclose(nearly_l2.coef_, AUCClassifier(alpha=0.1).fit(X, y).coef_, atol=1e-5)
    l1 = AUCClassifier(penalty="l1", alpha=0.1).fit(X, y)
    np.testing.assert_array_equal(
        AUCClassifier(penalty="elasticnet", l1_ratio=1.0, alpha=0.1).fit(X, y).coef_, l1.coef_
    )
    none = AUCClassifier(penalty="l1", alpha=0.0).fit(X, y)
    np.testing.assert_allclose(none.coef_, AUCClassifier(alpha=0.0).fit(X, y).coef_, rtol=1e-9)


def test_wide_sparse_rows_are_never_squared():
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 20_000), density=0.002, format="csr", rng=rng)
    y = (np.asarray(X[:, :400].sum(axis=1)).ravel() > 0.4).astype(int)
    clf = AUCClassifier(penalty="l1", alpha=0.15, solver="cg").fit(X, y)
    assert 0 < np.count_nonzero(clf.coef_) < 300
    assert clf.score(X, y) > 0.8
    assert np.count_nonzero(AUCClassifier(n_nonzero=30, alpha=1.0, solver="cg").fit(X, y).coef_) == 30


def test_a_path_cut_short_warns():
    X, y = make(3, n=40, d=30)
    with pytest.warns(
        ConvergenceWarning, match=r"^Coordinate descent stopped at max_iter=1 sweeps with a gradient that"
    ):
        AUCClassifier(penalty="l1", alpha=1e-4, max_iter=1, tol=1e-12).fit(X, y)


# L0


def best_by_brute_force(M, delta, alpha, k):
    best, support = -np.inf, None
    for columns in itertools.combinations(range(len(delta)), k):
        S = list(columns)
        gain = delta[S] @ np.linalg.solve(M[np.ix_(S, S)] + alpha * np.eye(k), delta[S])
        if gain > best:
            best, support = gain, S
    return best, support


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_the_best_columns_are_those_of_brute_force(seed, alpha):
    X, y = make(seed, d=8)
    M, delta, std = quadratic(X, y)
    ks = (1, 2, 4, 7, 8)
    for loss in losses(X, y):
        for k, w in zip(ks, SubsetProblem(loss, ks, 1000).path(np.array([alpha])), strict=True):
            best, support = best_by_brute_force(M, delta, alpha, k)
            v = w * std
            assert np.count_nonzero(v) == k
            assert delta @ v == pytest.approx(best, rel=1e-9)
            np.testing.assert_array_equal(np.flatnonzero(v), support)


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_on_the_columns_are_the_exact_fit_of_these_columns(solver):
    X, y = make(7, n=50, d=40)
    clf = AUCClassifier(n_nonzero=6, alpha=0.2, solver=solver).fit(X, y)
    columns = np.flatnonzero(clf.coef_[0])
    assert len(columns) == 6
    assert clf.n_nonzero_ == 6
    alone = AUCClassifier(alpha=0.2).fit(X[:, columns], y)
    np.testing.assert_allclose(clf.coef_[0, columns], alone.coef_[0], rtol=1e-6)


def test_no_exchange_of_one_column_and_no_screening_does_better():
    X, y = make(8, n=50, d=60, informative=10)
    M, delta, _ = quadratic(X, y)
    alpha, k = 0.05, 7

    def gain(S):
        return delta[S] @ np.linalg.solve(M[np.ix_(S, S)] + alpha * np.eye(len(S)), delta[S])

    support = np.flatnonzero(AUCClassifier(n_nonzero=k, alpha=alpha).fit(X, y).coef_[0])
    found = gain(support)
    for i, j in itertools.product(range(k), range(60)):
        if j not in support:
            assert gain(np.append(np.delete(support, i), j)) <= found * (1 + 1e-8)
    assert gain(np.argsort(-np.abs(delta))[:k]) <= found


def test_as_many_nonzeros_as_columns_is_the_l2_fit():
    X, y = make(9)
    X[:, 5] = 3.0  # carries nothing
    full = AUCClassifier(alpha=0.1).fit(X, y)
    np.testing.assert_allclose(AUCClassifier(n_nonzero=8, alpha=0.1).fit(X, y).coef_, full.coef_, rtol=1e-9, atol=1e-12)
    assert np.count_nonzero(AUCClassifier(n_nonzero=8, alpha=0.1).fit(X, y).coef_) == 7


# Both, as users meet them

KINDS = [{"penalty": "l1"}, {"penalty": "elasticnet"}, {"n_nonzero": 3}]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


@every_kind
@pytest.mark.parametrize("solver", SOLVERS)
def test_cross_validation_is_the_naive_loop(kind, solver):
    X, y = make(10, n=80)
    folds = StratifiedKFold(4)
    clf = AUCClassifier(**kind, solver=solver, cv=folds, alphas=[0.3, 0.1, 0.02]).fit(X, y)
    for k, (train, test) in enumerate(folds.split(X, y)):
        for a, alpha in enumerate(clf.alphas_):
            alone = AUCClassifier(**kind, solver=solver, alpha=alpha).fit(X[train], y[train])
            expected = roc_auc(y[test], alone.decision_function(X[test]))
            assert clf.cv_results_[f"split{k}_test_score"][a] == pytest.approx(expected, abs=1e-9)
    best = clf.alphas_[np.argmax(clf.cv_results_["mean_test_score"])]
    assert clf.alpha_ == best
    np.testing.assert_allclose(clf.coef_, AUCClassifier(**kind, solver=solver, alpha=best).fit(X, y).coef_, rtol=1e-9)


def test_the_number_of_nonzeros_is_chosen_with_alpha():
    X, y = make(11, n=100, d=12)
    clf = AUCClassifier(n_nonzero=[2, 5, 9], alphas=[1.0, 0.1]).fit(X, y)
    results = clf.cv_results_
    assert len(results["params"]) == 6
    best = int(np.argmax(results["mean_test_score"]))
    assert results["params"][best] == {"alpha": clf.alpha_, "n_nonzero": clf.n_nonzero_}
    assert np.count_nonzero(clf.coef_) == clf.n_nonzero_
    given_alpha = AUCClassifier(n_nonzero=[2, 5, 9], alpha=0.1).fit(X, y)
    assert given_alpha.alpha_ == 0.1
    assert given_alpha.n_nonzero_ in (2, 5, 9)


@every_kind
def test_invariances(kind):
    X, y = make(12, n=50)
    base = AUCClassifier(**kind, alpha=0.05).fit(X, y)
    order = np.random.default_rng(0).permutation(50)
    swapped = AUCClassifier(**kind, alpha=0.05).fit(X, 1 - y)
    repeated = AUCClassifier(**kind, alpha=0.05).fit(np.vstack([X, X[:20]]), np.append(y, y[:20]))
    weighted = AUCClassifier(**kind, alpha=0.05).fit(X, y, sample_weight=1.0 + (np.arange(50) < 20))
    scaled = AUCClassifier(**kind, alpha=0.05).fit(X * np.arange(1, 9) + 100, y)
    by_hand = AUCClassifier(**kind, alpha=0.05, standardize=False).fit(StandardScaler().fit_transform(X), y)
    assert 0 < np.count_nonzero(base.coef_) < 8
    for other, expected in (
        (AUCClassifier(**kind, alpha=0.05).fit(X[order], y[order]).coef_, base.coef_),
        (-swapped.coef_, base.coef_),
        (weighted.coef_, repeated.coef_),
        (scaled.coef_ * np.arange(1, 9), base.coef_),
        (by_hand.coef_ / X.std(axis=0), base.coef_),
    ):
        np.testing.assert_allclose(other, expected, rtol=1e-5, atol=1e-8)


@every_kind
def test_streams_and_moments(kind):
    X, y = make(13, n=60)
    whole = AUCClassifier(**kind, alpha=0.05).fit(X, y)
    stream = AUCClassifier(**kind, alpha=0.05)
    for start in range(0, 60, 17):
        stream.partial_fit(X[start : start + 17], y[start : start + 17], classes=[0, 1])
    given_moments = AUCClassifier(**kind, alpha=0.05).fit_moments(ClassMoments(8).update(X, y))
    for other in (stream, given_moments):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_nonzero": 0}, r"^n_nonzero must be between 1 and the number of columns, 8, got 0\.$"),
        ({"n_nonzero": 9}, r"^n_nonzero must be between 1 and the number of columns, 8, got 9\.$"),
        ({"n_nonzero": [3, -1]}, r"^n_nonzero must be between 1 and the number of columns, 8, got -1\.$"),
        ({"n_nonzero": [2.5]}, r"^n_nonzero must be an integer or a sequence of integers, got \[2\.5\]\.$"),
        ({"n_nonzero": 2, "penalty": "l1"}, r"^n_nonzero limits a fit with penalty='l2', got penalty='l1'"),
        ({"penalty": "elasticnet", "l1_ratio": 0.0}, r"^The 'l1_ratio' parameter of AUCClassifier must be a float in"),
        ({"penalty": "l0"}, r"^The 'penalty' parameter of AUCClassifier must be a str among"),
    ],
)
def test_errors(parameters, message):
    X, y = make(14)
    clf = AUCClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        clf.fit(X, y)
    assert not hasattr(clf, "coef_")
