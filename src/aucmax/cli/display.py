"""Models, evaluations and comparisons as text, tables, JSON and reports."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from sklearn.pipeline import Pipeline

from .. import __version__
from ..compare.comparison import Comparison
from ..files import Source
from ..files.labels import Labels, is_label
from ..metrics import AUCInterval
from ..models.model_file import ModelFile
from ..report.displays.base import count_text
from ..report.displays.blend import SCALINGS
from ..report.evaluation import Evaluation, GroupEvaluation
from ..report.html import UNKNOWN, Report
from ..report.model_report import describe_parameters, describe_parts, describe_table, is_linear
from ..tables.curves import term_names
from ..tables.terms import edges_of
from .console import make_table
from .score import classes_of
from .table_model import feature_names, find_reading, is_table_model, split_model

MOST_COLUMNS = 50  # of a table that are listed before a fit
SHOWN = 5  # columns that are left out, of a fit
HELD_OUT, INTERVAL = "cross_validated_auc", "cross_validated_auc_interval"
HEADLINE = ("n_samples", "n_positive", "auc", "auc_low", "auc_high", "auc_standard_error")
TEXTS = {HELD_OUT: "cross-validated AUC", "n_nonzero": "weights not 0"}  # of keys, for people


def headline(evaluation: Evaluation) -> dict[str, Any]:
    """Return the numbers of rows, the AUC and its interval, as JSON has them."""
    values = evaluation.to_dict()
    return {name: values[name] for name in HEADLINE}


def describe_model(file: ModelFile) -> dict[str, Any]:
    """Return the description of a model, as JSON has it."""
    reading = find_reading(file.model)
    (_, model), classes = split_model(file.model), classes_of(file)
    steps = list(model) if isinstance(model, Pipeline) else [model]
    return {
        "method": " + ".join(type(step).__name__ for step in steps),
        "parameters": json_parameters(model),
        "fitted": describe_fitted(model),
        "blend": describe_members(model),
        "ladder": describe_ladder(model),
        "classes": {"negative": classes.names[0], "positive": classes.names[1]},
        "n_features": int(model.n_features_in_),
        "table": [] if reading is None else reading.describe(),
        "training": file.notes.get("training") or None,
        "test": file.notes.get("test") or None,
        "versions": file.versions,
    }


def describe_fitted(model: Any) -> dict[str, Any]:
    """Return what a fit found, as JSON has it."""
    fitted = {name: getattr(model, f"{name}_") for name in ("loss", "alpha") if hasattr(model, f"{name}_")}
    members = describe_members(model)
    if len(members) == 1:
        fitted["standardize"] = members[0]["standardize"]
    if not np.isnan(getattr(model, "cv_auc_", np.nan)):
        fitted[HELD_OUT] = float(model.cv_auc_)
        fitted[INTERVAL] = [float(end) for end in model.cv_auc_ci_]
    if is_linear(model):
        fitted["n_nonzero"] = int((model.coef_ != 0).sum())
    return fitted


def describe_members(model: Any) -> list[dict[str, Any]]:
    """Return the members of a blend, the largest share first, as JSON has them; an empty list without a blend."""
    names = {"loss": "loss", "standardize": "standardize", "alpha": "alpha", "share": "share", "auc": HELD_OUT}
    return list_rows(getattr(model, "blend_", None), names)


def describe_ladder(model: Any) -> list[dict[str, Any]]:
    """Return the rungs that a fit has compared, as JSON has them; an empty list if there are none."""
    names = {"terms": "terms", "auc": HELD_OUT, "low": "auc_low", "high": "auc_high", "surfaces": "surfaces"}
    names |= {"freedom": "degrees_of_freedom", "seconds": "seconds", "chosen": "chosen"}
    rungs = list_rows(getattr(model, "ladder_", None), names)
    return [{key: None if value != value else value for key, value in rung.items()} for rung in rungs]


def list_rows(columns: Mapping[str, np.ndarray] | None, names: dict[str, str]) -> list[dict[str, Any]]:
    """Return columns of these names as rows under other names; an empty list without columns."""
    values = [columns[name].tolist() for name in names] if columns else []
    return [dict(zip(names.values(), row, strict=True)) for row in zip(*values, strict=True)]


def show_ladder(about: dict[str, Any]) -> list[Table]:
    """Return the table of the rungs that a fit has compared; an empty list if there are not several."""
    rows = [
        (
            rung["terms"],
            f"{rung[HELD_OUT]:.4f}",
            f"{rung['auc_low']:.4f} to {rung['auc_high']:.4f}",
            f"{rung['surfaces']:.0f}",
            f"{rung['degrees_of_freedom']:.0f}",
            "" if rung["seconds"] is None else f"{rung['seconds']:.2f}",
            "chosen" if rung["chosen"] else "",
        )
        for rung in about["ladder"]
    ]
    header = ("terms", "held-out AUC", "95% interval", "surfaces", "degrees of freedom", "seconds", "")
    return [make_table("", header, rows, right=range(1, 6))] if len(rows) > 1 else []


def json_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters of an estimator, or of the steps of a pipeline; what JSON cannot hold is text."""
    if isinstance(model, Pipeline):
        steps = {name: json_parameters(step) for name, step in model.steps}
        return {f"{name}__{key}": value for name, step in steps.items() for key, value in step.items()}
    return {
        name: value if value is None or isinstance(value, bool | int | float | str | list) else repr(value)
        for name, value in model.get_params(deep=False).items()
    }


def list_entries(file: ModelFile) -> list[tuple[str, str]]:
    """Return the description of a model, as pairs of a name and a text."""
    about = describe_model(file)
    training, test = about["training"], about["test"]
    entries = [("model", about["method"])]
    entries += list_fitted(about)
    entries.append(("classes", "{positive} (positive) against {negative}".format(**about["classes"])))
    if training:
        blocks = ", read by blocks" if training.get("by_blocks") else ""
        rows = f"{training['n_samples']:,} rows, {training['n_positive']:,} positive"
        rows += f", {about['n_features']:,} columns{blocks}"
        entries.append(("trained on", f"{training['data']}: {rows}" if "data" in training else rows))
    if test:
        entries.append(("tested on", f"{test['data']}: {test['n_samples']:,} rows, {headline_text(test)}"))
    entries.append(("written by", ", ".join(f"{library} {version}" for library, version in about["versions"].items())))
    return entries


def show_table(columns: list[dict[str, Any]]) -> list[Table]:
    """Return the table of how columns are read, as `Reading.describe` lists them; nothing if there are none."""
    rows = [(each["column"], each["kind"], f"{each['n_missing']:,}", each["found"]) for each in columns]
    return [make_table("", ("column", "read as", "missing", "found"), rows, right=(2,))] if rows else []


def show_reading(source: Source, positive: str | None) -> list[Any]:
    """Return what is known of the table of a file before a fit: its rows, labels, and how its columns are read."""
    assert source.reading is not None
    labels, columns = Labels(source.name, positive), source.reading.describe()
    labels.observe(np.array(list(source.labels), dtype=None if len(set(map(type, source.labels))) == 1 else object))
    classes, _ = labels.classes()
    n_positive = sum(n for label, n in source.labels.items() if is_label(np.array([label]), classes.positive)[0])
    n_rows, left = source.reading.n_rows, len(columns) - MOST_COLUMNS
    line = f"{source.name}: {n_rows:,} rows, {n_positive / n_rows:.2%} of class {classes.names[1]}"
    more = [f"and {left:,} more columns, which aucmax inspect lists"] if left > 0 else []
    return [line, *show_table(columns[:MOST_COLUMNS]), *more]


def list_fitted(about: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what a fit found, as pairs of a name and a text."""
    fitted: dict[str, Any] = dict(about["fitted"])
    low, high = fitted.pop(INTERVAL, (0.0, 0.0))
    if HELD_OUT in fitted:
        fitted[HELD_OUT] = f"{fitted[HELD_OUT]:.3f} ({low:.3f} to {high:.3f})"
    texts = {name: (TEXTS.get(name, name), as_text(value)) for name, value in fitted.items()}
    if len(about["blend"]) > 1:
        texts["loss"] = ("blend", f"of {len(about['blend'])} candidates")
    if "standardize" in texts:
        texts["standardize"] = ("columns", SCALINGS[about["fitted"]["standardize"]])
    return list(texts.values())


def show_blend(about: dict[str, Any]) -> list[Table]:
    """Return the table of the members of a blend; an empty list if there are not several."""
    members = about["blend"]
    if len(members) < 2:
        return []
    rows = [
        (
            member["loss"],
            SCALINGS[member["standardize"]],
            f"{member['alpha']:.4g}",
            f"{member['share']:.1%}",
            f"{member[HELD_OUT]:.4f}",
        )
        for member in members
    ]
    return [make_table("", ("loss", "columns", "alpha", "share", "chosen by AUC"), rows, right=(2, 3, 4))]


def as_text(value: Any) -> str:
    """Return a value as text, a number with few digits or with commas."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def headline_text(test: dict[str, Any]) -> str:
    """Return the AUC and its interval as text."""
    return "AUC {auc:.4f} [{auc_low:.4f}, {auc_high:.4f}]".format(**test)


def summarise(file: ModelFile, seconds: float, output: Path, report: Path | None, is_named: bool) -> list[Any]:
    """Return the result of `aucmax fit`, as lines and the table of a blend.

    `is_named` is whether the user has named the positive class.
    """
    about = describe_model(file)
    training, test = about["training"], about["test"]
    lines = [about["method"] + "".join(f", {name} {text}" for name, text in list_fitted(about))]
    share = training["n_positive"] / training["n_samples"]
    larger = ", the larger class: --positive names another" if share > 0.5 and not is_named else ""
    lines.append(
        f"{training['n_samples']:,} rows, {training['n_positive']:,} of class {about['classes']['positive']} "
        f"({share:.2%}{larger}), {about['n_features']:,} columns; {seconds:.1f} s"
    )
    left_out = [each["column"] for each in about["table"] if each["kind"] == "left out" and each["found"] != "as asked"]
    if left_out:
        more = f" and {len(left_out) - SHOWN:,} more" if len(left_out) > SHOWN else ""
        lines.append(f"left out: {', '.join(left_out[:SHOWN])}{more} (aucmax inspect says why)")
    if test:
        lines.append(f"test {headline_text(test)} on {test['n_samples']:,} rows")
    return [*lines, *show_ladder(about), *show_blend(about), *wrote(output, report)]


def wrote(*paths: Path | None) -> list[str]:
    """Return the line that names the files that were written, if there are any."""
    names = [str(path) for path in paths if path is not None]
    return [f"wrote {' and '.join(names)}"] if names else []


def show_evaluation(file: ModelFile, evaluation: Evaluation) -> list[Any]:
    """Return the lines and the table of an evaluation."""
    positive, auc, found = classes_of(file).names[1], evaluation.auc, evaluation.calibration
    level, n_groups = f"{evaluation.confidence_level:.0%} interval", evaluation.n_groups
    with_ends = "{0.value:.4f}  [{0.low:.4f}, {0.high:.4f}]".format
    method = "DeLong" if n_groups is None else f"Obuchowski, {n_groups:,} groups"
    lines = [
        f"AUC                {auc.auc:.4f}  {level} [{auc.low:.4f}, {auc.high:.4f}] ({method})",
        f"Gini               {with_ends(evaluation.gini)}",
        f"KS                 {with_ends(evaluation.ks)}  at a score of {evaluation.ks_threshold:.6g}",
        f"partial AUC        {evaluation.partial_auc:.4f}  up to a false positive rate of {evaluation.max_fpr:g}",
        f"average precision  {with_ends(evaluation.average_precision)}  ({evaluation.base_rate:.4f} by chance)",
    ]
    if found is not None:
        lines.append(f"Brier score        {with_ends(found.brier)}  (mean probability {found.mean:.4f})")
    if found is not None and not np.isnan(found.slope.value):
        lines.append(f"calibration slope  {found.slope.value:.4f}  (intercept {found.intercept.value:.4f})")

    def text(value: float) -> str:
        return "" if np.isnan(value) else f"{value:.4f}"

    rows = [
        (
            rule,
            f"{at.threshold:.6g}",
            *([] if found is None else [text(at.probability)]),
            *map(count_text, (at.called, at.tp, at.fp, at.fn)),
            *(text(rate.value) for rate in (at.precision, at.recall, at.fpr)),
        )
        for rule, at in evaluation.thresholds.items()
    ]
    scored = ["score above"] if found is None else ["score above", "probability"]
    header = ["", *scored, f"predicted {positive}", "right", "wrong", "missed", "precision", "recall", "FPR"]
    return [*lines, make_table("", header, rows, right=range(1, len(header)))]


def show_gains(evaluation: Evaluation) -> list[Any]:
    """Return the table of gains and lift, by tenths of the rows."""
    rows = [
        (
            f"{10 * k}%",
            count_text(round(tenth.rows, 1)),
            count_text(round(tenth.positives, 1)),
            f"{tenth.rate:.4f}",
            f"{tenth.lift:.2f}",
            f"{tenth.gain:.1%}",
        )
        for k, tenth in enumerate(evaluation.gains, 1)
    ]
    header = ("highest scores, to", "rows", "positive", "share", "lift", "of all positives")
    return [make_table("", header, rows, right=range(1, len(header)))]


def show_groups(column: str, groups: list[GroupEvaluation]) -> list[Any]:
    """Return the table of the groups of a column; nothing if there are none."""

    def text(found: Any) -> str:
        return "" if np.isnan(found.value) else f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"

    rows = []
    for group in groups:
        auc = group.note if group.auc is None else "{:.4f} ({:.4f} to {:.4f})".format(*group.auc[:3])
        at, found = group.at, group.calibration
        rates = [] if at is None else [at.called_share, at.recall, at.fpr, at.precision]
        calibration = [] if found is None else [f"{found.mean:.3f}", text(found.slope), text(found.intercept)]
        rows.append((group.group, f"{group.n_samples:,}", auc, *map(text, (group.base_rate, *rates)), *calibration))
    header = [column, "rows", "AUC", "share of positives", "predicted positive", "recall", "FPR", "precision"]
    if groups and groups[0].calibration is not None:
        header += ["mean probability", "calibration slope", "intercept"]
    return [make_table("", header, rows, right=(1,))] if rows else []


RENAMED = {"rows": "n_samples", "positives": "n_positive", "mean": "mean_probability"}
ESTIMATE = {"value", "low", "high"}


def json_figures(value: Any) -> Any:
    """Return the figures of an evaluation under the names of `--json`, in which a key has one meaning and type."""
    if isinstance(value, list):
        return [json_figures(each) for each in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, dict) and set(inner) == ESTIMATE:
            found |= {key: inner["value"], f"{key}_low": inner["low"], f"{key}_high": inner["high"]}
        elif key == "auc" and not isinstance(inner, float):
            for name in AUCInterval._fields:
                found[name if name == "auc" else f"auc_{name}"] = None if inner is None else inner[name]
        else:
            found[RENAMED.get(str(key), str(key))] = json_figures(inner)
    return found


def show_comparison(comparison: Comparison) -> list[Any]:
    """Return the table of a comparison."""
    rows = []
    for row in comparison.to_dict()["methods"]:
        if row["mean_auc"] is None:
            rows.append((row["method"], "failed", *[""] * 6))
            continue
        rows.append(
            (
                row["method"],
                f"{row['mean_auc']:.4f}",
                f"{row['std_auc']:.4f}",
                f"{1000 * row['mean_seconds']:.1f} ms",
                f"{row['mean_seconds'] + row['mean_tuning_seconds']:.2f} s",
                "" if row["pvalue"] is None else f"{row['pvalue']:.4f}",
                "" if row["corrected_pvalue"] is None else f"{row['corrected_pvalue']:.4f}",
                row["verdict"] or "",
            )
        )
    n_fits = comparison.auc.shape[1]
    against = f", the others against {comparison.methods[0]}" if len(comparison.methods) > 1 else ""
    title = f"{comparison.data}: test AUC over {n_fits} splits{against}"
    header = ("", "AUC", "std", "fit", "with tuning", "p", "p (corrected)", "")
    failures = [f"{name}: {reason}" for name, reason in comparison.failures.items()]
    return [make_table(title, header, rows, right=range(1, 7)), *failures]


# Reports


# What a report says about the rows of its evaluation.
NOTES = {
    "": UNKNOWN,
    "test": "Measured on rows that the model has not seen.",
    "training": "All figures are of the training rows, on which every model looks better than it is; "
    "--test measures other rows.",
    "held out": "The AUC above is of rows that were held out in turn. All figures below it are of the training rows, "
    "on which every model looks better than it is; --test measures other rows.",
}
UNSEEN = "The training rows were read by blocks and not kept: `aucmax evaluate` measures the model on a file of rows."


def fit_report(
    file: ModelFile,
    data: str,
    evaluation: Evaluation | None,
    scores: Any,
    which: str,
    rows: Any = None,
    sample_weight: Any = None,
) -> Report:
    """Return the report of a model and of its evaluation, on "test" or "training" rows or on others ("").

    `rows` are these rows and the mask of the positives, for the parts that only additive models have. With weights, all
    figures but the densities of the scores are weighted.
    """
    about, (_, model) = describe_model(file), split_model(file.model)
    X, y = (None, None) if rows is None else (rows[0], model.classes_[rows[1].astype(int)])
    on_training, names, spreads = which == "training", feature_names(file.model), file.notes.get("spreads")
    parts = describe_parts(model, X, y, sample_weight, names=names, spreads=spreads, trained_on=on_training)
    if on_training and parts.get("held_out_auc") is not None:
        which = "held out"
    summary = [("data", data)] if evaluation is not None else []
    if sample_weight is not None:
        summary.append(("weights", f"{np.sum(sample_weight):,.10g} in all; they count as repetitions of rows"))
    summary += [entry for entry in list_entries(file) if entry[0] != "tested on"]
    summary.append(("parameters", describe_parameters(file.model)))
    summary.append(("written on", f"{datetime.date.today()}"))
    return Report(
        title=f"{about['method']} on {Path(data).name}",
        note=NOTES[which] if evaluation is not None else UNSEEN,
        summary=summary,
        evaluation=evaluation,
        of_training_rows=on_training,
        scores=scores,
        class_names=classes_of(file).names,
        table=describe_table(file.model),
        **parts,
    )


def list_curves(model: Any) -> list[dict[str, Any]] | None:
    """Return the curves and surfaces of an additive model, the most varied first; None for other models."""
    if not is_table_model(model):
        return None
    names, edges, found = term_names(model, model.terms_), edges_of(model.terms_), []
    for name, (a, b), freedom in zip(names, pairwise(edges), model.freedom_, strict=True):
        values, mass = model.calibration_[0] * model.coef_[0, a:b], model.mass_[a:b]
        spread = float(np.sqrt(mass @ values**2 / max(mass.sum(), 1e-300)))
        low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
        entry = {"curve": name, "degrees_of_freedom": float(freedom), "spread": spread}
        found.append(entry | {"lowest": low, "highest": high})
    return sorted(found, key=lambda entry: -entry["spread"])


def show_curves(curves: list[dict[str, Any]] | None, n: int) -> list[Table]:
    """Return the table of the curves that vary most, in log-odds; nothing if there are none."""
    if not curves or not n:
        return []
    rows = [(each["curve"], *(f"{value:.2f}" for value in list(each.values())[1:])) for each in curves[:n]]
    return [make_table("", [key.replace("_", " ") for key in curves[0]], rows, right=(1, 2, 3, 4))]


def comparison_report(found: list[Comparison], n_splits: int, n_repeats: int, kind: str = "stratified folds") -> Report:
    """Return the report of comparisons; `kind` is the kind of folds, in words."""
    often = f", {n_repeats} times" if n_repeats > 1 else ""
    summary = [
        ("protocol", f"{n_splits} {kind}{often}; parameters chosen inside each training part"),
        ("test", f"corrected paired t-tests of {found[0].methods[0]} against the others at 95%"),
        ("aucmax", __version__),
    ]
    return Report(
        title=f"Comparison on {', '.join(Path(c.data).name for c in found)}", summary=summary, comparison=found
    )
