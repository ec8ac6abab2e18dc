import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    precision_score,
    recall_score,
    roc_auc_score,
)

from aucmax.metrics import roc_auc_ci
from aucmax.report.evaluation import Confusion, evaluate


def binormal(rng, n_negative, n_positive, distance, decimals=None):
    """Scores of two Gaussian classes, rounded to have ties, in random order."""
    positive = rng.permutation(n_negative + n_positive) < n_positive
    scores = rng.normal(size=len(positive)) + distance * positive
    return positive, scores if decimals is None else scores.round(decimals)


@st.composite
def tied_rows(draw):
    """At least two rows of each class, with few distinct scores."""
    n_rows = draw(st.integers(4, 30))
    positive = np.array(draw(st.permutations([True, True, False, False, *draw_bits(draw, n_rows - 4)])))
    values = st.one_of(st.integers(-3, 3).map(float), st.floats(allow_nan=False, allow_infinity=False, width=64))
    return positive, np.array(draw(st.lists(values, min_size=n_rows, max_size=n_rows)))


def draw_bits(draw, n):
    return draw(st.lists(st.booleans(), min_size=n, max_size=n))


@given(tied_rows())
@settings(max_examples=60, deadline=None)
def test_thresholds_against_brute_force(rows):
    positive, scores = rows
    found = evaluate(positive, scores)
    for confusion in (found.best, found.at_zero):
        (tn, fp), (fn, tp) = confusion_matrix(positive, scores > confusion.threshold, labels=[False, True])
        assert confusion[1:] == (tn, fp, fn, tp)
    assert found.at_zero.threshold == 0
    cuts = [-np.inf, *scores]
    rates = [np.mean(scores[positive] > cut) / 2 + np.mean(scores[~positive] <= cut) / 2 for cut in cuts]
    assert found.best.balanced_accuracy == pytest.approx(max(rates))
    assert math.isfinite(found.best.threshold)


def test_evaluate_measures_are_those_of_scikit_learn(rng):
    positive, scores = binormal(rng, 300, 80, 1.0, decimals=1)
    found = evaluate(positive, scores, max_fpr=0.2, confidence_level=0.9)
    assert (found.n_samples, found.n_positive, found.max_fpr, found.confidence_level) == (380, 80, 0.2, 0.9)
    assert found.auc == pytest.approx(roc_auc_ci(positive, scores, confidence_level=0.9))
    assert found.auc.auc == pytest.approx(roc_auc_score(positive, scores))
    assert found.partial_auc == pytest.approx(roc_auc_score(positive, scores, max_fpr=0.2))
    assert found.average_precision == pytest.approx(average_precision_score(positive, scores))
    called = scores > found.best.threshold
    assert found.best.precision == pytest.approx(precision_score(positive, called))
    assert found.best.recall == pytest.approx(recall_score(positive, called))
    assert found.best.balanced_accuracy == pytest.approx(balanced_accuracy_score(positive, called))
    assert found.best.specificity == pytest.approx(recall_score(~positive, ~called))


def test_best_threshold_is_halfway_and_of_several_the_highest():
    positive = np.array([False, True, False, True])
    assert evaluate(positive, [1.0, 2.0, 3.0, 5.0]).best == Confusion(4.0, tn=2, fp=0, fn=1, tp=1)


def test_evaluate_tells_neighbouring_floats_apart():
    one, two = 1 + 2**-52, 1 + 2**-51
    for a, b in ((1.0, one), (one, two), (-two, -one), (0.0, 5e-324), (-1.7e308, 1.7e308), (1.6e308, 1.7e308)):
        assert a <= evaluate([False, False, True, True], [a, a, b, b]).best.threshold < b


def test_evaluate_of_equal_scores_predicts_no_positive():
    found = evaluate([False, False, True, True], [3.0] * 4)
    assert found.best == Confusion(3.0, tn=2, fp=0, fn=2, tp=0)
    assert found.at_zero == Confusion(0.0, tn=0, fp=2, fn=0, tp=2)
    assert math.isnan(found.best.precision)
    assert found.best.to_dict()["precision"] is None


def test_evaluate_ignores_the_order_of_rows(rng):
    positive, scores = binormal(rng, 200, 50, 1.0, decimals=1)
    order = rng.permutation(250)
    first, second = evaluate(positive, scores), evaluate(positive[order], scores[order])
    assert first.to_dict() == second.to_dict()
    for a, b in zip(first.roc, second.roc, strict=True):
        np.testing.assert_array_equal(a, b)


# The curve and its band


@given(tied_rows(), st.sampled_from([0.5, 0.95]))
@settings(max_examples=40, deadline=None)
def test_roc_band_contains_the_curve_and_is_monotone(rows, level):
    curve = evaluate(*rows, confidence_level=level).roc
    assert (curve.fpr[0], curve.tpr[0], curve.fpr[-1], curve.tpr[-1]) == (0, 0, 1, 1)
    for values in curve:
        assert np.all(np.diff(values) >= 0)
        assert values.min() >= 0
        assert values.max() <= 1
    assert np.all(curve.low <= curve.tpr)
    assert np.all(curve.tpr <= curve.high)


def test_roc_curve_of_few_rows_is_whole(rng):
    positive, scores = binormal(rng, 60, 40, 1.0)
    curve = evaluate(positive, scores).roc
    cuts = np.append(np.inf, np.sort(scores)[::-1])
    np.testing.assert_array_equal(curve.fpr, [np.mean(scores[~positive] >= cut) for cut in cuts])
    np.testing.assert_array_equal(curve.tpr, [np.mean(scores[positive] >= cut) for cut in cuts])


@pytest.mark.parametrize("distance", [0.0, 1.5, 4.0])
@pytest.mark.parametrize("decimals", [None, 1])
def test_thinned_roc_curve_keeps_the_area(rng, distance, decimals):
    positive, scores = binormal(rng, 40_000, 4_000, distance, decimals)
    found = evaluate(positive, scores)
    assert len(found.roc.fpr) <= 502
    assert np.trapezoid(found.roc.tpr, found.roc.fpr) == pytest.approx(found.auc.auc, abs=1e-4)


def test_thinned_roc_curve_keeps_both_ends_of_a_long_tie(rng):
    positive, scores = binormal(rng, 40_000, 4_000, 1.0)
    scores[(rng.random(len(scores)) < 0.5) & ~positive] = 0.3
    found = evaluate(positive, scores)
    assert len(found.roc.fpr) <= 502
    assert np.diff(found.roc.fpr).max() == pytest.approx(0.5, abs=0.01)


def test_thinned_roc_curve_of_stairs_keeps_the_area():
    """Of 20 negatives and 20 positives in turn, each step of the curve would be cut at its corner."""
    positive = np.tile(np.repeat([False, True], 20), 500)
    found = evaluate(positive, -np.arange(20_000.0))
    assert np.trapezoid(found.roc.tpr, found.roc.fpr) == pytest.approx(found.auc.auc, abs=1e-4)
    assert len(found.roc.fpr) <= 5_000


@pytest.mark.parametrize(
    ("n_negative", "n_positive", "distance"), [(60, 60, 1.0), pytest.param(400, 50, 1.5, marks=pytest.mark.slow)]
)
def test_roc_band_covers_the_curve_of_the_population(rng, n_negative, n_positive, distance):
    rates = np.array([0.1, 0.2, 0.4])
    truth = ndtr(ndtri(rates) + distance)
    covered = np.zeros((2, 3))
    for _ in range(200):
        curve = evaluate(*binormal(rng, n_negative, n_positive, distance)).roc
        covered[0] += np.interp(rates, curve.fpr, curve.low) <= truth
        covered[1] += truth <= np.interp(rates, curve.fpr, curve.high)
    both = covered.sum(axis=0) / 200 - 1
    assert np.all((both >= 0.88) & (both <= 0.995)), both
    assert np.all(covered / 200 >= 0.93), covered


def test_roc_band_narrows_with_rows_and_widens_with_confidence(rng):
    def width(n_rows, level):
        curve = evaluate(*binormal(np.random.default_rng(0), n_rows, n_rows, 1.0), confidence_level=level).roc
        return np.trapezoid(curve.high - curve.low, curve.fpr)

    assert width(10_000, 0.95) / width(100, 0.95) == pytest.approx(0.1, rel=0.2)
    assert width(1_000, 0.68) / width(1_000, 0.95) == pytest.approx(0.51, rel=0.1)


def test_roc_band_of_perfect_scores_is_wilsons_interval():
    curve = evaluate([False] * 10 + [True] * 10, np.arange(20.0)).roc
    assert curve.low[-1] == pytest.approx(10 / (10 + ndtri(0.975) ** 2))  # Wilson's for ten of ten


# JSON and errors


def test_evaluation_to_dict_is_json_without_the_curve(rng):
    found = evaluate(*binormal(rng, 50, 50, 1.0))
    table = found.to_dict()
    assert json.loads(json.dumps(table, allow_nan=False)) == table
    assert "roc" not in table
    assert table["auc_low"] == found.auc.low
    assert table["best"]["tp"] == found.best.tp
    assert table["at_zero"]["recall"] == found.at_zero.recall


@pytest.mark.parametrize(
    ("positive", "scores", "message"),
    [
        ([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0], "positive must be a vector of booleans, got int64 of shape (4,)."),
        ([[True, False]], [1.0, 2.0], "positive must be a vector of booleans, got bool of shape (1, 2)."),
        ([True, True], [1.0, 2.0], "AUC needs two classes, but positive holds only one class: True."),
        ([True, False], [1.0, math.nan], "contains NaN"),
        ([True, False], [1.0], "inconsistent numbers of samples"),
        ([True, False, False], [1.0, 2.0, 3.0], "at least two rows of each class, got 1 positive and 2 negative."),
    ],
)
def test_evaluate_refuses_bad_input(positive, scores, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        evaluate(positive, scores)
    assert message in str(error.value)


@pytest.mark.parametrize("options", [{"max_fpr": 0}, {"confidence_level": 1}])
def test_evaluate_refuses_options_out_of_range(options):
    with pytest.raises(ValueError, match=rf"{next(iter(options))} must be in \(0, 1[\])], got"):
        evaluate([False, False, True, True], [1.0, 2.0, 3.0, 4.0], **options)


@pytest.fixture
def rng():
    return np.random.default_rng(7)
