"""A published figure beside the measured one."""

from __future__ import annotations

from typing import NamedTuple

from ..study import Reason, Value
from .criterion import BETTER, UNDECIDABLE, WORSE, Judgement

# Why a published value was not measured.
ABSENT = ("no data", "failed", "not run")
# A value that is lower than published by more than this needs a reason, even where noise hides whether it is worse.
LAG = 0.01


class Cell(NamedTuple):
    """A method on a data set by one metric.

    Attributes
    ----------
    data, method, metric : str
        Labels of the study.
    published : Value or None
        The published value, as it is meant.
    printed : Value or None
        The published value as it is printed, if it is meant otherwise.
    measured : Value or None
        Mean and standard deviation over the runs (None for a single one), and the mark of our own test.
    median : float or None
        The median over the runs, which times are compared by: one that something else slowed does not move it.
    runs : int
        Number of runs.
    absence : str
        Why nothing was measured, in a sentence.
    absent : str
        The same in a word, one of `ABSENT`.
    repeated : bool
        Whether another study has the same published value. It is counted there.
    judgement : Judgement or None
        The comparison of the two values; None if there is nothing to compare, or no interval.
    unjudged : str
        Why there is no judgement, though there are two values.
    substituted : float or None
        The share of the other methods of the row whose measured values agree with this published one, among those for
        which this can be decided.
    reasons : tuple of Reason
        Why the value is better or worse, as far as runs show it.
    no_chance : bool
        Whether repeats of all runs show that the difference is not due to chance.
    """

    data: str
    method: str
    metric: str
    published: Value | None = None
    printed: Value | None = None
    measured: Value | None = None
    median: float | None = None
    runs: int = 0
    absence: str = ""
    absent: str = ""
    repeated: bool = False
    judgement: Judgement | None = None
    unjudged: str = ""
    substituted: float | None = None
    reasons: tuple[Reason, ...] = ()
    no_chance: bool = False

    @property
    def difference(self) -> float | None:
        """Measured minus published."""
        return self.measured.mean - self.published.mean if self.measured and self.published else None

    @property
    def verdict(self) -> str:
        """The verdict on the published value, one of `OUTCOMES` and `ABSENT`; "" if there is nothing to judge."""
        if self.published is None or self.metric == "seconds":
            return ""
        if self.measured is None:
            return self.absent
        return self.judgement.verdict if self.judgement else UNDECIDABLE

    @property
    def differs(self) -> bool:
        """Whether the value is better or worse than published."""
        return self.verdict in (BETTER, WORSE)

    @property
    def lags(self) -> bool:
        """Whether the value is lower than published by more than `LAG`, though noise does not let us call it worse."""
        return self.verdict == UNDECIDABLE and (self.difference or 0.0) < -LAG

    @property
    def within_noise(self) -> bool:
        """Whether zero is in the interval of the difference, and no repeats show that it is not due to chance."""
        inside = self.judgement is not None and abs(self.judgement.difference) <= self.judgement.margin
        return inside and not self.no_chance

    @property
    def cause(self) -> str:
        """The kind of the first reason for a value that differs or lags, else that there is none; else ""."""
        if not (self.differs or self.lags):
            return ""
        if self.reasons:
            return self.reasons[0].cause
        return "within the noise" if self.within_noise else "unexplained"

    @property
    def why_undecidable(self) -> str:
        """Why the value is not decidable; "" if it is."""
        return self.judgement.why if self.judgement else self.unjudged
