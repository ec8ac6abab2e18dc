"""Reports of any classifier and of bare scores, from Python."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit, ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from aucmax import PSAM, AUCClassifier, Scorecard, TableClassifier, TableEncoder, monitor, roc_auc_ci, write_report
from aucmax.report.displays import importance
from aucmax.report.displays.base import number_text, shorten
from aucmax.report.displays.importance import shuffle_columns
from aucmax.report.evaluation import OWN, evaluate

X, Y = make_classification(400, 5, random_state=0)
LABELS = np.where(Y, "bad", "good")
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d", "e"]).assign(plan=np.where(X[:, 0] > 0, "x", "y"))


@pytest.fixture
def report(tmp_path):
    """Write a report of the second half of the rows, and return its evaluation and its text."""

    def write(model, rows=X[200:], y=Y[200:], **options):
        found = write_report(model, rows, y, tmp_path / "report.html", **options)
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        body = re.sub("<style>.*?</style>|<svg.*?</svg>", "", page, flags=re.DOTALL)
        return found, " ".join(unescape(re.sub("<[^>]*>", " ", body)).split())

    return write


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        LinearSVC(),
        LinearDiscriminantAnalysis(),
        RandomForestClassifier(10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}),
        GridSearchCV(AUCClassifier("squared"), {"alpha": [0.1, 1.0]}, cv=2),
        AUCClassifier(),
        AUCClassifier("squared"),
        PSAM(random_state=0),
        TableClassifier("lines", cv=0),
    ],
    ids=lambda model: repr(model)[:50],
)
def test_a_report_of_any_classifier(report, model):
    model.fit(X[:200], Y[:200])
    found, text = report(model)
    has_scores = hasattr(model, "decision_function")
    scores = model.decision_function(X[200:]) if has_scores else model.predict_proba(X[200:])[:, 1]
    assert found.auc == pytest.approx(roc_auc_ci(Y[200:], scores))
    own = found.thresholds[OWN]
    assert own.called == model.predict(X[200:]).sum(), "the threshold is that of predict"
    assert f"{found.auc.auc:.4f} area under the ROC curve 95% confidence" in text
    assert ("Are the probabilities right?" in text) == hasattr(model, "predict_proba")
    assert "measured on 200 rows" in text
    assert "classes 1 (positive) against 0" in text


def test_bare_scores_and_probabilities(report):
    scores = LogisticRegression().fit(X[:200], Y[:200]).decision_function(X[200:])
    found, text = report(scores, None)
    assert found.auc == roc_auc_ci(Y[200:], scores)
    assert OWN not in found.thresholds
    assert "threshold in use" not in text
    assert "What each column is worth" not in text
    assert found.calibration is None
    assert "Are the probabilities right?" not in text
    assert "Report of scores" not in text
    p = expit(scores)
    expected = evaluate(Y[200:], p, probabilities=p, threshold=None).to_dict()
    assert report(p, None)[0].to_dict() == expected
    assert report(np.column_stack([1 - p, p]), None)[0].to_dict() == expected
    assert report(scores, None, threshold=0.25)[0].thresholds[OWN].called == (scores > 0.25).sum()


@pytest.mark.parametrize("make", [LogisticRegression, lambda: RandomForestClassifier(5, random_state=0)])
def test_the_other_class_may_be_positive(report, make):
    model = make().fit(X[:200], LABELS[:200])
    one, _ = report(model, y=LABELS[200:])
    found, text = report(model, y=LABELS[200:], pos_label="bad")
    assert found.auc.auc == pytest.approx(one.auc.auc)
    assert found.n_positive == (LABELS[200:] == "bad").sum()
    assert found.calibration.mean == pytest.approx(1 - one.calibration.mean)
    p = model.predict_proba(X[200:])
    assert found.calibration.brier.value == pytest.approx(np.mean((p[:, 0] - (LABELS[200:] == "bad")) ** 2))
    assert found.thresholds[OWN].called == (p[:, 0] > p[:, 1]).sum()
    assert found.thresholds[OWN].threshold == (0 if make is LogisticRegression else 0.5)
    assert "bad (positive) against good" in text
    if make is LogisticRegression:
        assert "A positive weight makes good more likely, a negative one bad" in text
    bare, _ = report(p, None, y=LABELS[200:], pos_label="bad")
    assert bare.calibration.brier == found.calibration.brier


def test_weights_and_costs_reach_the_report(report):
    weights, model = np.arange(200) % 3, LogisticRegression().fit(X[:200], Y[:200])
    found, text = report(model, sample_weight=weights, costs=(1, 5), title="Loans & cards", max_fpr=0.2)
    expected = evaluate(
        Y[200:],
        model.decision_function(X[200:]),
        weights,
        probabilities=model.predict_proba(X[200:])[:, 1],
        costs=(1, 5),
        max_fpr=0.2,
    )
    assert found.to_dict() == expected.to_dict()
    assert "Loans & cards" in text
    assert "A false positive costs 1, a false negative 5" in text
    assert "with weights" in text


def test_a_table_model_shows_what_it_is(report):
    model = TableClassifier("curves", cv=2).fit(FRAME[:200], LABELS[:200])
    _, text = report(model, FRAME[200:], LABELS[200:])
    for part in (
        "The ladder",
        "What each column is worth",
        "What each value adds",
        "Scorecard",
        "Columns of the table",
    ):
        assert part in text
    assert "model TableClassifier(cv=2, terms='curves') trained on 200 rows" in text
    assert f"cross-validated AUC of the fit, {model.cv_auc_ci_[0]:.4f}" in text
    in_pipeline, _ = report(make_pipeline(model), FRAME[200:], LABELS[200:])
    assert in_pipeline.auc == pytest.approx(report(model, FRAME[200:], LABELS[200:])[0].auc)


def test_a_linear_model_behind_an_encoder_shows_weights_and_columns(report):
    model = make_pipeline(TableEncoder(), AUCClassifier("squared")).fit(FRAME[:200], Y[:200])
    _, text = report(model, FRAME[200:])
    assert "Largest weights" in text
    assert "plan=x" in text
    assert f"trained on 200 rows, {Y[:200].mean():.1%} positive (1)" in text
    assert "times the standard deviation" in text
    assert "Columns of the table 6 columns" in text


def test_weights_of_a_pipeline_without_names_are_numbered(report):
    _, text = report(make_pipeline(FunctionTransformer(), LogisticRegression()).fit(X[:200], Y[:200]))
    assert "column 1" in text


def test_groups_and_parts_reach_the_report(report):
    model, groups = LogisticRegression().fit(X[:200], Y[:200]), np.arange(200) // 4
    part = pd.Series(np.where(X[200:, 0] > 0, "north", "south"), name="region & more")
    found, text = report(model, groups=groups, by=part)
    expected = evaluate(
        Y[200:],
        model.decision_function(X[200:]),
        probabilities=model.predict_proba(X[200:])[:, 1],
        groups=groups,
        by=part,
    )
    assert found.to_dict() == expected.to_dict()
    assert "By region & more" in text
    assert f"{found.auc.low:.4f} to {found.auc.high:.4f}, by 50 groups of rows" in text
    recall = found.by[0].at.recall
    assert f"{100 * recall.value:.1f}% {100 * recall.low:.1f} to {100 * recall.high:.1f}" in text
    assert "By group" in report(model, by=part.to_numpy())[1]


def test_thresholds_have_probabilities_points_and_intervals(report):
    model = TableClassifier("lines", cv=0).fit(FRAME[:200], Y[:200])
    found, text = report(model, FRAME[200:], pos_label=0)
    at, points = found.thresholds["top 10%"], Scorecard(model).score(FRAME[200:])
    n = {cut: int((points <= cut).sum()) for cut in points.tolist()}  # few points predict 0
    cut = min(sorted(n), key=lambda cut: abs(n[cut] - at.called))
    rates = " ".join(f"{100 * r.value:.1f}% {100 * r.low:.1f} to {100 * r.high:.1f}" for r in (at.precision, at.recall))
    assert f"{100 * at.probability:.1f}% up to {cut} {n[cut]} rows {at.called}" in text
    assert rates in text


@pytest.mark.filterwarnings("ignore:X has levels")
def test_a_validator_reads_what_changed_and_what_was_imposed(report):
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(400) % 50, "D")
    frame = FRAME[["a"]].assign(opened=days, city=np.where(np.arange(400) % 3, "Oslo", "Rome"))
    model = TableClassifier("lines", cv=2, monotonic_cst={"a": 1}).fit(frame[:200], Y[:200])
    new = frame[200:].assign(city=["Bergen"] * 50 + ["Rome"] * 150)
    found, text = report(model, new, sample_weight=[1] * 100 + [2] * 100)
    drift = monitor(model, new, sample_weight=[1] * 100 + [2] * 100)
    for name, index in [("score", drift.score), *((each.column, each.stability) for each in drift.columns)]:
        ends = f"{index.psi:.3f} {index.low:.3f} to {index.high:.3f} {index.by_chance:.3f}"
        assert f"{shorten(name)} {ends}" in text
    assert "0.0% 0.0% 16.7% drift" in text, "50 of 300 rows by weight are of a new city"
    assert "opened: 2024-01-01 to 2024-02-19 in these rows." in text
    assert "imposed monotonic_cst={'a': 1}" in text
    low, high = model.cv_auc_ci_
    change = found.auc.auc - model.cv_auc_
    reach = np.sqrt((1.96 * found.auc.standard_error) ** 2 + ((high - low) / 2) ** 2)
    ends = [number_text(end, "+.4f") for end in (change - reach, change + reach, change)]
    assert "AUC here less the cross-validated one, {} to {} {}".format(*ends) in text
    _, text = report(TableClassifier("lines", cv=0).fit(frame[:200], Y[:200]), new)
    assert "imposed nothing" in text
    assert "AUC here less" not in text


# What each column is worth


class OneColumn(ClassifierMixin, BaseEstimator):
    """The second column is the score."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        if sparse.issparse(X):
            return X[:, [1]].toarray()[:, 0]
        column = X[:, 1] if isinstance(X, np.ndarray) else X["b"]
        return np.asarray(column, dtype=float)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, sparse.csr_array, pytest.param("polars", id="polars")])
def test_shuffled_columns_lose_the_auc_of_a_column_and_keep_the_rows(kind):
    rows = pd.DataFrame(X, columns=list("abcde"), index=np.arange(400)[::-1])
    if kind == "polars":
        kind = pytest.importorskip("polars").from_pandas
    rows, before = kind(rows), kind(rows.copy())
    y = (X[:, 1] + np.random.default_rng(0).normal(size=400)) > 0
    found, note = shuffle_columns(OneColumn().fit(X, y), rows, y, most=3)
    assert len(found) == 3
    assert found[0].name in ("b", "column 1")
    auc = roc_auc_ci(y, X[:, 1])
    assert found[0].lost == pytest.approx(auc.auc - 0.5, abs=0.05)
    assert found[0].low < found[0].lost < found[0].high
    assert [each[1:] for each in found[1:]] == [(0, 0, 0)] * 2
    assert "the mean of 3 shuffles. At most 3 columns" in note
    difference = rows != before
    assert not (difference.nnz if sparse.issparse(difference) else np.asarray(difference).any())


def test_shuffling_is_capped_and_says_so(monkeypatch):
    rng = np.random.default_rng(0)
    wide, y = rng.normal(size=(3_000, 60)), np.arange(3_000) % 10 == 0
    wide[:, 1] += y
    monkeypatch.setattr(importance, "SHUFFLED_ROWS", 0)
    model = OneColumn().fit(wide, y)
    found, note = shuffle_columns(model, wide, y, most=20)
    assert "on 1,300 of 3,000 rows. Only 50 of 60 columns were shuffled, the first." in note
    assert found[0].lost == pytest.approx(roc_auc_ci(y, wide[:, 1]).auc - 0.5, abs=0.06)
    model.feature_importances_ = np.arange(60.0)
    found, note = shuffle_columns(model, wide, y, most=20)
    assert "of largest feature_importances_" in note
    assert not any(each.name == "column 1" for each in found)


def test_the_interval_of_a_shuffled_column_covers_its_worth():
    """Over many sets of rows: of the AUC of the model, less that of its other column alone."""
    rng, covered = np.random.default_rng(1), 0
    model = LogisticRegression().fit([[0, 1], [1, 0], [1, 1], [0, 0]], [0, 0, 1, 1])
    model.coef_, model.intercept_ = np.array([[1.0, 0.5]]), np.zeros(1)
    truth = ndtr(1.5 / np.sqrt(2.5)) - ndtr(0.5 / np.sqrt(2.5))
    for _ in range(150):
        y = rng.random(300) < 0.5
        rows = rng.normal(size=(300, 2)) + y[:, None]
        found = {each.name: each for each in shuffle_columns(model, rows, y, most=2)[0]}["column 0"]
        covered += found.low <= truth <= found.high
    assert 0.9 <= covered / 150 <= 0.995, covered


def test_a_forest_a_pipeline_and_a_search_show_what_columns_are_worth(report):
    for model in (RandomForestClassifier(5, random_state=0), make_pipeline(StandardScaler(), LinearSVC())):
        _, text = report(model.fit(X[:200], Y[:200]))
        assert "What each column is worth" in text
        assert "The AUC lost when the values of a column are shuffled" in text
    words = pd.Series(np.where(X[:, 0] > 0, "one two", "two three"))
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(words[:200], Y[:200])
    assert "What each column is worth" not in report(model, words[200:])[1], "rows of text have no columns"


@pytest.mark.parametrize(
    ("model", "rows", "y", "error", "message"),
    [
        (LinearRegression().fit(X, Y), X, Y, TypeError, "got LinearRegression, which has neither."),
        (LogisticRegression().fit(X, Y), None, Y, ValueError, "X is None, but LogisticRegression needs rows to score."),
        (X[:, 0], X, Y, ValueError, "X must be None where model is an array of scores; got a ndarray as model."),
        (
            np.where(X[:, 0] > 0, np.nan, X[:, 0]),
            None,
            Y,
            ValueError,
            f"the scores contain NaN, first in row {np.argmax(X[:, 0] > 0)}: leave out rows without a score",
        ),
        ("scores.csv", None, Y, TypeError, "or an array of scores, got str, which has neither."),
        (X[:, 0], None, Y[1:], ValueError, "inconsistent numbers of samples"),
        (X, None, Y, ValueError, "model must have one dimension, got an array of shape (400, 5)."),
        (
            LogisticRegression().fit(X, np.arange(400) % 3),
            X,
            Y,
            ValueError,
            "model has 3 classes, but a report is of two",
        ),
        (LogisticRegression().fit(X, Y), X, LABELS, ValueError, "y holds 'bad', but the classes are [0, 1]."),
        (LogisticRegression(), X, Y, ValueError, "not fitted"),
    ],
    ids=lambda value: None,
)
def test_hostile_input_gets_a_sentence_and_writes_nothing(tmp_path, model, rows, y, error, message):
    with pytest.raises(error) as caught:
        write_report(model, rows, y, tmp_path / "report.html")
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())
