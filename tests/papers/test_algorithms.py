"""What every stochastic algorithm must do, driven by the registry: a new algorithm is tested by being listed."""

import copy
import pickle

import numpy as np
import pytest
import slow
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid, train_test_split
from sklearn.pipeline import Pipeline
from slow import slow_except

import aucmax
from aucmax import AUCClassifier
from aucmax.papers import ALGORITHMS, PAPERS
from aucmax.papers.engine.epochs import OnlineClassifier, StochasticClassifier

RANK = 3


def make(name, **parameters):
    """Return the estimator with what small data need."""
    if name == "OPAUCr":
        parameters.setdefault("rank", RANK)
    return ALGORITHMS[name](**parameters)


def is_kind(name, kind):
    return isinstance(ALGORITHMS[name].make, type) and issubclass(ALGORITHMS[name].make, kind)


STOCHASTIC = [name for name in ALGORITHMS if is_kind(name, StochasticClassifier)]
ONLINE = [name for name in STOCHASTIC if is_kind(name, OnlineClassifier)]
every_stochastic = pytest.mark.parametrize("name", slow_except(slow.ALGORITHMS, STOCHASTIC))
every_online = pytest.mark.parametrize("name", slow_except(slow.ALGORITHMS, ONLINE))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = (rng.random(120) < 0.3).astype(int)
    X = rng.standard_normal((120, 5)) @ rng.standard_normal((5, 5)) + y[:, None] * rng.standard_normal(5)
    return X, y


def test_algorithms_list_every_public_estimator():
    assert {name for name, algorithm in ALGORITHMS.items() if algorithm.maker == name} <= set(aucmax.__all__)
    estimators = {
        name
        for name in aucmax.__all__
        if isinstance(value := getattr(aucmax, name), type) and issubclass(value, BaseEstimator)
    }
    ours = {"AUCClassifier", "TableClassifier", "KMeansNystroem", "TableEncoder"}
    assert estimators - ours <= set(ALGORITHMS)
    assert {algorithm.paper for algorithm in ALGORITHMS.values()} == set(PAPERS)
    assert len(STOCHASTIC) >= 12
    assert len(ONLINE) >= 7


@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms_grid_has_valid_values(name):
    algorithm = ALGORITHMS[name]
    estimator = algorithm()
    assert isinstance(estimator, BaseEstimator)
    assert algorithm.online == hasattr(estimator, "partial_fit")
    for parameter, values in algorithm.grid.items():
        for value in (values[0], values[-1]):
            estimator.set_params(**{parameter: value})
            last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
            last._validate_params()
    assert len(ParameterGrid(dict(algorithm.grid))) >= 1


def test_opauc_pipelines_of_fewer_features(data):
    X, y = data
    for name in ("OPAUCf", "OPAUCrp", "OPAUCpca"):
        pipeline = ALGORITHMS[name](n_components=3, random_state=0, alpha=0.1).fit(X, y)
        assert pipeline[-1].n_features_in_ == 3
        assert pipeline[-1].alpha == 0.1
        np.testing.assert_array_equal(
            pipeline.decision_function(X), clone(pipeline).fit(X, y).decision_function(X), strict=True
        )
        assert pipeline.score(X, y) > 0.5
        assert pickle.loads(pickle.dumps(pipeline)).score(X, y) == pipeline.score(X, y)


def test_opauc_pca_components_of_sparse_rows_need_no_centring(data):
    X, y = data
    X = X - X.mean(axis=0)
    pipelines = [ALGORITHMS["OPAUCpca"](n_components=3, center=center, random_state=0) for center in (True, False)]
    centred, sparse_rows = (clone(p).fit(rows, y) for p, rows in zip(pipelines, (X, sparse.csr_array(X)), strict=True))
    np.testing.assert_allclose(
        sparse_rows.decision_function(sparse.csr_array(X)), centred.decision_function(X), rtol=1e-4, atol=1e-5
    )


@every_stochastic
def test_algorithm_defaults_come_near_the_exact_fit_at_any_scale(name):
    X, y = load_breast_cancer(return_X_y=True)
    assert X.std(axis=0).max() > 1e5 * X.std(axis=0).min()
    X[:, 3] += 1e6
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    exact = AUCClassifier().fit(X_train, y_train).score(X_test, y_test)
    auc = ALGORITHMS[name](**({"rank": 20} if name == "OPAUCr" else {}), random_state=0).fit(X_train, y_train)
    assert auc.score(X_test, y_test) > exact - (0.02 if name == "OPAUCr" else 0.01)


@pytest.mark.parametrize("name", slow_except(("OPAUC", "SOLAM", "SHTAUC", "PSAM"), STOCHASTIC))
def test_algorithm_fits_dense_and_sparse_rows_alike(name, data):
    X, y = data
    dense = make(name, random_state=0).fit(X, y)
    for other in (sparse.csr_array(X), np.asfortranarray(X), sparse.csr_matrix(X)):
        np.testing.assert_allclose(make(name, random_state=0).fit(other, y).coef_, dense.coef_, rtol=1e-6, atol=1e-9)
    single = make(name, random_state=0).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.coef_, dense.coef_, rtol=1e-3, atol=1e-4)


@every_stochastic
def test_algorithm_learns_from_csr_rows_with_zeros(name):
    rng = np.random.default_rng(1)
    y = (rng.random(400) < 0.4).astype(int)
    X = (rng.random((400, 12)) < 0.2) * (1 + rng.random((400, 12)))
    X[y == 1, :4] += rng.random((np.count_nonzero(y), 4)) < 0.3
    dense = make(name, random_state=0).fit(X, y)
    csr = make(name, random_state=0).fit(sparse.csr_array(X), y)
    assert csr.score(X, y) == pytest.approx(dense.score(X, y), abs=0.01)


@every_stochastic
def test_algorithm_scores_ignore_shift_and_scale_of_columns(name, data):
    X, y = data
    before = make(name, random_state=0).fit(X, y)
    stretched = X * np.array([1e3, 1, 1e-3, 2, 1e6]) + np.array([1e4, -5, 1, 0, 1e7])
    after = make(name, random_state=0).fit(stretched, y)
    np.testing.assert_allclose(after.decision_function(stretched), before.decision_function(X), rtol=1e-4, atol=1e-6)


@every_stochastic
def test_algorithm_weights_turn_round_with_swapped_classes(name, data):
    X, y = data
    there, back = make(name, random_state=0).fit(X, y), make(name, random_state=0).fit(X, 1 - y)
    np.testing.assert_allclose(back.coef_, -there.coef_, rtol=1e-6, atol=1e-9)


@every_stochastic
def test_algorithm_random_state_gives_the_same_bits(name, data):
    X, y = data
    first, second = make(name, random_state=3).fit(X, y), make(name, random_state=3).fit(X, y)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)
    refitted = first.fit(X, y)
    np.testing.assert_array_equal(refitted.coef_, second.coef_)


@every_stochastic
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_algorithm_warm_start_in_two_parts_is_one_fit(name, data):
    X, y = data
    horizon = {"horizon": 5 * len(y)} if name == "FSAUC" else {}
    whole = make(name, max_iter=5, tol=None, random_state=0, **horizon).fit(X, y)
    half = make(name, max_iter=2, tol=None, random_state=0, warm_start=True, **horizon).fit(X, y)
    assert half.n_iter_ == 2
    half = pickle.loads(pickle.dumps(half)).set_params(max_iter=3).fit(X, y)
    np.testing.assert_array_equal(half.coef_, whole.coef_)
    assert half.n_iter_ == whole.n_iter_ == 5
    np.testing.assert_array_equal(half.convergence_, whole.convergence_)
    cold = half.set_params(warm_start=False, max_iter=5).fit(X, y)
    assert cold.n_iter_ == 5


class StopAfter:
    """A callback that ends the fit after some epochs."""

    max_propagation_depth = 0

    def __init__(self, n_epochs):
        self.n_epochs = n_epochs
        self.n_seen = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.n_seen += context.task_name == "epoch"
        return context.task_name == "epoch" and self.n_seen >= self.n_epochs


@every_stochastic
def test_algorithm_callback_can_end_a_fit_between_epochs(name, data):
    X, y = data
    horizon = {"horizon": 6 * len(y)} if name == "FSAUC" else {}
    whole = make(name, max_iter=6, tol=None, random_state=0, **horizon).fit(X, y)
    stopped = make(name, max_iter=6, tol=None, random_state=0, warm_start=True, **horizon)
    stopped.set_callbacks(StopAfter(4)).fit(X, y)
    assert stopped.n_iter_ == 4
    stopped.set_callbacks().set_params(max_iter=2).fit(X, y)
    np.testing.assert_array_equal(stopped.coef_, whole.coef_)


@every_stochastic
def test_algorithm_epochs_are_seen_by_the_scoring_monitor(name, data):
    X, y = data
    monitor = pytest.importorskip("sklearn.callback").ScoringMonitor(scoring="roc_auc")  # from 1.9 on
    clf = make(name, max_iter=3, tol=None, random_state=0).set_callbacks(monitor).fit(X, y)
    scores = [row["roc_auc"] for row in monitor.get_logs().data]
    assert len(scores) == 4  # three epochs, and the fit
    assert scores[-1] == pytest.approx(clf.score(X, y))
    assert min(scores) > 0.5


@every_stochastic
def test_algorithm_gives_constant_columns_no_weight(name, data):
    X, y = data
    X = np.column_stack([X, np.full(len(y), 7.0), np.full(len(y), 1e9 + 0.1)])
    clf = make(name, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.coef_[0, -2:], 0)
    assert np.any(clf.coef_[0, :-2] != 0)
    rank = {"rank": 1} if name == "OPAUCr" else {}
    np.testing.assert_array_equal(make(name, random_state=0, **rank).fit(X[:, -2:], y).coef_, 0)


@every_stochastic
def test_algorithm_refuses_bad_rows_and_stays_unchanged(name, data):
    X, y = data
    clf = make(name, random_state=0).fit(X, y)
    before = copy.deepcopy(clf.__dict__)
    with pytest.raises(ValueError, match=r"^Input X contains NaN\."):
        clf.fit(np.where(X > 2, np.nan, X), y)
    with pytest.raises(ValueError, match=r"^AUC needs two classes, but y holds only one class: 0\.$"):
        clf.fit(X, 0 * y)
    with pytest.raises(ValueError, match=r"squares|overflow"):
        clf.fit(X * 1e200, y)
    assert clf.__dict__.keys() == before.keys()
    np.testing.assert_array_equal(clf.coef_, before["coef_"])


@pytest.mark.parametrize("name", [name for name in STOCHASTIC if "eta0" in ALGORITHMS[name]().get_params()])
def test_algorithm_refuses_steps_that_diverge(name, data):
    X, y = data
    clf = make(name, eta0=1e150, max_iter=20, random_state=0)
    try:
        finite = np.isfinite(clf.fit(X, y).coef_).all()  # with a ball, or a threshold, weights stay finite
    except ValueError as error:
        finite = "eta0" in str(error) and not hasattr(clf, "coef_")
    assert finite
    with pytest.raises(ValueError, match=r"^The 'eta0' parameter of \w+ must be a float in the range \(0.*Got -1"):
        make(name, eta0=-1.0).fit(X, y)


@every_stochastic
def test_tol_ends_a_fit_early_or_warns(name, data):
    X, y = data
    clf = make(name, max_iter=500, tol=0.5, random_state=0).fit(X, y)
    assert clf.n_iter_ < 500
    assert clf.convergence_[-1] <= 0.5
    assert len(clf.convergence_) == clf.n_iter_
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_iter=1 at .*, above tol=1e-300: increase max_iter"):
        make(name, max_iter=1, tol=1e-300, random_state=0).fit(X, y)


# Streams


@pytest.mark.parametrize("name", slow_except(("SOLAM", "OAM"), ONLINE))
def test_partial_fit_of_any_split_gives_the_same_weights(name, data):
    X, y = data
    for rows in (X, sparse.csr_array(X)):
        whole = make(name, random_state=0).partial_fit(rows, y)
        for size in (1, 7, 50):
            parts = make(name, random_state=0)
            for start in range(0, len(y), size):
                parts.partial_fit(rows[start : start + size], y[start : start + size], classes=[0, 1])
            np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


@every_online
def test_partial_fit_continues_from_a_pickle(name, data):
    X, y = data
    through = make(name, random_state=0).partial_fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    stored = pickle.loads(pickle.dumps(make(name, random_state=0).partial_fit(X[:60], y[:60])))
    np.testing.assert_array_equal(stored.partial_fit(X[60:], y[60:]).coef_, through.coef_)


@every_online
def test_partial_fit_takes_no_step_before_both_classes_were_seen(name, data):
    X, y = data
    clf = make(name, random_state=0)
    clf.partial_fit(X[y == 0][:30], y[y == 0][:30], classes=[0, 1])
    np.testing.assert_array_equal(clf.coef_, 0)
    assert clf.predict_proba(X)[:, 1] == pytest.approx(1 / 32)
    clf.partial_fit(X[y == 1][:30], y[y == 1][:30])
    assert np.any(clf.coef_ != 0)
    assert clf.score(X, y) > 0.5


@every_online
def test_partial_fit_of_one_pass_ranks_and_predicts(name):
    rng = np.random.default_rng(5)
    y = (rng.random(3000) < 0.2).astype(int)
    X = rng.standard_normal((3000, 6)) + y[:, None] * np.array([1.0, 0.5, 0, 0, -1.0, 0])
    clf = make(name, random_state=0)
    for start in range(0, 2000, 100):
        clf.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1])
    X, y = X[2000:], y[2000:]
    exact = AUCClassifier().fit(X, y).score(X, y)
    assert clf.score(X, y) > exact - 0.03
    accuracy = [np.mean(clf.predict(X)[y == c] == c) for c in (0, 1)]
    assert np.mean(accuracy) > 0.75
    assert clf.predict_proba(X)[:, 1].mean() == pytest.approx(0.2, abs=0.06)


@every_online
def test_partial_fit_errors(name, data):
    X, y = data
    clf = make(name, random_state=0)
    with pytest.raises(ValueError, match=r"^AUC needs two classes, but y of this first call \(classes=None\) holds"):
        clf.partial_fit(X, 0 * y)
    assert not hasattr(clf, "classes_")
    clf.partial_fit(X, y)
    before = clf.coef_.copy()
    with pytest.raises(ValueError, match=r"^y holds 2, but the classes are \[0, 1\]\.$"):
        clf.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match=r"^classes=\[0, 2\] differ from the classes of the first call, \[0, 1\]\.$"):
        clf.partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match=r"^Input X contains infinity"):
        clf.partial_fit(np.where(X > 2, np.inf, X), y)
    np.testing.assert_array_equal(clf.coef_, before)


@every_online
def test_partial_fit_continues_in_the_units_of_an_earlier_fit(name, data):
    X, y = data
    stretch = np.array([1e3, 1, 1e-3, 2, 1e4])
    plain = make(name, random_state=0).fit(X, y).partial_fit(X, y)
    stretched = make(name, random_state=0).fit(X * stretch, y).partial_fit(X * stretch, y)
    np.testing.assert_allclose(stretched.coef_ * stretch, plain.coef_, rtol=1e-5, atol=1e-7)
