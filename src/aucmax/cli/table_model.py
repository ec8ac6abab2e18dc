"""Models of tables: an encoder that reads the columns, then the model of the features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files import Source

if TYPE_CHECKING:
    from ..tables.reading import Reading, Tally


def join_model(source: Source, inner: Any) -> Any:
    """Return a model of the rows of a file: `inner` itself, or after the encoder of a table."""
    if source.reading is None:
        return inner
    from sklearn.pipeline import Pipeline

    from ..table_encoder import TableEncoder

    steps = inner.steps if isinstance(inner, Pipeline) else [("model", inner)]
    steps[0][1].__dict__.pop("feature_names_in_", None)  # the encoder gives it an array without names
    output = "features" if source.categorical is None else "codes"
    return Pipeline([("table", TableEncoder(output).set_reading(source.reading)), *steps])


def output_of(algorithm: str | None) -> str:
    """Return what the rows of a table become for an algorithm: "features", or "codes" if it knows categories."""
    from ..compare.methods import find_method

    return "codes" if algorithm is not None and find_method(algorithm).takes_codes else "features"


def split_model(model: Any) -> tuple[Any, Any]:
    """Return the encoder of a model, None if it has none, and the model of the features."""
    from sklearn.pipeline import Pipeline

    from ..table_encoder import TableEncoder

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
    from ..tables.kinds import Column, Part
    from ..tables.reading import Reading

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    had_gaps = [column.missing for column in getattr(model, "columns_", [])] or [False] * len(names)  # additive models
    parts = [Part(name, None, np.array([np.nan]), gaps=False) for name in names.tolist()]
    columns = [
        Column(part.name, "number", "", int(gaps), "1234.5", parts=[part])
        for part, gaps in zip(parts, had_gaps, strict=True)
    ]
    return Reading(columns, [], {})


def feature_names(model: Any) -> np.ndarray | None:
    """Return the names of the features of a model, if they have names."""
    encoder, inner = split_model(model)
    return getattr(inner, "feature_names_in_", None) if encoder is None else encoder.get_feature_names_out()


class Surprises:
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


def list_encoded(reading: Reading | None) -> list[str]:
    """Return the columns that are target-encoded."""
    columns = [] if reading is None else reading.used
    return [column.name for column in columns if any(part.encoded for part in column.parts)]
