"""What has changed since the training of a model: in its columns, its score and its AUC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..metrics import AUCInterval
from .stability import Stability

STABLE = 0.1  # an index up to here, beyond chance, is usually called stable
OF_LIMIT = 0.2  # the share of rows with new levels that is drift, over the limit of the index


class ColumnDrift(NamedTuple):
    """What has changed in a column.

    Attributes
    ----------
    column : str
        Its name, with what it is of a date.
    kind : str
        What the column is read as.
    stability : Stability or None
        The stability index; None if the model does not know how the numbers of its training rows were distributed.
    expected_missing_share, missing_share : float
        The share of rows without a value, in training and now.
    new_levels : dict
        The levels that no training row had, with their numbers of rows.
    vanished_levels : list of str
        The levels of which five rows or more were to be expected, and that no row has.
    n_outside : int
        Rows with numbers outside of the range of the training rows.
    new_share, expected_new_share : float or None
        The share of rows with new levels among rows with a value, and what rare levels of the training rows let expect;
        None if the column has no levels.
    new_share_low : float or None
        The lower end of the interval of the difference of the two.
    counts : bool
        Whether it counts for the verdict: dates move on by themselves, but not the share of missing ones.
    """

    column: str
    kind: str
    stability: Stability | None
    expected_missing_share: float
    missing_share: float
    new_levels: dict[str, int]
    vanished_levels: list[str]
    n_outside: int
    counts: bool
    new_share: float | None = None
    expected_new_share: float | None = None
    new_share_low: float | None = None

    @property
    def remarks(self) -> list[str]:
        """New and vanished levels and rows outside of the range, in words."""
        found = []
        if self.new_levels:
            levels = first_of([f"{level} ({n:,})" for level, n in self.new_levels.items()])
            found.append(f"new: {levels}: {self.new_share:.1%} of rows, {self.expected_new_share:.1%} expected")
        if self.vanished_levels:
            found.append(f"gone: {first_of(self.vanished_levels)}")
        if self.n_outside:
            found.append(f"{self.n_outside:,} row{'s' if self.n_outside > 1 else ''} outside of the range")
        return found


class Period(NamedTuple):
    """How well the rows of a month are ranked.

    Attributes
    ----------
    month : str
        The month.
    n_samples, n_positive : int
        Number of rows, and of positive ones.
    auc : AUCInterval or None
        The AUC with DeLong's interval; None with fewer than two rows of a class.
    """

    month: str
    n_samples: int
    n_positive: int
    auc: AUCInterval | None


class Drift(NamedTuple):
    """What has changed since the training of a model.

    Attributes
    ----------
    n_samples : int
        Number of new rows.
    score : Stability or None
        The stability index of the score; None if the model does not know the scores that it was calibrated on.
    has_held_out : bool
        Whether these were held-out scores; without cross-validation they are scores of the training rows themselves.
    columns : list of ColumnDrift
        The columns of the table; none if the model was not fitted to a table.
    base_rate, mean_probability : float
        The share of positives that probabilities are for, and the mean probability of the new rows.
    auc : AUCInterval or None
        The AUC of the new rows, if their labels are known.
    promised : AUCInterval or None
        The cross-validated AUC of the training rows with its 95% interval, whose standard error is not kept.
    periods : list of Period
        The AUC by month, if labels and dates are known.
    limit : float
        An index that is more by this than by chance is drift, if its interval says so too. So is a share of rows with
        new levels that is more than expected by a fifth of this, wherever it is in its interval.
    """

    n_samples: int
    score: Stability | None
    columns: list[ColumnDrift]
    base_rate: float
    mean_probability: float
    auc: AUCInterval | None
    promised: AUCInterval | None
    periods: list[Period]
    limit: float
    has_held_out: bool = True

    def status(self, found: Stability | ColumnDrift | None) -> str | None:
        """Return what an index says.

        Parameters
        ----------
        found : Stability, ColumnDrift or None
            The score or a column.

        Returns
        -------
        status : {"stable", "moved", "drift"} or None
            None without an index. For drift, the whole interval must be above what counts as stable too.
        """
        if isinstance(found, ColumnDrift) and (found.new_share_low or 0.0) > OF_LIMIT * self.limit:
            return "drift"
        stability = found.stability if isinstance(found, ColumnDrift) else found
        if stability is None:
            return None
        if stability.excess > self.limit and stability.low > self.border:
            return "drift"
        return "moved" if stability.excess > self.border else "stable"

    @property
    def border(self) -> float:
        """Up to here an index is stable, and above it the whole interval must be for drift."""
        return min(STABLE, self.limit)

    @property
    def auc_loss(self) -> str | None:
        """That the interval of the AUC is wholly below what the fit promised, in words; None if it is not."""
        if self.auc is None or self.promised is None:
            return None
        knows_low = not math.isnan(self.promised.low)
        promised = self.promised.low if knows_low else self.promised.auc
        if not self.auc.high < promised:
            return None
        auc, low, high, _ = self.auc
        what = "the lower end of the cross-validated one" if knows_low else "the cross-validated one"
        return f"the AUC of {auc:.4f} ({low:.4f} to {high:.4f}) is below {promised:.4f}, {what}"

    @property
    def score_note(self) -> str | None:
        """What the score is compared with, if it is not held-out scores, in words."""
        if self.score is None:
            return "the model does not know the scores of its training rows"
        known = "the score is compared with scores of the training rows themselves, since none were held out"
        return None if self.has_held_out else f"{known}: new ones may be closer together"

    @property
    def drifted(self) -> list[str]:
        """What has drifted: the AUC, the score, and columns."""
        named = [("score", self.score), *((each.column, each) for each in self.columns if each.counts)]
        return ["AUC"] * bool(self.auc_loss) + [name for name, each in named if self.status(each) == "drift"]

    @property
    def verdict(self) -> str:
        """What has drifted, and how the AUC fell, in words."""
        loss = f"; {self.auc_loss}" if self.auc_loss else ""
        return "stable" if self.is_stable else f"drift: {', '.join(self.drifted)}{loss}"

    @property
    def is_stable(self) -> bool:
        """Whether nothing has drifted."""
        return not self.drifted

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON.

        Returns
        -------
        content : dict
            Numbers, text, lists and dicts; None for what is not known.
        """
        promised = self.promised
        names = [
            "n_samples",
            "is_stable",
            "drifted",
            "verdict",
            "limit",
            "base_rate",
            "mean_probability",
            "has_held_out",
        ]
        return {
            **{name: getattr(self, name) for name in names},
            "score": None if self.score is None else self._index(self.score) | {"status": self.status(self.score)},
            "drift": [
                {name: value for name, value in each._asdict().items() if name != "stability"}
                | {"new_levels": [{"level": level, "n_samples": n} for level, n in each.new_levels.items()]}
                | {**self._index(each.stability), "status": self.status(each)}
                for each in self.columns
            ],
            **_auc_dict(self.auc),
            "cross_validated_auc": None if promised is None else promised.auc,
            "cross_validated_auc_interval": None if promised is None else [promised.low, promised.high],
            "periods": [each._asdict() | _auc_dict(each.auc) for each in self.periods],
        }

    @staticmethod
    def _index(found: Stability | None) -> dict[str, Any]:
        names = ("psi", "psi_by_chance", "psi_low", "psi_high")
        if found is None:
            return dict.fromkeys(names) | {"cells": []}
        columns = found.labels, found.expected.tolist(), found.actual.tolist()
        keys = "cell", "expected_share", "actual_share"
        cells = [dict(zip(keys, each, strict=True)) for each in zip(*columns, strict=True)]
        return dict(zip(names, (found.psi, found.by_chance, found.low, found.high), strict=True)) | {"cells": cells}


def _auc_dict(auc: AUCInterval | None) -> dict[str, Any]:
    names = ("auc", "auc_low", "auc_high", "auc_standard_error")
    return dict(zip(names, auc or (None,) * 4, strict=True))


def first_of(texts: Sequence[str], n: int = 5) -> str:
    """Return the first of some texts, and how many more there are."""
    return ", ".join(" ".join(text.split()) for text in texts[:n]) + (
        f" and {len(texts) - n:,} more" if len(texts) > n else ""
    )
