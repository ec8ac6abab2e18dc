"""The folds of a cross-validation, and the rounds that splits make."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import noisy_line
from sklearn.model_selection import KFold

from aucmax import cross_validate_path
from aucmax.rows.folds import deal, deal_folds, permute
from aucmax.rows.memory import MemoryRows
from aucmax.search.rounds import make_rounds


@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
def test_folds_are_dealt_in_rounds(n_folds):
    positive = np.random.default_rng(0).random(3000) < 0.3
    everything = np.ones(3000, dtype=bool)
    folds = deal_folds(positive, everything, n_folds)
    for members in (positive, ~positive):
        rounds = folds[members][: members.sum() // n_folds * n_folds].reshape(-1, n_folds)
        assert_array_equal(np.sort(rounds, axis=1), np.tile(np.arange(n_folds), (len(rounds), 1)))
    usable = np.random.default_rng(1).random(3000) < 0.8
    assert_array_equal(
        deal_folds(positive, usable, n_folds)[usable], deal_folds(positive[usable], everything[usable], n_folds)
    )


@pytest.mark.parametrize("period", [2, 3, 5, 7, 8, 10, 13, 20, 24, 60])
def test_neither_sorted_nor_periodic_rows_fill_a_fold(period):
    n = 6000
    folds = deal_folds(np.arange(n) >= n // 2, np.ones(n, dtype=bool), 5)
    for kind in (np.arange(n) % period, np.arange(n) * period // n):
        for value in range(period):
            share = np.bincount(folds[kind == value], minlength=5) / np.sum(kind == value)
            assert share.max() < 0.4, f"{share} of the rows of kind {value}"


def test_folds_of_one_class_are_refused():
    X, y = noisy_line(150, 6)
    order = np.argsort(y, kind="stable")
    with pytest.raises(
        ValueError, match=r"^The test rows of split 0 of cv are not of two classes, .* stratified folds\.$"
    ):
        cross_validate_path(X[order], y[order], cv=KFold(3))
    with pytest.raises(ValueError, match=r"^The training rows of split 0 of cv are not of two classes"):
        make_rounds([(np.flatnonzero(y == 0), np.arange(len(y)))], MemoryRows(X, y, np.array([0, 1])))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 64, 65, 1000])
def test_permute_permutes_otherwise_for_each_number(count):
    places = [permute(np.arange(count), count, number) for number in range(1, 6)]
    for place in places:
        assert np.array_equal(np.sort(place), np.arange(count))
    if count == 1000:
        shuffled = np.corrcoef([np.arange(count), *places])
        assert np.abs(shuffled - np.eye(6)).max() < 0.12
        together = [np.mean(np.diff(place % 5) == 0) for place in places]  # neighbours may share a fold
        assert 0.15 < np.mean(together) < 0.25


def test_a_file_is_dealt_block_by_block_as_all_rows_are():
    rng = np.random.default_rng(0)
    positive = rng.random(500) < 0.3
    counts = np.array([np.sum(~positive), np.sum(positive)])
    for number in (0, 1, 7):
        whole = deal_folds(positive, np.ones(500, dtype=bool), 5, number)
        for side in (positive, ~positive):
            assert np.ptp(np.bincount(whole[side], minlength=5)) <= 1
        seen, parts = np.zeros(2, dtype=int), []
        for block in np.array_split(positive, [7, 8, 100, 330]):
            folds = np.empty(len(block), dtype=int)
            for c, side in enumerate((~block, block)):
                folds[side] = deal(seen[c] + np.arange(side.sum()), counts[c], 5, number)
                seen[c] += side.sum()
            parts.append(folds)
        assert np.array_equal(np.concatenate(parts), whole)


def test_folds_of_groups_do_not_depend_on_their_type():
    """In a file, groups are text, which sorts otherwise than numbers."""
    rng = np.random.default_rng(0)
    X, y = noisy_line(n=200)
    groups = rng.integers(0, 30, 200)
    parts = [
        make_rounds(4, MemoryRows(X, y, np.unique(y), None, given))[0].parts
        for given in (groups, groups.astype(str), groups.astype(object))
    ]
    for other in parts[1:]:
        assert_array_equal(other, parts[0])
    assert all(len(np.unique(parts[0][groups == group])) == 1 for group in range(30))
