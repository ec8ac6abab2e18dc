"""Reports of any classifier and of bare scores, from Python."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from aucmax import PSAM, AUCClassifier, TableClassifier, TableEncoder, roc_auc_ci, write_report
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
    assert found.calibration is None
    assert "Are the probabilities right?" not in text
    assert "Report of scores" not in text
    p = expit(scores)
    expected = evaluate(Y[200:], p, probabilities=p, threshold=0.5).to_dict()
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
    assert found.calibration.brier == pytest.approx(np.mean((p[:, 0] - (LABELS[200:] == "bad")) ** 2))
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


@pytest.mark.parametrize(
    ("model", "rows", "y", "error", "message"),
    [
        (LinearRegression().fit(X, Y), X, Y, TypeError, "got LinearRegression, which has neither."),
        (LogisticRegression().fit(X, Y), None, Y, ValueError, "X is None, but LogisticRegression needs rows to score."),
        (X[:, 0], X, Y, ValueError, "X must be None where model is an array of scores; got a ndarray as model."),
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
