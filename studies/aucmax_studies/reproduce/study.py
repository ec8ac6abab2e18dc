"""A study: a published table or figure as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from aucmax.papers.registry import Method

METRICS = ("auc", "accuracy", "f1", "jaccard", "seconds")
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
# Why figures differ. A study file gives these but for the grouping, which is measured.
CAUSES = ("typo", "grouping", "tuning", "protocol", "data", "defect", "chance")


class Protocol(NamedTuple):
    """How the paper measured.

    Attributes
    ----------
    scaling : str
        How rows and columns are scaled, a key of `SCALINGS`.
    folds, repeats : int
        Folds and repetitions of the stratified k-fold of real data.
    inner_folds : int
        Folds of each training part, for choosing parameters.
    runs : int
        Number of draws of generated data.
    test_size : float
        Share of the rows of a draw that is tested on.
    """

    scaling: str = "none"
    folds: int = 5
    repeats: int = 1
    inner_folds: int = 5
    runs: int = 0
    test_size: float = 0.2


class StudyMethod(NamedTuple):
    """A method of a study: the entry of the registry, and what the paper does with it.

    Attributes
    ----------
    label : str
        The paper's name of it.
    method : Method
        The entry, with the paper's grid.
    max_rows : int or None
        The most training rows it sees.
    scaling : str
        How rows and columns are scaled for it, if not as for the others.
    candidates, tuning_rows : int or None
        The most candidates that are tried, and the most rows they are tried on, where a fit is dear.
    first_rows : int or None
        The fewest rows that its search begins with, where a parameter that is best on few rows is poor on many.
    from_moments : bool
        Whether it is fitted to the true moments of generated data.
    parameter : str
        What the curve's parameter is called in this method, if it has another name there.
    constant : bool
        Whether it is a reference line of a figure and does not depend on the curve's parameter.
    same_as : list of str
        The study in which it was measured already, on the same splits, and its label there.
    """

    label: str
    method: Method
    max_rows: int | None = None
    scaling: str = ""
    candidates: int | None = None
    tuning_rows: int | None = None
    first_rows: int | None = None
    from_moments: bool = False
    parameter: str = ""
    constant: bool = False
    same_as: Sequence[str] = ()


class Subject(NamedTuple):
    """A data set of a study.

    Attributes
    ----------
    label : str
        The paper's name of it. In a figure of one method, "PANEL, LINE" makes it a line of a panel.
    name : str
        The catalogue's name of it, if that is another one.
    positive : list
        The labels that are positive; empty for the catalogue's choice.
    drop_columns : list of int
        The columns to leave out.
    scaling : str
        The scaling of this data set, if it is not the protocol's.
    dense : bool
        Whether sparse rows are made dense, because some method takes no others.
    grouping : str
        If the paper does not say which classes are positive: "halves" where it takes half of them, "one" where it takes
        one against the rest.
    generator : str
        The function of `aucmax.datasets` that draws the rows of generated data.
    options : mapping
        Arguments of the generator.
    missing : str
        Why the data cannot be had; "" if they can.
    parameters : mapping
        Parameters of the methods on these data, such as the number of true features; a method that chooses such a
        parameter from a grid, or has none of that name, is left as it is.
    candidates : int or None
        The most candidates of a grid that are tried on these data, where fits are dear.
    tuning_rows : int or None
        The most rows that candidates are tried on, likewise.
    grid : mapping
        Values to choose parameters from on these data, in place of those of the methods that choose these parameters.
    runs : int or None
        The most splits or draws in a standard run, where fits are cheaper or dearer than on other data of this size.
    methods : list of str
        The labels of the methods that are measured on these data; empty for all.
    repeats : int
        How often all runs are repeated with other splits or draws, to see how much their mean depends on these.
    stratified : bool
        Whether all folds of real data have the same share of positives.
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
    parameters: Mapping[str, Any] = {}
    candidates: int | None = None
    tuning_rows: int | None = None
    grid: Mapping[str, Sequence[Any]] = {}
    runs: int | None = None
    methods: Sequence[str] = ()
    repeats: int = 1
    stratified: bool = True


class Curve(NamedTuple):
    """What varies along the horizontal axis of a figure.

    Attributes
    ----------
    parameter : str
        The name of the parameter.
    values : list
        Its values.
    of : str
        What it is a parameter of: "method", "data" (the generator), or "rows" (the number or share of training rows).
    label : str
        The text of the axis; "" for the name of the parameter.
    scale : str
        "log" or "linear".
    """

    parameter: str
    values: Sequence[float]
    of: str = "method"
    label: str = ""
    scale: str = "linear"


class Value(NamedTuple):
    """A published or measured value.

    Attributes
    ----------
    mean : float
        The mean over the runs.
    std : float or None
        Their standard deviation, if it is known.
    mark : str
        The sign of a significant difference to the first method: • if the first is better, ◦ if it is worse.
    """

    mean: float
    std: float | None = None
    mark: str = ""


class Reason(NamedTuple):
    """Why measured values are better or worse than the published ones, and what shows it.

    Attributes
    ----------
    cause : str
        The kind of reason, one of `CAUSES`.
    text : str
        The explanation.
    data, methods : list of str
        The labels it holds for; empty for all.
    witness : str
        Another method of the study, usually an exact minimiser. The reason holds for a value only if that of the
        witness on the same data differs from what is published by as much or more, in the same direction.
    remedy : str
        Another method of the study, which lacks the cause. The reason holds for a value only if that of the remedy on
        the same data differs from what is published by a quarter as much at most, and a paired t-test shows a change.
    alternative : str
        The same method with another choice of something that the paper does not say. The reason holds for a value only
        if what is published lies between it and that of the alternative on the same data, which is no further from it,
        and a paired t-test shows that the two differ.
    remedy_data : str
        Other data of the study that lack the cause: the same method on them is the remedy. "{data}" in it stands for
        the label of the data.
    repeated_data : str
        The same data with all runs repeated (see `Subject`). The reason, chance, holds for a value only if what is
        published lies in the interval that another repeat falls into with a probability of 95%.
    shown_by : str
        What shows the reasons that are found without a study file: the choice of the classes.
    """

    cause: str
    text: str
    data: Sequence[str] = ()
    methods: Sequence[str] = ()
    witness: str = ""
    remedy: str = ""
    alternative: str = ""
    remedy_data: str = ""
    repeated_data: str = ""
    shown_by: str = ""


class Fitted(NamedTuple):
    """Published values that our data were made to match. They are not judged.

    Attributes
    ----------
    method : str
        Label of the method.
    data : str
        Label of the data set; "" for all.
    """

    method: str
    data: str = ""


class Study(NamedTuple):
    """A published table or figure.

    Attributes
    ----------
    name : str
        The name of its file.
    paper : str
        A key of `aucmax.papers.PAPERS`.
    label : str
        What the paper calls it: "Table 2".
    title : str
        What it shows.
    metrics : list of str
        What is measured; the first is what the study is about.
    claim : str
        What the paper concludes from it.
    note : str
        What is done differently here, and why.
    protocol : Protocol
        How the paper measured.
    methods : dict of StudyMethod
        The methods by their labels; the first is tested against the others.
    subjects : dict of Subject
        The data sets by their labels.
    curve : Curve or None
        What varies, for figures.
    published : dict of dict of Value
        By metric, then by labels of data and method.
    published_runs : int
        Number of runs that the published standard deviations are of; 0 if the paper does not say.
    one_split : bool
        Whether the paper's runs are all on one split of the rows: its standard deviations lack the luck of that split.
    fitted : list of Fitted
        The values that our data were made to match: moments of generated data, or the choice of the positive classes.
    contrasts : list of list of str
        Two methods each, whose difference the paper is about.
    repeated : dict of set
        By metric, the labels of data and method whose published values another study has, too. They are counted there.
    win_tie_loss : dict of str
        Wins, ties and losses of the first method as printed, by the label of the other method.
    doubled_error : list of str
        Labels of the methods whose published accuracy is one minus half the error.
    reasons : list of Reason
        Why measured values are better or worse than the published ones.
    unjudged : str
        Why no value is judged, if that is so.
    """

    name: str
    paper: str
    label: str
    title: str
    metrics: Sequence[str]
    claim: str
    note: str
    protocol: Protocol
    methods: dict[str, StudyMethod]
    subjects: dict[str, Subject]
    curve: Curve | None
    published: dict[str, dict[tuple[str, str], Value]]
    published_runs: int
    one_split: bool
    fitted: Sequence[Fitted]
    contrasts: Sequence[Sequence[str]]
    repeated: Mapping[str, Set[tuple[str, str]]]
    win_tie_loss: Mapping[str, str]
    doubled_error: Sequence[str]
    reasons: Sequence[Reason]
    unjudged: str = ""

    @property
    def own_methods(self) -> list[str]:
        """The labels of the methods that the paper itself has published."""
        return [label for label, entry in self.methods.items() if entry.method.paper == self.paper]

    def recipes(self) -> dict[tuple[str, str], str]:
        """Return what the results depend on, as text, for each data set ("NAME", "") and each method ("", "NAME")."""
        of_data = f"{self.protocol!r}, {self.curve!r}, {self.metrics!r}"
        texts = {
            (subject.label, ""): f"{_given(subject, 'label', 'missing', 'runs', 'methods', 'repeats')}, {of_data}"
            for subject in self.subjects.values()
        }
        for entry in self.methods.values():
            what = f"{entry.method.name}, {dict(entry.method.grid)!r}"
            texts["", entry.label] = f"{what}, {_given(entry, 'label', 'method', 'same_as')}"
        return texts

    def reasons_for(self, data: str, method: str) -> list[Reason]:
        """Return why the value of a method on a data set may differ, the most particular reason first."""
        applicable = [
            reason
            for reason in self.reasons
            if (not reason.data or data in reason.data) and (not reason.methods or method in reason.methods)
        ]
        return sorted(applicable, key=lambda reason: bool(reason.data) + bool(reason.methods), reverse=True)


def _given(fields: Any, *left_out: str) -> dict[str, Any]:
    """Return the fields of a named tuple that differ from their defaults: a new field makes no results invalid."""
    defaults = fields._field_defaults
    return {k: v for k, v in fields._asdict().items() if k not in left_out and v != defaults.get(k)}
