"""A study: a published table or figure as data, read from its TOML file and checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from ..algorithms import PAPERS
from ..compare.methods import Method, find_method, full_name

METRICS = ("auc", "accuracy", "f1", "jaccard", "seconds")
SCALINGS = ("none", "minmax", "standard", "unit", "centred unit", "minmax unit")
CAUSES = ("typo", "grouping", "tuning", "protocol", "data", "defect")
# What the annotations of the tuples below stand for in TOML.
_TYPES: dict[str, Any] = {
    "int": int,
    "float": (int, float),
    "str": str,
    "bool": bool,
    "Sequence": (list, tuple),
    "Mapping": dict,
}
_RANGE = re.compile(r"(?:(\d+)\^)?\[(-?\d+):(?:(\d+):)?(-?\d+)\]")
_FIGURE = re.compile(r"(\d*\.?\d+)(?:\s*±\s*(\d*\.?\d+))?\s*([•◦]?)")


class Protocol(NamedTuple):
    """How the paper measured.

    Attributes
    ----------
    scaling : str
        Of the columns to [-1, 1] ("minmax") or to mean 0 and variance 1 ("standard"); of the rows to length 1 ("unit"),
        after the columns were centred ("centred unit") or scaled to [-1, 1] ("minmax unit"); or "none".
    folds, repeats : int
        Of the repeated stratified k-fold of real data.
    inner_folds : int
        Of each training part, for choosing parameters.
    runs : int
        Draws of generated data.
    test_size : float
        Share of the rows of a draw that is tested on.
    """

    scaling: str = "none"
    folds: int = 5
    repeats: int = 1
    inner_folds: int = 5
    runs: int = 0
    test_size: float = 0.2


class Contender(NamedTuple):
    """A method of a study, under the name that the paper gives it.

    Attributes
    ----------
    label : str
        That name.
    method : Method
        The method here, with the grid of the paper.
    max_rows : int or None
        The most training rows it sees.
    from_moments : bool
        Whether it is fitted to the true moments of generated data.
    parameter : str
        The name of the curve's parameter in this method, where it has another one.
    constant : bool
        Whether it is a reference line in a curve.
    same_as : list of str
        The study that it was measured in already, on the same splits, and its label there.
    """

    label: str
    method: Method
    max_rows: int | None = None
    from_moments: bool = False
    parameter: str = ""
    constant: bool = False
    same_as: Sequence[str] = ()


class Subject(NamedTuple):
    """A data set of a study, under the name that the paper gives it.

    Attributes
    ----------
    label : str
        That name.
    name : str
        The name in the catalogue, where it is another one.
    positive : list
        The labels that are positive; empty for the catalogue's.
    drop_columns : list of int
        Columns left out.
    scaling : str
        As in the protocol, where it is another one.
    dense : bool
        Whether sparse rows are made dense, for methods that take no others.
    grouping : str
        "halves" or "one" where the paper's choice of classes is not known: half of them, or one against the rest.
    generator : str
        The function of `aucmax.datasets` that draws it, for generated data.
    options : mapping
        Arguments of the generator.
    missing : str
        Why there is none.
    """

    label: str
    name: str = ""
    positive: Sequence[Any] = ()
    drop_columns: Sequence[int] = ()
    scaling: str = ""
    dense: bool = False
    grouping: str = ""
    generator: str = ""
    options: Mapping[str, Any] = {}
    missing: str = ""


class Curve(NamedTuple):
    """What varies along the horizontal axis of a figure.

    Attributes
    ----------
    parameter : str
        Its name.
    values : list
        Its values.
    of : str
        What it is a parameter of: "method", "data" (the generator), or "rows", the number of training rows.
    label : str
        What the axis is called.
    scale : str
        "log" or "linear".
    """

    parameter: str
    values: Sequence[float]
    of: str = "method"
    label: str = ""
    scale: str = "linear"


class Figure(NamedTuple):
    """A published figure: a mean, its standard deviation if there is one, and the mark of a significant difference."""

    mean: float
    std: float | None = None
    mark: str = ""


class Reason(NamedTuple):
    """Why measured figures differ from the published ones; no data or no methods stand for all of them."""

    cause: str
    text: str
    data: Sequence[str] = ()
    methods: Sequence[str] = ()


class Study(NamedTuple):
    """A published table or figure.

    Attributes
    ----------
    name : str
        That of its file.
    paper : str
        A key of `aucmax.algorithms.PAPERS`.
    label : str
        What the paper calls it: "Table 2".
    title : str
        What it shows.
    metrics : list of str
        What is measured, the headline first.
    claim : str
        What the paper concludes from it.
    note : str
        What is done otherwise here, and why.
    protocol : Protocol
        How the paper measured.
    contenders : dict of Contender
        The methods by their labels; the first is tested against the others.
    subjects : dict of Subject
        The data sets by their labels.
    curve : Curve or None
        What varies, for figures.
    published : dict of dict of Figure
        By metric, then by labels of data and method.
    win_tie_loss : dict of str
        As printed, by the method's label.
    doubled_error : list of str
        Methods whose published accuracy is one minus half the error.
    reasons : list of Reason
        Why measured figures differ.
    """

    name: str
    paper: str
    label: str
    title: str
    metrics: Sequence[str]
    claim: str
    note: str
    protocol: Protocol
    contenders: dict[str, Contender]
    subjects: dict[str, Subject]
    curve: Curve | None
    published: dict[str, dict[tuple[str, str], Figure]]
    win_tie_loss: Mapping[str, str]
    doubled_error: Sequence[str]
    reasons: Sequence[Reason]

    def recipes(self) -> dict[tuple[str, str], str]:
        """Return what results hang on, of each data set ("NAME", "") and of each method ("", "NAME")."""
        of_data = f"{self.protocol!r}, {self.curve!r}, {self.metrics!r}"
        texts = {(s.label, ""): f"{s._replace(label='', missing='')!r}, {of_data}" for s in self.subjects.values()}
        for label, method, *how in self.contenders.values():
            texts["", label] = f"{method.name}, {dict(method.grid)!r}, {how!r}"
        return texts

    def reason(self, data: str, method: str) -> Reason | None:
        """Return why the figure of a method on a data set differs, the most particular reason that is given."""
        fitting = [
            reason
            for reason in self.reasons
            if (not reason.data or data in reason.data) and (not reason.methods or method in reason.methods)
        ]
        return max(fitting, key=lambda reason: bool(reason.data) + bool(reason.methods), default=None)


def list_studies() -> list[str]:
    """Return the names of the studies that come with the package.

    Returns
    -------
    names : list of str
        In order: by paper, tables before figures.

    Examples
    --------
    >>> from aucmax.reproduce.study import list_studies
    >>> list_studies()[:2]
    ['spdam-table-3', 'spdam-figure-1']
    """
    folder = resources.files(__package__).joinpath("published")
    names = [file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")]
    return sorted(names, key=_place)


def _place(name: str) -> tuple[int, bool, int, str]:
    """Return the place of a study: by paper, tables first, by their numbers."""
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
        The study. What is wrong in a file is a ValueError of one sentence.

    Examples
    --------
    >>> from aucmax.reproduce.study import read_study
    >>> study = read_study("opauc-table-2")
    >>> study.label, study.published["auc"]["diabetes", "OPAUC"]
    ('Table 2', Figure(mean=0.8309, std=0.035, mark=''))
    """
    own = str(name).endswith(".toml")
    if own and Path(name).stem in list_studies():
        raise ValueError(f"{Path(name).stem} is a published study, and results are kept by name: rename {name}.")
    if not own and name not in list_studies():
        raise ValueError(f"There is no study {str(name)!r}; `aucmax reproduce --list` lists them all.")
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
    contenders = {label: _contender(label, dict(keys)) for label, keys in table["methods"].items()}
    subjects = {label: _of(Subject, label=label, **keys) for label, keys in table["data"].items()}
    published = dict(table.get("published", {}))
    wins, doubled = published.pop("win_tie_loss", {}), published.pop("doubled_error", [])
    scale = 0.01 if published.pop("percent", False) else 1.0
    figures = {
        metric: _figures(text, metric, subjects, contenders, 1.0 if metric == "seconds" else scale)
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
        _of(Protocol, **table.get("protocol", {})),
        contenders,
        subjects,
        _of(Curve, **{**curve, "values": read_values(curve["values"])}) if curve else None,
        figures,
        wins,
        doubled,
        [_of(Reason, **reason) for reason in table.get("reasons", [])],
    )
    _check(study)
    return study


def _refuse_unknown(table: Mapping[str, Any], known: Sequence[str], more: Sequence[str] = ()) -> None:
    unknown = sorted(set(table) - {*known, *more})
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not known; there are {', '.join((*known, *more))}.")


def _of(kind: Any, **keys: Any) -> Any:
    """Return a named tuple, with a sentence for a key that it does not have, lacks, or that is of another type."""
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


def _contender(label: str, keys: dict[str, Any]) -> Contender:
    """Return a method with the grid of the paper in place of the registered one, or that of another study."""
    if "same_as" in keys:
        study, there = keys["same_as"]
        return read_study(study).contenders[there]._replace(label=label, same_as=(study, there))
    method = find_method(keys.pop("method"))
    grid = {name: read_values(values) for name, values in keys.pop("grid", {}).items()}
    estimator, full = method.make(), {}
    for name, values in grid.items():
        known = full_name(name, estimator)
        if known is None:
            raise ValueError(f"{method.name} has no parameter {name!r} for a grid.")
        full[known] = values
    return _of(Contender, label=label, method=method._replace(grid=full), **keys)


def read_values(values: str | Sequence[Any]) -> list[Any]:
    """Return a list of numbers, or the numbers of a range as the papers write it.

    Parameters
    ----------
    values : str or list
        "2^[-12:10]" for powers, "[1:9:100]" for steps of 9 from 1 to 100, or the numbers themselves.

    Returns
    -------
    values : list
        The numbers.

    Examples
    --------
    >>> from aucmax.reproduce.study import read_values
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


def _figures(
    text: str, metric: str, subjects: Mapping[str, Any], contenders: Mapping[str, Any], scale: float
) -> dict[tuple[str, str], Figure]:
    """Return the figures of a table as it is printed: a header of methods, a line for each data set."""
    if not isinstance(text, str):
        raise ValueError(f"published {metric} is {text!r}, and not the text of a table.")
    lines = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    header, figures = lines[0][1:], {}
    for label, *cells in lines[1:]:
        if label not in subjects or len(cells) != len(header):
            raise ValueError(f"line {label!r} of published {metric} has no data, or not as many cells as the header.")
        for method, cell in zip(header, cells, strict=True):
            if method not in contenders:
                raise ValueError(f"column {method!r} of published {metric} is no method.")
            if cell not in ("", "-", "N/A"):
                match = _FIGURE.fullmatch(cell)
                if match is None:
                    raise ValueError(f"{cell!r} in line {label!r} of published {metric} is no figure.")
                mean, std, mark = match.groups()
                # Rounded, lest a hundredth of what is printed has other digits.
                printed = [None if value is None else round(float(value) * scale, 6) for value in (mean, std)]
                figures[label, method] = Figure(printed[0] or 0.0, printed[1], mark)
    return figures


def _check_parameter(contender: Contender, curve: Curve) -> None:
    name = contender.parameter or curve.parameter
    if full_name(name, contender.method.make()) is None:
        raise ValueError(f"{contender.method.name} has no parameter {name!r} to vary.")


def _check(study: Study) -> None:
    known = {
        "paper": (study.paper, PAPERS),
        "scaling": (study.protocol.scaling, SCALINGS),
        **{f"metric {metric}": (metric, METRICS) for metric in (*study.metrics, *study.published)},
        **{f"cause {reason.cause}": (reason.cause, CAUSES) for reason in study.reasons},
        **{f"grouping of {s.label}": (s.grouping, ("", "halves", "one")) for s in study.subjects.values()},
        **{f"scaling of {s.label}": (s.scaling, ("", *SCALINGS)) for s in study.subjects.values()},
    }
    if study.curve is not None:
        known["curve.of"] = (study.curve.of, ("method", "data", "rows"))
        known["curve.scale"] = (study.curve.scale, ("log", "linear"))
    for what, (value, allowed) in known.items():
        if value not in allowed:
            raise ValueError(f"{what} is {value!r}; there are {', '.join(filter(None, allowed))}.")
    if not (study.metrics and study.subjects and study.contenders):
        raise ValueError("it needs metrics, data and methods.")
    if min(study.protocol.folds, study.protocol.inner_folds) < 2 or study.protocol.repeats < 1:
        raise ValueError("folds and inner_folds are 2 or more, repeats 1 or more.")
    for contender in study.contenders.values():
        if study.curve is not None and study.curve.of == "method" and not contender.constant:
            _check_parameter(contender, study.curve)
    for reason in study.reasons:
        strangers = (set(reason.data) - set(study.subjects)) | (set(reason.methods) - set(study.contenders))
        if strangers:
            raise ValueError(f"a reason names {min(strangers)!r}, which is neither data nor method.")
    if any(subject.generator for subject in study.subjects.values()) and study.protocol.runs < 1:
        raise ValueError("generated data need protocol.runs.")
