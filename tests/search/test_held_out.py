"""The held-out scores of test sets: their AUC, and by how much each row moves it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import CLASSES, skewed

from aucmax import roc_auc, roc_auc_ci
from aucmax.rows.memory import MemoryRows
from aucmax.search.choice import interval_of, signal_share
from aucmax.search.held_out import TestSets
from aucmax.search.rounds import make_rounds


@pytest.mark.parametrize("weighted", [False, True])
def test_aucs_of_test_sets(weighted):
    rng = np.random.default_rng(0)
    X, y = skewed(n=90)
    weights = rng.integers(0, 3, 90).astype(float) if weighted else None
    rows = MemoryRows(X, y, CLASSES, weights)
    tests = TestSets(rows.targets, make_rounds(3, rows))
    scores = rng.integers(0, 5, (2, tests.edges[-1, 2])).astype(float)  # with ties
    expected = [
        [roc_auc(y[members], s[a:c], None if weights is None else weights[members]) for s in scores]
        for members, (a, _, c) in zip(tests.rows, tests.edges, strict=True)
    ]
    assert_allclose(tests.auc(scores), expected, atol=1e-12)


@pytest.mark.parametrize(("weighted", "grouped"), [(False, False), (True, True)])
def test_influences_are_derivatives_of_the_mean_auc(weighted, grouped):
    rng = np.random.default_rng(0)
    n, X, y = 40, *skewed(n=40)
    weights = rng.integers(1, 4, n).astype(float)
    groups = np.arange(n) // 4 if grouped else np.arange(n)
    rows = MemoryRows(X, y, CLASSES, weights if weighted else None, groups if grouped else None)
    rounds = make_rounds(3, MemoryRows(X, y, CLASSES), 2)
    weights, tests = weights if weighted else np.ones(n), TestSets(rows.targets, rounds)
    scores = rng.integers(0, 9, tests.edges[-1, 2]).astype(float)  # with ties

    def mean_auc(weights):
        edges = zip(tests.rows, tests.edges, strict=True)
        return np.mean([roc_auc(y[members], scores[a:c], weights[members]) for members, (a, _, c) in edges])

    # A row counts from the mean of all test sets, and not of its own, in which the derivatives sum to 0.
    apart, aucs = np.zeros(n), tests.auc(scores[None])[:, 0]
    for members, auc in zip(tests.rows, aucs, strict=True):
        for side in (members[y[members] == c] for c in (0, 1)):
            apart[side] += weights[side] / weights[side].sum() * (auc - aucs.mean()) / len(aucs)
    h, expected = 1e-6, np.zeros(groups.max() + 1)
    for i in range(n):
        up, down = (np.where(np.arange(n) == i, weights * (1 + sign * h), weights) for sign in (1, -1))
        size = len(np.unique(groups[y == y[i]]))  # of which the mean takes one
        expected[groups[i]] += ((mean_auc(up) - mean_auc(down)) / (2 * h) + apart[i]) * np.sqrt(size / (size - 1))
    moves, freedom = tests.influences(scores)
    assert_allclose(moves, expected, atol=1e-8)
    assert freedom == min(len(np.unique(groups[y == c])) for c in (0, 1)) - 1


def test_influences_of_one_test_set_are_the_interval_of_delong():
    X, y = skewed(n=80)
    rows = MemoryRows(X, y, CLASSES)
    tests = TestSets(rows.targets, make_rounds([(np.arange(80), np.arange(80))], rows))
    scores = np.round(X[:, 0], 1)[tests.rows[0]]
    expected = roc_auc_ci(y[tests.rows[0]], scores)
    moves, _ = tests.influences(scores)
    assert_allclose(interval_of(expected.auc, moves, 1.0, 1e9, 2), expected[:3], rtol=1e-7)


def test_interval_of_a_model_that_is_noise_in_part():
    moves = np.array([0.03, -0.04])  # a standard error of 0.05 for models that are given
    reach = 1.959964 * 0.05
    assert [signal_share(auc, 0.9) for auc in (0.4, 0.5, 0.7, 0.9, 0.95)] == pytest.approx([0, 0, 0.5, 1, 1])
    assert signal_share(0.5, 0.5) == 0
    for n_roles, signal, factor in ((2, 1.0, 1.0), (2, 0.5, 1.5), (2, 0.0, 2.0), (3, 0.5, 2.0), (3, 0.0, 3.0)):
        expected = 0.7 + np.sqrt(factor) * reach * np.array([0, -1, 1])
        assert_allclose(interval_of(0.7, moves, signal, 1e9, n_roles), expected, atol=1e-6)
    assert_allclose(interval_of(0.7, moves, 1.0, 4, 2)[1:], 0.7 + 2.776445 * 0.05 * np.array([-1, 1]), atol=1e-6)
    assert interval_of(0.99, moves, 1.0, 9, 2).high == 1.0
    assert interval_of(0.02, moves, 1.0, 9, 2).low == 0.0
