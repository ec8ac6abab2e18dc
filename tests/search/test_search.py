"""The search: what it fits to all rows, its invariances, and the AUC that it reports."""

import dask
import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import CLASSES, noisy_line, skewed, wide
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from aucmax import AUCClassifier, load_model, open_rows, save_model
from aucmax.report.displays.path import chosen_index
from aucmax.rows.blocks.rows import SlicedRows
from aucmax.rows.memory import MemoryRows
from aucmax.search import search as searching
from aucmax.search.choice import Choices
from aucmax.search.search import search
from aucmax.solvers.problem import Objective


@pytest.mark.parametrize("data", [skewed(), wide(n=80, signal=0.6)], ids=["tall", "wide"])
def test_blend_weights_are_the_combination_of_exact_fits(data, monkeypatch):
    # The three best candidates, whatever the search would choose.
    monkeypatch.setattr(Choices, "greedy", lambda self, best, judges: [tuple(ours[:3]) for ours in best])
    clf = AUCClassifier(tol=1e-9).fit(*data)
    members = clf.blend_
    assert len(members["loss"]) > 1
    assert clf.loss_ == "blend"
    assert not hasattr(clf, "alpha_")
    assert_allclose(members["share"].sum(), 1)
    assert (np.diff(members["share"]) <= 0).all()
    assert_allclose(clf.coef_[0], (members["share"] / members["spread"]) @ members["coef"], rtol=1e-12)
    for k in range(len(members["loss"])):
        loss, standardize, alpha = (members[name][k] for name in ("loss", "standardize", "alpha"))
        alone = AUCClassifier(str(loss), alpha=alpha, standardize=bool(standardize), tol=1e-9).fit(*data)
        # The smooth AUC ends after a few steps, wherever it started.
        tol = 1e-3 if loss == "smooth_auc" else 1e-8
        assert_allclose(members["coef"][k], alone.coef_[0], rtol=0, atol=tol * np.abs(alone.coef_).max())


def test_the_best_candidate_is_exactly_its_own_fit():
    X, y = skewed()
    best = AUCClassifier(selection="best", tol=1e-9).fit(X, y)
    assert best.blend_["share"].tolist() == [1.0]
    k = np.argmax(np.where(best.cv_results_["param_standardize"], best.cv_results_["mean_test_score"], 0))
    assert best.cv_results_["params"][k] == {"alpha": best.alpha_, "loss": best.loss_, "standardize": True}
    assert_allclose(best.coef_, AUCClassifier(best.loss_, alpha=best.alpha_, tol=1e-9).fit(X, y).coef_, rtol=1e-3)


def test_a_sample_of_many_rows(monkeypatch):
    X, y = skewed(n=400)
    monkeypatch.setattr(searching, "ENOUGH_OF_A_CLASS", 50)
    monkeypatch.setattr(searching, "ENOUGH_FOR_A_COLUMN", 0)
    rows = MemoryRows(X, y, CLASSES)
    found = search(rows, Objective("auto"), None, 5, None, blended=True)
    assert found.held_out().mass.sum(axis=1) == pytest.approx(rows.totals)
    sample = rows.sample(50)
    alone = search(sample, Objective("auto"), None, 5, None, blended=True)
    assert_allclose(found.aucs, alone.aucs)
    clf = AUCClassifier().fit(X, y)
    assert_allclose(clf.moments_.weight, rows.totals)  # the final fit is to all rows
    # Alphas fall as the rows grow in number, and each member still has scores of about unit spread.
    factor = np.sum(1 / rows.totals) / np.sum(1 / sample.totals)
    compared = {candidate.alpha for candidate in found.candidates}
    assert all(np.isclose(alpha / factor, list(compared)).any() for alpha in clf.blend_["alpha"])
    for member in range(len(clf.blend_["loss"])):
        w = clf.blend_["coef"][member]
        variances = [np.var(sample.X[sample.y == label] @ w) for label in (0, 1)]
        assert clf.blend_["spread"][member] == pytest.approx(np.sqrt(np.mean(variances)))
    given = AUCClassifier(alphas=[1.0, 0.1]).fit(X, y)
    assert set(given.blend_["alpha"]) <= {1.0, 0.1}


def test_thin_sparse_members_are_solved_on_the_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 250), density=0.02, rng=rng, format="csr")
    y = (X @ rng.standard_normal(250) + 0.3 * rng.standard_normal(300) > 0).astype(int)
    found = AUCClassifier(tol=1e-9).fit(X, y)
    assert not hasattr(found, "moments_")
    monkeypatch.setattr("aucmax.search.search.CG_COST", np.inf)
    expected = AUCClassifier(tol=1e-9).fit(X, y)
    assert expected.moments_.n_features == 250
    assert expected.blend_["share"].tolist() == found.blend_["share"].tolist()
    assert len(set(found.blend_["loss"])) < len(found.blend_["loss"])  # two alphas of one loss, solved together
    assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-6 * np.abs(expected.coef_).max())


def test_blend_of_clones_and_rare_classes():
    X, _ = noisy_line(n=60)
    clf = AUCClassifier(selection="best", standardize=True)
    assert clone(clf).get_params() == clf.get_params()
    few = np.arange(60) < 2
    with pytest.warns(UserWarning, match="The rarer class has only 2 rows"):
        assert AUCClassifier().fit(X, few).coef_.any()


def test_probabilities_of_new_rows_where_columns_are_many_and_positives_few():
    """The midpoint of the class means of few training rows is not that of new rows; held-out scores must show it."""
    rng = np.random.default_rng(0)
    shift = np.where(np.arange(600) < 20, 0.6, 0.0)

    def draw(n):
        y = (rng.random(n) < 0.12).astype(int)
        return rng.standard_normal((n, 600)) + np.outer(y, shift), y

    (X, y), (X_new, y_new) = draw(250), draw(4000)
    p = AUCClassifier().fit(X, y).predict_proba(X_new)[:, 1]
    base = y_new.mean()
    entropy = -(base * np.log(base) + (1 - base) * np.log1p(-base))
    assert 0.7 * base < p.mean() < 1.5 * base
    assert -np.mean(np.log(np.where(y_new == 1, p, 1 - p))) < 0.97 * entropy  # better than the base rate alone


def test_a_stream_continues_a_blend_as_a_square_loss():
    X, y = skewed()
    best = AUCClassifier(selection="best").fit(X, y)
    best.partial_fit(X[:1], y[:1], sample_weight=[1e-9])
    assert best.loss_ == "squared"
    assert not hasattr(best, "cv_results_")
    assert_allclose(best.coef_, AUCClassifier().partial_fit(X, y).coef_, rtol=1e-6)


# Invariances


def test_blend_of_whole_weights_is_that_of_repeated_rows():
    X, y = skewed(n=90)
    weights = np.random.default_rng(0).integers(0, 3, 90)
    rows = np.repeat(np.arange(90), weights)
    folds = np.arange(90) % 3
    weighted = AUCClassifier(cv=[(folds != k, folds == k) for k in range(3)]).fit(X, y, sample_weight=weights)
    repeated = AUCClassifier(cv=[(folds[rows] != k, folds[rows] == k) for k in range(3)]).fit(X[rows], y[rows])
    assert_allclose(weighted.cv_results_["mean_test_score"], repeated.cv_results_["mean_test_score"], atol=1e-9)
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5)


@pytest.mark.parametrize("data", [skewed(), wide()], ids=["tall", "wide"])
def test_blend_of_swapped_labels_turns_the_weights_around(data):
    X, y = data
    clf, swapped = AUCClassifier().fit(X, y), AUCClassifier().fit(X, 1 - y)
    assert_allclose(swapped.coef_, -clf.coef_, rtol=1e-4, atol=1e-6 * np.abs(clf.coef_).max())


@pytest.mark.parametrize("data", [skewed(n=2000), wide()], ids=["tall", "wide"])
def test_blend_is_independent_of_threads(data):
    fits = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            fits.append(AUCClassifier().fit(*data))
    assert_array_equal(fits[0].blend_["share"], fits[1].blend_["share"])
    assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-9)


def test_blend_with_standardize_ignores_shifts_and_units():
    X, y = skewed()
    clf = AUCClassifier(standardize=True).fit(X, y)
    other = AUCClassifier(standardize=True).fit(1e3 * X + 7, y)
    assert_array_equal(clf.blend_["loss"], other.blend_["loss"])
    assert_allclose(other.coef_ * 1e3, clf.coef_, rtol=1e-3)


@pytest.mark.parametrize("data", [skewed(), wide(n=80, signal=0.6)], ids=["tall", "wide"])
@pytest.mark.parametrize("unit", [1e-30, 1e40])
def test_blend_without_standardize_ignores_a_common_unit(data, unit):
    X, y = data
    expected = AUCClassifier(standardize=False).fit(X, y)
    found = AUCClassifier(standardize=False).fit(X * unit, y)
    assert found.blend_["loss"].tolist() == expected.blend_["loss"].tolist()
    assert_allclose(found.coef_ * unit, expected.coef_, rtol=0, atol=1e-4 * np.abs(expected.coef_).max())


def test_blend_ignores_the_unit_of_sample_weight():
    X, y = noisy_line(n=80)
    expected = AUCClassifier().fit(X, y).coef_
    for unit in (1e-200, 1e200):
        assert_allclose(AUCClassifier().fit(X, y, sample_weight=np.full(80, unit)).coef_, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "size", [1e-300, pytest.param(1e-160, marks=pytest.mark.slow), 1e-155]
)  # the squares are 0, or have lost digits
@pytest.mark.parametrize(
    "parameters", [{}, {"loss": "squared", "standardize": False}, {"solver": "cg"}, {"loss": "hinge"}], ids=str
)
def test_fit_warns_of_columns_whose_squares_underflow(parameters, size):
    X, y = skewed()
    X[:, 2] *= size
    with pytest.warns(
        UserWarning, match=r"^The squares of the values of X underflow in 1 columns, .* column 2\. These"
    ):
        clf = AUCClassifier(**parameters).fit(X, y)
    assert clf.coef_[0, 2] == 0
    assert clf.coef_[0, 0] != 0


def test_blend_of_equal_rows():
    y = np.arange(20) % 2
    for shape in ((20, 40), (20, 3)):
        assert not AUCClassifier().fit(np.ones(shape), y).coef_.any()


# The AUC that can be quoted


def shuffled_labels(n_draws, **parameters):
    """Fit rows whose labels mean nothing; return the AUC, both ends of its interval, and the AUC chosen by."""
    rng = np.random.default_rng(0)
    y = np.arange(200) < 30
    found = []
    for _ in range(n_draws):
        clf = AUCClassifier(**parameters).fit(rng.standard_normal((200, 10)) * 2.0 ** np.arange(-5, 5), y)
        found.append((clf.cv_auc_, *clf.cv_auc_ci_, clf.cv_results_["mean_test_score"].max()))
    return np.array(found).T


@pytest.mark.parametrize(
    "parameters",
    [{}, *(pytest.param({"loss": loss}, marks=pytest.mark.slow) for loss in ("logistic", "squared", "smooth_auc"))],
    ids=str,
)
def test_cv_auc_of_shuffled_labels_is_one_half(parameters):
    auc, low, high, chosen_by = shuffled_labels(60, **parameters)
    assert abs(auc.mean() - 0.5) < 2.5 * auc.std() / np.sqrt(60)
    assert np.mean((low < 0.5) & (high > 0.5)) >= 0.85
    gap = chosen_by - auc
    assert gap.mean() > 5 * gap.std() / np.sqrt(60)
    assert chosen_by.mean() > 0.505


def test_cv_auc_is_that_of_new_rows():
    gaps, inside = [], []
    for seed in range(20):
        X, y = skewed(n=2200, seed=seed)
        clf = AUCClassifier().fit(X[:200], y[:200])
        new = clf.score(X[200:], y[200:])
        gaps.append(clf.cv_auc_ - new)
        inside.append(clf.cv_auc_ci_[0] < new < clf.cv_auc_ci_[1])
    assert abs(np.mean(gaps)) < 2.5 * np.std(gaps) / np.sqrt(20)
    assert np.mean(inside) >= 0.8


def test_cv_auc_of_groups_has_a_wider_interval():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 5)
    y = (np.arange(60) % 3 == 0)[groups].astype(int)
    X = (rng.standard_normal((60, 4)) + 0.7 * (np.arange(60) % 3 == 0)[:, None])[groups]
    X = X + 0.1 * rng.standard_normal(X.shape)
    grouped, alone = AUCClassifier().fit(X, y, groups=groups), AUCClassifier().fit(X, y)
    widths = [np.ptp(clf.cv_auc_ci_) for clf in (grouped, alone)]
    assert widths[0] > 1.5 * widths[1]


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("parameters", [{}, {"loss": "logistic"}, {"n_nonzero": [1, 3]}], ids=str)
def test_cv_auc_is_the_same_from_memory_and_by_blocks(parameters, sampled, tmp_path, monkeypatch):
    X, y = noisy_line(n=300)
    if sampled:
        monkeypatch.setattr(searching, "ENOUGH_OF_A_CLASS", 60)
        monkeypatch.setattr(searching, "ENOUGH_FOR_A_COLUMN", 0)
    memory = AUCClassifier(**parameters).fit(X, y)
    rows = MemoryRows(X, y, CLASSES)
    fits = [AUCClassifier(**parameters).fit_rows(each) for each in (rows, SlicedRows(rows, step=37))]
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, y]), delimiter=",", fmt="%.17g")
    with open_rows(tmp_path / "rows.csv", header=False, target="x6", memory=400 << 20) as of_file:
        of_file.passes.n_bytes = 1 << 14
        fits.append(AUCClassifier(**parameters).fit_rows(of_file))
    for fit in fits:
        assert fit.cv_auc_ == pytest.approx(memory.cv_auc_, abs=1e-9)
        assert_allclose(fit.cv_auc_ci_, memory.cv_auc_ci_, atol=1e-6)
    assert memory.cv_auc_ci_[0] < memory.cv_auc_ < memory.cv_auc_ci_[1]


@pytest.mark.dask
@pytest.mark.parametrize("loss", ["auto", "logistic"])
def test_cv_auc_is_the_same_from_memory_and_dask(loss):
    X, y = noisy_line(n=300)
    memory = AUCClassifier(loss).fit(X, y)
    lazy = [da.from_array(values, chunks=((0, 120, 1, 179), *values.shape[1:])) for values in (X, y)]
    with dask.config.set(scheduler="synchronous"):
        fit = AUCClassifier(loss).fit(*lazy)
    assert fit.cv_auc_ == pytest.approx(memory.cv_auc_, abs=1e-9)
    assert_allclose(fit.cv_auc_ci_, memory.cv_auc_ci_, atol=1e-6)


def test_cv_auc_of_a_single_split_is_nan():
    X, y = noisy_line(n=80)
    clf = AUCClassifier(cv=[(np.arange(50), np.arange(50, 80))]).fit(X, y)
    assert np.isnan([clf.cv_auc_, *clf.cv_auc_ci_]).all()
    assert clf.score(X, y) > 0.7
    one = AUCClassifier("squared", alphas=[0.1], cv=[(np.arange(50), np.arange(50, 80))]).fit(X, y)
    assert one.cv_auc_ == one.cv_results_["mean_test_score"][0]  # nothing was chosen


def test_cv_auc_belongs_to_cross_validation():
    X, y = noisy_line(n=80)
    clf = AUCClassifier("squared").fit(X, y)
    assert 0.5 < clf.cv_auc_ <= clf.cv_results_["mean_test_score"].max() + 1e-12
    clf.set_params(alpha=0.1).fit(X, y)
    assert not hasattr(clf, "cv_auc_")
    assert not hasattr(clf, "cv_auc_ci_")


@pytest.mark.parametrize("cv", [5, [(np.arange(50), np.arange(50, 80))]], ids=["folds", "split"])
def test_cv_auc_survives_a_model_file(tmp_path, cv):
    X, y = noisy_line(n=80)
    clf = AUCClassifier(cv=cv).fit(X, y)
    save_model(clf, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_array_equal([loaded.cv_auc_, *loaded.cv_auc_ci_], [clf.cv_auc_, *clf.cv_auc_ci_])


@pytest.mark.parametrize(
    ("parameters", "power"), [({"loss": "logistic"}, 1), ({"loss": "squared"}, 1), ({"penalty": "l1"}, 0.5)], ids=str
)
def test_alpha_of_a_named_loss_falls_with_the_rows(parameters, power, monkeypatch):
    X, y = skewed(n=400)
    monkeypatch.setattr(searching, "ENOUGH_OF_A_CLASS", 50)
    monkeypatch.setattr(searching, "ENOUGH_FOR_A_COLUMN", 0)
    clf = AUCClassifier(**parameters).fit(X, y)
    factor = np.sum(1 / np.bincount(y)) / (2 / 50)
    best = chosen_index(clf)
    mean = clf.cv_results_["mean_test_score"]
    assert mean[best] == pytest.approx(mean.max(), abs=1e-6)
    assert clf.alpha_ == pytest.approx(factor**power * clf.cv_results_["param_alpha"][best])
    given = AUCClassifier(alphas=[1.0, 0.1], **parameters).fit(X, y)
    assert given.alpha_ in (1.0, 0.1)
