"""The search for parameters: all candidates on few rows, the best on more, the last on all."""

import itertools

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold

from aucmax.compare.tuning import ENOUGH_TEST_ROWS, FACTOR, FEWEST, rank, round_sizes, tune_and_fit
from aucmax.papers.registry import Method


class Noisy(BaseEstimator):
    """Ranks by the first column plus noise of a given strength, and writes down what it was fitted to."""

    def __init__(self, noise, log, fails=False):
        self.noise, self.log, self.fails = noise, log, fails

    def fit(self, X, y):
        self.log.append((self.noise, len(y)))
        if self.fails:
            raise ValueError("it fails")
        return self

    def decision_function(self, X):
        return X[:, 0] + self.noise * np.random.default_rng(0).standard_normal(len(X))


@pytest.fixture
def rows():
    y = np.tile([0, 1, 0, 0], 1_000)
    X = np.random.default_rng(1).standard_normal((4_000, 2))
    X[:, 0] += y
    return X, y


def search(rows, noises, first_rows, n_splits=5, **options):
    log = []
    folds = StratifiedKFold(n_splits, shuffle=True, random_state=0)
    candidates = [{"noise": e} for e in noises]
    ranked = rank(lambda c: Noisy(c["noise"], log, **options), candidates, *rows, folds, first_rows=first_rows)
    return ranked[0]["noise"], log


def test_all_candidates_start_and_few_see_all_rows(rows):
    noises = np.linspace(3, 0, 33).tolist()
    best, log = search(rows, noises, 200)
    assert best == 0
    tried = {size: {noise for noise, n in log if n == size * 4 // 5} for size in (200, 800, 3_200, 4_000)}
    assert [len(each) for each in tried.values()] == [33, 9, FEWEST, FEWEST]
    assert tried[200] == set(noises)
    assert tried[4_000] <= tried[3_200] <= tried[800]
    assert sum(n == 640 for _, n in log) == 9 * 5, "every fold counts where rows are few"


class NeedsRows(Noisy):
    """The fewer the rows, the more noise a short step has; on all 3,200 of a fold the shortest is best."""

    def __init__(self, step, penalty, log):
        self.step, self.penalty, self.log = step, penalty, log

    def fit(self, X, y):
        self.log.append((self.step, self.penalty, len(y)))
        self.noise = abs(np.log2(self.step * len(y) / 25)) + self.penalty
        return self


def test_every_step_stays_to_the_end_with_the_best_penalty_found_so_far(rows):
    log, steps, penalties = [], [2.0**-k for k in range(8)][::-1], [0.2, 0.0, 0.1]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    candidates = [{"penalty": p, "step": s} for p in penalties for s in steps]

    def tried_on_all_rows(every):
        log.clear()
        best = rank(lambda c: NeedsRows(**c, log=log), candidates, *rows, folds, first_rows=200, every=every)[0]
        return best, {(step, penalty) for step, penalty, n in log if n == 3_200}

    best, last = tried_on_all_rows("step")
    assert best == {"step": 2.0**-7, "penalty": 0.0}
    assert last == {(step, 0.0) for step in steps}
    best, last = tried_on_all_rows(None)
    assert best["step"] > 2.0**-7, "halving gave up the step that is best on all rows"
    assert len(last) == FEWEST
    grid = {"step": steps, "penalty": penalties}
    method = Method("x", NeedsRows, grid, parameters={"log": [], "step": 1.0, "penalty": 0.0})
    tuned = tune_and_fit(method, candidates, *rows, folds, 0, first_rows=200)
    assert tuned.parameters == {"step": 2.0**-7, "penalty": 0.0}, "the first parameter of the grid is the step"


def test_one_round_has_all_rows_and_the_first_of_equal_candidates_wins(rows):
    best, log = search(rows, [1.0, 0.0, 0.0], None)
    assert best == 0
    assert {n for _, n in log} == {3_200}
    assert len(log) == 15


def test_folds_are_spared_where_one_has_rows_enough(rows):
    X, y = (np.concatenate([part] * 8) for part in rows)  # 32,000 rows: a fold tests on 6,400
    _, log = search((X, y), [0.0, 1.0], None)
    assert len(y) // 5 > ENOUGH_TEST_ROWS
    assert len(log) == 2


def test_candidates_that_fail_drop_out_and_none_left_is_an_error(rows):
    with pytest.raises(ValueError, match=r"^None of the 2 candidates could be fitted, the last because: it fails$"):
        search(rows, [0.0, 1.0], 200, fails=True)


class FailsFrom(Noisy):
    """Fails where there are many rows."""

    def fit(self, X, y):
        if len(y) >= 1_000 * (1 + self.noise):
            raise ValueError("too many rows")
        return super().fit(X, y)


def test_candidates_that_fail_on_more_rows_give_way_to_the_next_best(rows):
    """Those of least noise rank best, and fail on the most rows."""
    noises = [0.0, 0.1, 0.2, 0.3, 2.0, 2.5, 3.0, 3.5]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    candidates = [{"noise": noise} for noise in noises]
    ranked = rank(lambda c: FailsFrom(c["noise"], []), candidates, *rows, folds, first_rows=200)
    assert [c["noise"] for c in ranked] == [0.3, 2.0, 2.5, 3.0, 3.5], "the three best of two rounds failed in the third"
    tuned = tune_and_fit(
        Method("x", FailsFrom, parameters={"log": [], "noise": 0.0}), candidates, *rows, folds, 0, first_rows=200
    )
    assert tuned.parameters["noise"] == 3.5, "the first that can be fitted to all 4,000 rows"


def test_rounds_grow_by_the_factor():
    sizes = round_sizes(300, 48_000)
    assert sizes[0] == 300
    assert sizes[-1] == 48_000
    assert {b / a for a, b in itertools.pairwise(sizes[:-1])} == {FACTOR}
    assert sizes[-1] <= FACTOR * sizes[-2]
