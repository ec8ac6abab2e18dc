"""Figures of table models, and what their columns are worth."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from additive_data import mixed_frame
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from aucmax import CurvesDisplay, ImportanceDisplay, TableClassifier, compare_auc
from aucmax.report.displays.base import PALETTE
from aucmax.report.displays.curves import beyond_axis, common_range, paint_curve, steps_of
from aucmax.tables.curves import Curve, auc_lost_without, cell_labels, curves_of
from aucmax.tables.terms import edges_of

FRAME, Y = mixed_frame()
QUICK = {"cv": 0, "max_bins": 10}
MODEL = TableClassifier("pairs", pairs=[("curve", "noise")], **QUICK).fit(FRAME, Y)


@pytest.fixture(autouse=True)
def no_windows():
    from matplotlib import pyplot as plt

    matplotlib.use("agg")
    yield
    plt.close("all")


def test_curves_are_log_odds_with_their_intervals():
    display = CurvesDisplay.from_estimator(MODEL, columns=[0, "colour"])
    numeric, levels = display.curves
    assert (numeric.name, levels.labels) == ("curve", ["blue", "green", "red", "other"])
    assert numeric.labels[-1] == "missing"
    assert (numeric.errors > 0).all()
    assert_allclose([curve.share.sum() for curve in display.curves], 1)
    steps, band, density = (patch.get_data() for patch in display.axes_[0].patches)
    assert_allclose(steps.values, numeric.values[:-1])
    middles = (numeric.high[:-1] + numeric.low[1:]) / 2
    borders, low, high = steps_of(numeric)
    assert_allclose(borders, [numeric.low[0], *middles, numeric.high[-1]])
    assert_allclose(steps.edges, np.clip(borders, low, high))
    assert_allclose(band.values - steps.values, 1.96 * numeric.errors[:-1])
    assert_allclose(steps.values - band.baseline, 1.96 * numeric.errors[:-1])
    areas = density.values * np.diff(borders)
    assert_allclose(areas / areas.sum(), numeric.share[:-1] / numeric.share[:-1].sum())
    points = display.axes_[1].lines[0]
    assert_allclose(points.get_ydata(), levels.values)


@pytest.mark.parametrize("name", ["zeros", "colour"])
@pytest.mark.filterwarnings("ignore:X has levels")
def test_a_curve_is_what_its_cells_change_in_the_log_odds(name):
    """Also of a level that no training row has."""
    curve = curves_of(MODEL)[list(FRAME).index(name)]
    values = [*curve.low] if name == "zeros" else ["blue", "green", "red", "violet"]
    rows = pd.concat([FRAME[:1]] * len(values)).assign(**{name: values})
    log_odds = np.diff(MODEL.predict_log_proba(rows), axis=1)[:, 0]
    assert_allclose(log_odds - log_odds[0], curve.values - curve.values[0], atol=1e-12)
    assert np.ptp(log_odds) > 0.001


def test_labels_that_are_levels_are_set_apart():
    rng = np.random.default_rng(0)
    levels = np.array(["other", "(other)", None], dtype=object)
    X = pd.DataFrame({"size": rng.standard_normal(200), "level": rng.choice(levels, 200)})
    model = TableClassifier("pairs", pairs=[(0, 1)], **QUICK).fit(X, rng.random(200) < 0.5)
    curve, surface = (cell_labels(model, term) for term in model.terms_[1:])
    assert curve == ["(other)", "other", "missing", "((other))"]
    first = curves_of(model)[0].labels[0]
    assert surface[:3] == [f"{first}, {label}" for label in curve[:3]]
    assert len(surface) == model.terms_[2].n_cells, "no cell for levels that are not known"


def test_columns_of_arrays_have_names_and_others_are_refused():
    X = np.random.default_rng(0).standard_normal((200, 2))
    model = TableClassifier("lines", **QUICK).fit(X, X[:, 0] ** 2 > 1)
    assert [curve.name for curve in CurvesDisplay.from_estimator(model, columns=["x1", 0]).curves] == ["x1", "x0"]
    with pytest.raises(ValueError, match=r"^columns= names the column 'x2', which the table does not have"):
        CurvesDisplay.from_estimator(model, columns=["x2"])


@pytest.mark.parametrize("name", ["curve", "colour"])
def test_the_density_lies_below_the_curve(name):
    display = CurvesDisplay.from_estimator(MODEL, columns=[name])
    (ax,), (curve,) = display.axes_, display.curves
    low, high = ax.get_ylim()
    top = low + (high - low) * ax.patches[-1].get_data().values.max()
    assert top < (curve.values - 1.96 * curve.errors)[curve.share > 0].min()


def test_curves_share_their_vertical_axis():
    axes = CurvesDisplay.from_estimator(MODEL).axes_
    assert len({ax.get_ylim() for ax in axes}) == 1
    low, high = axes[0].get_ylim()
    for curve in curves_of(MODEL):
        assert low < curve.values.min() < curve.values.max() < high


def test_columns_of_two_numbers_are_named_points_with_intervals():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"flag": rng.integers(0, 2, 400), "paperless": rng.choice(["Yes", "No", None], 400)})
    model = TableClassifier("lines", **QUICK).fit(X, X["flag"] + rng.random(400) > 0.7)
    for ax, curve, names in zip(
        CurvesDisplay.from_estimator(model, columns=[0, 1]).axes_,
        curves_of(model),
        (["0", "1"], ["No", "Yes", "missing"]),
        strict=True,
    ):
        assert [label.get_text() for label in ax.get_xticklabels()] == names == curve.labels
        assert_allclose(ax.lines[0].get_ydata(), curve.values)
        segments = np.array(ax.collections[0].get_segments())[:, :, 1]
        assert_allclose(np.diff(segments)[:, 0], 2 * 1.96 * curve.errors)
    paperless = curves_of(model)[1]
    assert_allclose(paperless.share[:2] * 400, [(X["paperless"] == word).sum() for word in ("No", "Yes")])


def test_the_last_of_few_numbers_has_a_step_of_its_own():
    counts = np.repeat(np.arange(6.0), 40)[:, None]
    model = TableClassifier("curves", **QUICK).fit(counts, np.arange(240) % 7 < counts[:, 0])
    (ax,) = CurvesDisplay.from_estimator(model).axes_
    assert_allclose(ax.patches[0].get_data().edges, np.arange(7) - 0.5)


@pytest.mark.parametrize(("n", "sign"), [(3, 1), (3, -1), (0, 1)])
def test_outliers_do_not_squeeze_the_axis_and_are_said(n, sign):
    x = np.random.default_rng(0).uniform(0, 1, 1000)
    x[:n] = 1e6
    model = TableClassifier("curves", **QUICK).fit(sign * x[:, None], np.arange(1000) % 3 == 0)
    (ax,), (curve,) = CurvesDisplay.from_estimator(model).axes_, curves_of(model)
    low, high = ax.get_xlim()
    assert high - low < 1.2
    _, start, end = steps_of(curve)
    inner = np.sort(sign * x)[10:-10]
    assert start <= inner[0] + 0.1
    assert end >= inner[-1] - 0.1
    limits = common_range([curve])
    assert ax.get_xlabel() == beyond_axis(curve, limits)
    said = "to 1e+06" if sign > 0 else "from -1e+06"
    assert beyond_axis(curve, limits) == (f"Values go on beyond the axis: {said}." if n else "")


def make_curve(last, share):
    """A curve from -1 to 1, and a bin of this share of the rows with a value of its own."""
    values = np.append(np.linspace(-1, 1, 20), last)
    shares, places = np.append(np.full(20, (1 - share) / 20), share), np.arange(21.0)
    return Curve("x", False, [""] * 21, places, places + 1, values, np.full(21, 0.1), shares)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_spike_of_few_rows_does_not_flatten_the_curves(sign):
    plain, spiky = (make_curve(sign * last, 0.002) for last in (1.1, 9.0))
    limits = common_range([plain, spiky])
    assert max(map(abs, limits)) < 1.6
    assert beyond_axis(plain, limits) == ""
    signed = "+9.00" if sign > 0 else "\N{MINUS SIGN}9.00"
    assert beyond_axis(spiky, limits) == f"Cut off: log-odds of {signed}, for 0.20% of the rows."
    ax = Figure().subplots()
    paint_curve(ax, spiky, PALETTE, limits)
    assert max(map(abs, ax.get_ylim())) < 2.4


def test_a_high_value_of_many_rows_or_a_little_further_out_is_not_cut():
    for last, share in ((9.0, 0.01), (1.6, 0.002)):
        curve = make_curve(last, share)
        limits = common_range([curve])
        assert limits[0] <= -1
        assert limits[1] >= last
        assert beyond_axis(curve, limits) == ""


def test_the_most_frequent_of_many_levels_are_shown():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"level": [f"level {k:02}" for k in (40 * rng.random(900) ** 2).astype(int)]})
    model = TableClassifier("lines", cv=0).fit(X, rng.random(900) < 0.5)
    (ax,) = CurvesDisplay.from_estimator(model).axes_
    often = sorted(
        X["level"].value_counts(sort=False).sort_index().sort_values(ascending=False, kind="stable").index[:30]
    )
    assert [label.get_text() for label in ax.get_xticklabels()] == [*often, "other"]
    values = dict(zip(curves_of(model)[0].labels, curves_of(model)[0].values, strict=True))
    assert_allclose(ax.lines[0].get_ydata(), [values[label] for label in [*often, "other"]])


def test_by_default_the_curves_that_vary_most_come_first():
    display = CurvesDisplay.from_estimator(MODEL)
    spread = [curve.share @ curve.values**2 for curve in display.curves]
    assert len(spread) == 4
    assert (np.diff(spread) <= 0).all()
    display.figure_.canvas.draw()


def test_importance_is_the_auc_lost_without_the_terms_of_a_column():
    lost, scores = auc_lost_without(MODEL, FRAME, Y), MODEL.decision_function(FRAME)
    colours = MODEL.coef_[0][slice(*edges_of(MODEL.terms_)[2:4])]
    without = scores - colours[FRAME["colour"].map(["blue", "green", "red"].index)]
    assert_allclose(lost[2], roc_auc_score(Y, scores) - roc_auc_score(Y, without.round(9)))
    parts = MODEL.contributions(FRAME)
    assert [term.columns for term in MODEL.terms_[4:]] == [(0, 3)]
    for j, kept in ((0, slice(1, 4)), (3, slice(3))):  # the surface goes with both of its columns
        without = parts[:, kept].sum(axis=1)
        assert_allclose(lost[j], roc_auc_score(Y, scores) - roc_auc_score(Y, without), atol=1e-4)
    display = ImportanceDisplay.from_estimator(MODEL, FRAME, Y)
    assert display.names[int(np.argmax(display.lost))] == display.names[0] == FRAME.columns[np.argmax(lost)]
    assert_allclose([bar.get_width() for bar in display.ax_.patches], np.sort(lost)[::-1])
    (intervals,) = display.ax_.collections[:1]
    for j, (start, end) in zip(np.argsort(-lost), np.array(intervals.get_segments())[:, :, 0], strict=True):
        kept = [j not in term.columns for term in MODEL.terms_]
        test = compare_auc(Y, scores, parts[:, kept].sum(axis=1))
        assert_allclose([start, end], [test.low, test.high], atol=2e-4)
