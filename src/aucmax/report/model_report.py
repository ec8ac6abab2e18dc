"""The report of any fitted classifier, or of bare scores. The command line makes its reports of the same parts."""

from __future__ import annotations

import datetime
import os
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.pipeline import Pipeline
from sklearn.utils import column_or_1d

from .._base import LinearAUCClassifier
from .._docs import inherit_parameters
from ..files.labels import label_text
from ..metrics import _check_scores
from ..models.model_file import versions
from ..rows.validate import check_labels, find_classes
from ..tables.classifier import TableClassifier
from ..tables.reading import Reading
from .curves import MOST_IMPORTANT, describe_additive
from .displays.base import place_of, scores_of
from .displays.importance import shuffle_columns
from .displays.path import chosen_index
from .displays.weights import column_spreads, largest_weights
from .evaluation import Evaluation, evaluate
from .html import UNKNOWN, Report, write_page

N_WEIGHTS = 20  # that a report shows
LONGEST = 300  # characters of the description of a model


@inherit_parameters(evaluate)
def write_report(
    model: Any,
    X: Any,
    y: ArrayLike,
    path: str | os.PathLike[str],
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    by: ArrayLike | None = None,
    title: str | None = None,
    pos_label: Any = None,
    threshold: float | None = None,
    costs: tuple[float, float] | None = None,
    max_fpr: float = 0.1,
    confidence_level: float = 0.95,
) -> Evaluation:
    """Write the report of a classifier, or of bare scores, on labelled rows: one HTML file that needs no other.

    It has the AUC with its interval, Gini, KS and average precision; what each threshold would do; gains and lift;
    the calibration; ROC and precision-recall curves; and what each column is worth. Models of this package also show
    what they are: their ladder, curves, scorecard, weights or blend. Read more in ``docs/guide/report.md``.

    Parameters
    ----------
    model : fitted classifier, or array-like of shape (n_samples,) or (n_samples, 2)
        Any classifier of two classes with `decision_function` or `predict_proba`, such as a pipeline or LightGBM. Or
        scores, where higher means more likely positive: if all are from 0 to 1, they count as probabilities. An array
        of two columns is what `predict_proba` returns, for the two labels in sorted order.
    X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features) or None
        Rows that the model was not fitted to; None if `model` is an array.
    y : array-like of shape (n_samples,)
        Their labels.
    path : path
        The file; an existing one is replaced.
    title : str, default=None
        The heading; None for the name of the model.
    threshold : float, default=None
        Rows with a higher score are called positive. None for the model's own: 0 for `decision_function` and 0.5 for
        `predict_proba`. Bare scores have none.

    Returns
    -------
    evaluation : Evaluation
        The figures of the report.

    See Also
    --------
    report.evaluation.evaluate : The figures alone.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from aucmax import write_report
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X[:400], y[:400])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = write_report(forest, X[400:], y[400:], pathlib.Path(folder, "report.html"))
    >>> found.auc.auc > 0.99
    True
    """
    labels: np.ndarray = column_or_1d(y, warn=True)
    if hasattr(model, "predict") or hasattr(model, "fit") or np.ndim(model) == 0:
        check_classifier(model, X)
        scored, report = score(model, X, pos_label), describe(model, X, labels, sample_weight)
    else:
        scored, report = read_scores(model, X, labels, pos_label), Report("Scores", summary=[("model", "bare scores")])
    scores, probabilities, own = scored
    found = evaluate(
        labels,
        scores,
        sample_weight,
        probabilities=probabilities,
        groups=groups,
        by=by,
        threshold=own if threshold is None else threshold,
        costs=costs,
        pos_label=pos_label,
        max_fpr=max_fpr,
        confidence_level=confidence_level,
    )
    classes = find_classes(labels)
    negative, positive = classes if pos_label is None or pos_label == classes[1] else classes[::-1]
    names = label_text(negative), label_text(positive)
    weighted = "" if sample_weight is None else ", with weights"
    summary = [
        *report.summary,
        ("classes", f"{names[1]} (positive) against {names[0]}"),
        ("measured on", f"{found.n_samples:,} rows, {found.n_positive:,} positive{weighted}"),
        *([] if found.n_groups is None else [("groups of dependent rows", f"{found.n_groups:,} {name_of(groups)}")]),
        ("written on", f"{datetime.date.today()}"),
        ("written by", ", ".join(f"{library} {version}" for library, version in versions().items())),
    ]
    used = np.ones(len(labels), dtype=bool) if sample_weight is None else np.asarray(sample_weight) > 0
    zeros, ones = (scores[used & (labels == label)] for label in (negative, positive))
    worth, how = report.importance, ""
    if X is not None and report.additive is None:
        worth, how = shuffle_columns(model, X, labels == classes[1], sample_weight, groups, most=MOST_IMPORTANT)
    content = report._replace(
        title=report.title if title is None else title,
        note="" if X is None else UNKNOWN,
        summary=summary,
        evaluation=found,
        scores=(zeros, ones),
        class_names=names,
        by=name_of(by),
        importance=worth,
        importance_note=how,
    )
    write_page(path, content)
    return found


def name_of(column: Any) -> str:
    """Return the name of a series; empty for what has none."""
    name = getattr(column, "name", None)
    return "" if name is None else str(name)


# Scores, where higher means more likely positive; probabilities, if there are any; and the threshold of the model.
Scored = tuple[np.ndarray, np.ndarray | None, float | None]


def check_classifier(model: Any, X: Any) -> None:
    """Raise an error unless a model can be reported: a fitted classifier of two classes, with rows."""
    name = type(model).__name__
    if not (hasattr(model, "decision_function") or hasattr(model, "predict_proba")):
        raise TypeError(
            "model must be a classifier with decision_function or predict_proba, or an array of scores, "
            f"got {name}, which has neither."
        )
    if X is None:
        raise ValueError(f"X is None, but {name} needs rows to score.")
    n_classes = len(getattr(model, "classes_", (0, 1)))
    if n_classes != 2:
        raise ValueError(f"model has {n_classes} classes, but a report is of two.")


def score(model: Any, X: Any, pos_label: Any) -> Scored:
    """Return the scores of a classifier for a positive class."""
    scores, threshold = scores_of(model, X, pos_label)
    side = 1 if pos_label is None else place_of(model, pos_label)
    return scores, np.asarray(model.predict_proba(X))[:, side] if hasattr(model, "predict_proba") else None, threshold


def read_scores(values: Any, X: Any, labels: np.ndarray, pos_label: Any) -> Scored:
    """Return bare scores, the same as probabilities if they may be."""
    if X is not None:
        raise ValueError(f"X must be None where model is an array of scores; got a {type(values).__name__} as model.")
    scores = np.asarray(values)
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        first = int(np.argwhere(np.isnan(scores))[0, 0])
        raise ValueError(
            f"the scores contain NaN, first in row {first}: leave out rows without a score, and their labels."
        )
    if scores.ndim == 2 and scores.shape[1] == 2:
        scores = scores[:, int(pos_label is None or pos_label == find_classes(labels)[1])]
    scores = _check_scores(scores, "model")
    return scores, scores if 0 <= scores.min() <= scores.max() <= 1 else None, None


def describe(model: Any, X: Any, labels: np.ndarray, sample_weight: Any) -> Report:
    """Return the parts of a report that say what a classifier is, measured on labelled rows."""
    classes = np.asarray(getattr(model, "classes_", find_classes(labels)))
    check_labels(labels, classes)
    model = getattr(model, "best_estimator_", model)  # of a grid search
    last, rows = model, X
    if isinstance(model, Pipeline):
        last, rows = model[-1], model[:-1].transform(X) if len(model) > 1 else X
    return Report(
        type(last).__name__,
        summary=describe_fit(model, last),
        table=describe_table(model),
        model_classes=(label_text(classes[0]), label_text(classes[1])),
        **describe_parts(last, rows, labels, sample_weight, names=feature_names(model)),
    )


def feature_names(model: Any) -> Any:
    """Return the names of the columns of the last step of a model; None if it has none."""
    if not isinstance(model, Pipeline) or len(model) == 1:
        return getattr(model[-1] if isinstance(model, Pipeline) else model, "feature_names_in_", None)
    with suppress(AttributeError, ValueError):  # a step that has no names
        return model[:-1].get_feature_names_out()
    return None


def describe_fit(model: Any, last: Any) -> list[tuple[str, str]]:
    """Return what a model is, and what it was fitted to, as pairs of a name and a text."""
    entries = [("model", describe_parameters(model))]
    reading = find_reading(model)
    if reading is not None and hasattr(last, "calibration_"):
        rate = expit(last.calibration_[1])
        entries.append(("trained on", f"{reading.n_rows:,} rows, {rate:.1%} positive ({label_text(last.classes_[1])})"))
    return entries


def describe_parameters(model: Any) -> str:
    """Return a model with the parameters that are not at their defaults."""
    text = " ".join(repr(model).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def find_reading(model: Any) -> Reading | None:
    """Return how a model reads the columns of a table; None if it does not read tables."""
    steps = model if isinstance(model, Pipeline) else [model]
    return next((step.reading_ for step in steps if hasattr(step, "reading_")), None)


def describe_table(model: Any) -> list[tuple[str, str, int, str]]:
    """Return how a model reads each column of a table; nothing if it does not read tables."""
    columns = [] if (reading := find_reading(model)) is None else reading.describe()
    return [(each["column"], each["kind"], each["n_missing"], each["found"]) for each in columns]


def describe_parts(
    model: Any, X: Any, y: Any, weight: Any = None, *, names: Any = None, spreads: Any = None, trained_on: bool = False
) -> dict[str, Any]:
    """Return the parts of a `Report` that say what a model is: its ladder, curves, weights, blend or path.

    They are measured on rows if there are any, or on the rows that it was trained on. `names` and `spreads` are of its
    columns.
    """
    linear = is_linear(model)
    if spreads is None and X is not None and linear:
        spreads = column_spreads(X)
    parts = {
        "weights": largest_weights(model.coef_[0], spreads, names, n_weights=N_WEIGHTS) if linear else None,
        "weights_note": "" if spreads is None else "Each is the weight times the standard deviation of its column.",
    }
    if not isinstance(model, LinearAUCClassifier):
        return parts
    is_table, rows = isinstance(model, TableClassifier), (X, y, weight)
    best, blend, held_out = chosen_index(model), getattr(model, "blend_", None), getattr(model, "cv_auc_", np.nan)
    return parts | {
        "held_out_auc": None if np.isnan(held_out) else float(held_out),
        "held_out_interval": None if np.isnan(held_out) else model.cv_auc_ci_.tolist(),
        "path": None if best is None and blend is None else model.cv_results_,
        "best_index": best,
        "blend": blend,
        "blend_auc": None if blend is None else model.cv_auc_,
        "convergence": np.asarray(model.convergence_) if len(getattr(model, "convergence_", ())) else None,
        "additive": describe_additive(model, *rows, trained_on=trained_on) if is_table else None,
    }


def is_linear(model: Any) -> bool:
    """Return whether a model has a weight for each column; `coef_` of an additive model has one for each cell."""
    coef = getattr(model, "coef_", None)
    return isinstance(coef, np.ndarray) and coef.ndim == 2 and not hasattr(model, "terms_")
