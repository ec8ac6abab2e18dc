"""From scores to labels and probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from aucmax.rows.memory import MemorySpace
from aucmax.rows.protocol import Targets
from aucmax.rows.summaries.scores import ScoreGrid, ScoreHistogram
from aucmax.search.calibration import calibrate, calibrate_gaussian, fit_line


def make_scores(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.2
    return rng.standard_normal(n) + 1.5 * positive, positive, rng.uniform(0.5, 2, n)


def targets_of(positive, weights=None):
    ones = np.ones(len(positive)) if weights is None else weights
    return Targets(positive, weights, np.array([ones[~positive].sum(), ones[positive].sum()]))


def calibrate_scores(scores, positive, weights=None):
    return calibrate(lambda: ScoreHistogram.of(MemorySpace(targets_of(positive, weights)), scores))


@pytest.mark.parametrize("weighted", [False, True])
def test_calibration_is_the_logistic_fit_with_platts_targets(weighted):
    scores, positive, weights = make_scores()
    weights = weights if weighted else np.ones(len(scores))
    totals = np.array([weights[~positive].sum(), weights[positive].sum()])
    targets = np.where(positive, (totals[1] + 1) / (totals[1] + 2), 1 / (totals[0] + 2))

    def loss(parameters):
        logits = parameters[0] * scores + parameters[1]
        return np.average(np.logaddexp(0, logits) - targets * logits, weights=weights)

    slope, offset = minimize(loss, [1.0, 0.0], tol=1e-12).x
    found = calibrate_scores(scores, positive, weights if weighted else None)
    # The grid is 16 standard deviations in 1,024 cells, which costs about its square.
    assert_allclose(found.slope, slope, rtol=1e-4)
    assert_allclose(found.base_logit, np.log(totals[1] / totals[0]))
    assert_allclose(found.threshold, (found.base_logit - offset) / slope, atol=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_calibration_is_a_stationary_point_up_to_rounding(seed):
    """Close to the optimum the loss is flat: steps that only rounding makes look worse must be taken too."""
    rng = np.random.default_rng(seed)
    x, against = np.linspace(0, 1, 200), rng.poisson(20.0, 200) * np.linspace(2, 0.1, 200)
    towards = rng.poisson(5.0, 200) * np.linspace(0.1, 2, 200) ** 2
    slope, offset = fit_line(x, against, towards)
    total, p = against + towards, expit(slope * x + offset)
    z = x - np.average(x, weights=total * p * (1 - p))
    newton = (total * p - towards) @ z / (total * p * (1 - p) @ z**2)
    assert abs(newton) <= 1e-12 * slope


def test_a_shift_and_a_scale_of_the_scores_pass_through():
    scores, positive, weights = make_scores()
    plain = calibrate_scores(scores, positive, weights)
    moved = calibrate_scores(1e-3 * scores + 50, positive, weights)
    assert_allclose(moved.threshold, 1e-3 * plain.threshold + 50, rtol=1e-12)
    assert_allclose(moved.slope, 1e3 * plain.slope, rtol=1e-6)


def test_score_histograms_add_up_and_keep_outliers():
    scores, positive, weights = make_scores()
    scores[0], scores[1] = 1e6, -1e6
    grid = ScoreGrid(-8.0, 8.0)
    whole = grid.bin(targets_of(positive, weights), scores)
    parts = sum(grid.bin(targets_of(positive[k::3], weights[k::3]), scores[k::3]) for k in range(3))
    assert_allclose(parts, whole, atol=1e-9)
    assert_allclose(whole.sum(axis=1), [weights[~positive].sum(), weights[positive].sum()])
    points = np.linspace(-8, 8, whole.shape[1])
    assert_allclose(points @ whole.sum(axis=0), weights @ np.clip(scores, -8, 8), rtol=1e-9)


@pytest.mark.parametrize("variances", [(1.0, 1.0), (1.0, 4.0), (9.0, 0.25), (0.3, 0.6), (1.0, 1 + 1e-9)])
def test_gaussian_threshold_is_the_best_one(variances):
    means, variances = np.array([-1.0, 1.5]), np.array(variances)
    found = calibrate_gaussian(means, variances, np.array([900.0, 100.0]))
    cuts = np.linspace(-1, 1.5, 200_001)
    accuracy = ndtr((cuts + 1) / variances[0] ** 0.5) + ndtr((1.5 - cuts) / variances[1] ** 0.5)
    assert_allclose(found.threshold, cuts[accuracy.argmax()], atol=2e-5)
    assert_allclose(found.slope, 2.5 / (0.9 * variances[0] + 0.1 * variances[1]))
    assert_allclose(expit(found.base_logit), 0.1)


def test_calibration_of_perfect_and_useless_scores():
    positive = np.arange(40) % 2 == 1
    perfect = calibrate_scores(positive + 0.01 * np.sin(np.arange(40)), positive)
    assert 0 < perfect.threshold < 1
    assert 1 < perfect.slope < 1e4
    assert expit(perfect.slope * (1 - perfect.threshold)) > 0.9
    step = calibrate_scores(positive.astype(float), positive)
    assert_allclose(step.threshold, 0.5, atol=1e-3)
    flat = calibrate_scores(np.full(40, 3.0), positive)
    assert (flat.threshold, flat.slope) == (3.0, 0.0)
    # Scores that are worse than chance must not turn the order of the rows around.
    assert calibrate_scores(~positive + np.sin(np.arange(40)), positive).slope >= 0


def test_calibration_keeps_the_order_with_an_outlier():
    """The mean of the positives is higher, but for one score that lies beyond the grid."""
    positive = np.arange(20_000) % 2 == 1
    scores = 0.1 * np.sin(np.arange(20_000)) - positive
    scores[1] = 3e4
    assert scores[positive].mean() > scores[~positive].mean()
    assert calibrate_scores(scores, positive).slope > 0


def test_scores_that_overflow_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="squares of the scores overflow"):
        calibrate_scores(np.array([-1e200, 1e200, 0.0, 1.0]), np.array([False, True, False, True]))
