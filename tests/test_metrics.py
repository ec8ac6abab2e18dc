import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, jaccard_score, roc_auc_score

from aucmax.metrics import (
    AUCComparison,
    AUCInterval,
    compare_auc,
    roc_auc,
    roc_auc_ci,
    support_f1,
    support_jaccard,
)
from aucmax.rows.summaries import ranking

# Values of COMPILED_FROM that send every input to the compiled loop, or none.
both_branches = pytest.mark.parametrize("branch", [0, sys.maxsize], ids=["compiled", "searched"])


def auc_by(branch, y, scores, sample_weight=None):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "COMPILED_FROM", branch)
        return roc_auc(y, scores, sample_weight)


def pair_loop(y, scores, weights):
    """The definition: a loop over all pairs."""
    won = total = 0.0
    for label_i, score_i, weight_i in zip(y, scores, weights, strict=True):
        for label_j, score_j, weight_j in zip(y, scores, weights, strict=True):
            if label_i == 1 and label_j == 0:
                total += weight_i * weight_j
                won += weight_i * weight_j * (1.0 if score_i > score_j else 0.5 * (score_i == score_j))
    return won / total


def make_data(n=400, share=0.3, seed=0, decimals=1):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return y, np.round(rng.normal(size=n) + y, decimals), rng.random(n)


@st.composite
def labelled_scores(draw):
    y = draw(st.lists(st.integers(0, 1), min_size=2, max_size=25).filter(lambda y: len(set(y)) == 2))
    score = draw(
        st.sampled_from(
            [
                st.integers(-2, 2),
                st.floats(-1, 1, width=16),
                st.floats(allow_nan=False, allow_infinity=False),
                st.floats(-1e-310, 1e-310),
            ]
        )
    )
    return y, draw(st.lists(score, min_size=len(y), max_size=len(y)))


# roc_auc: the plain area


@both_branches
@settings(max_examples=200, deadline=None)
@given(data=labelled_scores(), seed=st.integers(0, 100))
def test_roc_auc_is_the_definition(branch, data, seed):
    y, scores = data
    # Without weights the numerator is an integer: no digit may differ.
    assert auc_by(branch, y, scores) == pair_loop(y, scores, np.ones(len(y)))
    weights = np.random.default_rng(seed).integers(1, 5, len(y)) / 7
    assert auc_by(branch, y, scores, weights) == pytest.approx(pair_loop(y, scores, weights), abs=1e-13)


def hostile_scores():
    """Forty thousand scores, enough for the kernel, of distributions that a table of equal cells may hate."""
    rng = np.random.default_rng(0)
    n = 40_000
    normal, cauchy = rng.normal(size=n), rng.standard_cauchy(n)
    largest = np.finfo(float).max
    return {
        "normal": normal,
        "constant": np.full(n, 0.1),
        "zeros of both signs": rng.choice([-0.0, 0.0, 1.0], n),
        "three values": rng.integers(0, 3, n) / 3,
        "hundredths": np.round(normal, 2),
        "sorted": np.sort(normal),
        "reversed": np.sort(normal)[::-1],
        "heavy tails": cauchy,
        "very heavy tails": 1e290 * cauchy**3,
        "exponents": np.sign(normal) * 10.0 ** rng.uniform(-320, 308, n),
        "denormal": rng.integers(-1000, 1000, n) * 5e-324,
        "two denormals": rng.choice([0.0, 5e-324], n),
        "whole range": rng.uniform(-1.0, 1.0, n) * 1.7e308,
        "both ends": rng.choice([-largest, 0.0, largest], n),
        "one outlier": np.append(normal[:-1] * 1e-9, 1e9),
        "far from zero": 1e15 + normal,
        "float32": normal.astype(np.float32),
        "integers": (100 * normal).astype(int),
    }


HOSTILE_SCORES = hostile_scores()


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("name", HOSTILE_SCORES)
def test_auc_of_many_rows_is_scikit_learns(name, share):
    scores = HOSTILE_SCORES[name]
    assert len(scores) >= ranking.COMPILED_FROM
    rng = np.random.default_rng(1)
    y, weights = rng.random(len(scores)) < share, rng.random(len(scores))
    y[np.argmax(scores)] = y[np.argmin(scores)] = share > 0.5  # the larger class reaches beyond the smaller
    with np.errstate(over="ignore", invalid="ignore"):
        expected = roc_auc_score(y, scores), roc_auc_score(y, scores, sample_weight=weights)
    assert roc_auc(y, scores) == pytest.approx(expected[0], abs=1e-12)
    assert roc_auc(y, scores, weights) == pytest.approx(expected[1], abs=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_auc_of_few_rows_is_scikit_learns(share):
    y, scores, weights = make_data(share=share)
    assert roc_auc(y, scores) == pytest.approx(roc_auc_score(y, scores), abs=1e-12)
    expected = roc_auc_score(y, scores, sample_weight=weights)
    assert roc_auc(y, scores, weights) == pytest.approx(expected, abs=1e-12)


@both_branches
@pytest.mark.parametrize("share", [0.2, 0.8])
def test_perfect_scores_get_one_and_their_opposite_zero_exactly(branch, share):
    rng = np.random.default_rng(0)
    y, weights = rng.random(3000) < share, rng.random(3000) ** 9
    scores = y + 0.5 * rng.random(3000)
    for sample_weight in (None, weights, 1e-200 * weights, 1e200 * weights):
        assert auc_by(branch, y, scores, sample_weight) == 1.0
        assert auc_by(branch, y, -scores, sample_weight) == 0.0


@pytest.mark.parametrize("order", ["C", "F"])
@both_branches
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_fpr", [None, 0.3])
def test_roc_auc_of_columns_is_that_of_each_column(order, branch, weighted, max_fpr, monkeypatch):
    monkeypatch.setattr(ranking, "COMPILED_FROM", branch)
    y, scores, weights = make_data()
    columns = np.array(np.column_stack([scores, -scores, scores**2]), order=order)
    untouched = columns.copy()
    weights = weights if weighted else None
    aucs = roc_auc(y, columns, weights, max_fpr=max_fpr)
    assert isinstance(aucs, np.ndarray)
    assert aucs.shape == (3,)
    assert aucs.tolist() == [roc_auc(y, column, weights, max_fpr=max_fpr) for column in columns.T]
    assert roc_auc(y, columns[:, :1], weights, max_fpr=max_fpr).tolist() == [aucs[0]]
    np.testing.assert_array_equal(columns, untouched)


@both_branches
def test_auc_depends_on_the_order_of_the_scores_only(branch):
    y, scores, weights = make_data(n=2000)
    for transform in (np.exp, np.arctan, lambda s: 1e10 * s - 1e9, lambda s: s**3, lambda s: s * 1e-300):
        assert auc_by(branch, y, transform(scores)) == auc_by(branch, y, scores)
        assert auc_by(branch, y, transform(scores), weights) == auc_by(branch, y, scores, weights)


def test_swapping_the_classes_mirrors_the_auc():
    y, scores, weights = make_data()
    for sample_weight in (None, weights):
        mirrored = 1 - roc_auc(y, scores, sample_weight)
        assert roc_auc(1 - y, scores, sample_weight) == pytest.approx(mirrored, abs=1e-15)
        assert roc_auc(y, -scores, sample_weight) == pytest.approx(mirrored, abs=1e-15)


def test_roc_auc_takes_the_larger_label_as_positive():
    y, scores, _ = make_data()
    expected = roc_auc(y, scores)
    for labels in (
        np.array(["ham", "spam"]),
        np.array(["ham", "spam"], dtype=object),
        [False, True],
        [-1, 1],
    ):
        assert roc_auc(np.asarray(labels)[y], scores) == expected
    assert roc_auc(y.tolist(), scores.tolist()) == expected


@both_branches
def test_roc_auc_of_an_integer_weight_repeats_the_row(branch):
    y, scores, _ = make_data()
    times = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = auc_by(branch, np.repeat(y, times), np.repeat(scores, times))
    assert auc_by(branch, y, scores, times) == pytest.approx(repeated, abs=1e-14)


def test_roc_auc_ignores_containers_and_layouts(tmp_path):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    y, scores, weights = make_data(n=40_000)
    expected = roc_auc(y, scores, weights)
    file = np.memmap(tmp_path / "scores", dtype=float, mode="w+", shape=(2, len(y)))
    file[:] = scores, weights
    file.flush()
    read_only = np.memmap(tmp_path / "scores", dtype=float, mode="r", shape=(2, len(y)))
    for library in (pandas, polars):
        assert roc_auc(*map(library.Series, (y, scores, weights))) == expected
    assert roc_auc(y, *read_only) == expected
    assert roc_auc(np.repeat(y, 2)[::2], np.repeat(scores, 2)[::2], np.repeat(weights, 2)[::2]) == expected


# roc_auc: the partial area


@pytest.mark.parametrize("max_fpr", [1e-6, 0.01, 0.1, 1 / 3, 0.5, 0.999])
@pytest.mark.parametrize("decimals", [0, 1, 15])
@pytest.mark.parametrize("weighted", [False, True])
def test_partial_auc_is_scikit_learns(max_fpr, decimals, weighted):
    y, scores, weights = make_data(decimals=decimals)
    weights = weights if weighted else None
    expected = roc_auc_score(y, scores, sample_weight=weights, max_fpr=max_fpr)
    assert roc_auc(y, scores, weights, max_fpr=max_fpr) == pytest.approx(expected, abs=1e-12)


def test_partial_auc_of_extreme_scores():
    assert roc_auc([0, 0, 1, 1], [-1.7e308, -1.6e308, 1.6e308, 1.7e308], max_fpr=0.2) == 1.0
    assert roc_auc([0, 1, 0, 1], np.zeros(4), max_fpr=0.2) == pytest.approx(0.5, abs=1e-15)


def test_max_fpr_of_one_is_the_whole_area():
    y, scores, weights = make_data()
    for one in (1, 1.0):
        assert roc_auc(y, scores, weights, max_fpr=one) == roc_auc(y, scores, weights)


# DeLong


def components(y, scores):
    """DeLong's structural components, pair by pair: a mean for each positive and for each negative row."""
    ones, zeros = scores[y == 1][:, None], scores[y == 0]
    wins = (ones > zeros) + 0.5 * (ones == zeros)
    return wins.mean(axis=1), wins.mean(axis=0)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("decimals", [0, 1, 15])
def test_roc_auc_ci_is_the_direct_formula(share, decimals):
    y, scores, _ = make_data(share=share, decimals=decimals)
    of_ones, of_zeros = components(y, scores)
    error = math.sqrt(of_ones.var(ddof=1) / len(of_ones) + of_zeros.var(ddof=1) / len(of_zeros))
    interval = roc_auc_ci(y, scores)
    assert isinstance(interval, AUCInterval)
    assert interval.auc == roc_auc(y, scores)
    assert interval.standard_error == pytest.approx(error, rel=1e-12)
    assert interval.low == pytest.approx(interval.auc - 1.959963984540054 * error, rel=1e-12)
    assert interval.high == pytest.approx(min(interval.auc + 1.959963984540054 * error, 1), rel=1e-12)
    narrow = roc_auc_ci(y, scores, confidence_level=0.5)
    assert narrow.auc - narrow.low == pytest.approx(0.6744897501960817 * error, rel=1e-9)


def test_interval_covers_the_auc_of_the_population():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [120, 80])
    truth = ndtr(1 / math.sqrt(2))
    intervals = [roc_auc_ci(y, rng.normal(size=200) + y) for _ in range(300)]
    coverage = np.mean([interval.low <= truth <= interval.high for interval in intervals])
    assert 0.90 < coverage < 0.98


def test_interval_stays_in_the_unit_interval_and_has_no_width_at_its_ends():
    assert roc_auc_ci([0, 0, 1, 1], [1, 2, 3, 4]) == (1.0, 1.0, 1.0, 0.0)
    assert roc_auc_ci([0, 0, 1, 1], [4, 3, 2, 1], confidence_level=np.nextafter(1, 0)) == (0.0, 0.0, 0.0, 0.0)
    assert roc_auc_ci([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6]).high == 1.0
    assert roc_auc_ci([0, 0, 0, 1, 1, 1], [6, 5, 3, 4, 2, 1]).low == 0.0


@pytest.mark.parametrize("decimals", [0, 15])
def test_compare_auc_is_the_direct_formula(decimals):
    y, a, _ = make_data(decimals=decimals)
    b = np.round(a + np.random.default_rng(1).normal(size=len(y)), decimals)
    ones, zeros = map(np.stack, zip(components(y, a), components(y, b), strict=True))
    covariance = np.cov(ones) / ones.shape[1] + np.cov(zeros) / zeros.shape[1]
    error = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])

    comparison = compare_auc(y, a, b)
    assert isinstance(comparison, AUCComparison)
    assert (comparison.auc_a, comparison.auc_b) == (roc_auc(y, a), roc_auc(y, b))
    assert comparison.difference == comparison.auc_a - comparison.auc_b
    assert comparison.statistic == pytest.approx(comparison.difference / error, rel=1e-10)
    assert comparison.pvalue == pytest.approx(math.erfc(abs(comparison.statistic) / math.sqrt(2)), rel=1e-10)
    assert comparison.low == pytest.approx(comparison.difference - 1.959963984540054 * error, rel=1e-10)
    assert comparison.high == pytest.approx(comparison.difference + 1.959963984540054 * error, rel=1e-10)
    wide = compare_auc(y, a, b, confidence_level=0.999)
    assert wide.low < comparison.low
    assert comparison.high < wide.high


def test_compare_auc_is_antisymmetric():
    y, a, b = make_data()
    there, back = compare_auc(y, a, b), compare_auc(y, b, a)
    assert (there.auc_a, there.auc_b, there.pvalue) == (back.auc_b, back.auc_a, back.pvalue)
    assert (there.difference, there.low, there.high) == (-back.difference, -back.high, -back.low)
    assert there.statistic == -back.statistic


def test_compare_auc_without_variance():
    y, scores, _ = make_data(n=301)
    assert compare_auc(y, scores, np.exp(scores))[2:] == (0.0, 0.0, 0.0, 0.0, 1.0)
    perfect = y + 0.0
    assert compare_auc(y, perfect, -perfect) == (1.0, 0.0, 1.0, 1.0, 1.0, math.inf, 0.0)
    assert compare_auc(y, -perfect, perfect) == (0.0, 1.0, -1.0, -1.0, -1.0, -math.inf, 0.0)
    # One positive out of three is lost by every negative: components of 1/3, equal but for the rounding.
    y, scores = np.repeat([0, 1], [7, 3]), np.repeat([1.0, 0.0, 2.0], [7, 1, 2])
    assert compare_auc(y, scores, scores - 1)[2:] == (0.0, 0.0, 0.0, 0.0, 1.0)
    assert compare_auc(y, y, 0 * y)[2:] == (0.5, 0.5, 0.5, math.inf, 0.0)


def test_compare_auc_interval_stays_between_minus_one_and_one():
    assert compare_auc([0, 0, 1, 1], [1, 2, 3, 4], [3, 2, 1, 4], confidence_level=0.999).high == 1.0
    assert compare_auc([0, 0, 1, 1], [3, 2, 1, 4], [1, 2, 3, 4], confidence_level=0.999).low == -1.0


# DeLong with weights


def weighted_error(y, weights, *scores):
    """The standard error of the AUC, or of the difference of two, pair by pair."""
    variance = 0.0
    for own, other, sign in ((y == 1, y == 0, 1), (y == 0, y == 1, -1)):
        placements = 0.0
        for s, times in zip(scores, (1, -1), strict=False):
            wins = (sign * s[own][:, None] > sign * s[other]) + 0.5 * (s[own][:, None] == s[other])
            placements = placements + times * (wins @ weights[other]) / weights[other].sum()
        v = weights[own] / weights[own].sum()
        squares = v**2 @ (placements - v @ placements) ** 2
        variance += squares * np.sum(v**2) / (np.sum(v**2) - 2 * np.sum(v**3) + np.sum(v**2) ** 2)
    return math.sqrt(variance)


@pytest.mark.parametrize("share", [0.05, 0.9])
@pytest.mark.parametrize("decimals", [0, 15])
def test_weighted_standard_errors_are_the_direct_formula(share, decimals):
    y, a, weights = make_data(share=share, decimals=decimals)
    b = np.round(a + np.random.default_rng(1).normal(size=len(y)), decimals)
    weights = weights * np.random.default_rng(2).random(len(y))
    interval = roc_auc_ci(y, a, weights)
    assert interval.auc == pytest.approx(roc_auc(y, a, weights), abs=1e-15)
    assert interval.standard_error == pytest.approx(weighted_error(y, weights, a), rel=1e-12)
    comparison = compare_auc(y, a, b, weights)
    assert comparison.difference / comparison.statistic == pytest.approx(weighted_error(y, weights, a, b), rel=1e-10)
    there = compare_auc(y, b, a, weights)
    assert (there.difference, there.statistic) == (-comparison.difference, -comparison.statistic)


def exact_error(y, weights, *scores):
    """The same formula in rational numbers, so that nothing is rounded."""
    variance = Fraction(0)
    for own, other, sign in ((1, 0, 1), (0, 1, -1)):
        rows, others = ([i for i, label in enumerate(y) if label == c and weights[i] > 0] for c in (own, other))
        total, total_of_others = (sum(Fraction(weights[i]) for i in each) for each in (rows, others))
        placements = dict.fromkeys(rows, Fraction(0))
        for s, times in zip(scores, (1, -1), strict=False):
            for i in rows:
                for j in others:
                    won = Fraction(int(sign * s[i] > sign * s[j])) + Fraction(int(s[i] == s[j]), 2)
                    placements[i] += times * won * Fraction(weights[j]) / total_of_others
        v = {i: Fraction(weights[i]) / total for i in rows}
        mean = sum(v[i] * placements[i] for i in rows)
        squares, cubes = sum(v[i] ** 2 for i in rows), sum(v[i] ** 3 for i in rows)
        spread = sum(v[i] ** 2 * (placements[i] - mean) ** 2 for i in rows)
        variance += spread * squares / (squares - 2 * cubes + squares**2)
    return math.sqrt(variance)


def test_delong_where_one_row_outweighs_its_class():
    y, scores, weights = [1, 1, 1, 0, 0, 0], [2, 1, 3, 1, 2, 0], [1e10, 1, 2, 1, 1, 1]
    assert exact_error(y, weights, scores) == pytest.approx(0.19245, abs=1e-5)
    for heavy in (1e10, 1e13, 1e17, 1e100):
        weights[0] = heavy
        found = roc_auc_ci(y, scores, weights)
        assert found.standard_error == pytest.approx(exact_error(y, weights, scores), rel=1e-14)
        assert found.auc == pytest.approx(5 / 6, rel=1e-9)
    with pytest.raises(ValueError, match=r"^DeLong's variance is not known where one row has 1e150 times the weight"):
        roc_auc_ci(y, scores, [1e200, *weights[1:]])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from([1, 6, 10, 12]), st.sampled_from([2, 1000]))
def test_delong_with_weights_of_many_magnitudes(seed, decades, n_scores):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 14))
    y = np.append([0, 0, 1, 1], rng.integers(0, 2, n - 4))
    a, b = rng.integers(0, n_scores, (2, n)).tolist()
    weights = (10.0 ** rng.uniform(-decades, 0, n)).tolist()
    if seed % 2:  # only one row of each class is heavy
        weights = [w if i in (1, 2) else w * 10.0**-decades for i, w in enumerate(weights)]
    expected = exact_error(y, weights, a)
    assert roc_auc_ci(y, a, weights).standard_error == pytest.approx(expected, rel=1e-6, abs=1e-17)
    expected = exact_error(y, weights, a, b)
    found = compare_auc(y, a, b, weights)
    if found.difference:
        assert found.difference / found.statistic == pytest.approx(expected, rel=1e-6, abs=1e-17)


@pytest.mark.parametrize("weight", [1.0, 0.3, 1e-300, 1e300])
def test_equal_weights_give_delongs_error(weight):
    y, a, b = make_data()
    weights = np.full(len(y), weight)
    assert_allclose(roc_auc_ci(y, a, weights), roc_auc_ci(y, a), rtol=2e-15)
    assert_allclose(compare_auc(y, a, b, weights)[:5], compare_auc(y, a, b)[:5], rtol=1e-13)


def test_the_scale_of_the_weights_and_rows_without_weight_do_not_matter():
    y, a, b = make_data()
    weights = np.random.default_rng(0).random(len(y)) ** 3
    expected = compare_auc(y, a, b, weights)
    assert compare_auc(y, a, b, 2.0**300 * weights) == expected
    assert_allclose(compare_auc(y, a, b, weights / 7), expected, rtol=1e-10)
    more = [np.append(values, [extra, extra]) for values, extra in ((y, 1), (a, 9), (b, -9), (weights, 0))]
    assert compare_auc(*more) == expected


def test_weighted_interval_covers_the_auc_of_the_population():
    """Rows that were drawn with unequal probabilities, and have the inverse of these as weights."""
    rng = np.random.default_rng(0)
    truth, covered = ndtr(1 / math.sqrt(2)), []
    for _ in range(300):
        y = np.repeat([0, 1], [1200, 800])
        scores = rng.normal(size=2000) + y
        chance = 0.03 + 0.27 * (scores > 0)
        drawn = rng.random(2000) < chance
        interval = roc_auc_ci(y[drawn], scores[drawn], 1 / chance[drawn])
        covered.append(interval.low <= truth <= interval.high)
    assert 0.91 < np.mean(covered) < 0.985


def test_weighted_roc_auc_ci_without_variance():
    weights = [1.0, 0.7, 0.1, 3.0]
    assert roc_auc_ci([0, 0, 1, 1], [1, 2, 3, 4], weights) == (1.0, 1.0, 1.0, 0.0)
    assert roc_auc_ci([0, 0, 1, 1], [4, 3, 2, 1], weights) == (0.0, 0.0, 0.0, 0.0)
    assert compare_auc([0, 0, 1, 1], [1, 3, 2, 4], [2, 6, 4, 8], weights)[2:] == (0.0, 0.0, 0.0, 0.0, 1.0)


def test_rows_without_weight_are_no_rows_for_delong():
    message = r"^DeLong's variance needs at least two rows of each class, got 1 positive and 2 negative\.$"
    with pytest.raises(ValueError, match=message):
        roc_auc_ci([0, 0, 1, 1], [1, 2, 3, 4], [1, 1, 0, 1])
    with pytest.raises(ValueError, match=r"^AUC needs two classes, but class 1 has no row with a weight above 0\.$"):
        roc_auc_ci([0, 0, 1, 1], [1, 2, 3, 4], [1, 1, 0, 0])


# Errors


def compare_first(y, scores, **options):
    return compare_auc(y, scores, np.arange(len(scores)), **options)


@pytest.mark.parametrize("function", [roc_auc, roc_auc_ci, compare_first])
@pytest.mark.parametrize(
    ("y", "scores", "message"),
    [
        ([1, 1, 1], [1, 2, 3], r"AUC needs two classes, but y holds only one class: .*1.*\."),
        ([0, 1, 2], [1, 2, 3], r"Only binary classification is supported.*y holds 3 classes\."),
        ([0.1, 0.2, 0.3], [1, 2, 3], r"Unknown label type: continuous"),
        ([[0, 1], [1, 0]], [1, 2], r"y should be a 1d array, got an array of shape \(2, 2\) instead\."),
        ([0, 1, 1], [1, np.nan, 3], r"Input scores(_a)? contains NaN"),
        ([0, 1, 1], [1, np.inf, 3], r"Input scores(_a)? contains infinity"),
        ([0, 1], [1, 2, 3], r"inconsistent numbers of samples: \[2, 3\]"),
        ([], [], r"Found array with 0 sample\(s\)"),
        (
            [0, 1],
            np.zeros((2, 1, 1)),
            r"scores(_a)? must have one (or two )?dimensions?, got .*\(2, 1, 1\)\.",
        ),
    ],
)
def test_metrics_refuse_bad_input(function, y, scores, message):
    with pytest.raises(ValueError, match=message):
        function(y, scores)


@pytest.mark.parametrize("max_fpr", [None, 0.5])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1, 1, 1], r"Negative values in data passed to `sample_weight`"),
        ([0, 0, 0, 0], r"Sample weights must contain at least one non-zero number\."),
        ([1, 1, 0, 0], r"AUC needs two classes, but class 'b' has no row with a weight above 0\."),
        ([0, 0, 1, 1], r"AUC needs two classes, but class 'a' has no row with a weight above 0\."),
        ([1, 1, 1], r"sample_weight\.shape == \(3,\), expected \(4,\)!"),
        ([1, 1, 1, np.nan], r"Input sample_weight contains NaN"),
    ],
)
def test_metrics_refuse_bad_weights(weights, message, max_fpr):
    with pytest.raises(ValueError, match=message):
        roc_auc(["a", "a", "b", "b"], [1, 2, 3, 4], weights, max_fpr=max_fpr)


@pytest.mark.parametrize("max_fpr", [0, -0.1, 1.01, math.nan])
def test_roc_auc_refuses_bad_max_fpr(max_fpr):
    with pytest.raises(ValueError, match=rf"max_fpr must be in \(0, 1\], got {max_fpr}\."):
        roc_auc([0, 1], [1, 2], max_fpr=max_fpr)


@pytest.mark.parametrize("function", [roc_auc_ci, compare_first])
@pytest.mark.parametrize("level", [0, 1, -0.5, 95, math.nan])
def test_bad_confidence_level(function, level):
    with pytest.raises(ValueError, match=rf"confidence_level must be in \(0, 1\), got {level}\."):
        function([0, 0, 1, 1], [1, 2, 3, 4], confidence_level=level)


@pytest.mark.parametrize("function", [roc_auc_ci, compare_first])
def test_delong_needs_two_rows_of_each_class(function):
    message = r"DeLong's variance needs at least two rows of each class, got 1 positive and 2 negative\."
    with pytest.raises(ValueError, match=message):
        function([0, 0, 1], [1, 2, 3])


@pytest.mark.parametrize("function", [roc_auc_ci, compare_first])
def test_roc_auc_ci_takes_one_vector_of_scores(function):
    with pytest.raises(ValueError, match=r"scores(_a)? must have one dimension, got an array of shape \(4, 2\)\."):
        function([0, 0, 1, 1], np.zeros((4, 2)))


def test_compare_auc_checks_both_scores():
    with pytest.raises(ValueError, match="Input scores_b contains NaN"):
        compare_auc([0, 0, 1, 1], [1, 2, 3, 4], [1, 2, 3, np.nan])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[4, 3\]"):
        compare_auc([0, 0, 1, 1], [1, 2, 3, 4], [1, 2, 3])


def test_roc_auc_refuses_labels_that_cannot_be_sorted():
    with pytest.raises(ValueError, match=r"^Input y contains NaN\.$"):
        roc_auc([1.0, np.nan, 0.0], [1, 2, 3])
    with pytest.raises(ValueError, match=r"^y has missing labels: leave these rows out\.$"):
        roc_auc(np.array([None, "a"], dtype=object), [1, 2])
    with pytest.raises(ValueError, match=r"^The classes of y cannot be sorted: 1 and 'a' are of two kinds\.$"):
        roc_auc(np.array([1, "a"], dtype=object), [1, 2])


# The support


@pytest.mark.parametrize("seed", range(10))
def test_support_metrics_are_those_of_two_sets(seed):
    rng = np.random.default_rng(seed)
    coef, mask = rng.normal(size=12) * (rng.random(12) < 0.5), rng.random(12) < 0.4
    assert coef.any()
    assert mask.any()
    expected = f1_score(mask, coef != 0), jaccard_score(mask, coef != 0)
    for support in (mask, mask.tolist(), np.flatnonzero(mask), np.flatnonzero(mask)[::-1].tolist()):
        found = support_f1(coef, support), support_jaccard(coef[None], support)
        assert found == pytest.approx(expected, abs=1e-15)


def test_support_of_a_classifier_and_small_weights():
    X = np.random.default_rng(0).normal(size=(100, 4))
    clf = LogisticRegression().fit(X, X[:, 2] > 0)
    assert support_f1(clf, [2]) == 0.4
    assert support_jaccard(clf, [2]) == 0.25
    threshold = np.sort(np.abs(clf.coef_[0]))[-2]  # at most this: the second largest counts as zero too
    assert support_f1(clf, [2], threshold=threshold) == support_jaccard(clf, [2], threshold=threshold) == 1


def test_empty_supports():
    for metric in (support_f1, support_jaccard):
        assert metric([0, 0], []) == metric([0, 0], [False, False]) == 1
        assert metric([0, 1], []) == metric([0, 0], [1]) == metric([0, 2], [0]) == 0


@pytest.mark.parametrize("metric", [support_f1, support_jaccard])
@pytest.mark.parametrize(
    ("coef", "support", "message"),
    [
        (np.ones((2, 3)), [0], r"^coef must be one vector of weights, got an array of shape \(2, 3\)\.$"),
        ([1.0, np.nan], [0], r"^Input coef contains NaN"),
        ([1, 2, 3], [3], r"^support does not fit the 3 weights of coef, got \[3\]\.$"),
        ([1, 2, 3], [-1], r"^support does not fit the 3 weights of coef, got \[-1\]\.$"),
        ([1, 2, 3], [True, False], r"^support does not fit the 3 weights of coef, got \[True, False\]\.$"),
        ([1, 2, 3], [0.0, 1.0], r"^support must be a mask of booleans or a list of indices, got \[0\.0, 1\.0\]\.$"),
        ([1, 2, 3], [[0, 1]], r"^support must be a mask of booleans or a list of indices"),
    ],
)
def test_bad_supports(metric, coef, support, message):
    with pytest.raises(ValueError, match=message):
        metric(coef, support)


@pytest.mark.parametrize("labels", [(0, 1, 2), ("bad", "good", "ugly"), (-1.5, 0.0, 2.5)])
def test_positive_label_is_one_class_against_the_others(labels):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 300)
    y, scores, weights = np.array(labels)[codes], rng.normal(size=300) + codes, rng.random(300)
    for k, label in enumerate(labels):
        mask = codes == k
        assert roc_auc(y, scores, pos_label=label) == roc_auc(mask, scores)
        assert roc_auc(y.tolist(), scores, weights, pos_label=label) == roc_auc(mask, scores, weights)
        assert roc_auc(y, scores, max_fpr=0.3, pos_label=label) == roc_auc(mask, scores, max_fpr=0.3)
        assert roc_auc_ci(y, scores, pos_label=label) == roc_auc_ci(mask, scores)
        assert compare_auc(y, scores, -scores, pos_label=label) == compare_auc(mask, scores, -scores)


def test_the_smaller_label_as_positive_reverses_the_area():
    y, scores, _ = make_data()
    assert roc_auc(y, scores, pos_label=0) == pytest.approx(1 - roc_auc(y, scores))


@pytest.mark.parametrize(
    ("y", "pos_label", "message"),
    [
        ([0, 1, 0], 2, "pos_label=2 is not one of the labels of y"),
        (["a", "b", "a"], 1, "pos_label=1 is not one of the labels of y"),
        ([0, 1, 0], [0, 1], r"pos_label=\[0, 1\] is not one of the labels of y"),
        ([1, 1, 1], 1, "AUC needs two classes"),
        ([0.0, 1.0, math.nan], 1, "y contains NaN"),
        (np.array(["a", "b", None], dtype=object), "a", "y has missing labels: leave these rows out"),
    ],
)
def test_positive_labels_that_cannot_be(y, pos_label, message):
    with pytest.raises(ValueError, match=message):
        roc_auc(y, [1.0, 2.0, 3.0], pos_label=pos_label)


# Groups of dependent rows


def obuchowski(positive, scores, groups):
    """The variance of the AUC of clustered rows, as in Obuchowski (1997), by loops over pairs and clusters."""
    ones, zeros = scores[positive], scores[~positive]
    wins = (ones[:, None] > zeros) + (ones[:, None] == zeros) / 2
    auc, m, n = wins.mean(), len(ones), len(zeros)
    names = np.unique(groups)
    s10 = np.array([(wins.mean(axis=1) - auc)[groups[positive] == g].sum() for g in names])
    s01 = np.array([(wins.mean(axis=0) - auc)[groups[~positive] == g].sum() for g in names])
    factor = len(names) / (len(names) - 1)
    return factor * (s10 @ s10 / m**2 + s01 @ s01 / n**2 + 2 * s10 @ s01 / (m * n))


def test_interval_by_groups_is_obuchowskis():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(25), 4 + np.arange(25) % 3)
    positive = np.arange(len(groups)) % 2 == 0  # each group has both classes
    scores = (rng.normal(size=25)[groups] + rng.normal(size=len(groups)) + positive).round(1)
    found = roc_auc_ci(positive, scores, groups=groups.astype(str))
    assert found.auc == pytest.approx(roc_auc_score(positive, scores))
    assert found.standard_error**2 == pytest.approx(obuchowski(positive, scores, groups))
    assert found.high - found.auc == pytest.approx(1.959964 * found.standard_error)


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_of_one_row_are_rows(weighted):
    rng = np.random.default_rng(1)
    positive, weights = rng.random(200) < 0.3, rng.integers(1, 4, 200) if weighted else None
    a, b = (rng.normal(size=200) + positive for _ in range(2))
    names, rows = rng.permutation(200), np.repeat(np.arange(200), 3)
    # Weights lose a little of DeLong's degrees of freedom.
    close = {"rel": 0.01} if weighted else {"rel": 1e-9}
    alone, paired = roc_auc_ci(positive, a, weights), compare_auc(positive, a, b, weights)
    assert roc_auc_ci(positive, a, weights, groups=names)[3] == pytest.approx(alone[3], **close)
    assert compare_auc(positive, a, b, weights, groups=names).statistic == pytest.approx(paired.statistic, **close)
    if not weighted:
        copied = compare_auc(positive[rows], a[rows], b[rows], groups=rows)
        assert copied == pytest.approx(paired)


def test_groups_that_say_nothing_are_refused():
    y, scores = [0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="needs rows of each class in at least two groups"):
        roc_auc_ci(y, scores, groups=[0, 1, 2, 1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        roc_auc_ci(y, scores, groups=[0, 1])
    dask = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r"groups= needs all scores in one place: compute\(\) y and scores first"):
        roc_auc_ci(y, dask.from_array(np.array(scores)), groups=[0, 1, 2, 3])
