"""The labels of a file: which two there are, and which of them is positive.

Labels are found as blocks of rows are read. The mask of a block says which of its rows have another label than the
first row of the file. Whether that first label is negative or positive is known at the end of the file.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._text import ArgumentError
from ..tables.reading.cells import MINUS

DATE = re.compile(
    r"(-?[0-9]{1,20})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[ T]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,20}))?)?)?)?)?)?(?:Z|\+00:00)?"
)
REST = ("other", "rest")  # names of all other labels together; the second if the positive label is called "other"


class Classes(NamedTuple):
    """The two classes of a problem."""

    negative: Any
    positive: Any
    rest: bool = False  # whether every label other than the positive one is negative; `negative` is then only a name

    def mask(self, y: np.ndarray, name: str) -> np.ndarray:
        """Return which labels are positive; an error about an unknown label begins with the name of the file."""
        positive = is_label(y, self.positive)
        if not self.rest:
            negative = is_label(y, self.negative)
            text, classes = "is neither {} nor {}", (show_label(self.negative), show_label(self.positive))
            wrong = ~(positive | negative)
            if not wrong.any():  # two labels of a model may be one number
                text, wrong = "may be {} or {}", positive & negative
            if wrong.any():
                label = show_label(label_value(y[wrong.argmax()]))
                raise ValueError(f"{name}: the label {label} {text.format(*classes)}, the classes of the model.")
        return positive

    def array(self) -> np.ndarray:
        """Return the labels as an estimator's `classes_`."""
        return np.array([self.negative, self.positive])

    @property
    def names(self) -> tuple[str, str]:
        """The two labels as text."""
        return label_text(self.negative), label_text(self.positive)


class Labels:
    """The labels seen so far: `found` are earlier ones, in the order of their first rows.

    All labels but `positive` are negative. Without it there must be two labels, and the larger is positive. Messages
    begin with `name`, the name of the file.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.files.labels import Labels
    >>> labels = Labels("train.csv")
    >>> codes = labels.observe(np.array([1.0, 1.0, -1.0]))
    >>> classes, swapped = labels.classes()
    >>> classes, codes ^ swapped
    (Classes(negative=-1, positive=1, rest=False), array([ True,  True, False]))
    """

    def __init__(self, name: str, positive: str | None = None, found: Any = ()) -> None:
        self.name, self.positive, self.found = name, positive, list(found)

    def observe(self, y: np.ndarray) -> np.ndarray:
        """Return the mask of one class in these rows: of the named positive label, or of all but the first label."""
        if self.positive is not None:
            positive = is_label(y, self.positive)
            self._meet(y, positive, self.positive)
            self._meet(y, ~positive, None)
            return positive
        if not self.found:
            self.found.append(label_value(y[0]))
        other = ~is_label(y, self.found[0])
        if other.any():
            if len(self.found) == 1:
                self.found.append(label_value(y[other.argmax()]))
            third = other & ~is_label(y, self.found[1])
            if third.any():
                raise ArgumentError(
                    "{}: the labels {}, {} and {} are more than two: name the positive one with {positive=}, and all "
                    "others are negative.",
                    *(self.name, *map(repr, (*self.found, label_value(y[third.argmax()])))),
                )
        return other

    def _meet(self, y: np.ndarray, members: np.ndarray, label: str | None) -> None:
        """Add the labels of some rows to the labels found: the named one, or up to two others."""
        for value in map(label_value, _few(y[members])):
            if value not in self.found and (label is not None or len(self._others()) < 2):
                self.found.append(value)

    def _others(self) -> list[Any]:
        return [value for value in self.found if not is_label(np.array([value]), self.positive)[0]]

    def classes(self) -> tuple[Classes, bool]:
        """Return the classes, and whether the masks of `observe` mark the negative class."""
        if self.positive is not None:
            others = self._others()
            named = [value for value in self.found if value not in others]
            if not named:
                there = f"are {others[0]!r} and {others[1]!r}" if len(others) > 1 else f"is {others[0]!r}"
                sentence = "{}: no row has the label {} that {positive=} names; there {}."
                raise ArgumentError(sentence, self.name, repr(self.positive), there)
            if not others:
                self._refuse_one_class()
            if len(others) > 1:
                return Classes(REST[str(named[0]) == REST[0]], str(named[0]), rest=True), False
            return Classes(others[0], named[0]), False
        if len(self.found) < 2:
            self._refuse_one_class()
        negative, positive = sorted(self.found)
        return Classes(negative, positive), positive == self.found[0]

    def _refuse_one_class(self) -> NoReturn:
        raise ValueError(f"{self.name}: AUC needs two classes, but every row has the label {self.found[0]!r}.")


def label_value(value: Any) -> Any:
    """Return a label as the simplest Python value: 1 for 1.0, but no integer that is too large for an array."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value


def is_label(y: np.ndarray, label: Any) -> np.ndarray:
    """Return which entries of y are this label; the text of a number, truth value or date is equal to it."""
    text = label_text(label)
    if isinstance(label, np.datetime64):
        cells = y.tolist()
        same = {cell: same_date(label_text(label_value(cell)), label) for cell in set(cells)}
        return np.array([same[cell] for cell in cells], dtype=bool)
    if y.dtype == bool:
        truth = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}.get(text.lower())
        return np.zeros(len(y), dtype=bool) if truth is None else y == truth
    if y.dtype.kind in "iuf":
        return np.isin(y, _numbers(label, text))
    return y == text


def _numbers(label: Any, text: str) -> list[float]:
    """Return a label as a double: its own value, and the value of its text, which differs for a half float of 0.1."""
    found = []
    for spelling in (label, text):
        with suppress(TypeError, ValueError, OverflowError):
            found.append(float(spelling.replace(MINUS, "-") if isinstance(spelling, str) else spelling))
    return found


def _few(y: np.ndarray) -> np.ndarray:
    """Return the first label, and the first that differs from it if there is one."""
    return y[:1] if len(y) == 0 or (y == y[0]).all() else y[[0, int((y != y[0]).argmax())]]


def label_text(label: Any) -> str:
    """Return the text of a label: dates as in ISO 8601, numbers with as few digits as they need.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.files.labels import label_text
    >>> label_text(np.datetime64("2021-01-01", "ns")), label_text(np.float16(0.1))
    ('2021-01-01', '0.1')
    """
    if isinstance(label, np.datetime64):
        date, _, time = str(label).partition("T")
        time = time.rstrip("0").rstrip(".") if "." in time else time
        return date if not time.strip("0:") else f"{date}T{time}"
    return label.decode(errors="backslashreplace") if isinstance(label, bytes) else str(label)


def show_label(label: Any) -> str:
    """Return a label for a message: a number, or all else in quotes."""
    text = label_text(label)
    return text if isinstance(label, (bool, int, float, np.number, np.bool_)) else repr(text)


def same_date(text: str, label: np.datetime64) -> bool:
    """Return whether the text of a cell is a date, in any of its spellings, with any number of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.files.labels import same_date
    >>> same_date("2021-01-01 00:00:00.000", np.datetime64("2021-01-01")), same_date("1", np.datetime64("2021-01-01"))
    (True, False)
    """
    own = label_text(label)
    return text == own or (_read_date(own) is not None and _read_date(text) == _read_date(own))


def _read_date(text: str) -> tuple[Any, ...] | None:
    """Return the parts of a date; the default is the first day of the year, and midnight."""
    found = DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day, *clock, fraction = found.groups()
    return int(year), month or "01", day or "01", *(part or "00" for part in clock), (fraction or "").rstrip("0")
