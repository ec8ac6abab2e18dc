"""The blend of candidates: its weights, its held-out AUC, and the models of the folds that it is chosen on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import noisy_line
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from aucmax import AUCClassifier, roc_auc
from aucmax.rows.memory import MemoryRows
from aucmax.search import blend as blending
from aucmax.search import candidates
from aucmax.search.blend import choose_blend, choose_scaling
from aucmax.search.candidates import LossPath, scale_sample
from aucmax.search.cross_validation import PathCV
from aucmax.search.held_out import TestSets
from aucmax.search.rounds import make_rounds
from aucmax.search.training import FoldRows, FoldTraining
from aucmax.solvers.candidate import Candidate
from aucmax.solvers.problem import Objective

CLASSES = np.array([0, 1])


def skewed(n=300, d=6, seed=0):
    """Classes with long tails in some columns, so that the losses disagree."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.exp(rng.standard_normal((n, d)) * np.linspace(0, 1, d))
    y = (X @ np.linspace(1, 0.2, d) + rng.logistic(size=n) > 1).astype(int)
    return X, y


def wide(n=40, d=150, signal=0.8):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.standard_normal((n, d)) * np.linspace(0.5, 3, d) + 5 + signal * np.outer(y, np.arange(d) < 10), y


def training_of(X, y, weights=None, cv=3, standardize=True):
    rows = MemoryRows(X, y, CLASSES, weights)
    rounds = make_rounds(cv, rows, 1)
    return rows, rounds, scale_sample(rows, rounds, (True, False))[standardize]


# The blend


@pytest.mark.parametrize("data", [skewed(), wide(n=80, signal=0.6)], ids=["tall", "wide"])
def test_blend_weights_are_the_combination_of_exact_fits(data, monkeypatch):
    # The three best candidates, whatever the search would choose.
    monkeypatch.setattr(TestSets, "greedy", lambda self, scores, n_steps: (np.eye(len(scores))[:3].mean(axis=0), 0.5))
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


@pytest.mark.parametrize("seed", range(4))
def test_the_held_out_auc_is_at_least_that_of_the_best_candidate(seed):
    clf = AUCClassifier().fit(*skewed(seed=seed))
    results = clf.cv_results_
    as_they_are = not clf.blend_["standardize"].all()
    counting = results["mean_test_score"][results["param_standardize"] | as_they_are]
    assert clf.blend_auc_ >= counting.max() - 1e-12
    assert clf.blend_auc_ >= clf.blend_["auc"].max() - 1e-12
    best = AUCClassifier(selection="best").fit(*skewed(seed=seed))
    assert best.blend_auc_ == pytest.approx(best.blend_["auc"][0], abs=1e-12)
    assert clf.blend_auc_ >= best.blend_auc_ - 1e-12


def test_the_best_candidate_is_exactly_its_own_fit():
    X, y = skewed()
    best = AUCClassifier(selection="best", tol=1e-9).fit(X, y)
    assert best.blend_["share"].tolist() == [1.0]
    k = np.argmax(np.where(best.cv_results_["param_standardize"], best.cv_results_["mean_test_score"], 0))
    assert best.cv_results_["params"][k] == {"alpha": best.alpha_, "loss": best.loss_, "standardize": True}
    assert_allclose(best.coef_, AUCClassifier(best.loss_, alpha=best.alpha_, tol=1e-9).fit(X, y).coef_, rtol=1e-3)


def test_blend_candidates_are_narrowed_by_parameters():
    X, y = skewed()
    results = AUCClassifier(standardize=False, alphas=[1.0, 0.1]).fit(X, y).cv_results_
    assert not results["param_standardize"].any()
    assert set(results["param_alpha"]) == {1.0, 0.1}
    assert set(results["param_loss"]) == {"squared", "pooled", "balanced_logistic", "smooth_auc"}
    for given in ({"loss": "logistic"}, {"alpha": 0.1}, {"penalty": "l1"}, {"n_nonzero": 2}, {"solver": "moments"}):
        clf = AUCClassifier(**given).fit(X, y)
        assert not hasattr(clf, "blend_")
        assert clf.alpha_ > 0


def test_greedy_blend_search_by_brute_force():
    X, y = skewed(n=120)
    rows = MemoryRows(X, y, CLASSES)
    rounds = make_rounds(StratifiedKFold(3), rows)
    tests = TestSets(rows.targets, rounds)
    scores = np.random.default_rng(0).standard_normal((4, len(y))) + y[np.concatenate(tests.rows)]

    def mean_auc(blend):
        return np.mean([roc_auc(y[rows], blend[a:c]) for rows, (a, _, c) in zip(tests.rows, tests.edges, strict=True)])

    taken, path = [0], [mean_auc(scores[0])]
    for _ in range(5):
        aucs = [mean_auc(scores[[*taken, k]].sum(axis=0)) for k in range(4)]
        taken.append(int(np.argmax(aucs)))
        path.append(max(aucs))
    best = int(np.argmax(path))
    shares, auc = tests.greedy(scores, 5)
    assert auc == pytest.approx(max(path), abs=1e-12)
    assert_allclose(shares, np.bincount(taken[: best + 1], minlength=4) / (best + 1))


@pytest.mark.parametrize("weighted", [False, True])
def test_aucs_of_test_sets(weighted):
    rng = np.random.default_rng(0)
    X, y = skewed(n=90)
    weights = rng.integers(0, 3, 90).astype(float) if weighted else None
    rows = MemoryRows(X, y, CLASSES, weights)
    tests = TestSets(rows.targets, make_rounds(3, rows))
    scores = rng.integers(0, 5, (2, tests.edges[-1, 2])).astype(float)  # with ties
    expected = [
        [roc_auc(y[members], s[a:c], None if weights is None else weights[members]) for s in scores]
        for members, (a, _, c) in zip(tests.rows, tests.edges, strict=True)
    ]
    assert_allclose(tests.auc(scores), expected, atol=1e-12)


def test_blend_takes_unscaled_columns_only_if_clearly_better():
    noise = np.array([-0.02, 0.02, 0.0, -0.01, 0.01])
    for gain, expected in ((0.003, True), (0.02, False)):
        aucs = {True: np.full(5, 0.8), False: 0.8 + gain + noise}
        families = []
        for standardize, auc in aucs.items():
            candidates = [Candidate(alpha, loss="squared", standardize=standardize) for alpha in (1.0, 0.1)]
            families.append(LossPath(candidates, *np.empty((3, 0)), np.column_stack([auc, auc - 0.1])))
        assert choose_scaling(families, 1) is expected
        assert choose_scaling(families[1:], 1) is False
        rising = families[1]._replace(auc=families[1].auc[:, ::-1])  # wants an alpha beyond the grid
        assert choose_scaling([families[0], rising], 1) is True
        assert choose_scaling([families[0], rising], 1, by_default=False) is expected


def test_blend_of_rare_levels_takes_unscaled_columns():
    """Standardising makes the weight of a rare level cheap."""
    rng = np.random.default_rng(0)
    n, levels = 1500, 400
    level = np.minimum(rng.zipf(1.3, n) - 1, levels - 1)
    X = sparse.csr_array((np.ones(n), (np.arange(n), level)), shape=(n, levels))
    X = sparse.hstack([X, sparse.csr_array(rng.standard_normal((n, 3)))]).tocsr()
    effect = rng.standard_normal(levels)
    y = (effect[level] + X[:, [levels]].toarray()[:, 0] + rng.logistic(size=n) > 0).astype(int)
    train = np.arange(n) % 2 == 0
    clf = AUCClassifier().fit(X[train], y[train])
    assert not clf.blend_["standardize"].all()
    assert clf.score(X[~train], y[~train]) > AUCClassifier(standardize=True).fit(X[train], y[train]).score(
        X[~train], y[~train]
    )


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


# The models of the folds


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by_rows", [False, True])
def test_square_models_of_the_folds(monkeypatch, pooled, weighted, by_rows):
    X, y = skewed()
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    if by_rows:
        monkeypatch.setattr("aucmax.search.training.MAX_MOMENTS", 0)
        monkeypatch.setattr("aucmax.search.training.ROW_TOL", 1e-6)
    _, rounds, view = training_of(X, y, weights)
    alphas = np.array([1.0, 0.01])
    found = view.training.square(alphas, pooled) / view.scale
    scaled = MemoryRows(X / view.scale, y, CLASSES, weights)
    objective = Objective("pooled" if pooled else "squared", standardize=False, solver="moments")
    for k, split in enumerate(rounds[0].splits):
        expected = objective.problem(scaled.subset(rounds[0].parts, split.train)).path(alphas, 0) / view.scale
        assert_allclose(found[k], expected, rtol=0, atol=(1e-4 if by_rows else 1e-9) * np.abs(expected).max())


@pytest.mark.parametrize("standardize", [True, False])
def test_logistic_models_of_the_folds(standardize):
    X, y = skewed()
    X = X * np.geomspace(0.3, 3, X.shape[1])
    _, rounds, view = training_of(X, y, standardize=standardize)
    alphas = np.array([0.1, 0.01, 0.001])
    found = np.stack(list(view.training.logistic(alphas)), axis=1)
    found = found if standardize else found / view.scale
    scaled = MemoryRows(X / view.scale if standardize else X, y, CLASSES)
    objective = Objective("balanced_logistic", standardize=False, solver="moments")
    for k, split in enumerate(rounds[0].splits):
        expected = objective.problem(scaled.subset(rounds[0].parts, split.train)).path(alphas, 1e-8)
        assert (np.linalg.norm(found[k] - expected, axis=1) < 0.05 * np.linalg.norm(expected, axis=1)).all()


@pytest.mark.parametrize("data", [skewed(), wide()], ids=["tall", "wide"])
def test_models_of_a_fold_do_not_know_the_labels_of_its_test_rows(data):
    X, y = data
    _, rounds, view = training_of(X, y)
    test = np.isin(rounds[0].parts, rounds[0].splits[0].test)
    flipped = np.where(test, 1 - y, y)
    models = []
    for labels in (y, flipped):
        targets = MemoryRows(X, labels, CLASSES).targets
        training = FoldTraining(FoldRows(view.training.rows.Z, targets, rounds, view.training.rows.variances))
        logistic = list(training.logistic(view.level * np.array([1.0, 0.01, 1e-4])))
        models.append(np.array([training.square(np.array([0.1]), True)[0, 0], *(U[0] for U in logistic)]))
    gaps = np.linalg.norm(models[0] - models[1], axis=1) / np.linalg.norm(models[0], axis=1)
    assert (gaps < 0.02).all()  # training sets stop together, so that one may take a step more


def test_a_sample_of_many_rows(monkeypatch):
    X, y = skewed(n=400)
    monkeypatch.setattr(blending, "ENOUGH_OF_A_CLASS", 50)
    monkeypatch.setattr(blending, "ENOUGH_FOR_A_COLUMN", 0)
    rows = MemoryRows(X, y, CLASSES)
    found = choose_blend(rows, None, 5, None)
    assert found.held_out().mass.sum(axis=1) == pytest.approx(rows.totals)
    sample = rows.sample(50)
    alone = choose_blend(sample, None, 5, None)
    assert_allclose(found.path.auc, alone.path.auc)
    clf = AUCClassifier().fit(X, y)
    assert_allclose(clf.moments_.weight, rows.totals)  # the final fit is to all rows
    # Alphas fall as the rows grow in number, and each member still has scores of about unit spread.
    factor = np.sum(1 / rows.totals) / np.sum(1 / sample.totals)
    compared = {*found.path.alphas}
    assert all(np.isclose(alpha / factor, list(compared)).any() for alpha in clf.blend_["alpha"])
    for member in range(len(clf.blend_["loss"])):
        w = clf.blend_["coef"][member]
        variances = [np.var(sample.X[sample.y == label] @ w) for label in (0, 1)]
        assert clf.blend_["spread"][member] == pytest.approx(np.sqrt(np.mean(variances)))
    given = AUCClassifier(alphas=[1.0, 0.1]).fit(X, y)
    assert set(given.blend_["alpha"]) <= {1.0, 0.1}


def test_wide_sparse_rows_that_are_too_many_to_rotate(monkeypatch):
    X, y = wide(n=80, d=400)
    X = sparse.csr_array(np.where(np.abs(X - 5) > 2, X - 5, 0.0))
    rotated = AUCClassifier(standardize=True).fit(X, y)
    monkeypatch.setattr(candidates, "MAX_ROTATED", 10)
    monkeypatch.setattr(candidates, "MAX_COLUMNS", 20)
    clf = AUCClassifier(standardize=True).fit(X, y)
    assert_allclose(clf.blend_auc_, rotated.blend_auc_, atol=0.03)
    cosine = clf.coef_[0] @ rotated.coef_[0] / np.linalg.norm(clf.coef_) / np.linalg.norm(rotated.coef_)
    assert cosine > 0.95


def test_thin_sparse_members_are_solved_on_the_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 250), density=0.02, rng=rng, format="csr")
    y = (X @ rng.standard_normal(250) + 0.3 * rng.standard_normal(300) > 0).astype(int)
    found = AUCClassifier(tol=1e-9).fit(X, y)
    assert not hasattr(found, "moments_")
    monkeypatch.setattr("aucmax.search.members.CG_COST", np.inf)
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


@pytest.mark.parametrize("data", [skewed(), wide(n=80, signal=0.6)], ids=["tall", "wide"])
@pytest.mark.parametrize("unit", [1e-30, 1e40])
def test_blend_without_standardize_ignores_a_common_unit(data, unit):
    X, y = data
    expected = AUCClassifier(standardize=False).fit(X, y)
    found = AUCClassifier(standardize=False).fit(X * unit, y)
    assert found.blend_["loss"].tolist() == expected.blend_["loss"].tolist()
    assert_allclose(found.coef_ * unit, expected.coef_, rtol=0, atol=1e-4 * np.abs(expected.coef_).max())


def test_the_smooth_auc_by_name_converges():
    X, y = skewed(n=200)
    assert AUCClassifier("smooth_auc", cv=3).fit(X, y).score(X, y) > 0.8  # a warning would be an error


def test_blend_ignores_the_unit_of_sample_weight():
    X, y = noisy_line(n=80)
    expected = AUCClassifier().fit(X, y).coef_
    for unit in (1e-200, 1e200):
        assert_allclose(AUCClassifier().fit(X, y, sample_weight=np.full(80, unit)).coef_, expected, rtol=1e-6)


# The ends of the grids, and columns that are too small


def test_a_grid_is_extended_where_the_auc_still_rises(monkeypatch):
    rng = np.random.default_rng(0)
    factor = rng.standard_normal(400)
    X = np.column_stack([factor + 0.1 * rng.standard_normal(400), factor])
    y = (X[:, 0] - X[:, 1] + 0.05 * rng.logistic(size=400) > 0).astype(int)  # only the small difference counts
    monkeypatch.setattr(candidates, "RISING", 0.0)
    monkeypatch.setattr(candidates, "SQUARE_POWERS", (2, 1))
    monkeypatch.setattr(candidates, "LOGISTIC_POWERS", (2, 1))
    monkeypatch.setattr(candidates, "N_BEYOND", 3)
    with pytest.warns(UserWarning, match="still rising there: try smaller ones"):  # it rises beyond these, too
        results = AUCClassifier(standardize=True).fit(X, y).cv_results_
    for loss in ("squared", "balanced_logistic"):
        assert sum(results["param_loss"] == loss) == 5  # three beyond the two of the grid
    monkeypatch.setattr(candidates, "N_BEYOND", 0)
    with pytest.warns(UserWarning, match="still rising there: try smaller ones"):
        results = AUCClassifier(standardize=True).fit(X, y).cv_results_
    assert sum(results["param_loss"] == "balanced_logistic") == 2


def test_a_path_that_still_rises_warns():
    candidates = [Candidate(alpha) for alpha in (1.0, 0.1)]
    assert PathCV(candidates, np.array([[0.80, 0.802]])).is_rising()
    assert not PathCV(candidates, np.array([[0.80, 0.8005]])).is_rising()
    assert not PathCV(candidates, np.array([[0.82, 0.80]])).is_rising()
    rng = np.random.default_rng(0)
    factor = rng.standard_normal(200)
    X = np.column_stack([factor + 0.3 * rng.standard_normal(200), factor])
    y = (X[:, 0] - X[:, 1] > 0).astype(int)  # only the difference of two columns counts, which alpha suppresses
    with pytest.warns(UserWarning, match=r"^The cross-validated AUC is highest for the smallest alpha that was tried"):
        AUCClassifier("squared", solver="cg").fit(X, y)


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


def test_blend_of_few_rows_and_a_signal_in_small_directions():
    """The grid is short if there are few rows, and longer if the AUC is still rising at its end."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((300, 3))
    X = factors @ rng.standard_normal((3, 60)) * 3 + 0.1 * rng.standard_normal((300, 60))
    basis = np.linalg.svd(X - X.mean(axis=0))[2]
    score = X @ basis[3:13].sum(axis=0)
    y = (score + 0.2 * score.std() * rng.standard_normal(300) > np.median(score)).astype(int)
    clf, squared = (AUCClassifier(loss).fit(X[:150], y[:150]).score(X[150:], y[150:]) for loss in ("auto", "squared"))
    assert clf > squared - 0.05


def test_blend_of_equal_rows():
    y = np.arange(20) % 2
    for shape in ((20, 40), (20, 3)):
        assert not AUCClassifier().fit(np.ones(shape), y).coef_.any()


def test_sparse_columns_far_from_zero_are_those_of_dense_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 300)) * (rng.random((600, 300)) < 0.05)
    X[:, 0] = 1e4 + rng.standard_normal(600)
    y = (X[:, :20].sum(axis=1) - 1e4 + rng.logistic(size=600) > 0).astype(int)
    dense, csr = AUCClassifier().fit(X, y), AUCClassifier().fit(sparse.csr_array(X), y)
    assert csr.blend_auc_ == pytest.approx(dense.blend_auc_, abs=1e-3)


def test_a_stream_continues_a_blend_as_a_square_loss():
    X, y = skewed()
    best = AUCClassifier(selection="best").fit(X, y)
    best.partial_fit(X[:1], y[:1], sample_weight=[1e-9])
    assert best.loss_ == "squared"
    assert not hasattr(best, "cv_results_")
    assert_allclose(best.coef_, AUCClassifier().partial_fit(X, y).coef_, rtol=1e-6)
