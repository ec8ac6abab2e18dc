"""The splits of a cross-validation. Folds are made several times if one round would be too noisy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, check_cv

from ..rows.folds import deal_folds
from ..rows.protocol import InMemoryRows

# Rounds of folds are added until so many rows of the rarer class have been held out.
ENOUGH_HELD_OUT, MAX_ROUNDS = 1000, 2
TEST, TRAIN, UNUSED, BOTH = range(4)  # parts of a round with a single split


class Split(NamedTuple):
    """A training set and a test set, as parts of a round. They overlap only where a user's own splits do."""

    test: tuple[int, ...]  # the parts of the test set
    train: tuple[int, ...]  # the parts of the training set


class Round(NamedTuple):
    """One round of a cross-validation: parts, which are sets of rows that do not overlap, and splits made of them."""

    parts: np.ndarray  # (n_rows,): the part of each row, from 0 to n_parts - 1
    n_parts: int
    splits: tuple[Split, ...]


def make_rounds(cv: Any, rows: InMemoryRows, max_rounds: int = MAX_ROUNDS) -> list[Round]:
    """Return the splits that `cv` makes of the rows; None means 5 folds. All training and test sets have both classes.

    A number of folds gives several rounds, each from another order of the rows, if the rarer class has so few rows that
    one round would be too noisy. If the rows have groups, it means stratified folds that keep groups together. Splits
    that hold out different rows share a round.
    """
    n_folds = 5 if cv is None else cv
    positive, usable, groups = rows.targets.positive, rows.targets.usable, rows.targets.groups
    if isinstance(n_folds, Integral):
        if groups is None:
            n_folds = check_folds(rows.counts.tolist(), int(n_folds))
            splits = tuple(Split((k,), tuple(i for i in range(n_folds) if i != k)) for k in range(n_folds))
            n_rounds = min(max_rounds, count_rounds(int(rows.counts.min())))
            folds = [deal_folds(positive, usable, n_folds, number) for number in range(n_rounds)]
            return [Round(parts, n_folds, splits) for parts in folds]
        cv, groups = StratifiedGroupKFold(int(n_folds)), group_numbers(groups)
    n = len(positive)
    found = [
        (np.arange(n)[train], np.arange(n)[test])  # the splits may be masks
        for train, test in check_cv(cv, positive, classifier=True).split(np.zeros(n), positive, groups)
    ]
    if not found:
        raise ValueError("cv has no splits: it is empty, or a generator that another fit has used up; give a list.")
    for k, pair in enumerate(found):
        for side, members in zip(("training", "test"), pair, strict=True):
            if len(np.unique(positive[members[usable[members]]])) < 2:
                raise ValueError(
                    f"The {side} rows of split {k} of cv are not of two classes, so they have no AUC: "
                    "use stratified folds."
                )
    return [make_round(pairs, n) for pairs in share_rounds(found, n)]


def group_numbers(groups: np.ndarray) -> np.ndarray:
    """Return the number of the group of each row, in the order of their texts.

    Folds depend on this order, and a group is text in a file where it is a number in memory.
    """
    names, members = np.unique(groups, return_inverse=True)
    order = np.argsort([str(name) for name in names.tolist()], kind="stable")
    return np.argsort(order)[members]


def share_rounds(
    pairs: Sequence[tuple[np.ndarray, np.ndarray]], n: int
) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
    """Yield lists of consecutive splits that can share a round.

    These train on all rows that they do not test on, and no row is in two test sets. Any other split is alone.
    """
    run: list[tuple[np.ndarray, np.ndarray]] = []
    tested = np.zeros(n, dtype=bool)
    for train, test in pairs:
        held = np.zeros(n, dtype=bool)
        held[test] = True
        complementary = len(train) + len(test) == n and not held[train].any()
        if run and (not complementary or tested[test].any()):
            yield run
            run, tested = [], np.zeros(n, dtype=bool)
        run.append((train, test))
        if complementary:
            tested[test] = True
        else:
            yield run
            run = []
    if run:
        yield run


def make_round(pairs: Sequence[tuple[np.ndarray, np.ndarray]], n: int) -> Round:
    """Return the round of splits that share one; the rows that are in no test set are one more part."""
    if len(pairs) == 1:
        train, test = (np.isin(np.arange(n), members) for members in pairs[0])
        parts = np.select([train & test, train, test], [BOTH, TRAIN, TEST], UNUSED).astype(np.int16)
        return Round(parts, 4, (Split((TEST, BOTH), (TRAIN, BOTH)),))
    parts = np.full(n, len(pairs), dtype=np.int16)
    for k, (_, test) in enumerate(pairs):
        parts[test] = k
    others = [tuple(i for i in range(len(pairs) + 1) if i != k) for k in range(len(pairs))]
    splits = tuple(Split((k,), rest) for k, rest in enumerate(others))
    return Round(parts, len(pairs) + 1, splits)


def count_rounds(rarer: int) -> int:
    """Return the number of rounds for `rarer` rows of the rarer class."""
    return max(1, min(MAX_ROUNDS, ENOUGH_HELD_OUT // max(rarer, 1)))


def check_folds(counts: Sequence[int], n_folds: int) -> int:
    """Return the number of folds, limited by the number of rows of the two classes."""
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds, got {n_folds}.")
    if sum(counts) < n_folds:
        raise ValueError(f"cv={n_folds} folds need at least {n_folds} rows, got {sum(counts)}.")
    if min(counts) < 2:
        raise ValueError(
            f"Cross-validation needs at least two rows of each class, got {counts[1]} positive and "
            f"{counts[0]} negative: set alpha to a number."
        )
    if min(counts) < n_folds:
        warnings.warn(
            f"The rarer class has only {min(counts)} rows: {min(counts)} folds are used instead of {n_folds}.",
            UserWarning,
            stacklevel=5,
        )
    return min(n_folds, *counts)
