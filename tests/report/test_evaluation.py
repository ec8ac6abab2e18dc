import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit, ndtr, ndtri
from scipy.stats import binomtest, ks_2samp, somersd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    precision_recall_curve,
    precision_score,
    recall_score,
    roc_auc_score,
)

from aucmax.metrics import roc_auc_ci
from aucmax.report.evaluation import OWN, _Cuts, evaluate
from aucmax.report.rates import Sample, calibration_line, measure_calibration, measure_rate


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
    for confusion in (found.best, found.thresholds[OWN]):
        (tn, fp), (fn, tp) = confusion_matrix(positive, scores > confusion.threshold, labels=[False, True])
        assert confusion[1:5] == (tn, fp, fn, tp)
    assert found.thresholds[OWN].threshold == 0
    cuts = [-np.inf, *scores]
    rates = [np.mean(scores[positive] > cut) / 2 + np.mean(scores[~positive] <= cut) / 2 for cut in cuts]
    assert found.best.balanced_accuracy.value == pytest.approx(max(rates))
    assert math.isfinite(found.best.threshold)


def test_evaluate_measures_are_those_of_scikit_learn(rng):
    positive, scores = binormal(rng, 300, 80, 1.0, decimals=1)
    found = evaluate(positive, scores, max_fpr=0.2, confidence_level=0.9)
    assert (found.n_samples, found.n_positive, found.max_fpr, found.confidence_level) == (380, 80, 0.2, 0.9)
    assert found.auc == pytest.approx(roc_auc_ci(positive, scores, confidence_level=0.9))
    assert found.auc.auc == pytest.approx(roc_auc_score(positive, scores))
    assert found.partial_auc == pytest.approx(roc_auc_score(positive, scores, max_fpr=0.2))
    assert found.average_precision.value == pytest.approx(average_precision_score(positive, scores))
    called = scores > found.best.threshold
    assert found.best.precision.value == pytest.approx(precision_score(positive, called))
    assert found.best.recall.value == pytest.approx(recall_score(positive, called))
    assert found.best.balanced_accuracy.value == pytest.approx(balanced_accuracy_score(positive, called))
    assert found.best.specificity.value == pytest.approx(recall_score(~positive, ~called))


def test_best_threshold_is_halfway_and_of_several_the_highest():
    positive = np.array([False, True, False, True])
    assert evaluate(positive, [1.0, 2.0, 3.0, 5.0]).best[:5] == (4.0, 2, 0, 1, 1)


def test_evaluate_tells_neighbouring_floats_apart():
    one, two = 1 + 2**-52, 1 + 2**-51
    for a, b in ((1.0, one), (one, two), (-two, -one), (0.0, 5e-324), (-1.7e308, 1.7e308), (1.6e308, 1.7e308)):
        assert a <= evaluate([False, False, True, True], [a, a, b, b]).best.threshold < b


def test_evaluate_of_equal_scores_predicts_no_positive():
    found = evaluate([False, False, True, True], [3.0] * 4)
    assert found.best[:5] == (3.0, 2, 0, 2, 0)
    assert found.thresholds[OWN][:5] == (0.0, 0, 2, 0, 2)
    assert math.isnan(found.best.precision.value)
    assert found.to_dict()["thresholds"][6]["precision"]["value"] is None


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
    assert [each["rule"] for each in table["thresholds"]] == list(found.thresholds)
    assert table["thresholds"][-1]["recall"] == found.thresholds[OWN].recall._asdict()
    assert table["gains"][9]["gain"] == 1
    assert table["calibration"] is None


@pytest.mark.parametrize(
    ("positive", "scores", "message"),
    [
        ([[True, False]], [1.0, 2.0], "y should be a 1d array, got an array of shape (1, 2) instead."),
        ([True, True], [1.0, 2.0], "AUC needs two classes, but y holds only one class: True."),
        ([0, 1, 2], [1.0, 2.0, 3.0], "y holds 3 classes"),
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": math.nan}, "threshold must be a finite number or None, got nan."),
        ({"costs": (-1, 1)}, "costs must be two numbers, of a false positive and of a false negative: none below 0"),
        ({"costs": (0, 0)}, "got (0, 0)."),
        ({"costs": 3}, "got 3."),
        ({"costs": (1, math.inf)}, "got (1, inf)."),
        ({"pos_label": 2}, "pos_label must be one of the classes [0, 1], got 2."),
        ({"probabilities": [0, 0, 1, 1.5]}, "probabilities must be in [0, 1], got 0 to 1.5."),
        ({"probabilities": [0, 1]}, "inconsistent numbers of samples"),
        ({"sample_weight": [0, 0, 1, 1]}, "class 0 has no row with a weight above 0."),
    ],
)
def test_evaluate_refuses_options_in_a_sentence(options, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        evaluate([0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0], **options)
    assert message in str(error.value)


# Labels and weights


def test_any_two_labels_and_pos_label(rng):
    positive, scores = binormal(rng, 60, 40, 1.0, decimals=1)
    expected = evaluate(positive, scores).to_dict()
    assert evaluate(positive.astype(int), scores).to_dict() == expected
    assert evaluate(np.where(positive, "bad", "good"), scores, pos_label="bad").to_dict() == expected
    assert evaluate(positive, scores, pos_label=False).gini.value == pytest.approx(-expected["gini"]["value"])


def everything(found):
    """All point estimates of an evaluation, one after the other."""
    calibration = found.calibration
    return np.concatenate(
        [
            [
                found.auc.auc,
                found.ks.value,
                found.ks_threshold,
                found.partial_auc,
                found.average_precision.value,
                found.base_rate,
            ],
            *(list(confusion[:6]) for confusion in found.thresholds.values()),
            *(list(tenth) for tenth in found.gains),
            [calibration.mean, calibration.brier.value, calibration.slope.value, calibration.intercept.value],
            *([each.rows, each.mean, each.rate.value] for each in calibration.bins),
        ]
    )


@pytest.mark.parametrize("decimals", [None, 1])
def test_weights_are_repetitions_and_zero_leaves_out(rng, decimals):
    positive, scores = binormal(rng, 90, 40, 1.0, decimals)
    weights, p = rng.integers(0, 4, len(scores)), ndtr(scores)
    weighted = evaluate(positive, scores, weights, probabilities=p, costs=(1, 5))
    rows = np.repeat(np.arange(len(scores)), weights)
    repeated = evaluate(positive[rows], scores[rows], probabilities=p[rows], costs=(1, 5))
    np.testing.assert_allclose(everything(weighted), everything(repeated), rtol=1e-7)
    assert weighted.n_samples == np.count_nonzero(weights)


def test_scale_of_weights_changes_no_rate_and_no_interval(rng):
    positive, scores = binormal(rng, 90, 40, 1.0, 1)
    weights, p = rng.uniform(0.1, 3, len(scores)), ndtr(scores)
    one, other = (evaluate(positive, scores, c * weights, probabilities=p) for c in (1, 1e6))
    for rule, found in one.thresholds.items():
        assert found.threshold == other.thresholds[rule].threshold
        np.testing.assert_allclose(np.array(found[1:5]) * 1e6, other.thresholds[rule][1:5], atol=1e-3)
        for rate, same in zip(found[6:12], other.thresholds[rule][6:12], strict=True):
            assert rate == pytest.approx(same, nan_ok=True)
    assert one.calibration.slope == pytest.approx(other.calibration.slope, rel=1e-6)
    for a, b in zip(one.calibration.bins, other.calibration.bins, strict=True):
        assert a.rate == pytest.approx(b.rate)
    np.testing.assert_allclose(one.roc.low, other.roc.low, atol=1e-9)


# Thresholds, gains and KS


@given(tied_rows(), st.data())
@settings(max_examples=60, deadline=None)
def test_threshold_table_against_brute_force(rows, data):
    """Each rule takes the most rows that it may: of all sets of rows above some threshold."""
    positive, scores = rows
    weights = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(scores), max_size=len(scores))))
    found = evaluate(positive, scores, weights, costs=(2, 3), threshold=1.0)
    called = [scores > cut for cut in (-np.inf, *scores)]
    fp, tp = ([int(weights[rows & which].sum()) for rows in called] for which in (~positive, positive))
    negatives, total = weights[~positive].sum(), weights.sum()
    for percent in (1, 5, 10):
        within = [n for n in fp if 100 * n <= percent * negatives]
        most = max(p + n for p, n in zip(tp, fp, strict=True) if n in within)
        assert found.thresholds[f"false positive rate {percent}%"].called == most
        within = max(p + n for p, n in zip(tp, fp, strict=True) if 100 * (p + n) <= percent * total)
        assert found.thresholds[f"top {percent}%"].called == within
    cost = min(2 * n + 3 * (weights[positive].sum() - p) for p, n in zip(tp, fp, strict=True))
    assert found.thresholds["lowest cost, 2 : 3"].cost == cost
    for confusion in found.thresholds.values():
        rule = scores > confusion.threshold
        assert confusion.tp == weights[rule & positive].sum()
        assert confusion.fp == weights[rule & ~positive].sum()
        assert confusion.called + confusion.tn + confusion.fn == total
        assert confusion.fpr.value == pytest.approx(1 - confusion.specificity.value)


def test_exact_percents_are_reached():
    """0.07 * 100 is more than 7 in floating point, and 0.29 * 100 less than 29: here all are reached."""
    positive = np.arange(1100) >= 1000
    found = evaluate(positive, np.random.default_rng(0).permutation(1100)).thresholds
    assert [found[f"false positive rate {percent}%"].fp for percent in (1, 5, 10)] == [10, 50, 100]
    assert [found[f"top {percent}%"].called for percent in (1, 5, 10)] == [11, 55, 110]
    tenths = evaluate(positive, np.arange(1100.0), np.full(1100, 0.1)).thresholds
    assert tenths["top 10%"].called == pytest.approx(11)


def test_thresholds_never_split_ties():
    scores = [5.0] * 2 + [4.0] * 3 + list(np.linspace(-1, 0, 45))
    found = evaluate([1, 0, 1, 0, 0, 1] + [0] * 44, scores).thresholds
    assert found["top 10%"].called == 5
    assert found["top 5%"].called == 2
    assert found["top 1%"][:5] == (5.0, 47, 0, 3, 0)
    assert found["false positive rate 5%"].called == 2, "a third negative would be 3 of 47"


def test_without_a_threshold_of_the_model_there_is_no_row_for_it():
    found = evaluate([0, 0, 1, 1], [1, 3, 2, 4], threshold=None)
    assert OWN not in found.thresholds
    assert not any(rule.startswith("lowest cost") for rule in found.thresholds)


def test_if_false_positives_cost_nothing_all_rows_are_called():
    found = evaluate([0, 0, 1, 1], [1, 3, -2, 4], costs=(0, 1))
    assert found.thresholds["lowest cost, 0 : 1"][:5] == (math.nextafter(-2, -3), 0, 2, 0, 2)
    assert found.to_dict()["thresholds"][7]["cost"] == 0


@pytest.mark.parametrize("distance", [1.0, 0.0, -1.0])
def test_ks_and_gini_are_those_of_scipy_and_of_somers(rng, distance):
    positive, scores = binormal(rng, 300, 100, distance, decimals=1)
    found = evaluate(positive, scores)
    test = ks_2samp(scores[positive], scores[~positive])
    assert found.ks.value == pytest.approx(test.statistic)
    above = scores > found.ks_threshold
    assert abs(above[positive].mean() - above[~positive].mean()) == pytest.approx(found.ks.value)
    sample = Sample(positive, scores, None, None, None)
    rates = [measure_rate(sample, above, side, 0.95) for side in (positive, ~positive)]
    one, other = sorted(rates, reverse=True)  # Newcombe's interval of the difference
    low = found.ks.value - math.hypot(one.value - one.low, other.high - other.value)
    high = found.ks.value + math.hypot(one.high - one.value, other.value - other.low)
    assert (found.ks.low, found.ks.high) == pytest.approx((low, high))
    assert found.gini.value == pytest.approx(somersd(positive, scores).statistic)
    assert found.gini.low == pytest.approx(2 * found.auc.low - 1)


def test_average_precision_moves_as_one_row_more_weighs_more(rng):
    """The interval is made of derivatives by the weight of each row; here they are finite differences."""
    positive, scores = binormal(rng, 40, 20, 1.0, decimals=1)
    weights, step = rng.uniform(0.5, 2, 60), 1e-6
    moves = [
        w
        * np.diff([average_precision_score(positive, scores, sample_weight=weights + sign * row) for sign in (-1, 1)])[
            0
        ]
        for w, row in zip(weights, step * np.eye(60), strict=True)
    ]
    found = evaluate(positive, scores, weights).average_precision
    reach = ndtri(0.975) * np.linalg.norm(moves) / (2 * step)
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach), rel=1e-5)


def test_intervals_of_average_precision_and_brier_cover_the_truth(rng):
    """The truth is of 400,000 rows. The average precision of few rows is too high: by 0.01 of 400 here."""

    def measure(n):
        positive = rng.random(n) < 0.2
        scores = rng.normal(size=n) + positive
        order = np.argsort(scores)
        sample = Sample(positive, scores, None, expit(scores - 0.5 + math.log(0.25)), None).take(order)
        return _Cuts.of(sample).average_precision(sample, 0.95), measure_calibration(sample, 0.95).brier

    truth, covered = measure(400_000), np.zeros(2)
    for _ in range(200):
        covered += [ours.low <= true.value <= ours.high for ours, true in zip(measure(1600), truth, strict=True)]
    assert np.all((covered >= 0.9 * 200) & (covered <= 0.99 * 200)), covered


def test_gains_of_tied_scores_are_expected_values(rng):
    """Ties in random order, drawn many times, have these gains in the mean."""
    positive, scores = binormal(rng, 140, 60, 1.0, decimals=0)
    found = evaluate(positive, scores).gains
    drawn = []
    for _ in range(4_000):
        order = np.lexsort([rng.random(200), -scores])
        drawn.append(positive[order].reshape(10, 20).sum(axis=1))
    np.testing.assert_allclose([each.positives for each in found], np.mean(drawn, axis=0), atol=0.2)
    assert [each.rows for each in found] == [20] * 10
    total = np.cumsum([each.positives for each in found])
    np.testing.assert_allclose([each.gain for each in found], total / 60)
    np.testing.assert_allclose([each.lift for each in found], [each.positives / 20 / 0.3 for each in found])
    np.testing.assert_allclose([each.total_lift for each in found], total / np.arange(20, 201, 20) / 0.3)


def test_gains_of_distinct_scores_are_counts(rng):
    positive, scores = binormal(rng, 140, 60, 1.0)
    counts = positive[np.argsort(-scores)].reshape(10, 20).sum(axis=1)
    np.testing.assert_allclose([each.positives for each in evaluate(positive, scores).gains], counts, atol=1e-9)


def test_precision_recall_curve_has_the_points_of_scikit_learn(rng):
    positive, scores = binormal(rng, 60, 20, 1.0, decimals=1)
    recall, precision = evaluate(positive, scores).precision_recall
    precisions, recalls, _ = precision_recall_curve(positive, scores)
    ours = {(round(r, 9), round(p, 9)) for r, p in zip(recall, precision, strict=True)}
    theirs = {(round(r, 9), round(p, 9)) for r, p in zip(recalls[:-1], precisions[:-1], strict=True)}
    assert theirs <= ours


# Calibration


def test_calibration_line_maximises_the_likelihood(rng):
    positive, scores = binormal(rng, 300, 100, 1.0)
    weights, p = rng.uniform(0.2, 3, 400), expit(0.7 * scores - 0.3)
    found = evaluate(positive, scores, weights, probabilities=p).calibration
    line = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(logit(p)[:, None], positive, weights)
    assert found.slope.value == pytest.approx(line.coef_[0, 0], rel=1e-5)
    assert found.intercept.value == pytest.approx(line.intercept_[0], rel=1e-4, abs=1e-5)
    assert found.brier.value == pytest.approx(brier_score_loss(positive, p, sample_weight=weights))
    assert found.mean == pytest.approx(np.average(p, weights=weights))


def test_calibration_intervals_cover_the_truth(rng):
    covered = np.zeros(2)
    for _ in range(300):
        x = rng.normal(size=400)
        positive = rng.random(400) < expit(0.8 * x + 0.2)
        slope, intercept = calibration_line(Sample(positive, x, None, None, None), expit(x), 0.95)
        covered += [slope.low <= 0.8 <= slope.high, intercept.low <= 0.2 <= intercept.high]
    assert np.all((covered / 300 >= 0.91) & (covered / 300 <= 0.985)), covered


@pytest.mark.parametrize("probabilities", [[0, 0, 1, 1], [0.5] * 4, [0.2, 0.4, 0.4, 0.9], [0.9, 0.8, 0.1, 0.2]])
def test_calibration_line_that_does_not_exist_is_nan(probabilities):
    found = evaluate([0, 0, 1, 1], [1, 3, 2, 4], probabilities=probabilities)
    assert math.isnan(found.calibration.slope.value)
    assert found.to_dict()["calibration"]["intercept"] == {"value": None, "low": None, "high": None}
    assert math.isfinite(found.calibration.brier.value)


def test_calibration_bins_have_equally_many_rows_and_wilsons_intervals(rng):
    positive, scores = binormal(rng, 300, 100, 1.0)
    p = expit(scores)
    bins = evaluate(positive, scores, probabilities=p).calibration.bins
    order = np.argsort(p).reshape(10, 40)
    assert [each.rows for each in bins] == [40] * 10
    np.testing.assert_allclose([each.mean for each in bins], p[order].mean(axis=1))
    for each, rows in zip(bins, positive[order], strict=True):
        expected = binomtest(int(rows.sum()), 40).proportion_ci(method="wilson")
        assert each.rate == pytest.approx((rows.mean(), expected.low, expected.high))


def test_equal_probabilities_are_in_one_bin(rng):
    positive, scores = binormal(rng, 300, 100, 1.0)
    bins = evaluate(positive, scores, probabilities=np.where(scores > 0, 0.75, 0.25)).calibration.bins
    assert [(each.mean, each.rows) for each in bins] == [(0.25, (scores <= 0).sum()), (0.75, (scores > 0).sum())]


def test_a_tied_bin_is_where_the_middle_of_its_rows_is():
    p = np.concatenate([np.linspace(0, 0.2, 30), np.full(35, 0.5), np.linspace(0.8, 1, 35)])
    bins = evaluate(np.arange(100) % 3 == 0, p, probabilities=p).calibration.bins
    assert [each.rows for each in bins] == [10, 10, 10, 35, 5, 10, 10, 10]


# Groups


def test_parts_are_evaluated_as_their_rows_alone(rng):
    positive, scores = binormal(rng, 300, 100, 1.0, decimals=1)
    parts, weights, p = rng.choice(["a", "b"], 400), rng.integers(0, 3, 400), ndtr(scores)
    whole = evaluate(positive, scores, weights, probabilities=p, threshold=0.5, by=parts)
    assert json.loads(json.dumps(whole.to_dict(), allow_nan=False)) == whole.to_dict()
    for found in whole.by:
        rows = parts == found.group
        alone = evaluate(positive[rows], scores[rows], weights[rows], probabilities=p[rows], threshold=0.5)
        assert found.auc == pytest.approx(alone.auc)
        assert found.calibration.slope == pytest.approx(alone.calibration.slope)
        assert len(found.calibration.bins) == len(alone.calibration.bins)
        assert found.at.probability == whole.thresholds[OWN].probability
        for rate, expected in zip(found.at[6:12], alone.thresholds[OWN][6:12], strict=True):
            assert rate == pytest.approx(expected)
            assert rate.low < rate.value < rate.high
        assert found.base_rate.value == pytest.approx(alone.base_rate)
        assert (found.n_samples, found.n_positive) == (alone.n_samples, alone.n_positive)


def test_rates_have_wilsons_intervals():
    found = evaluate([1] * 12 + [0] * 18, [1.0] * 9 + [-1.0] * 21, by=["a"] * 30)
    for at in (found.thresholds[OWN], found.by[0].at):
        rates = {(9, 12): at.recall, (0, 18): at.fpr, (18, 18): at.specificity, (9, 30): at.called_share}
        for (k, n), rate in rates.items():
            expected = binomtest(k, n).proportion_ci(method="wilson")
            assert rate == pytest.approx((k / n, expected.low, expected.high)), (k, n)
        low = math.hypot(0.75 - at.recall.low, 1 - at.specificity.low) / 2  # Newcombe's square and add
        assert at.balanced_accuracy == pytest.approx((0.875, 0.875 - low, 0.875 + (at.recall.high - 0.75) / 2))


def test_small_parts_have_no_auc_and_say_so():
    parts = [2.0] * 3 + [10.0] * 2 + [None] * 2 + ["10 to 12"]
    labels, settings = [0, 0, 1, 0, 0, 1, 1, 1], {"probabilities": [0.5] * 8, "threshold": 3.0}
    whole = evaluate(labels, np.arange(8.0), by=parts, **settings)
    found = whole.by
    assert [each.group for each in found] == ["2", "10", "10 to 12", "missing"]
    assert [each.auc for each in found] == [None] * 4
    assert found[1].note == "no AUC: 0 positive and 2 negative, and 10 of each are needed"
    assert math.isnan(found[1].at.recall.value)
    assert found[1].calibration.mean == 0.5
    assert whole.to_dict()["by"][0]["precision"] == {"value": None, "low": None, "high": None}
    assert evaluate(labels, np.arange(8.0), by=parts, threshold=None).by[0].at is None


def test_parts_of_few_groups_of_rows_have_no_auc(rng):
    positive, scores = binormal(rng, 60, 60, 1.0)
    found = evaluate(positive, scores, groups=np.arange(120) // 10, by=np.arange(120) < 90).by
    assert found[1].note == "no AUC: 9 positive and 9 negative groups of rows, and 10 of each are needed"


@pytest.mark.parametrize("name", ["by", "groups"])
def test_groups_of_another_length_are_refused(name):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        evaluate([0, 0, 1, 1], [1, 2, 3, 4], **{name: ["a"]})


# The probability at a threshold


def test_the_probability_at_a_threshold_is_that_of_its_score(rng):
    positive, scores = binormal(rng, 200, 80, 1.0, decimals=2)
    found = evaluate(positive, scores, probabilities=expit(2 * scores - 1), costs=(1, 3))
    for at in found.thresholds.values():
        assert at.probability == pytest.approx(expit(2 * at.threshold - 1), rel=1e-9)
    p = expit(scores)
    of_probabilities = evaluate(positive, p, probabilities=p, threshold=0.37).thresholds
    assert all(at.probability == at.threshold for at in of_probabilities.values())


def test_no_probability_beyond_the_rows_or_if_it_falls_with_the_score():
    y, scores = [0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0]
    assert math.isnan(evaluate(y, scores, probabilities=[0.1, 0.2, 0.3, 0.4], threshold=9).thresholds[OWN].probability)
    assert math.isnan(evaluate(y, scores, probabilities=[0.1, 0.3, 0.2, 0.4]).best.probability)
    assert math.isnan(evaluate(y, scores).best.probability)


# Groups of dependent rows


def clustered(rng, n_groups, n_each):
    """Rows of groups that share their label, most of their score and so their fate."""
    groups = np.repeat(np.arange(n_groups), n_each)
    positive = rng.random(n_groups)[groups] < 0.4
    scores = (rng.normal(size=n_groups)[groups] + 0.5 * rng.normal(size=len(groups))) / math.sqrt(1.25) + positive
    return positive, scores, groups


def intervals(found):
    """All intervals of an evaluation, one after the other."""
    rates = [rate for at in found.thresholds.values() for rate in at[6:12]]
    bins = [each.rate for each in found.calibration.bins]
    ours, right = (found.ks, found.average_precision), found.calibration
    return np.array([found.auc[:3], right.slope, right.intercept, *ours, right.brier, *rates, *bins])


def test_copies_of_a_row_in_one_group_add_nothing(rng):
    positive, scores = binormal(rng, 90, 60, 1.0, decimals=1)
    p, rows = ndtr(scores), np.repeat(np.arange(150), 7)
    once = evaluate(positive, scores, probabilities=p)
    copied = evaluate(positive[rows], scores[rows], probabilities=p[rows], groups=rows.astype(str))
    assert copied.n_groups == 150
    # A group of its own for each row is the sandwich of rows, but for n / (n - 1).
    np.testing.assert_allclose(intervals(copied)[:, 0], intervals(once)[:, 0], rtol=1e-7)
    np.testing.assert_allclose(intervals(copied), intervals(once), atol=4e-3, rtol=0.02)
    ignored = evaluate(positive[rows], scores[rows], probabilities=p[rows])
    assert np.all(np.diff(intervals(ignored)[:2, 1:]) < 0.5 * np.diff(intervals(once)[:2, 1:]))
    np.testing.assert_allclose(copied.roc.low, once.roc.low, atol=0.05)


def test_intervals_by_groups_cover_the_truth(rng):
    """Ten rows of a group share their label and most of their score: rows as independent cover far too seldom."""
    truth = ndtr(1 / math.sqrt(2)), ndtr(0.5)  # the AUC, and the recall above 0.5
    covered = np.zeros((2, 2))
    for _ in range(200):
        positive, scores, groups = clustered(rng, 60, 10)
        for k, names in enumerate((groups, None)):
            recall = measure_rate(Sample(positive, scores, None, None, names), scores > 0.5, positive, 0.95)
            auc = roc_auc_ci(positive, scores, groups=names)
            covered[k] += [low <= at <= high for (_, low, high, *_), at in zip((auc, recall), truth, strict=True)]
    assert np.all((covered[0] >= 0.9 * 200) & (covered[0] <= 0.99 * 200)), covered
    assert np.all(covered[1] <= 0.8 * 200), covered


def test_calibration_by_groups_covers_the_truth(rng):
    covered, groups = np.zeros(2), np.repeat(np.arange(80), 10)
    for _ in range(150):
        x = (rng.normal(size=80)[groups] + rng.normal(size=800)) / math.sqrt(2)
        positive = rng.random(80)[groups] < expit(x)  # rows of a group share their luck
        for k, names in enumerate((groups, None)):
            _, intercept = calibration_line(Sample(positive, x, None, None, names), expit(x), 0.95)
            covered[k] += intercept.low <= 0 <= intercept.high
    assert 0.89 <= covered[0] / 150 <= 0.99, covered
    assert covered[1] / 150 <= 0.8, covered


@pytest.fixture
def rng():
    return np.random.default_rng(7)
