"""Models of tables: one that reads a table by itself, or an encoder that reads the columns and the model after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..files import Source
from ..tables.classifier import TableClassifier
from ..tables.encoder import TableEncoder
from ..tables.reading.table import Reading, Tally, count_cells, numbers_as_table

UNSEEN = {  # the texts of notes, by the counts of `Tally`
    "n_unseen": "with levels that no training row has, scored as {}",
    "n_missing": "without a value, as no training row is, scored as average",
    "n_later": "with a date after the last one of the training rows, scored by its negative age",
    "n_outside": "further outside of the range of the training rows than it is wide",
}


def join_model(source: Source, inner: Any) -> Any:
    """Return a model of the rows of a file: `inner` itself, or after the encoder of a table."""
    if source.reading is None or is_table_model(inner):
        return inner
    steps = inner.steps if isinstance(inner, Pipeline) else [("model", inner)]
    steps[0][1].__dict__.pop("feature_names_in_", None)  # the encoder gives it an array without names
    return Pipeline([("table", TableEncoder().set_reading(source.reading)), *steps])


def split_model(model: Any) -> tuple[Any, Any]:
    """Return the encoder of a model, None if it has none, and the model of the features."""
    if not isinstance(model, Pipeline) or not isinstance(model[0], TableEncoder):
        return None, model
    return model[0], model[-1] if len(model) == 2 else model[1:]


def is_table_model(model: Any) -> bool:
    """Return whether a model is a sum of terms of the columns of a table."""
    return isinstance(model, TableClassifier)


def scored_as(model: Any) -> str:
    """Return what a model scores levels as that no training row has."""
    return "other" if is_table_model(model) else "rare"


def find_reading(model: Any) -> Reading | None:
    """Return how a model reads the columns of a table; None if it is not a model of tables."""
    encoder, inner = split_model(model)
    return getattr(inner if encoder is None else encoder, "reading_", None)


def read_as_numbers(model: Any) -> Reading | None:
    """Return the reading of columns that are numbers, with NaN where they are missing; None if they have no names."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else numbers_as_table(names.tolist())


def feature_names(model: Any) -> np.ndarray | None:
    """Return the names of the features of a model, if they have names."""
    encoder, inner = split_model(model)
    return getattr(inner, "feature_names_in_", None) if encoder is None else encoder.get_feature_names_out()


class UnseenValues:
    """What rows to be scored have and the training rows had not: unseen levels, gaps in other columns, later dates."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {what: Counter() for what in UNSEEN}

    def add(self, tallies: Iterable[Tally]) -> None:
        """Add what was met in some rows."""
        for tally in tallies:
            for what, counts in self.counts.items():
                if what != "n_missing" or tally.column.n_missing == 0:
                    counts[tally.column.name] += getattr(tally, what)

    def notes(self, file: str, unseen: str) -> list[str]:
        """Return a note for each column; `unseen` is what unseen levels are scored as."""
        return [
            f"{file}, column {name!r}: {count_cells(count)} {UNSEEN[what].format(unseen)}"
            for what, counts in self.counts.items()
            for name, count in counts.items()
            if count
        ]
