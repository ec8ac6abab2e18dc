"""Figures of additive models, and what their columns are worth."""

import matplotlib
import numpy as np
import pytest
from additive_data import CATEGORICAL, mixed_rows
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from aucmax import AdditiveAUCClassifier, CurvesDisplay, ImportanceDisplay
from aucmax.additive.importance import auc_lost_without

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
    (line,) = [line for line in display.axes_[0].lines if len(line.get_xdata()) > 2]
    assert_allclose(line.get_ydata()[:-1], numeric.values[:-1])
    band = display.axes_[0].collections[0].get_paths()[0].vertices[:, 1]
    assert_allclose(band.max(), (numeric.values + 1.96 * numeric.errors)[:-1].max())


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
