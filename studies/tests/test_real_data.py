"""Slow checks on real data: `make test-studies MARKS=data`. They are skipped where the data are not there."""

import functools
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, cross_val_score, train_test_split

from aucmax import (
    ASAM,
    CBR,
    NBAM,
    NPSAM,
    OAM,
    OPAUC,
    PSAM,
    SHTAUC,
    SPDAM,
    SVMOR,
    AUCClassifier,
    GaussianAUC,
    RegSOLAM,
    SVMPerf,
    roc_auc,
    support_f1,
)
from aucmax.datasets import make_sparse_shift
from aucmax.files import open_source
from aucmax_studies.common.realdata import DATA_DIR, SOURCES, TABLES, is_there, read
from aucmax_studies.reproduce.running.groupings import measure_groupings
from aucmax_studies.reproduce.study_file import read_study

pytestmark = pytest.mark.data


def published(study, method, data, metric="auc"):
    """Return a figure of a paper with four digits, as most of them are printed."""
    return round(read_study(study).published[metric][data, method].mean, 4)


def load_or_skip(name, max_rows=None):
    """Return X and y; the positives of connect-4 are the games lost."""
    if not is_there(name):
        pytest.skip(f"{name} is not among the data")
    data = read(name, max_rows=max_rows, positive=(1,) if name == "connect-4" else None)
    return data.features, data.y


def mean_auc(estimator, name, n_repeats=None):
    """Return the mean test AUC over stratified folds: 5 x 5 of less than 2,000 rows, 1 x 5 of more."""
    X, y = load_or_skip(name)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=n_repeats or (5 if len(y) < 2000 else 1), random_state=0)
    return cross_val_score(estimator, X, y, cv=folds).mean()


@pytest.mark.parametrize("name", ["diabetes", "german", "fourclass", "a9a", "magic04"])
def test_reaches_the_published_batch_ls_svm(name):
    """Within 0.0015 of the published mean, or as good as any alpha can be on these very splits.

    The published figure is the mean over one draw of 25 folds with a standard deviation of about 0.03 each, so on
    the two small sets (768 and 1,000 rows) no method could promise to meet it on another draw. What can be promised
    is that nothing is lost by the choice of alpha: hindsight, which knows the test folds, gains less than 0.0015.
    """
    X, y = load_or_skip(name)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
    auc = cross_val_score(AUCClassifier("squared"), X, y, cv=folds).mean()
    figure = published("opauc-table-3", "batch LS-SVM", name)
    print(f"{name}: {auc:.4f}, published {figure:.4f}")
    if auc < figure - 0.0015:
        assert name in ("diabetes", "german")
        alphas = AUCClassifier("squared").fit(X, y).alphas_
        hindsight = max(cross_val_score(AUCClassifier(alpha=alpha), X, y, cv=folds).mean() for alpha in alphas)
        print(f"{name}: {hindsight:.4f} with the best alpha in hindsight")
        assert auc > hindsight - 0.0015


@pytest.mark.parametrize("name", ["news20", "farm-ads"])
def test_wide_sparse_text(name):
    X, y = load_or_skip(name)
    test = np.random.default_rng(0).random(len(y)) < 0.2
    clf = AUCClassifier().fit(X[~test], y[~test])
    X_train = X[~test]
    X_train.indices, X_train.indptr = X_train.indices.astype(np.int32), X_train.indptr.astype(np.int32)
    logistic = LogisticRegression(solver="liblinear").fit(X_train, y[~test])
    assert clf.n_iter_ > 1  # conjugate gradients or Newton's method
    auc = clf.score(X[test], y[test])
    theirs = roc_auc(y[test], X[test] @ logistic.coef_[0])
    print(f"{name}: {auc:.4f}, LogisticRegression {theirs:.4f}")
    assert auc > theirs - 0.005


# The algorithms of the papers, untuned where nothing else is said


@pytest.mark.parametrize(
    "name", ["diabetes", "fourclass", "german", "a9a", "w8a", "covtype", "letter", "usps", "connect-4"]
)
def test_opauc_in_one_pass(name):
    """Within 0.004 of the published figure; where the paper drew the classes of the groups, of the exact fit."""
    auc = mean_auc(OPAUC(random_state=0), name)
    figure = published("opauc-table-2", "OPAUC", name)
    print(f"OPAUC on {name}: {auc:.4f}, published {figure:.4f}")
    if name in ("letter", "usps", "connect-4"):
        figure = mean_auc(AUCClassifier("squared"), name)
    assert auc > figure - 0.004


@pytest.mark.parametrize("name", ["diabetes", "german", "a9a"])
@pytest.mark.parametrize("method", ["SPDAM", "regSOLAM"])
def test_spdam_and_regsolam(method, name):
    algorithm = SPDAM if method == "SPDAM" else RegSOLAM
    auc = mean_auc(algorithm(random_state=0), name)
    figure = published("spdam-table-3", method, name)
    print(f"{method} on {name}: {auc:.4f}, published {figure:.4f}")
    assert auc > figure - 0.004


@pytest.mark.parametrize("name", ["svmguide1", "diabetes", "magic04", "german", "sonar", "a9a", "w8a"])
def test_gaussian_auc(name):
    """Where the classes are those of the data."""
    auc = mean_auc(GaussianAUC(), name)
    figure = published("gaussian-table-6", "FAUC", name)
    print(f"GaussianAUC on {name}: {auc:.4f}, published {figure:.4f}")
    assert auc > figure - 0.004


@pytest.mark.parametrize("data", ["Colon Cancer", "Leukemia"])
def test_sht_auc(data):
    """On leukemia most numbers of weights have an AUC of 1; of equal ones the largest, which comes first, is taken."""
    grid = {"n_nonzero": [500, 200, 100, 50, 20, 10]}
    name = read_study("sht-table-3").subjects[data].name
    auc = mean_auc(GridSearchCV(SHTAUC(random_state=0), grid, cv=5), name, n_repeats=20)
    figure = published("sht-table-3", "SHT-AUC", data)
    print(f"SHTAUC on {name}: {auc:.4f}, published {figure:.4f}")
    assert auc > figure - 0.01


@pytest.mark.parametrize("n_informative", [20, 40, 60, 80])
def test_supports_of_the_synthetic_study(n_informative):
    figure = published("sht-table-2", "SHT-AUC", f"k* = {n_informative}", "f1")
    sht, exact = np.mean([supports_found(n_informative, seed) for seed in range(10)], axis=0)
    print(f"F1 with {n_informative} true features: {sht:.3f}, exact {exact:.3f}, published {figure:.3f}")
    assert sht >= figure
    assert exact > sht


def supports_found(n_informative, seed):
    """Return the F1 scores of the supports of SHTAUC and of the exact fit, with the ridge of oracle shrinkage."""
    X, y, support = make_sparse_shift(n_informative=n_informative, ratio=0.05, random_state=seed)
    nonzeros = list(range(10, 101, 10))
    sht = GridSearchCV(SHTAUC(random_state=0), {"n_nonzero": nonzeros}, cv=5).fit(X, y).best_estimator_
    exact = AUCClassifier(n_nonzero=nonzeros, alpha=GaussianAUC().fit(X, y).alpha_).fit(X, y)
    return [support_f1(clf.coef_, support) for clf in (sht, exact)]


# The margin family


@pytest.mark.parametrize(("name", "bar"), [("a9a", 0.9025), ("magic04", 0.842)])
def test_squared_hinge(name, bar):
    auc = mean_auc(AUCClassifier("squared_hinge"), name)
    print(f"squared hinge on {name}: {auc:.4f}")
    assert auc >= bar


def tuned(estimator, **grid):
    """Return an algorithm with its parameters chosen by cross-validation, as in the paper."""
    return GridSearchCV(estimator, {**grid, "max_iter": [1, 5, 20]}, cv=3)


OF_OPAUC, OF_PSAM = ("diabetes", "german", "magic04", "a9a"), ("spambase", "a9a")
MARGIN = {
    "OAMseq": ("opauc-table-2", OF_OPAUC, OAM(random_state=0)),
    "OAMgra": ("opauc-table-2", OF_OPAUC, OAM(update="gradient", random_state=0)),
    "SVM-perf": ("opauc-table-3", OF_OPAUC, SVMPerf()),
    "batch SVM-OR": ("opauc-table-3", OF_OPAUC, SVMOR()),
    "PSAM": ("psam-table-2", OF_PSAM, PSAM(random_state=0)),
    "ASAM": ("psam-table-2", OF_PSAM, ASAM(random_state=0)),
    "CBR-FIFO": ("psam-table-2", ("a9a",), CBR(random_state=0)),
    "BAM": ("psam-table-2", OF_PSAM, AUCClassifier("squared_hinge")),
    "tuned PSAM": ("psam-table-2", ("spambase",), tuned(PSAM(random_state=0), alpha=[1e-6, 1e-4, 1e-2])),
    "tuned CBR-FIFO": ("psam-table-2", ("spambase",), tuned(CBR(random_state=0), C=2.0 ** np.arange(-10, 1, 2))),
}


@pytest.mark.parametrize(("method", "name"), [(method, name) for method, row in MARGIN.items() for name in row[1]])
def test_margin_family(method, name):
    """Within 0.003 of the published figure or, on spambase alone, of the exact minimiser of the squared hinge here.

    The figures published for spambase are of one random split into 3,680 and 921 rows, and lie above what the exact
    minimiser reaches on these folds.
    """
    study, _, estimator = MARGIN[method]
    auc = mean_auc(estimator, name)
    figure = published(study, method.removeprefix("tuned "), name)
    print(f"{method} on {name}: {auc:.4f}, published {figure:.4f}")
    if auc < figure - 0.003:
        assert name == "spambase"
        assert auc > mean_auc(AUCClassifier("squared_hinge"), name) - 0.003


def one_split(name, max_rows=None):
    X, y = load_or_skip(name, max_rows)
    return train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)


@pytest.mark.parametrize("name", ["letter", "connect-4", "covtype", "mnist"])
@pytest.mark.parametrize("estimator", [PSAM(random_state=0), CBR(random_state=0)], ids=str)
def test_close_to_bam_where_the_classes_were_grouped_at_random(estimator, name):
    X, X_test, y, y_test = one_split(name)
    bam = batch_optimum(name)
    auc = estimator.fit(X, y).score(X_test, y_test)
    print(f"{estimator} on {name}: {auc:.4f}, BAM {bam:.4f}")
    assert auc > bam - 0.003


@functools.cache
def batch_optimum(name):
    X, X_test, y, y_test = one_split(name)
    return AUCClassifier("squared_hinge").fit(X, y).score(X_test, y_test)


@pytest.mark.parametrize("name", ["a9a", "connect-4", "covtype"])
def test_psam_is_there_after_one_epoch(name):
    X, X_test, y, y_test = one_split(name)
    auc = PSAM(max_iter=1, random_state=0).fit(X, y).score(X_test, y_test)
    print(f"PSAM on {name} after one epoch: {auc:.4f}, BAM {batch_optimum(name):.4f}")
    assert auc > batch_optimum(name) - 0.002


@pytest.mark.parametrize("name", ["covtype", "cod-rna", "susy"])
def test_kernel_features_beat_linear_ones(name):
    X, X_test, y, y_test = one_split(name, 25_000)
    linear = {"PSAM": PSAM(random_state=0), "BAM": AUCClassifier("squared_hinge")}
    kernel = {"PSAM": NPSAM(random_state=0), "BAM": NBAM(random_state=0)}
    for algorithm in linear:
        ours, theirs = (kind[algorithm].fit(X, y).score(X_test, y_test) for kind in (kernel, linear))
        print(f"N{algorithm} on {name}: {ours:.4f}, linear {theirs:.4f}")
        assert ours > theirs + 0.005


@pytest.mark.parametrize(
    ("study", "data", "method"),
    [
        (name, fitted.data, fitted.method)
        for name in ("opauc-table-3", "psam-table-2", "spdam-table-3")
        for fitted in read_study(name).fitted
    ],
)
def test_classes_are_grouped_so_that_an_exact_fit_has_the_published_auc(study, data, method):
    subject = read_study(study).subjects[data]
    name = subject.name or data
    if not is_there(name):
        pytest.skip(f"{name} is not among the data")
    grouping = measure_groupings(subject, read(name, positive=tuple(subject.positive)), most=1)
    assert grouping.here == pytest.approx(published(study, method, data), abs=0.01)


@pytest.mark.parametrize(("name", "auc"), [("adult", 0.90), ("telco", 0.84)])
def test_raw_tables_are_fitted_by_one_command(run, tmp_path, name, auc):
    """With no option but the target, to a cross-validated AUC that linear models are known to reach."""
    table, report = TABLES[name], tmp_path / "report.html"
    if not (DATA_DIR / table.file).exists():
        pytest.skip(f"{name} is not among the data")
    options = ["--target", table.target, "--report", report, "-o", tmp_path / "model", "--json"]
    status, out, _ = run("fit", DATA_DIR / table.file, *options)
    assert status == 0
    told = json.loads(out)
    assert told["classes"]["positive"] == table.positive
    assert told["fitted"]["cross_validated_auc"] > auc
    left_out = [each["column"] for each in told["table"] if each["kind"] == "left out"]
    assert left_out == list(table.dropped)


@pytest.mark.parametrize("name", ["a9a", "svmguide3", "leukemia"])
def test_libsvm_reader_has_the_values_of_scikit_learn(name):
    path = DATA_DIR / SOURCES[name].files[0]
    if not path.exists():
        pytest.skip("no data")
    expected, labels = load_svmlight_file(str(path))
    X, y = open_source(path).read()[:2]
    for part in ("data", "indices", "indptr"):
        assert_array_equal(getattr(X, part), getattr(expected, part))
    assert_array_equal(y, labels)
