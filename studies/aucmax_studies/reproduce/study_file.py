"""Reads a study from its TOML file and checks it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from aucmax.compare.methods import find_method
from aucmax.papers import PAPERS
from aucmax.papers.registry import full_name, plain_name

from .study import METRICS, SCALINGS, Curve, Fitted, Protocol, Reason, Study, StudyMethod, Subject, Value

# The TOML types that the annotations of the named tuples stand for.
_TYPES: dict[str, Any] = {
    "int": int,
    "float": (int, float),
    "str": str,
    "bool": bool,
    "Sequence": (list, tuple),
    "Mapping": dict,
}
_RANGE = re.compile(r"(?:(\d+)\^)?\[(-?\d+):(?:(\d+):)?(-?\d+)\]")
_VALUE = re.compile(r"(\d*\.?\d+)(?:\s*±\s*(\d*\.?\d+))?\s*([•◦]?)")


def list_studies() -> list[str]:
    """Return the names of the studies that come with the package.

    Examples
    --------
    >>> from aucmax_studies.reproduce.study_file import list_studies
    >>> list_studies()[:2]
    ['spdam-table-3', 'spdam-figure-1']
    """
    folder = resources.files(__package__).joinpath("published")
    names = [file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")]
    return sorted(names, key=_sort_key)


def _sort_key(name: str) -> tuple[int, bool, int, str]:
    """Return the key that sorts studies: by paper, tables first, by their numbers."""
    paper, _, rest = name.partition("-")
    kind, _, number = rest.partition("-")
    order = ("spdam", "psam", "opauc", "sht", "gaussian")
    return order.index(paper) if paper in order else len(order), kind != "table", int(number or 0), name


def read_study(name: str | Path) -> Study:
    """Return a study by its name, or from a TOML file of one's own.

    Parameters
    ----------
    name : str or Path
        One of `list_studies`, or a path that ends with .toml.

    Returns
    -------
    study : Study
        The study. A wrong file raises a ValueError of one sentence.

    Examples
    --------
    >>> from aucmax_studies.reproduce.study_file import read_study
    >>> study = read_study("opauc-table-2")
    >>> study.label, study.published["auc"]["diabetes", "OPAUC"]
    ('Table 2', Value(mean=0.8309, std=0.035, mark=''))
    """
    own = str(name).endswith(".toml")
    if own and Path(name).stem in list_studies():
        raise ValueError(f"{Path(name).stem} is a published study, and results are kept by name: rename {name}.")
    if not own and name not in list_studies():
        raise ValueError(f"There is no study {str(name)!r}; there are {', '.join(list_studies())}.")
    file = Path(name) if own else resources.files(__package__).joinpath("published", f"{name}.toml")
    try:
        return _parse(Path(name).stem, tomllib.loads(file.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, AttributeError, TypeError, KeyError, ValueError) as error:
        what = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{name} is no study: {what}") from None


def _parse(name: str, table: dict[str, Any]) -> Study:
    _refuse_unknown(
        table,
        ("paper", "label", "title", "metrics", "claim", "note", "protocol", "methods", "data", "curve", "published"),
        ("reasons",),
    )
    for key, kind in (("metrics", list), ("claim", str), ("note", str), ("title", str), ("label", str)):
        if not isinstance(table.get(key, kind()), kind):
            raise ValueError(f"{key} is {table[key]!r}, which is no {kind.__name__}.")
    methods = {label: _study_method(label, dict(keys)) for label, keys in table["methods"].items()}
    subjects = {label: _subject(label, dict(keys)) for label, keys in table["data"].items()}
    published = dict(table.get("published", {}))
    runs, one_split = published.pop("runs", 0), published.pop("one_split", False)
    fitted, doubled = published.pop("fitted", []), published.pop("doubled_error", [])
    scale = 0.01 if published.pop("percent", False) else 1.0
    values = {
        metric: _values(text, metric, subjects, methods, 1.0 if metric == "seconds" else scale)
        for metric, text in published.items()
    }
    curve = table.get("curve")
    study = Study(
        name,
        table["paper"],
        table["label"],
        table["title"],
        table.get("metrics", ["auc"]),
        table.get("claim", "").strip(),
        table.get("note", "").strip(),
        _build(Protocol, **table.get("protocol", {})),
        methods,
        subjects,
        _build(Curve, **{**curve, "values": read_values(curve["values"])}) if curve else None,
        values,
        runs,
        one_split,
        [_build(Fitted, **keys) for keys in fitted],
        _repeated(values, methods),
        doubled,
        [_build(Reason, **reason) for reason in table.get("reasons", [])],
    )
    _check(study)
    return study


def _refuse_unknown(table: Mapping[str, Any], known: Sequence[str], more: Sequence[str] = ()) -> None:
    unknown = sorted(set(table) - {*known, *more})
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not known; there are {', '.join((*known, *more))}.")


def _build(kind: Any, **keys: Any) -> Any:
    """Return a named tuple; a ValueError names a key that is unknown, missing or of another type."""
    _refuse_unknown(keys, kind._fields)
    lacking = [name for name in kind._fields if name not in keys and name not in kind._field_defaults]
    if lacking:
        raise ValueError(f"a {kind.__name__.lower()} needs {lacking[0]!r}.")
    for name, value in keys.items():
        annotation = kind.__annotations__[name].__forward_arg__
        wanted = _TYPES.get(re.split(r"\W", annotation)[0])
        if wanted and (not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool)):
            raise ValueError(f"{name} is {value!r}, which is no {annotation}.")
    return kind(**keys)


def _subject(label: str, keys: dict[str, Any]) -> Subject:
    grid = {name: read_values(values) for name, values in keys.pop("grid", {}).items()}
    subject: Subject = _build(Subject, label=label, **keys)
    return subject._replace(grid=grid) if grid else subject


def _study_method(label: str, keys: dict[str, Any]) -> StudyMethod:
    """Return a method with the grid of the paper instead of the registered one, or a method of another study."""
    if "same_as" in keys:
        study, there = keys["same_as"]
        return read_study(study).methods[there]._replace(label=label, same_as=(study, there))
    method = find_method(keys.pop("method"))
    grid = {name: read_values(values) for name, values in keys.pop("grid", {}).items()}
    estimator, full = method.make(), {}
    for name, values in grid.items():
        known = full_name(name, estimator)
        if known is None:
            raise ValueError(f"{method.name} has no parameter {name!r} for a grid.")
        full[known] = values
    return _build(StudyMethod, label=label, method=method._replace(grid=full), **keys)


def read_values(values: str | Sequence[Any]) -> list[Any]:
    """Return a list of numbers, or the numbers of a range as the papers write it.

    Examples
    --------
    >>> from aucmax_studies.reproduce.study_file import read_values
    >>> read_values("2^[-2:1]"), read_values("[1:9:30]")
    ([0.25, 0.5, 1.0, 2.0], [1, 10, 19, 28])
    """
    if isinstance(values, list) and values:
        return values
    match = _RANGE.fullmatch(values.replace(" ", "")) if isinstance(values, str) else None
    base, low, step, high = match.groups() if match else (None, "1", "1", "0")
    numbers = range(int(low), int(high) + 1, int(step or 1) or 1)
    if not numbers:
        raise ValueError(f"{values!r} is no range: write 2^[-12:10], [1:9:100] or a list.")
    return [float(base) ** k for k in numbers] if base else list(numbers)


def _values(
    text: str, metric: str, subjects: Mapping[str, Any], methods: Mapping[str, Any], scale: float
) -> dict[tuple[str, str], Value]:
    """Return the values of a table as it is printed: a header of methods, a line for each data set."""
    if not isinstance(text, str):
        raise ValueError(f"published {metric} is {text!r}, and not the text of a table.")
    lines = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    header, values = lines[0][1:], {}
    for label, *cells in lines[1:]:
        if label not in subjects or len(cells) != len(header):
            raise ValueError(f"line {label!r} of published {metric} has no data, or not as many cells as the header.")
        for method, cell in zip(header, cells, strict=True):
            if method not in methods:
                raise ValueError(f"column {method!r} of published {metric} is no method.")
            if cell not in ("", "-", "N/A"):
                match = _VALUE.fullmatch(cell)
                if match is None:
                    raise ValueError(f"{cell!r} in line {label!r} of published {metric} is no figure.")
                mean, std, mark = match.groups()
                # Rounded, so that a hundredth of what is printed keeps its digits.
                printed = [None if value is None else round(float(value) * scale, 6) for value in (mean, std)]
                values[label, method] = Value(printed[0] or 0.0, printed[1], mark)
    return values


def _repeated(
    values: Mapping[str, Mapping[tuple[str, str], Value]], methods: Mapping[str, StudyMethod]
) -> dict[str, set[tuple[str, str]]]:
    """Return the labels of the values that the study in which a method was measured has, too; marks do not matter."""
    repeated: dict[str, set[tuple[str, str]]] = {metric: set() for metric in values}
    for label, (study, there) in ((entry.label, entry.same_as) for entry in methods.values() if entry.same_as):
        originals = read_study(study).published
        for metric, of_metric in values.items():
            for (data, method), value in of_metric.items():
                original = originals.get(metric, {}).get((data, there))
                if method == label and original and original[:2] == value[:2]:
                    repeated[metric].add((data, method))
    return repeated


def _check_parameter(entry: StudyMethod, name: str, purpose: str) -> None:
    if full_name(name, entry.method()) is None:
        raise ValueError(f"{entry.method.name} has no parameter {name!r} {purpose}.")


def _check(study: Study) -> None:
    known = {
        "paper": (study.paper, PAPERS),
        "scaling": (study.protocol.scaling, SCALINGS),
        **{f"metric {metric}": (metric, METRICS) for metric in (*study.metrics, *study.published)},
        **{f"grouping of {s.label}": (s.grouping, ("", "halves", "one")) for s in study.subjects.values()},
        **{f"scaling of {s.label}": (s.scaling, ("", *SCALINGS)) for s in study.subjects.values()},
        **{f"scaling of {m.label}": (m.scaling, ("", *SCALINGS)) for m in study.methods.values()},
    }
    if study.curve is not None:
        known["curve.of"] = (study.curve.of, ("method", "data", "rows"))
        known["curve.scale"] = (study.curve.scale, ("log", "linear"))
    for what, (value, allowed) in known.items():
        if value not in allowed:
            raise ValueError(f"{what} is {value!r}; there are {', '.join(filter(None, allowed))}.")
    if not (study.metrics and study.subjects and study.methods):
        raise ValueError("it needs metrics, data and methods.")
    if min(study.protocol.folds, study.protocol.inner_folds) < 2 or study.protocol.repeats < 1:
        raise ValueError("folds and inner_folds are 2 or more, repeats 1 or more.")
    for entry in study.methods.values():
        if study.curve is not None and study.curve.of == "method" and not entry.constant:
            _check_parameter(entry, entry.parameter or study.curve.parameter, "to vary")
    for subject in study.subjects.values():
        for name in subject.parameters:
            if all(full_name(name, entry.method()) is None for entry in study.methods.values()):
                raise ValueError(f"no method has a parameter {name!r} to set for {subject.label}.")
        chosen = {plain_name(name) for entry in study.methods.values() for name in entry.method.grid}
        strange = set(subject.grid) - chosen
        if strange:
            raise ValueError(f"no method chooses {min(strange)!r}, for which {subject.label} has a grid.")
        strange = set(subject.methods) - set(study.methods)
        if strange:
            raise ValueError(f"{subject.label} names {min(strange)!r}, which is no method.")
    for reason in study.reasons:
        runs = {reason.run.format(data=data) for data in reason.data or study.subjects}
        strangers = {*reason.data} - {*study.subjects} | {*reason.methods} - {*study.methods}
        strangers |= runs - {*study.subjects, *study.methods}
        if strangers:
            raise ValueError(f"a reason names {min(strangers)!r}, which is neither data nor method.")
    if type(study.published_runs) is not int or study.published_runs == 1 or study.published_runs < 0:
        raise ValueError(
            f"published runs is {study.published_runs!r}; it is 2 or more, or 0 if the paper does not say."
        )
    unknown = {fitted.method for fitted in study.fitted} - set(study.methods)
    unknown |= {fitted.data for fitted in study.fitted} - {"", *study.subjects}
    if unknown:
        raise ValueError(f"published fitted names {min(unknown)!r}, which is neither data nor method.")
    if any(subject.generator for subject in study.subjects.values()) and study.protocol.runs < 1:
        raise ValueError("generated data need protocol.runs.")
