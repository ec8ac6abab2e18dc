"""Pairs of columns that act together."""

import itertools

import numpy as np
import pandas as pd
import pytest
from additive_data import Problem
from numpy.testing import assert_allclose
from scipy.stats import chi2, norm

from aucmax import TableClassifier
from aucmax.tables.fitting.pairs import rank_pairs, surprises

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (1200, 5))
TOGETHER = (X[:, 1] * X[:, 3] + 0.3 * X[:, 0] + 0.3 * RNG.standard_normal(1200) > 0).astype(int)
NUMBERS = [False] * 5


def pairs_of(model):
    return [term.columns for term in model.terms_ if len(term.columns) == 2]


def cells_of_noise(n, a=4, b=3, effect=0.0):
    """Return the sums of residuals and of p (1 - p) in the cells of n pairs, for labels of main effects alone."""
    rng = np.random.default_rng(1)
    h = rng.uniform(5, 90, (n, a, b))
    main = effect * h * rng.standard_normal((n, a, 1))
    return main + np.sqrt(h) * rng.standard_normal((n, a, b)), h


@pytest.mark.parametrize("used", [slice(0, 4), slice(1, 4)], ids=["all rows of cells", "one is empty"])
def test_the_statistic_is_what_the_main_effects_leave(used):
    """The residuals r / sqrt(h) of the cells, projected on what main effects cannot explain."""
    r, h = cells_of_noise(1, effect=1.0)
    h[:, [k for k in range(4) if k not in range(4)[used]]] = 0.5  # too little to count
    effects = np.column_stack([np.kron(np.eye(4), np.ones((3, 1))), np.kron(np.ones((4, 1)), np.eye(3))])
    Z = effects.reshape(4, 3, 7)[used].reshape(-1, 7) * np.sqrt(h[0, used]).reshape(-1, 1)
    z = (r[0, used] / np.sqrt(h[0, used])).ravel()
    left = z - Z @ np.linalg.lstsq(Z, z)[0]
    freedom = len(z) - np.linalg.matrix_rank(Z)
    expected = norm.isf(chi2.sf(left @ left, freedom))  # Wilson and Hilferty are within .1 of it
    assert_allclose(surprises(r, h), [expected], atol=0.1)


def test_columns_that_do_not_act_together_surprise_as_a_normal_variable():
    found = surprises(*cells_of_noise(2000, 8, 8, effect=0.5))
    assert abs(found.mean()) < 0.06
    assert abs(found.std() - 1) < 0.05


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_the_test_are_those_of_the_rows(weighted, monkeypatch):
    """Each pair is tested on the sums of the rows in its cells."""
    weights = RNG.uniform(0.5, 2, len(X)) if weighted else np.ones(len(X))
    rows = np.column_stack([X[:, :3], RNG.integers(0, 3, len(X))])
    rows[:200, 2] = np.nan
    problem = Problem(rows, TOGETHER, [False, False, False, True], weights=weights)
    p, codes, seen = RNG.uniform(0.1, 0.9, len(X)), problem.rows.X, []

    def spy(r, h):
        seen.extend(zip(r, h, strict=True))
        return surprises(r, h)

    monkeypatch.setattr("aucmax.tables.fitting.pairs.surprises", spy)
    rank_pairs(codes, weights * (TOGETHER - p), weights * p * (1 - p), problem.columns, np.array([0, 2, 3]))
    for (a, b), (r, h) in zip([(0, 2), (0, 3), (2, 3)], seen, strict=True):  # of bins: each has at most 8
        for found, g in ((r, weights * (TOGETHER - p)), (h, weights * p * (1 - p))):
            expected = np.zeros((found.shape[0], found.shape[1]))
            np.add.at(expected, (codes[:, b], codes[:, a]), g)
            assert_allclose(found, expected, atol=1e-9)


def test_the_pair_that_acts_together_is_first():
    problem = Problem(X, TOGETHER, NUMBERS, 64)
    given = problem.rows.X, TOGETHER - 0.5, np.full(len(X), 0.25), problem.columns
    ranked = rank_pairs(*given, np.arange(5))
    assert ranked[0] == (1, 3)
    assert sorted(ranked) == list(itertools.combinations(range(5), 2))
    without = rank_pairs(*given, np.array([0, 3]))
    assert without == [(0, 3)]


def test_exclusive_or_is_found():
    codes = RNG.integers(0, 2, (800, 6))
    y = (codes[:, 2] ^ codes[:, 4]) ^ (RNG.random(800) < 0.1)
    frame = pd.DataFrame(np.where(codes, "x", "o"), columns=list("abcdef"))
    model = TableClassifier(pairs=1, cv=3).fit(frame, y)
    assert pairs_of(model) == [(2, 4)]
    assert model.ladder_["terms"].tolist() == ["lines", "pairs"]
    assert model.ladder_["auc"][0] < 0.6
    assert model.cv_auc_ > 0.85


def test_the_ladder_finds_surfaces_where_columns_act_together():
    model = TableClassifier().fit(X, TOGETHER)
    assert (1, 3) in pairs_of(model)
    assert model.ladder_["auc"][1] < 0.75
    assert model.cv_auc_ > 0.85


def test_pairs_by_number_name_and_position():
    frame = pd.DataFrame(X[:400], columns=list("abcde"))
    for pairs, expected in (
        (np.int64(1), [(1, 3)]),
        ([("d", "b")], [(1, 3)]),
        ([(4, 0), ("a", "e")], [(0, 4)]),
        (0, []),
        ([], []),
    ):
        model = TableClassifier("pairs", pairs=pairs, cv=0).fit(frame, TOGETHER[:400])
        assert pairs_of(model) == expected


def test_a_column_of_a_given_shape_is_in_no_pair():
    model = TableClassifier("pairs", pairs=3, cv=0, monotonic_cst=[0, 1, 0, 0, 0]).fit(X, TOGETHER)
    assert len(pairs_of(model)) == 3
    assert all(1 not in pair for pair in pairs_of(model))
