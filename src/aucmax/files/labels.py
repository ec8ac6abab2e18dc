"""The labels of a file: which two there are, and which of them is the positive one.

A file tells its labels row by row, so they are found as the rows come: the mask of a block says which rows have not the
label of the very first row, and the end of the file whether that one was the negative or the positive one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

REST = ("other", "rest")  # names of the other labels; the second where the positive one has the first


class Classes(NamedTuple):
    """The two classes of a problem.

    Attributes
    ----------
    negative, positive : bool, int, float or str
        The labels.
    rest : bool
        Whether every label other than the positive one is negative; `negative` is then only a name.
    """

    negative: Any
    positive: Any
    rest: bool = False

    def mask(self, y: np.ndarray, name: str) -> np.ndarray:
        """Return which labels are positive; `name` is of the file, for the sentence about a strange label."""
        positive = is_label(y, self.positive)
        if not self.rest:
            strange = ~(positive | is_label(y, self.negative))
            if strange.any():
                raise ValueError(
                    f"{name}: the label {label_value(y[strange.argmax()])!r} is neither {self.negative!r} nor "
                    f"{self.positive!r}, the classes of the model."
                )
        return positive

    def array(self) -> np.ndarray:
        """Return what an estimator calls `classes_`."""
        return np.array([self.negative, self.positive])

    @property
    def names(self) -> tuple[str, str]:
        """The two labels as text."""
        return str(self.negative), str(self.positive)


class Labels:
    """The labels seen so far.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    positive : str, default=None
        The positive label, where the user named it; all others are then negative. By default there must be two, and
        the larger is positive.
    found : list, default=()
        The labels that were seen already, in the order of their first rows.

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
        """Return a mask that parts the classes of these rows: the named positives, or all but the first label."""
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
            strange = other & ~is_label(y, self.found[1])
            if strange.any():
                raise ValueError(
                    f"{self.name}: the labels {self.found[0]!r}, {self.found[1]!r} and "
                    f"{label_value(y[strange.argmax()])!r} are more than two: name the positive one with --positive, "
                    "and all others are negative."
                )
        return other

    def _meet(self, y: np.ndarray, members: np.ndarray, label: str | None) -> None:
        """Note the label of some rows: the named one, or up to two others."""
        for value in map(label_value, _few(y[members])):
            if value not in self.found and (label is not None or len(self._others()) < 2):
                self.found.append(value)

    def _others(self) -> list[Any]:
        return [value for value in self.found if not is_label(np.array([value]), self.positive)[0]]

    def classes(self) -> tuple[Classes, bool]:
        """Return the classes, and whether the masks are of the negative one."""
        if self.positive is not None:
            others = self._others()
            named = [value for value in self.found if value not in others]
            if not named:
                raise ValueError(
                    f"{self.name}: no row has the label {self.positive!r} of --positive; there is {others[0]!r}."
                )
            if not others:
                raise ValueError(f"{self.name}: AUC needs two classes, but every row has the label {named[0]!r}.")
            if len(others) > 1:
                return Classes(REST[str(named[0]) == REST[0]], str(named[0]), rest=True), False
            return Classes(others[0], named[0]), False
        if len(self.found) < 2:
            raise ValueError(f"{self.name}: AUC needs two classes, but every row has the label {self.found[0]!r}.")
        negative, positive = sorted(self.found)
        return Classes(negative, positive), positive == self.found[0]


def label_value(value: Any) -> Any:
    """Return a label as the simplest value of Python: 1 for 1.0."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_label(y: np.ndarray, label: Any) -> np.ndarray:
    """Return which entries of y are this label; text that looks like a number or truth value may stand for one."""
    if y.dtype == bool:
        truth = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}.get(str(label).lower())
        return np.zeros(len(y), dtype=bool) if truth is None else y == truth
    if y.dtype.kind in "iuf":
        try:
            return y == float(label)
        except ValueError:
            return np.zeros(len(y), dtype=bool)
    return y == str(label)


def _few(y: np.ndarray) -> np.ndarray:
    """Return the first label, and the first that differs from it: all that anyone asks for."""
    return y[:1] if len(y) == 0 or (y == y[0]).all() else y[[0, int((y != y[0]).argmax())]]
