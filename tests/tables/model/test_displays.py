"""Figures of additive models, and what their columns are worth."""

import matplotlib
import numpy as np
import pytest
from additive_data import CATEGORICAL, mixed_rows
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from aucmax import AdditiveAUCClassifier, CurvesDisplay, ImportanceDisplay
from aucmax.tables.curves import auc_lost_without, curve_of

X, Y = mixed_rows()
MODEL = AdditiveAUCClassifier(
    "balanced_logistic", alpha=0.01, max_bins=10, categorical_features=CATEGORICAL, pairs=[(0, 3)]
)
MODEL.fit(X, Y)


@pytest.fixture(autouse=True)
def no_windows():
    from matplotlib import pyplot as plt

    matplotlib.use("agg")
    yield
    plt.close("all")


def test_curves_are_log_odds_with_their_intervals():
    display = CurvesDisplay.from_estimator(MODEL, columns=[0, 2])
    numeric, levels = display.curves
    assert (numeric.name, levels.labels, numeric.labels[-1]) == ("x0", ["0", "1", "2"], "missing")
    assert_allclose(numeric.values, MODEL.calibration_[0] * MODEL.coef_[0, : len(numeric.values)])
    assert (numeric.errors > 0).all()
    assert_allclose([curve.share.sum() for curve in display.curves], 1)
    steps, band, density = (patch.get_data() for patch in display.axes_[0].patches)
    assert_allclose(steps.values, numeric.values[:-1])
    assert_allclose(steps.edges, [*numeric.low, numeric.high[-1]])
    assert_allclose(band.values - steps.values, 1.96 * numeric.errors[:-1])
    assert_allclose(steps.values - band.baseline, 1.96 * numeric.errors[:-1])
    areas = density.values * np.diff(density.edges)
    assert_allclose(areas / areas.sum(), numeric.share[:-1] / numeric.share[:-1].sum())
    points = display.axes_[1].lines[0]
    assert_allclose(points.get_ydata(), levels.values)


@pytest.mark.parametrize("column", [0, 2], ids=["numeric", "levels"])
def test_the_density_lies_below_the_curve(column):
    (ax,) = CurvesDisplay.from_estimator(MODEL, columns=[column]).axes_
    curve = curve_of(MODEL, column)
    low, high = ax.get_ylim()
    top = low + (high - low) * ax.patches[-1].get_data().values.max()
    assert top < (curve.values - 1.96 * curve.errors).min()


def test_by_default_the_curves_that_vary_most_come_first():
    display = CurvesDisplay.from_estimator(MODEL)
    spread = [curve.share @ curve.values**2 for curve in display.curves]
    assert len(spread) == 4
    assert (np.diff(spread) <= 0).all()
    display.figure_.canvas.draw()


def test_importance_is_the_auc_lost_without_the_curves_of_a_column():
    lost = auc_lost_without(MODEL, X, Y)
    codes = [column.encode(x) for column, x in zip(MODEL.columns_, X.T, strict=True)]
    start = sum(column.n_codes for column in MODEL.columns_[:2])
    without = MODEL.decision_function(X) - MODEL.coef_[0, start + codes[2]]
    assert_allclose(lost[2], roc_auc_score(Y, MODEL.decision_function(X)) - roc_auc_score(Y, without.round(9)))
    kept = AdditiveAUCClassifier(**MODEL.get_params()).fit(X, Y)
    kept.coef_[0, : MODEL.columns_[0].n_codes] = 0  # the curve of the first column, and its surface
    kept.coef_[0, sum(column.n_codes for column in MODEL.columns_) :] = 0
    assert_allclose(lost[0], MODEL.score(X, Y) - kept.score(X, Y), atol=1e-4)
    display = ImportanceDisplay.from_estimator(MODEL, X, Y)
    assert display.names[int(np.argmax(display.lost))] == display.names[0] == f"x{np.argmax(lost)}"
    assert_allclose([bar.get_width() for bar in display.ax_.patches], np.sort(lost)[::-1])
