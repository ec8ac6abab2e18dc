"""Model files as commands read them: the model, and the notes that `aucmax fit` adds to it.

A model that was saved in Python has no notes, or others. Notes of these names must be made as `aucmax fit` makes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ..compare.methods import last_step
from ..files.labels import label_text, show_label
from ..models.checks import (
    TOGETHER,
    absent,
    anything,
    array,
    count,
    either,
    fields,
    instance,
    number,
    plain,
    real,
    text,
)
from ..models.model_file import ModelFile, read_model
from .table_model import split_model

TRAINING = fields(
    {"data": text, "format": text, "n_samples": number(int, low=1), "n_positive": count, "by_blocks": instance(bool)},
    required=("n_samples", "n_positive"),
)
MEASURED = {"data": text, "n_samples": count, "n_positive": count}
MEASURED |= dict.fromkeys(("auc", "auc_low", "auc_high", "auc_standard_error"), real)
CLASSES = fields({"negative": plain, "positive": plain, "rest": instance(bool)}, required=("negative", "positive"))
NOTES = fields(
    {
        "training": either(fields({}), TRAINING),
        "test": either(fields({}), fields(MEASURED, required=tuple(MEASURED))),
        "classes": CLASSES,
        "target": either(absent, text),
        "spreads": either(absent, array("f", "d")),
    },
    others=anything,
)


def check_texts(labels: Iterable[Any]) -> None:
    """Raise a ValueError if a label is text that cannot be written, such as half of a pair of surrogates."""
    for label in labels:
        try:
            label_text(label).encode()
        except UnicodeEncodeError:
            raise ValueError(f"the label {show_label(label)[:60]} cannot be written as text") from None


def read_model_file(path: str | os.PathLike[str]) -> ModelFile:
    """Return the model in a file, its notes and its versions.

    A model that cannot predict, since it has seen rows of one class only, labels that no file of text can hold, and
    notes that no command writes are refused.
    """
    file = read_model(path)
    if not hasattr(file.model, "decision_function"):
        raise ValueError(f"{os.fspath(path)} holds a {type(file.model).__name__}, which scores no rows.")
    try:
        _, inner = split_model(file.model)
        last = last_step(inner)
        fields({}, TOGETHER, others=anything)(vars(last), type(last).__name__, {})
        NOTES(file.notes, "the notes", {"d": int(inner.n_features_in_), "two": 2})
        check_texts(last.classes_)
        check_texts(file.notes.get("classes", {}).values())
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{os.fspath(path)} cannot be used here: {error}.") from error
    return file
