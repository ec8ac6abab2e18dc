"""Slow checks on real data: `make test-data`. They are skipped where the data are not there."""

import functools

import numpy as np
import pytest
from published import (
    GROUPED_AT_RANDOM,
    OPAUC_PUBLISHED,
    REGSOLAM_PUBLISHED,
    SHT_PUBLISHED,
    SPDAM_PUBLISHED,
    SUPPORT_PUBLISHED,
    load_grouped,
    margin_family,
    mean_auc,
    sht_auc,
    supports_found,
)
from realdata import available, is_there, load
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score, train_test_split

from aucmax import CBR, NBAM, NPSAM, OPAUC, PSAM, SPDAM, AUCClassifier, GaussianAUC, RegSOLAM, roc_auc

pytestmark = pytest.mark.data

# Batch LS-SVM of Gao, Jin, Zhu and Zhou (2013), means of 5 x 5 folds.
PUBLISHED = {"diabetes": 0.8325, "german": 0.7994, "fourclass": 0.8309, "a9a": 0.8982, "magic04": 0.8379}


def load_or_skip(name):
    if name not in available():
        pytest.skip(f"{name} is not among the data")
    return load(name)


def skip_unless(name):
    if not is_there(name):
        pytest.skip(f"{name} is not among the data")


@pytest.mark.parametrize("name", PUBLISHED)
def test_reaches_the_published_batch_ls_svm(name):
    """Within 0.0015 of the published mean, or as good as any alpha can be on these very splits.

    The published figure is the mean over one draw of 25 folds with a standard deviation of about 0.03 each, so on
    the two small sets (768 and 1,000 rows) no method could promise to meet it on another draw. What can be promised
    is that nothing is lost by the choice of alpha: hindsight, which knows the test folds, gains less than 0.0015.
    """
    X, y = load_or_skip(name)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
    auc = cross_val_score(AUCClassifier("squared"), X, y, cv=folds).mean()
    print(f"{name}: {auc:.4f}, published {PUBLISHED[name]:.4f}")
    if auc < PUBLISHED[name] - 0.0015:
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


# The algorithms of the papers, untuned; published.py has the figures and the protocols.


@pytest.mark.parametrize("name", OPAUC_PUBLISHED)
def test_opauc_in_one_pass(name):
    """Within 0.004 of the published figure; where the paper drew the classes of the groups, of the exact fit."""
    skip_unless(name)
    auc = mean_auc(OPAUC(random_state=0), name)
    print(f"OPAUC on {name}: {auc:.4f}, published {OPAUC_PUBLISHED[name]:.4f}")
    if name in GROUPED_AT_RANDOM:
        assert auc > mean_auc(AUCClassifier("squared"), name) - 0.004
    else:
        assert auc > OPAUC_PUBLISHED[name] - 0.004


@pytest.mark.parametrize(
    ("estimator", "name", "published"),
    [
        *((SPDAM(random_state=0), *figure) for figure in SPDAM_PUBLISHED.items()),
        *((RegSOLAM(random_state=0), *figure) for figure in REGSOLAM_PUBLISHED.items()),
    ],
    ids=str,
)
def test_spdam_and_regsolam(estimator, name, published):
    skip_unless(name)
    auc = mean_auc(estimator, name)
    print(f"{estimator} on {name}: {auc:.4f}, published {published:.4f}")
    assert auc > published - 0.004


# Ghanbari and Scheinberg (2018), Table 6, where the classes are those of the data.
GAUSSIAN_PUBLISHED = {
    "svmguide1": 0.9717,
    "diabetes": 0.8311,
    "magic04": 0.8382,
    "german": 0.7938,
    "sonar": 0.8214,
    "a9a": 0.9004,
    "w8a": 0.9636,
}


@pytest.mark.parametrize("name", GAUSSIAN_PUBLISHED)
def test_gaussian_auc(name):
    skip_unless(name)
    auc = mean_auc(GaussianAUC(), name)
    print(f"GaussianAUC on {name}: {auc:.4f}, published {GAUSSIAN_PUBLISHED[name]:.4f}")
    assert auc > GAUSSIAN_PUBLISHED[name] - 0.004


@pytest.mark.parametrize("name", SHT_PUBLISHED)
def test_sht_auc(name):
    skip_unless(name)
    auc = sht_auc(name)
    print(f"SHTAUC on {name}: {auc:.4f}, published {SHT_PUBLISHED[name]:.4f}")
    assert auc > SHT_PUBLISHED[name] - 0.01


@pytest.mark.parametrize("n_informative", SUPPORT_PUBLISHED)
def test_supports_of_the_synthetic_study(n_informative):
    published = SUPPORT_PUBLISHED[n_informative][0]
    found = {name: figures[0] for name, figures in supports_found(n_informative).items()}
    print(f"F1 with {n_informative} true features: {found}, published {published:.3f}")
    assert found["SHTAUC"] >= published
    assert found["exact L0"] > found["SHTAUC"]


# The margin family


@pytest.mark.parametrize(("name", "bar"), [("a9a", 0.9025), ("magic04", 0.842)])
def test_squared_hinge(name, bar):
    skip_unless(name)
    auc = mean_auc(AUCClassifier("squared_hinge"), name)
    print(f"squared hinge on {name}: {auc:.4f}")
    assert auc >= bar


MARGIN = [
    (estimator, name, figure)
    for published, estimator in margin_family()
    for name, figure in published.items()
    if name != "ijcnn1" and not (isinstance(estimator, CBR) and name == "spambase")  # tuned, as in the paper
]


@pytest.mark.parametrize(("estimator", "name", "published"), MARGIN, ids=str)
def test_margin_family(estimator, name, published):
    """Within 0.003 of the published figure or, on spambase alone, of the exact minimiser of the squared hinge here.

    The figures published for spambase are of one random split into 3,680 and 921 rows, and lie above what the exact
    minimiser reaches on these folds.
    """
    skip_unless(name)
    auc = mean_auc(estimator, name)
    print(f"{estimator} on {name}: {auc:.4f}, published {published:.4f}")
    if auc < published - 0.003:
        assert name == "spambase"
        assert auc > mean_auc(AUCClassifier("squared_hinge"), name) - 0.003


def one_split(name, rows=None):
    X, y = load_grouped(name, rows)
    return train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)


GROUPED = ("letter", "connect-4", "covtype", "mnist")


@pytest.mark.parametrize("name", GROUPED)
@pytest.mark.parametrize("estimator", [PSAM(random_state=0), CBR(random_state=0)], ids=str)
def test_close_to_bam_where_the_classes_were_grouped_at_random(estimator, name):
    skip_unless(name)
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
    skip_unless(name)
    X, X_test, y, y_test = one_split(name)
    auc = PSAM(max_iter=1, random_state=0).fit(X, y).score(X_test, y_test)
    print(f"PSAM on {name} after one epoch: {auc:.4f}, BAM {batch_optimum(name):.4f}")
    assert auc > batch_optimum(name) - 0.002


@pytest.mark.parametrize("name", ["covtype", "cod-rna", "susy"])
def test_kernel_features_beat_linear_ones(name):
    skip_unless(name)
    X, X_test, y, y_test = one_split(name, 25_000)
    linear = {"PSAM": PSAM(random_state=0), "BAM": AUCClassifier("squared_hinge")}
    kernel = {"PSAM": NPSAM(random_state=0), "BAM": NBAM(random_state=0)}
    for algorithm in linear:
        ours, theirs = (kind[algorithm].fit(X, y).score(X_test, y_test) for kind in (kernel, linear))
        print(f"N{algorithm} on {name}: {ours:.4f}, linear {theirs:.4f}")
        assert ours > theirs + 0.005
