"""The choice among candidates, and the AUC of the choice itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import CLASSES, skewed
from scipy import sparse
from sklearn.model_selection import KFold, ShuffleSplit

from aucmax import AUCClassifier, roc_auc
from aucmax.rows.memory import MemoryRows
from aucmax.search import choice
from aucmax.search.choice import Choices, choose_scaling
from aucmax.search.held_out import TestSets
from aucmax.search.pool import LossPath
from aucmax.search.rounds import make_rounds
from aucmax.solvers.candidate import Candidate


def choices_of(cv=3, n=90, n_candidates=5, n_rounds=2, seed=0):
    """Candidates of random held-out scores, some better than others."""
    rng = np.random.default_rng(seed)
    X, y = skewed(n=n)
    rows = MemoryRows(X, y, CLASSES)
    rounds = make_rounds(cv, rows, n_rounds)
    tests = TestSets(rows.targets, rounds)
    truth = y[np.concatenate(tests.rows)]
    scores = rng.standard_normal((n_candidates, len(truth))) + np.linspace(0.5, 1, n_candidates)[:, None] * truth
    candidates = [Candidate(10.0**-k, loss="squared", standardize=True) for k in range(n_candidates)]
    models = np.zeros((len(tests.rows), n_candidates, 1))
    return Choices(
        [LossPath(candidates, models, scores, np.ones(n_candidates), tests.auc(scores))], tests, rounds, True
    )


def greedy_by_hand(choices, judge):
    """Return the shares of a greedy search that computes every AUC anew."""
    tests = choices.tests
    truth = [np.arange(c - a) < b - a for a, b, c in tests.edges]  # positives first

    def auc(blend):
        scores = choices.scores[blend].sum(axis=0)
        aucs = [roc_auc(y, scores[a:c]) for y, (a, _, c) in zip(truth, tests.edges, strict=True)]
        return np.dot(judge, aucs)

    alone = [auc([k]) for k in range(len(choices.scores))]
    best = np.argsort(-np.array(alone), kind="stable")[: choice.N_BEST]
    taken, path = [best[0]], [alone[best[0]]]
    for _ in range(choice.N_ADDED):
        aucs = [auc([*taken, k]) for k in best]
        taken.append(best[np.argmax(aucs)])
        path.append(max(aucs))
    winner = taken[: int(np.argmax(path)) + 1]
    return np.bincount(winner, minlength=len(alone)) / len(winner)


@pytest.mark.parametrize("n_best", [12, 3])
def test_choose_is_a_greedy_search_by_hand(monkeypatch, n_best):
    monkeypatch.setattr(choice, "N_BEST", n_best)
    choices = choices_of()
    judges = np.array([np.full(6, 1 / 6), [1, 1, 0, 0, 0, 0], [0, 0, 0, 0.8, 0.8, -0.6]])
    found = choices.choose(True, judges)
    for row, judge in zip(found, judges, strict=True):
        assert_allclose(row, greedy_by_hand(choices, judge))
    assert_array_equal(choices.choose(True)[0], found[0])
    assert len({tuple(row) for row in found}) > 1
    assert (found > 0).sum(axis=1).max() > 1


def test_choose_the_best_or_the_first_of_a_tie():
    choices = choices_of()
    mean = choices.auc.mean(axis=0)
    assert_array_equal(choices.choose(False)[0], np.arange(5) == mean.argmax())
    choices.auc[:, 1] = mean.max() - 5e-7
    assert_array_equal(choices.choose(False)[0], np.arange(5) == 1)


@pytest.mark.parametrize("seed", range(3))
def test_a_choice_is_not_worse_than_the_best_candidate(seed):
    choices = choices_of(seed=seed)
    mean = choices.auc.mean(axis=0)
    blended = choices.tests.auc(choices.choose(True) @ choices.scores).mean()
    assert blended >= mean.max() - 1e-12
    _, aucs = choices.honest(True, 0.0)
    assert aucs.mean() < blended  # which the choice was made by


@pytest.mark.parametrize("signal", [0.0, 1.0])
def test_honest_choices_are_judged_by_the_other_folds_of_a_round(signal):
    choices = choices_of(cv=4)
    shares, aucs = choices.honest(True, signal)
    own_weight = -0.5 * (1 - signal)
    for k in range(8):
        own = range(4) if k < 4 else range(4, 8)
        judge = np.array([0.0 if j not in own else own_weight if j == k else 1.0 for j in range(8)]) / (3 + own_weight)
        assert_allclose(shares[k], greedy_by_hand(choices, judge))
        a, b, c = choices.tests.edges[k]
        assert aucs[k] == pytest.approx(roc_auc(np.arange(c - a) < b - a, shares[k] @ choices.scores[:, a:c]))


@pytest.mark.parametrize("blended", [True, False])
def test_honest_choices_of_splits_do_not_see_their_test_set(blended):
    sets = np.random.default_rng(0).permutation(80).reshape(4, 20)
    cv = [(np.concatenate([other for other in sets if other is not own]), own) for own in sets]  # 10 rows are in none
    expected, expected_aucs = choices_of(cv).honest(blended, 1.0)  # all signal: nothing is subtracted
    changed = False
    for k in range(4):
        choices = choices_of(cv)
        columns = choices.tests.columns([k])
        choices.scores[:, columns] = -choices.scores[:, columns]
        choices.auc[:] = choices.tests.auc(choices.scores)
        shares, aucs = choices.honest(blended, 1.0)
        assert_array_equal(shares[k], expected[k])
        assert aucs[k] == pytest.approx(1 - expected_aucs[k])
        changed |= (shares != expected).any()
    assert changed


def test_honest_choices_are_not_judged_by_splits_that_share_test_rows():
    """A fold is judged by other folds, and a split whose test rows are in all others not at all."""
    folds = list(KFold(3, shuffle=True, random_state=0).split(np.zeros(90)))
    half = np.arange(45), np.arange(45, 90)
    choices, changed = choices_of([*folds, half]), choices_of([*folds, half])
    _, aucs = choices.honest(True, 0.0)
    assert_array_equal(np.isfinite(aucs), [True, True, True, False])
    changed.scores[:, changed.tests.columns([3])] *= -1
    changed.auc[:] = changed.tests.auc(changed.scores)
    assert_array_equal(changed.honest(True, 0.0)[1][:3], aucs[:3])
    quarters = [(np.arange(60), np.arange(60, 75)), (np.arange(60), np.arange(75, 90))]
    assert np.isfinite(choices_of(quarters).honest(True, 0.0)[1]).all()
    assert np.isnan(choices_of(ShuffleSplit(2, test_size=0.6, random_state=0)).honest(True, 0.0)[1]).all()


def test_honest_choice_of_one_candidate_or_one_split():
    choices = choices_of(n_candidates=1)
    shares, aucs = choices.honest(True, 0.0)
    assert_array_equal(shares, 1)
    assert_allclose(aucs, choices.auc[:, 0])
    _, aucs = choices_of([(np.arange(60), np.arange(60, 90))]).honest(True, 0.0)
    assert np.isnan(aucs).all()


def test_choose_scaling_takes_unscaled_columns_only_if_clearly_better():
    noise = np.array([-0.02, 0.02, 0.0, -0.01, 0.01])
    for gain, expected in ((0.003, True), (0.02, False)):
        aucs = {True: np.full(5, 0.8), False: 0.8 + gain + noise}
        families = []
        for standardize, auc in aucs.items():
            candidates = [Candidate(alpha, loss="squared", standardize=standardize) for alpha in (1.0, 0.1)]
            families.append(LossPath(candidates, *np.empty((3, 0)), np.column_stack([auc, auc - 0.1])))
        equal = np.full(5, 0.2)
        assert choose_scaling(families, equal, 1) is expected
        assert choose_scaling(families[1:], equal, 1) is False
        rising = families[1]._replace(auc=families[1].auc[:, ::-1])  # wants an alpha beyond the grid
        assert choose_scaling([families[0], rising], equal, 1) is True
        assert choose_scaling([families[0], rising], equal, 1, by_default=False) is expected


def test_blend_of_rare_levels_takes_unscaled_columns():
    """Standardising makes the weight of a rare level cheap."""
    rng = np.random.default_rng(0)
    n, levels = 1500, 400
    level = np.minimum(rng.zipf(1.3, n) - 1, levels - 1)
    X = sparse.csr_array((np.ones(n), (np.arange(n), level)), shape=(n, levels))
    X = sparse.hstack([X, sparse.csr_array(rng.standard_normal((n, 3)))]).tocsr()
    effect = rng.standard_normal(levels)
    y = (effect[level] + X[:, [levels]].toarray()[:, 0] + rng.logistic(size=n) > 0).astype(int)
    train = np.arange(n) % 2 == 0
    clf = AUCClassifier().fit(X[train], y[train])
    assert not clf.blend_["standardize"].all()
    assert clf.score(X[~train], y[~train]) > AUCClassifier(standardize=True).fit(X[train], y[train]).score(
        X[~train], y[~train]
    )
