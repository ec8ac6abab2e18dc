"""Pairs of columns that act together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, kstest

from aucmax import AdditiveAUCClassifier
from aucmax.tables.pairs import log_chances

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (2000, 5))
TOGETHER = (X[:, 1] * X[:, 3] + 0.3 * X[:, 0] + 0.3 * RNG.standard_normal(2000) > 0).astype(int)
APART = (X[:, 1] ** 2 + X[:, 3] - 0.3 + 0.5 * RNG.standard_normal(2000) > 0).astype(int)


def pairs_of(model):
    return [term.columns for term in model.terms_ if len(term.columns) == 2]


def test_the_pair_that_acts_together_is_found_and_no_other():
    model = AdditiveAUCClassifier("squared", alpha=0.01, pairs="auto").fit(X[:1000], TOGETHER[:1000])
    alone = AdditiveAUCClassifier("squared", alpha=0.01).fit(X[:1000], TOGETHER[:1000])
    assert pairs_of(model) == [(1, 3)]
    assert model.score(X[1000:], TOGETHER[1000:]) > 0.85 > 0.7 > alone.score(X[1000:], TOGETHER[1000:])


@pytest.mark.parametrize("y", [APART, RNG.permutation(TOGETHER)], ids=["additive", "shuffled"])
def test_no_pair_is_found_where_none_acts_together(y):
    assert pairs_of(AdditiveAUCClassifier("squared", alpha=0.01, pairs="auto").fit(X, y)) == []


def test_pairs_by_number_name_and_position():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:300], columns=list("abcde"))
    for pairs, expected in (
        (np.int64(1), [(1, 3)]),
        ([("d", "b")], [(1, 3)]),
        ([(4, 0), ("a", "e")], [(0, 4)]),
        (0, []),
    ):
        model = AdditiveAUCClassifier("squared", alpha=0.01, pairs=pairs).fit(frame, TOGETHER[:300])
        assert pairs_of(model) == expected


def test_a_column_of_a_given_shape_is_in_no_pair():
    model = AdditiveAUCClassifier("squared", alpha=0.01, pairs="auto", monotonic_cst=[0, 1, 0, 0, 0])
    assert pairs_of(model.fit(X, TOGETHER)) == []


def test_the_chance_is_that_of_the_score_test():
    r, h = RNG.standard_normal((4, 3)), RNG.uniform(2, 9, (4, 3))
    for used in (slice(0, 4), slice(1, 4)):
        effects = np.column_stack([np.kron(np.eye(4), np.ones((3, 1))), np.kron(np.ones((4, 1)), np.eye(3))])
        effects = effects.reshape(4, 3, 7)[used].reshape(-1, 7) * np.sqrt(h[used]).reshape(-1, 1)
        target = (r[used] / np.sqrt(h[used])).ravel()
        left = target - effects @ np.linalg.lstsq(effects, target)[0]
        expected = chi2.logsf(left @ left, (len(h[used]) - 1) * 2)
        assert_allclose(log_chances(np.array([r, r[::-1]]), np.array([h, h[::-1]])), expected, rtol=1e-8)
        h[0] = 0.0  # the first row of cells is empty
    assert log_chances(r[None, :1], np.ones((1, 1, 3))) == 0.0


def test_the_chances_of_pairs_that_do_not_act_together_are_even():
    rng, sums = np.random.default_rng(1), []
    for _ in range(300):
        first, second = rng.integers(0, 4, 800), rng.integers(0, 5, 800)
        p = 1 / (1 + np.exp(-0.5 * first + second / 3))
        residuals, curvatures = np.zeros((4, 5)), np.zeros((4, 5))
        np.add.at(residuals, (first, second), (rng.random(800) < p) - p)
        np.add.at(curvatures, (first, second), p * (1 - p))
        sums.append((residuals, curvatures))
    chances = np.exp(log_chances(*map(np.array, zip(*sums, strict=True))))
    assert kstest(chances, "uniform").pvalue > 0.01
