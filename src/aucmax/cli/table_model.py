"""Models of tables: an encoder that reads the columns, then the model of the features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from .._text import ArgumentError
from ..compare.methods import find_method
from ..files import Source
from ..papers.registry import Method
from ..tables.encoder import TableEncoder
from ..tables.reading.kinds import Column, Part
from ..tables.reading.table import Reading, Tally


def join_model(source: Source, inner: Any) -> Any:
    """Return a model of the rows of a file: `inner` itself, or after the encoder of a table."""
    if source.reading is None:
        return inner
    steps = inner.steps if isinstance(inner, Pipeline) else [("model", inner)]
    steps[0][1].__dict__.pop("feature_names_in_", None)  # the encoder gives it an array without names
    output = "features" if source.categorical is None else "codes"
    return Pipeline([("table", TableEncoder(output).set_reading(source.reading)), *steps])


def output_of(algorithm: str | None) -> str:
    """Return what the rows of a table become for an algorithm: "features", or "codes" if it knows categories."""
    return "codes" if algorithm is not None and find_method(algorithm).takes_codes else "features"


def split_model(model: Any) -> tuple[Any, Any]:
    """Return the encoder of a model, None if it has none, and the model of the features."""
    if not isinstance(model, Pipeline) or not isinstance(model[0], TableEncoder):
        return None, model
    return model[0], model[-1] if len(model) == 2 else model[1:]


def is_additive(model: Any) -> bool:
    """Return whether a model, or the last step of one, is a sum of curves."""
    return hasattr(split_model(model)[1], "terms_")


def find_reading(model: Any) -> Reading | None:
    """Return how a model reads the columns of a table; None if it is not a model of tables."""
    encoder, _ = split_model(model)
    return None if encoder is None else encoder.reading_


def read_as_numbers(model: Any) -> Reading | None:
    """Return the reading of columns that are numbers, with NaN where they are missing; None if they have no names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    had_gaps = [column.missing for column in getattr(model, "columns_", [])] or [False] * len(names)  # additive models
    columns = [
        Column(name, "number", "", int(gaps), "1234.5", parts=[Part(name)])
        for name, gaps in zip(names.tolist(), had_gaps, strict=True)
    ]
    return Reading(columns, [], 0)


def feature_names(model: Any) -> np.ndarray | None:
    """Return the names of the features of a model, if they have names."""
    encoder, inner = split_model(model)
    return getattr(inner, "feature_names_in_", None) if encoder is None else encoder.get_feature_names_out()


class UnseenValues:
    """What rows to be scored have and the training rows had not: unseen levels, gaps in other columns, later dates."""

    def __init__(self) -> None:
        self.unseen: dict[str, int] = {}
        self.gaps: dict[str, int] = {}
        self.later: dict[str, int] = {}

    def add(self, tallies: Iterable[Tally]) -> None:
        """Add what was met in some rows."""
        for tally in tallies:
            name = tally.column.name
            self.unseen[name] = self.unseen.get(name, 0) + tally.n_unseen
            self.later[name] = self.later.get(name, 0) + tally.n_later
            if tally.column.n_missing == 0:
                self.gaps[name] = self.gaps.get(name, 0) + tally.n_missing

    def notes(self, file: str) -> list[str]:
        """Return a note for each column."""
        texts = {
            "with levels that no training row has, scored as rare": self.unseen,
            "without a value, as no training row is, scored as average": self.gaps,
            "with a date after the last one of the training rows, scored by its negative age": self.later,
        }
        return [
            f"{file}, column {name!r}: {count:,} cell{'s' if count > 1 else ''} {text}"
            for text, counts in texts.items()
            for name, count in counts.items()
            if count
        ]


def describe_columns(reading: Reading) -> list[dict[str, Any]]:
    """Return how each column is read, as JSON has it."""
    return [
        {"column": column.name, "kind": column.kind, "n_missing": column.n_missing, "found": column.reason}
        for column in reading.columns
    ]


def name_columns(estimator: Any, source: Source) -> None:
    """Give an additive model the categories of a file, and the positions of the columns that its parameters name.

    It is fitted to an array, which has no names. Other estimators stay unchanged.
    """
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if "categorical_features" not in model.get_params():
        return
    shapes, pairs = model.monotonic_cst, model.pairs
    if isinstance(shapes, dict):
        places = {find_place(source, column, "monotonic_cst"): sign for column, sign in shapes.items()}
        n_columns = source.n_features or max(places, default=-1) + 1
        model.set_params(monotonic_cst=[places.get(j, 0) for j in range(n_columns)])
    if isinstance(pairs, list):
        model.set_params(pairs=[[find_place(source, column, "pairs") for column in pair] for pair in pairs])
    if source.categorical is not None:
        model.set_params(categorical_features=source.categorical)


def for_table(method: Method, source: Source) -> Method:
    """Return a method for the codes of a table; one that does not take codes stays unchanged."""
    if not method.takes_codes:
        return method
    estimator = method()
    name_columns(estimator, source)
    known = {name: getattr(estimator, name) for name in ("categorical_features", "monotonic_cst", "pairs")}
    return method._replace(parameters={**method.parameters, **known})


def find_place(source: Source, column: Any, option: str) -> int:
    """Return the position of a column of a file."""
    if not isinstance(column, str):
        return int(column)
    names = source.feature_names
    if names is None:
        raise ArgumentError(f"{{}} has no column names, so {{{option}=}} cannot name {{}}.", source.name, repr(column))
    if column not in names:
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        sentence = f"{{}} has no column {{}} for {{{option}=}}; the fitted columns are {{}}."
        raise ArgumentError(sentence, source.name, repr(column), shown)
    return names.index(column)
