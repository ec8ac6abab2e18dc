"""Losses of all training sets at once, against the exact losses of one vector of scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aucmax.losses import find_loss
from aucmax.losses.smooth_auc import SLOPE
from aucmax.rows.memory import MemorySpace
from aucmax.rows.protocol import Targets
from aucmax.search.fold_losses import CURVATURES, N_POINTS, PAIR_LOSSES, PairLoss, RowLoss

# The rounded corner of the hinge is a quarter of a margin wide, and the step of the smooth AUC an eighth.
TOLERANCES = dict.fromkeys(PAIR_LOSSES, 5e-3) | {"hinge": 5e-2, "smooth_auc": 5e-2}


def training_sets(n=400, n_sets=3, seed=0):
    """Scores of several training sets, labels, and weights: a third of the rows is in no training set."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    scores = (rng.standard_normal((n_sets, n)) + 1.2 * positive).astype(np.float32)
    masses = rng.integers(1, 4, (n_sets, n)) * (np.arange(n) % 3 != np.arange(n_sets)[:, None])
    totals = np.stack([masses @ ~positive, masses @ positive], axis=1)
    return scores, positive, masses * np.where(positive, 0.5 / totals[:, 1:], 0.5 / totals[:, :1])


def exact_point(name, scores, positive, weights):
    """Return the exact loss of one training set."""
    totals = np.array([weights[~positive].sum(), weights[positive].sum()])
    space = MemorySpace(Targets(positive, weights, totals))
    if name == "smooth_auc":  # a sigmoid of steeper scores
        point = find_loss("sigmoid")(space, SLOPE * scores.astype(np.float64))
        return point._replace(gradient=SLOPE * point.gradient)
    return find_loss(name)(space, scores.astype(np.float64))


def assert_close(found, expected, tolerance):
    assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("spread", [0.3, 1.0])
@pytest.mark.parametrize("name", PAIR_LOSSES)
def test_pair_losses_are_the_exact_ones(name, spread):
    scores, positive, weights = training_sets()
    scores *= spread
    vectors = np.random.default_rng(1).standard_normal(scores.shape).astype(np.float32) + positive
    point, tolerance = PairLoss(name, positive, weights)(scores), TOLERANCES[name]
    products = point.product(vectors)
    for k in range(len(scores)):
        exact = exact_point(name, scores[k], positive, weights[k])
        assert_allclose(point.values[k], exact.value, rtol=tolerance)
        assert_close(point.slopes[k], exact.gradient, tolerance)
        if name not in ("sigmoid", "smooth_auc", "hinge"):  # which have sizes of curvatures, and that of the corner
            assert_close(products[k], exact.hessian_product(vectors[k].astype(np.float64)), 10 * tolerance)


@pytest.mark.parametrize("name", PAIR_LOSSES)
def test_pair_losses_have_hessians_by_brute_force(name):
    scores, positive, weights = training_sets(n=90)
    step, on_grid = 0.047, np.random.default_rng(2).integers(0, N_POINTS - 1, scores.shape)
    scores = (step * on_grid).astype(np.float32)  # nothing is lost if scores are points of the grid
    scores[:, 0], scores[:, 1] = 0.0, step * (N_POINTS - 1.001)
    vectors = np.random.default_rng(1).standard_normal(scores.shape).astype(np.float32) + positive
    point = PairLoss(name, positive, weights)(scores)
    products = point.product(vectors)
    for k, s in enumerate(scores.astype(np.float64)):
        bend = PAIR_LOSSES[name](s[positive][:, None] - s[~positive], np.array(step))[2]
        masses = 2 * weights[k]
        bend = bend * np.outer(masses[positive], masses[~positive])
        own, cross = np.zeros(len(s)), np.zeros(len(s))
        own[positive], own[~positive] = bend.sum(axis=1), bend.sum(axis=0)
        cross[positive], cross[~positive] = bend @ vectors[k, ~positive], vectors[k, positive] @ bend
        assert_close(point.curvatures[k], own, 2e-3)
        assert_close(products[k], own * vectors[k] - cross, 2e-3)
        margins = s[positive][:, None] - s[~positive]
        assert point.squares[k] == pytest.approx(np.sum(bend * margins**2), rel=2e-3)


def test_row_losses_are_exact():
    scores, positive, weights = training_sets()
    signs = np.where(positive, 1, -1)
    point = RowLoss(positive, weights)(scores)
    p = 1 / (1 + np.exp(signs * scores.astype(np.float64)))
    assert_allclose(point.values, (weights * -np.log1p(-p)).sum(axis=1), rtol=1e-6)
    assert_allclose(point.slopes, -signs * weights * p, rtol=1e-5)
    assert_allclose(point.curvatures, weights * p * (1 - p), rtol=1e-5)
    assert_allclose(point.squares, (point.curvatures * scores**2).sum(axis=1), rtol=1e-5)
    assert_array_equal(point.product(scores), point.curvatures * scores)
    for k in range(len(scores)):  # where the offset is the best one, it is the loss of the exact fits
        offset = -np.sum(point.slopes[k]) / np.sum(point.curvatures[k])
        for _ in range(20):
            shifted = RowLoss(positive, weights)(scores + np.float32(offset))
            offset -= np.sum(shifted.slopes[k], dtype=np.float64) / np.sum(shifted.curvatures[k], dtype=np.float64)
        exact = exact_point("balanced_logistic", scores[k], positive, weights[k])
        assert_allclose(shifted.values[k], exact.value, rtol=1e-6)
        assert_close(shifted.slopes[k], exact.gradient, 1e-5)


@pytest.mark.parametrize("loss", [RowLoss, *(name for name in PAIR_LOSSES)], ids=str)
def test_rows_outside_of_a_training_set_do_not_matter(loss):
    scores, positive, weights = training_sets()
    make = loss if loss is RowLoss else lambda *given: PairLoss(loss, *given)
    outside = (weights == 0) & (np.arange(scores.shape[1]) > 5)  # inside of the range of the scores
    other = np.where(outside, scores[:, ::-1].clip(scores.min(), scores.max()), scores)
    other[:, :2] = scores[:, :2] = scores.min(), scores.max()
    found, expected = (make(positive, weights)(s) for s in (other, scores))
    assert_allclose(found.values, expected.values, rtol=1e-6)
    assert_allclose(found.squares, expected.squares, rtol=1e-6)
    assert_allclose(found.slopes, expected.slopes, rtol=1e-5, atol=1e-9)
    assert not found.slopes[weights == 0].any()
    assert not found.product(np.ones_like(scores))[weights == 0].any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize("name", PAIR_LOSSES)
def test_pair_losses_survive_scores_that_are_not_finite(name, value):
    scores, positive, weights = training_sets(n=50)
    loss = PairLoss(name, positive, weights)
    expected = loss(scores)
    scores[1, :2] = value
    with np.errstate(all="ignore"):
        point = loss(scores)
        assert point.product(scores).shape == scores.shape
    for k in (0, 2):  # other training sets are left alone
        assert point.values[k] == expected.values[k]
        assert_array_equal(point.slopes[k], expected.slopes[k])


def test_every_curvature_is_that_of_its_loss_at_0():
    for name, derivatives in PAIR_LOSSES.items():
        bend = derivatives(np.zeros(1), np.full(1, 0.01))[2][0]
        if bend > 0:
            assert CURVATURES[name] == pytest.approx(bend)
    positive = np.arange(2) == 1
    assert RowLoss(positive, np.full((1, 2), 0.5))(np.zeros((1, 2), np.float32)).curvatures[0, 0] == 0.125
