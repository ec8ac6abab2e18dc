"""A study: a published table or figure as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from aucmax.papers.registry import Method

METRICS = ("auc", "accuracy", "f1", "jaccard", "loss", "gap", "seconds")
SCALINGS = {
    "none": "columns as they are",
    "minmax": "columns scaled to [-1, 1] (sparse ones only divided: zeros stay zeros)",
    "standard": "columns scaled to mean 0 and variance 1",
    "unit": "rows scaled to length 1",
    "standard unit": "columns scaled to mean 0 and variance 1, then rows to length 1",
    "centred unit": "columns centred, then rows scaled to length 1",
    "minmax constant": "columns scaled to [-1, 1] (sparse ones only divided: zeros stay zeros), and a column of ones",
    "minmax unit": "columns scaled to [-1, 1] (sparse ones only divided: zeros stay zeros), then rows to length 1",
}


class Protocol(NamedTuple):
    """How the paper measured."""

    scaling: str = "none"  # how rows and columns are scaled, a key of `SCALINGS`
    folds: int = 5  # folds and repetitions of the stratified k-fold of real data
    repeats: int = 1
    inner_folds: int = 5  # folds of each training part, for choosing parameters
    runs: int = 0  # number of draws of generated data
    test_size: float = 0.2  # share of the rows of a draw that is tested on


class StudyMethod(NamedTuple):
    """A method of a study: the entry of the registry, and what the paper does with it."""

    label: str  # the paper's name of it
    method: Method  # the entry, with the paper's grid
    max_rows: int | None = None  # the most training rows it sees
    scaling: str = ""  # how rows and columns are scaled for it, if not as for the others
    # the most candidates that are tried, and the most rows they are tried on, where a fit is dear
    candidates: int | None = None
    tuning_rows: int | None = None
    # the fewest rows that its search begins with, where a parameter that is best on few rows is poor on many
    first_rows: int | None = None
    from_moments: bool = False  # whether it is fitted to the true moments of generated data
    parameter: str = ""  # what the curve's parameter is called in this method, if it has another name there
    constant: bool = False  # whether it is a reference line of a figure and does not depend on the curve's parameter
    per_value: int = 1  # what a value of the curve's parameter is multiplied by in the figure: the iterations of a pass
    same_as: Sequence[str] = ()  # the study in which it was measured already, on the same splits, and its label there


class Subject(NamedTuple):
    """A data set of a study."""

    label: str  # the paper's name of it. In a figure of one method, "PANEL, LINE" makes it a line of a panel.
    name: str = ""  # the catalogue's name of it, if that is another one
    positive: Sequence[Any] = ()  # the labels that are positive; empty for the catalogue's choice
    drop_columns: Sequence[int] = ()  # the columns to leave out
    scaling: str = ""  # the scaling of this data set, if it is not the protocol's
    dense: bool = False  # whether sparse rows are made dense, because some method takes no others
    # if the paper does not say which classes are positive: "halves" where it takes half of them, "one" where it takes
    # one against the rest
    grouping: str = ""
    generator: str = ""  # the function of `aucmax.datasets` that draws the rows of generated data
    options: Mapping[str, Any] = {}  # arguments of the generator
    missing: str = ""  # why the data cannot be had; "" if they can
    # parameters of the methods on these data, such as the number of true features; a method that chooses such a
    # parameter from a grid, or has none of that name, is left as it is
    parameters: Mapping[str, Any] = {}
    candidates: int | None = None  # the most candidates of a grid that are tried on these data, where fits are dear
    tuning_rows: int | None = None  # the most rows that candidates are tried on, likewise
    # values to choose parameters from on these data, in place of those of the methods that choose these parameters
    grid: Mapping[str, Sequence[Any]] = {}
    # the most splits or draws in a standard run, where fits are cheaper or dearer than on other data of this size
    runs: int | None = None
    methods: Sequence[str] = ()  # the labels of the methods that are measured on these data; empty for all
    # how often all runs are repeated with other splits or draws, to see how much their mean depends on these
    repeats: int = 1
    stratified: bool = True  # whether all folds of real data have the same share of positives


class Curve(NamedTuple):
    """What varies along the horizontal axis of a figure."""

    parameter: str  # the name of the parameter
    values: Sequence[float]  # its values
    # what it is a parameter of: "method", "data" (the generator), or "rows" (the number or share of training rows)
    of: str = "method"
    label: str = ""  # the text of the axis; "" for the name of the parameter
    scale: str = "linear"  # "log" or "linear"


class Value(NamedTuple):
    """A published or measured value."""

    mean: float  # the mean over the runs
    std: float | None = None  # their standard deviation, if it is known
    # the sign of a significant difference to the first method: • if the first is better, ◦ if it is worse
    mark: str = ""


class Reason(NamedTuple):
    """Why measured values are better or worse than the published ones, and the run that shows it."""

    text: str  # the reason in a sentence
    # what shows it: another method of the study, on the same data, or the same method on other data, whose label may
    # have "{data}" in it. The page has the figure of this run beside the reason.
    run: str
    data: Sequence[str] = ()  # the labels of what it is said of; empty for all
    methods: Sequence[str] = ()


class Fitted(NamedTuple):
    """Published values that our data were made to match. They are not judged."""

    method: str  # label of the method
    data: str = ""  # label of the data set; "" for all


class Study(NamedTuple):
    """A published table or figure."""

    name: str  # the name of its file
    paper: str  # a key of `aucmax.papers.PAPERS`
    label: str  # what the paper calls it: "Table 2"
    title: str  # what it shows
    metrics: Sequence[str]  # what is measured; the first is what the study is about
    claim: str  # what the paper concludes from it
    note: str  # what is done differently here, and why
    protocol: Protocol  # how the paper measured
    methods: dict[str, StudyMethod]  # the methods by their labels; the first is tested against the others
    subjects: dict[str, Subject]  # the data sets by their labels
    curve: Curve | None  # what varies, for figures
    published: dict[str, dict[tuple[str, str], Value]]  # by metric, then by labels of data and method
    published_runs: int  # number of runs that the published standard deviations are of; 0 if the paper does not say
    # whether the paper's runs are all on one split of the rows: its standard deviations lack the luck of that split
    one_split: bool
    # the values that our data were made to match: moments of generated data, or the choice of the positive classes
    fitted: Sequence[Fitted]
    # by metric, the labels of data and method whose published values another study has, too. They are counted there.
    repeated: Mapping[str, Set[tuple[str, str]]]
    doubled_error: Sequence[str]  # labels of the methods whose published accuracy is one minus half the error
    reasons: Sequence[Reason]  # why measured values are better or worse than the published ones

    def recipes(self) -> dict[tuple[str, str], str]:
        """Return what the results depend on, as text, for each data set ("NAME", "") and each method ("", "NAME")."""
        of_data = f"{self.protocol!r}, {self.curve!r}, {self.metrics!r}"
        texts = {
            (subject.label, ""): f"{_given(subject, 'label', 'missing', 'runs', 'methods', 'repeats')}, {of_data}"
            for subject in self.subjects.values()
        }
        for entry in self.methods.values():
            what = f"{entry.method.name}, {dict(entry.method.grid)!r}"
            texts["", entry.label] = f"{what}, {_given(entry, 'label', 'method', 'same_as', 'per_value')}"
        return texts

    def find_reason(self, data: str, method: str) -> Reason | None:
        """Return why the value of a method on a data set may differ, as the study says."""
        for reason in self.reasons:
            if (not reason.data or data in reason.data) and (not reason.methods or method in reason.methods):
                return reason
        return None


def _given(fields: Any, *left_out: str) -> dict[str, Any]:
    """Return the fields of a named tuple that differ from their defaults: a new field makes no results invalid."""
    defaults = fields._field_defaults
    return {k: v for k, v in fields._asdict().items() if k not in left_out and v != defaults.get(k)}
