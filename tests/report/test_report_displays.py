"""Displays draw the numbers of the models and scores that they are made from."""

import itertools

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB

from aucmax import (
    AUCClassifier,
    BlendDisplay,
    CandidatesDisplay,
    PathDisplay,
    ROCDisplay,
    ScoresDisplay,
    WeightsDisplay,
    roc_auc_ci,
)
from aucmax.report.figures import COLOURS, HEIGHT, STYLE, WIDTH

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
BLEND = AUCClassifier().fit(X, Y)
PATH = AUCClassifier("squared", alphas=[1.0, 0.1, 0.01]).fit(X, Y)
SCORES = BLEND.decision_function(X)


@pytest.fixture(autouse=True)
def no_windows():
    from matplotlib import pyplot as plt

    matplotlib.use("agg")
    yield
    plt.close("all")


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().texts]


def test_roc_of_predictions_is_that_of_scikit_learn():
    display = ROCDisplay.from_predictions(Y, SCORES, name="blend")
    curve = display.ax_.lines[1]
    fpr, tpr, _ = roc_curve(Y, SCORES, drop_intermediate=False)
    assert set(zip(*curve.get_data(), strict=True)) <= set(zip(fpr, tpr, strict=True))
    assert_allclose(np.trapezoid(curve.get_ydata(), curve.get_xdata()), roc_auc_score(Y, SCORES), atol=1e-4)
    auc, low, high, _ = roc_auc_ci(Y, SCORES)
    assert texts(display) == [f"blend: AUC {auc:.4f} ({low:.4f} to {high:.4f})", "chance"]
    (band,) = display.ax_.collections
    outline = band.get_paths()[0].vertices
    assert outline[:, 1].min() < curve.get_ydata()[0] + 1e-12
    wide = ROCDisplay.from_predictions(Y, SCORES, confidence_level=0.999)
    assert (wide.evaluations[0].roc.high >= display.evaluations[0].roc.high).all()
    assert (wide.evaluations[0].roc.low <= display.evaluations[0].roc.low).all()


def test_two_curves_on_the_same_axes_have_two_colours_and_one_legend():
    first = ROCDisplay.from_estimator(BLEND, X, Y)
    second = ROCDisplay.from_estimator(GaussianNB().fit(X, Y), X, Y, name="Bayes", color="C3", ax=first.ax_)
    assert second.figure_ is first.figure_
    assert [text.split(":")[0] for text in texts(second)] == ["AUCClassifier", "chance", "Bayes"]
    assert [line.get_color() for line in first.ax_.lines if line.get_linestyle() == "-"] == ["C0", "C3"]


@pytest.mark.slow
def test_roc_curves_of_folds_and_their_mean():
    results = cross_validate(LogisticRegression(max_iter=5000), X, Y, cv=3, return_estimator=True, return_indices=True)
    display = ROCDisplay.from_cv_results(results, X, Y)
    _, *folds, mean = display.ax_.lines
    aucs = []
    for fold, estimator, test in zip(folds, results["estimator"], results["indices"]["test"], strict=True):
        aucs.append(roc_auc_score(Y.iloc[test], estimator.decision_function(X.iloc[test])))
        assert_allclose(np.trapezoid(fold.get_ydata(), fold.get_xdata()), aucs[-1], atol=1e-4)
    at = 0.05
    expected = np.mean([np.interp(at, *fold.get_data()) for fold in folds])
    assert_allclose(np.interp(at, *mean.get_data()), expected, atol=1e-2)
    assert texts(display)[0] == f"mean AUC {np.mean(aucs):.4f}, folds {min(aucs):.4f} to {max(aucs):.4f}"


def test_the_other_class_may_be_positive():
    for model in (BLEND, GaussianNB().fit(X, Y)):
        roc = ROCDisplay.from_estimator(model, X, Y, pos_label=0)
        assert_allclose(roc.evaluations[0].auc.auc, ROCDisplay.from_estimator(model, X, Y).evaluations[0].auc.auc)
        assert roc.evaluations[0].n_positive == (Y == 0).sum()
        scores = ScoresDisplay.from_estimator(model, X, Y, pos_label=0)
        assert scores.names == ("1", "0")
        assert np.mean(scores.groups[1]) > np.mean(scores.groups[0])
    with pytest.raises(ValueError, match=r"pos_label must be one of the classes \[0, 1\], got 2\."):
        ROCDisplay.from_estimator(BLEND, X, Y, pos_label=2)


def test_folds_without_their_estimators_are_refused():
    message = "^cv_results lacks estimator and indices: call cross_validate with return_estimator=True and"
    with pytest.raises(ValueError, match=message):
        ROCDisplay.from_cv_results({"test_score": [0.5]}, X, Y)


def test_scores_are_densities_with_both_thresholds():
    display = ScoresDisplay.from_estimator(BLEND, X, Y)
    negative, positive = display.ax_.patches[1], display.ax_.patches[3]
    for patch, label in ((negative, 0), (positive, 1)):
        density, edges, _ = patch.get_data()
        assert_allclose(density, np.histogram(SCORES[label == Y], edges, density=True)[0])
    names = texts(display)
    assert names[:3] == ["0", "1", "threshold in use, 0"]
    assert names[3].startswith("best balanced accuracy, ")
    threshold = float(names[3].split(", ")[1].replace("\N{MINUS SIGN}", "-"))
    assert threshold == pytest.approx(display.best, rel=1e-3)
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent().transformed(display.ax_.transData.inverted())
    assert legend.y0 > max(patch.get_data()[0].max() for patch in (negative, positive))


def test_scores_display_draws_probabilities_without_decision_function():
    display = ScoresDisplay.from_estimator(GaussianNB().fit(X, Y), X, Y)
    assert 0 <= display.edges[0] < display.edges[-1] <= 1
    assert "threshold in use, 0.5" in texts(display)
    assert ROCDisplay.from_estimator(DummyClassifier().fit(X, Y), X, Y).evaluations[0].auc.auc == 0.5


def test_pos_label_is_the_positive_class():
    names = np.where(Y == 1, "bad", "good")
    one, other = ROCDisplay.from_predictions(names, SCORES, pos_label="bad"), ROCDisplay.from_predictions(Y, SCORES)
    assert one.evaluations[0].auc == other.evaluations[0].auc
    display = ScoresDisplay.from_predictions(names, SCORES, pos_label="bad")
    assert texts(display)[:2] == ["good", "bad"]
    assert_allclose(display.groups[1], SCORES[Y == 1])
    with pytest.raises(ValueError, match="pos_label='ugly' is not one of the labels of y"):
        ScoresDisplay.from_predictions(names, SCORES, pos_label="ugly")


def test_names_of_classes_are_no_formulas():
    labels = np.where(Y == 1, "price in $x^2_{$", "b")
    display = ScoresDisplay.from_predictions(labels, -SCORES)
    assert texts(display)[:2] == ["b", "price in $x^2_{$"]
    display.figure_.canvas.draw()


@pytest.mark.parametrize("unit", [1e-9, 1e-4, 1e-3, 1.0, 1e7])
def test_labels_of_scores_do_not_overlap_in_a_report(unit):
    scores = unit * np.random.default_rng(0).normal([[-1], [1]], size=(2, 300))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = figure.subplots()
        ScoresDisplay(*scores, threshold=0.0).paint(axes, COLOURS)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    boxes = [label.get_window_extent(canvas.get_renderer()) for label in axes.get_xticklabels()]
    boxes = [box for box in boxes if axes.bbox.x0 <= (box.x0 + box.x1) / 2 <= axes.bbox.x1]
    assert len(boxes) >= 3
    assert all(left.x1 + 10 < right.x0 for left, right in itertools.pairwise(boxes))


def test_path_marks_the_choice_of_the_estimator_and_of_a_grid_search():
    display = PathDisplay.from_estimator(PATH)
    (line, point) = display.ax_.lines
    assert_allclose(line.get_ydata(), PATH.cv_results_["mean_test_score"][::-1])
    assert_array_equal(point.get_xdata(), [PATH.alpha_])
    search = GridSearchCV(AUCClassifier("squared"), {"alpha": [0.1, 1.0]}, cv=3).fit(X, Y)
    found = PathDisplay.from_cv_results(search.cv_results_, best_index=search.best_index_)
    assert_allclose(found.ax_.lines[0].get_ydata(), search.cv_results_["mean_test_score"])
    assert_allclose(found.ax_.lines[1].get_data(), [[search.best_params_["alpha"]], [search.best_score_]])


def test_candidates_and_shares_of_a_blend():
    display = CandidatesDisplay.from_estimator(BLEND)
    rings = [line for line in display.ax_.lines if line.get_markerfacecolor() == "none"]
    assert_array_equal(rings[0].get_xdata(), BLEND.blend_["alpha"])
    assert_array_equal(rings[0].get_ydata(), BLEND.blend_["auc"])
    assert f"the blend, AUC {BLEND.cv_auc_:.4f}" in texts(display)
    shares = BlendDisplay.from_estimator(BLEND)
    assert_array_equal([bar.get_width() for bar in shares.ax_.patches], BLEND.blend_["share"])


def test_candidates_of_a_single_split_have_no_line_of_the_blend():
    clf = AUCClassifier(cv=[(np.arange(0, len(Y), 2), np.arange(1, len(Y), 2))]).fit(X, Y)
    display = CandidatesDisplay.from_estimator(clf)
    assert display.choice == ("the blend" if len(clf.blend_["share"]) > 1 else f"{clf.loss_} is chosen")
    assert np.isfinite(display.ax_.get_ylim()).all()


@pytest.mark.parametrize("n_axes", [1, 3])
@pytest.mark.parametrize(("display", "model"), [(CandidatesDisplay, BLEND), (PathDisplay, PATH)])
def test_a_legend_of_lines_is_below_the_axes_and_inside_of_the_figure(display, model, n_axes):
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, n_axes, figsize=(5.5 + 2 * n_axes, 5), layout="constrained", squeeze=False)
    drawn = display.from_estimator(model, ax=axes[0, -1])
    figure.canvas.draw()
    legend = drawn.ax_.get_legend().get_window_extent()
    assert legend.y0 > 0
    assert legend.y1 < drawn.ax_.xaxis.label.get_window_extent().y0
    assert legend.x0 > 0
    assert legend.x1 < figure.bbox.x1


def test_without_a_layout_the_legend_is_in_the_axes():
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots()
    drawn = CandidatesDisplay.from_estimator(BLEND, ax=ax)
    figure.canvas.draw()
    assert ax.bbox.contains(*drawn.ax_.get_legend().get_window_extent().min)


def test_candidates_that_are_not_shown_do_not_widen_the_axis():
    display = CandidatesDisplay.from_estimator(BLEND)
    shown = display.x[display.mean >= display.low]
    high = display.ax_.get_xlim()[1]
    assert shown.max() <= high < display.x.max()


def test_weights_are_scaled_by_the_spread_of_their_columns():
    display = WeightsDisplay.from_estimator(BLEND, X, n_weights=7)
    scaled = BLEND.coef_[0] * X.std(ddof=0)
    order = np.argsort(-np.abs(scaled.to_numpy()))[:7]
    assert display.names == list(X.columns[order])
    assert_allclose([bar.get_width() for bar in display.ax_.patches], scaled.iloc[order], rtol=1e-10)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == display.names
    of_sparse = WeightsDisplay.from_estimator(BLEND, sparse.csr_array(X.to_numpy()), n_weights=7)
    assert_allclose(of_sparse.weights, display.weights)
    assert texts(display) == ["makes 1 more likely", "makes 0 more likely"]


def test_weights_of_a_sparse_model_are_those_that_are_not_0():
    model = AUCClassifier(n_nonzero=3, alpha=0.1).fit(X.to_numpy(), Y)
    display = WeightsDisplay.from_estimator(model)
    assert sorted(display.names) == sorted(f"column {j + 1}" for j in np.flatnonzero(model.coef_[0]))
    assert_allclose(np.sort(display.weights), np.sort(model.coef_[0][model.coef_[0] != 0]))
