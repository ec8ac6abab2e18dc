"""The statistics of the study `peers`, from the file of results alone: means, ranks, intervals and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata, studentized_range

from .competitors import GROUPS

REFERENCE, BASELINE = "AUCClassifier", "LogisticRegressionCV"
N_RESAMPLES = 10_000
MARGIN, N_ERRORS = 0.003, 2  # a difference counts if it is above the margin and above so many standard errors


class Summary(NamedTuple):
    """Means over the splits, of data sets that are complete.

    Attributes
    ----------
    data, halves : list of str
        The data sets, and whether each is for choices ("choice") or judges them ("verdict").
    test_shares : list of float
        The share of test rows in each split of a data set.
    names, families : list of str
        The competitors, and whether each is one of ours ("aucmax"), "linear" or "trees".
    auc : ndarray of shape (n_data, n_competitors)
        Test AUC; NaN if the competitor failed on a split.
    seconds, fit_seconds : ndarray of the same shape
        Times of tuning and the last fit together, and of the last fit alone.
    splits : dict of ndarray
        By data set and competitor, the AUC of each split; those of trees are the first ones.
    failures : dict of str
        By data set and competitor, why it failed.
    """

    data: list[str]
    halves: list[str]
    test_shares: list[float]
    names: list[str]
    families: list[str]
    auc: np.ndarray
    seconds: np.ndarray
    fit_seconds: np.ndarray
    splits: dict[tuple[str, str], np.ndarray]
    failures: dict[tuple[str, str], str]

    @property
    def ranked(self) -> np.ndarray:
        """Whether each competitor is linear."""
        return np.array([family != "trees" for family in self.families])

    def column(self, name: str) -> int:
        """Return the position of a competitor."""
        if name not in self.names:
            raise ValueError(f"There are no results of {name}, with which others are compared: measure it.")
        return self.names.index(name)

    def half(self, half: str) -> Summary:
        """Return the summary of one half of the data sets."""
        rows = [i for i, each in enumerate(self.halves) if each == half]
        listed = {key: [getattr(self, key)[i] for i in rows] for key in ("data", "halves", "test_shares")}
        return self._replace(**listed, **{key: getattr(self, key)[rows] for key in ("auc", "seconds", "fit_seconds")})


def summarize(kept: Mapping[str, Any]) -> Summary:
    """Return the means of all competitors, on the data sets that AUCClassifier and most linear ones were measured on.

    Linear ones that were not measured on all of these are left out; trees, which are not ranked, may lack some.
    """
    tried: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for cell in kept["cells"]:
        tried.setdefault((cell["data"], cell["competitor"]), {})[cell["split"]] = cell

    def complete(data: str, name: str) -> bool:
        return is_complete(tried.get((data, name), {}), n_expected(kept, data, name))

    trees = [name for name in competitor_names(kept) if kept["competitors"][name]["family"] == "trees"]
    linear = [name for name in competitor_names(kept) if name not in trees]
    required = [REFERENCE] if REFERENCE in linear else []
    data = [
        name
        for name in sorted(kept["data"])
        if all(complete(name, each) for each in required)
        and 2 * sum(complete(name, each) for each in linear) > len(linear)
    ]
    names = [name for name in linear if all(complete(each, name) for each in data)] + trees
    if not names or not data:
        raise ValueError("There is no data set yet that all competitors were measured on: measure first.")
    figures, splits, failures = np.full((3, len(data), len(names)), np.nan), {}, {}
    for i, j in np.ndindex(len(data), len(names)):
        key = data[i], names[j]
        if not complete(*key):
            continue
        cells = [cell for _, cell in sorted(tried[key].items())]
        reasons = [cell["failure"] for cell in cells if "failure" in cell]
        if reasons:
            failures[key] = reasons[0]
            continue
        splits[key] = np.array([cell["auc"] for cell in cells])
        tuning, fit = (np.mean([cell[part] for cell in cells]) for part in ("tuning_seconds", "fit_seconds"))
        figures[:, i, j] = splits[key].mean(), tuning + fit, fit
    records = [kept["data"][name] for name in data]
    halves, shares = ([record[key] for record in records] for key in ("half", "test_share"))
    families = [kept["competitors"][name]["family"] for name in names]
    return Summary(data, halves, shares, names, families, *figures, splits, failures)


def competitor_names(kept: Mapping[str, Any]) -> list[str]:
    """Return the competitors that were measured: ours, other linear ones, trees; by name in each group."""
    families = {name: record["family"] for name, record in kept["competitors"].items()}
    measured = {cell["competitor"] for cell in kept["cells"]}
    return sorted(measured, key=lambda name: (GROUPS.index(families[name]), name))


def n_expected(kept: Mapping[str, Any], data: str, competitor: str) -> int:
    """Return the number of splits of a data set that a competitor is measured on."""
    n_splits = kept["data"][data]["splits"]
    is_tree = kept["competitors"][competitor]["family"] == "trees"
    return min(n_splits, kept["protocol"]["tree_splits"]) if is_tree else n_splits


def is_complete(cells: Mapping[int, Mapping[str, Any]], n_splits: int) -> bool:
    """Return whether a competitor was measured on all splits, or failed on one."""
    return set(cells) >= set(range(n_splits)) or any("failure" in cell for cell in cells.values())


# Ranks


def ranks(auc: np.ndarray) -> np.ndarray:
    """Return the ranks on each data set, 1 for the highest AUC; AUCs that are equal to four digits share a rank.

    Competitors that failed share the last one.
    """
    return rankdata(-np.where(np.isnan(auc), -1.0, auc.round(4)), axis=1)


def bootstrap_interval(values: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the 95% bootstrap interval of the mean of each column."""
    drawn = np.random.default_rng(seed).integers(len(values), size=(N_RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975], axis=0)
    return low, high


def critical_difference(n_data: int, n_competitors: int) -> float:
    """Return the difference from which two mean ranks are significantly different by Nemenyi's test, at 5%."""
    q = studentized_range.ppf(0.95, n_competitors, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_competitors * (n_competitors + 1) / (6 * n_data)))


class Estimate(NamedTuple):
    """A mean over data sets with its 95% bootstrap interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of_columns(cls, values: np.ndarray) -> list[Estimate]:
        """Return the estimates of the means of all columns."""
        return [cls(*figures) for figures in zip(values.mean(axis=0), *bootstrap_interval(values), strict=True)]


class Standing(NamedTuple):
    """A competitor beside AUCClassifier.

    Attributes
    ----------
    name : str
        The competitor.
    rank : Estimate or None
        Its mean rank among linear classifiers; None for trees.
    rank_difference : Estimate or None
        Its mean rank less that of AUCClassifier, paired over data sets; None for trees.
    difference : float
        Mean difference to the AUC of AUCClassifier, on splits that both were measured on.
    ratio : float
        Geometric mean of its time over that of AUCClassifier.
    n_data : int
        Number of data sets on which neither failed, over which difference and ratio are.
    """

    name: str
    rank: Estimate | None
    rank_difference: Estimate | None
    difference: float
    ratio: float
    n_data: int


def standings(summary: Summary) -> list[Standing]:
    """Return all competitors beside AUCClassifier, best rank first, trees last."""
    base = summary.column(REFERENCE)
    linear = [name for name, is_ranked in zip(summary.names, summary.ranked, strict=True) if is_ranked]
    placed = ranks(summary.auc[:, summary.ranked])
    own = placed[:, [linear.index(REFERENCE)]]
    rank = dict(zip(linear, Estimate.of_columns(placed), strict=True))
    apart = dict(zip(linear, Estimate.of_columns(placed - own), strict=True))
    rows = []
    for j, (name, differences) in enumerate(zip(summary.names, mean_differences(summary).T, strict=True)):
        both = np.isfinite(differences)
        ratio = geometric_mean(summary.seconds[both, j] / summary.seconds[both, base]) if both.any() else np.nan
        mean = float(differences[both].mean()) if both.any() else np.nan
        rows.append(Standing(name, rank.get(name), apart.get(name), mean, ratio, int(both.sum())))
    return sorted(rows, key=lambda row: row.rank.mean if row.rank else np.inf)


def paired_differences(summary: Summary, data: str, name: str) -> np.ndarray:
    """Return the AUC of a competitor less that of AUCClassifier on each split that both were measured on."""
    theirs, ours = summary.splits[data, name], summary.splits[data, REFERENCE]
    n_splits = min(len(theirs), len(ours))
    return theirs[:n_splits] - ours[:n_splits]


def mean_differences(summary: Summary) -> np.ndarray:
    """Return for each data set and competitor the mean of the paired differences; NaN if one of the two failed."""
    differences = np.full(summary.auc.shape, np.nan)
    for i, j in np.argwhere(np.isfinite(summary.auc) & np.isfinite(summary.auc[:, [summary.column(REFERENCE)]])):
        differences[i, j] = paired_differences(summary, summary.data[i], summary.names[j]).mean()
    return differences


def geometric_mean(values: np.ndarray) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.log(values).mean()))


# One data set at a time


def standard_error(differences: np.ndarray, test_share: float | None = None) -> float:
    """Return the standard error of the mean of differences over splits; NaN for a single split.

    With the share of test rows it is corrected by Nadeau and Bengio (2003). Training sets overlap, so the differences
    of J splits are not independent, and their variance is multiplied by 1/J + n_test / n_train instead of 1/J.
    """
    if len(differences) < 2:
        return np.nan
    overlap = 0.0 if test_share is None else test_share / (1 - test_share)
    return float(differences.std(ddof=1) * np.sqrt(1 / len(differences) + overlap))


class Duel(NamedTuple):
    """AUCClassifier beside the linear rival of the highest AUC on one data set.

    Attributes
    ----------
    data, half : str
        The data set and its half.
    auc : float
        The AUC of AUCClassifier.
    rival : str
        The linear competitor of the highest mean AUC among the others.
    rival_auc : float
        Its AUC.
    difference, error, plain_error : float
        AUCClassifier's AUC less the rival's, its corrected standard error, and that without the correction.
    time_ratio : float
        The time of AUCClassifier over that of LogisticRegressionCV; NaN if that failed.
    """

    data: str
    half: str
    auc: float
    rival: str
    rival_auc: float
    difference: float
    error: float
    plain_error: float
    time_ratio: float

    def is_below(self, error: float) -> bool:
        """Return whether AUCClassifier is below the rival by more than the margin and two of these standard errors."""
        return -self.difference > MARGIN and not -self.difference <= N_ERRORS * error  # of one split the error is NaN


def duels(summary: Summary) -> list[Duel]:
    """Return AUCClassifier beside the best linear rival on each data set where both have a figure."""
    base, baseline = summary.column(REFERENCE), summary.column(BASELINE)
    rivals = np.flatnonzero(summary.ranked & (np.arange(len(summary.names)) != base))
    rows = []
    for i, data in enumerate(summary.data):
        there = [j for j in rivals if np.isfinite(summary.auc[i, j])]
        if not there or np.isnan(summary.auc[i, base]):
            continue
        best = max(there, key=lambda j, i=i: summary.auc[i, j])
        lead = paired_differences(summary, data, summary.names[best])
        rows.append(
            Duel(
                data=data,
                half=summary.halves[i],
                auc=summary.auc[i, base],
                rival=summary.names[best],
                rival_auc=summary.auc[i, best],
                difference=-lead.mean(),
                error=standard_error(lead, summary.test_shares[i]),
                plain_error=standard_error(lead),
                time_ratio=summary.seconds[i, base] / summary.seconds[i, baseline],
            )
        )
    return rows
