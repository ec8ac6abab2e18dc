"""The pairwise losses in score space, against the double loop over the pairs and finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from aucmax.losses import chebyshev_sums as boxes
from aucmax.losses.pairwise import (
    LOSSES,
    Sigmoid,
    SmoothHinge,
    SquaredHinge,
    margin_order,
    pairwise_loss,
    sort_by_cells,
)

# l, l' and l'' of the margin t.
BY_HAND = {
    "squared": (lambda t: (1 - t) ** 2 / 2, lambda t: t - 1, np.ones_like),
    "squared_hinge": (
        lambda t: np.maximum(0, 1 - t) ** 2 / 2,
        lambda t: -np.maximum(0, 1 - t),
        lambda t: np.where(t < 1, 1.0, 0.0),
    ),
    "hinge": (lambda t: np.maximum(0, 1 - t), lambda t: np.where(t < 1, -1.0, 0.0), np.zeros_like),
    "exponential": (lambda t: np.exp(-t), lambda t: -np.exp(-t), lambda t: np.exp(-t)),
    "logistic": (lambda t: np.logaddexp(0, -t), lambda t: -expit(-t), lambda t: expit(t) * expit(-t)),
    "sigmoid": (
        lambda t: expit(-t),
        lambda t: -expit(t) * expit(-t),
        lambda t: expit(t) * expit(-t) * (expit(t) - expit(-t)),
    ),
}
SMOOTH = [name for name in BY_HAND if name not in ("hinge", "squared_hinge")]
every_loss = pytest.mark.parametrize("loss", BY_HAND)


def over_the_pairs(loss, y, scores, weights, v):
    """Return value, gradient and Hessian-vector product by the definition."""
    value, slope, curvature = BY_HAND[loss]
    i, j = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    pairs = np.outer(weights[i], weights[j])
    pairs /= pairs.sum()
    t, dv = (u[i][:, None] - u[j] for u in (scores, v))
    first, second = pairs * slope(t), pairs * curvature(t) * dv
    gradient, product = np.zeros(len(y)), np.zeros(len(y))
    gradient[i], gradient[j] = first.sum(axis=1), -first.sum(axis=0)
    product[i], product[j] = second.sum(axis=1), -second.sum(axis=0)
    return np.sum(pairs * value(t)), gradient, product


def assert_equals_the_pairs(loss, y, scores, weights, v, rtol=1e-12):
    value, gradient, product = over_the_pairs(loss, y, scores, weights, v)
    point = pairwise_loss(y, scores, loss, weights)
    assert point.value == pytest.approx(value, rel=rtol, abs=1e-300)
    assert_allclose(point.gradient, gradient, rtol=rtol, atol=rtol * np.abs(gradient).max())
    assert_allclose(point.hessian_product(v), product, rtol=rtol, atol=10 * rtol * np.abs(product).max() + 1e-17)


@st.composite
def problems(draw):
    """Labels of both classes, scores with ties on a grid, and weights, some of them 0."""
    n = draw(st.integers(2, 40))
    y = np.array([0, 1, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))])
    grid = draw(st.sampled_from([0.25, 0.1, 1e-6, 3.0]))
    scores = grid * np.array(draw(st.lists(st.integers(-12, 12), min_size=n, max_size=n)), dtype=np.float64)
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=np.float64)
    weights[:2] += 1
    seed = draw(st.integers(0, 2**16))
    return y, scores, weights, np.random.default_rng(seed).standard_normal(n)


@every_loss
@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_equals_the_pairs(loss, problem):
    y, scores, weights, v = problem
    # At the corner of the hinge any slope will do, and rounding decides: keep away from it.
    scores = scores + 1e-3 * (y == 1)
    assert_equals_the_pairs(loss, y, scores, weights, v)


@pytest.mark.parametrize(
    ("loss", "width"),
    [
        (loss, width)
        for loss in BY_HAND
        for width in (1e-6, 1e-3, 1.0, 30.0, 1e3, 1e6)
        if loss != "exponential" or width < 100  # beyond, it overflows
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_any_range_of_scores(loss, width, weighted):
    rng = np.random.default_rng(0)
    n = 300
    y = (rng.random(n) < 0.3).astype(int)
    weights = rng.exponential(size=n) if weighted else np.ones(n)
    assert_equals_the_pairs(loss, y, width * rng.random(n), weights, rng.standard_normal(n), rtol=3e-12)


@every_loss
def test_scores_with_a_far_outlier_and_many_close_ones(loss):
    rng = np.random.default_rng(1)
    y = (rng.random(200) < 0.5).astype(int)
    scores = rng.standard_normal(200)
    far = 40.0 if loss == "exponential" else 1e9
    scores[[0, 1]] = far, -far
    assert_equals_the_pairs(loss, y, scores, np.ones(200), rng.standard_normal(200), rtol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "sigmoid"])
def test_tails_keep_their_relative_precision(loss):
    """Well separated classes: the loss is tiny, and exact."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    for gap in (11.0, 12.5, 13.5, 30.0, 100.0, 500.0):
        scores = rng.random(100) + gap * y
        value, gradient, _ = over_the_pairs(loss, y, scores, np.ones(100), scores)
        point = pairwise_loss(y, scores, loss)
        assert point.value == pytest.approx(value, rel=1e-12)
        assert_allclose(point.gradient, gradient, rtol=1e-12)


@pytest.mark.parametrize("loss", SMOOTH)
def test_derivatives_by_finite_differences(loss):
    rng = np.random.default_rng(0)
    y = (rng.random(80) < 0.4).astype(int)
    scores, v, weights = rng.standard_normal(80), rng.standard_normal(80), rng.random(80)
    h = 1e-5
    ahead, behind = (pairwise_loss(y, scores + sign * h * v, loss, weights) for sign in (1, -1))
    point = pairwise_loss(y, scores, loss, weights)
    assert (ahead.value - behind.value) / (2 * h) == pytest.approx(point.gradient @ v, rel=1e-7)
    assert_allclose(point.hessian_product(v), (ahead.gradient - behind.gradient) / (2 * h), rtol=1e-5, atol=1e-9)


def test_hinges_by_finite_differences():
    """Between the corners the hinge is linear and the squared hinge quadratic: differences are exact there."""
    rng = np.random.default_rng(0)
    y = (rng.random(40) < 0.4).astype(int)
    scores, v = rng.standard_normal(40), rng.standard_normal(40)
    h = 1e-7
    for loss in ("hinge", "squared_hinge"):
        ahead, behind = (pairwise_loss(y, scores + sign * h * v, loss) for sign in (1, -1))
        point = pairwise_loss(y, scores, loss)
        assert (ahead.value - behind.value) / (2 * h) == pytest.approx(point.gradient @ v, rel=1e-6)
        assert_allclose(point.hessian_product(v), (ahead.gradient - behind.gradient) / (2 * h), atol=1e-8)


@every_loss
def test_invariances(loss):
    rng = np.random.default_rng(0)
    y = (rng.random(60) < 0.4).astype(int)
    scores, v, weights = rng.standard_normal(60), rng.standard_normal(60), rng.integers(0, 3, 60).astype(float)
    point = pairwise_loss(y, scores, loss, weights)
    assert point.gradient.sum() == pytest.approx(0, abs=1e-14)
    assert np.abs(point.hessian_product(np.ones(60))).max() < 1e-14
    shifted = pairwise_loss(y, scores + 17.3, loss, weights)
    assert shifted.value == pytest.approx(point.value, rel=1e-12)
    swapped = pairwise_loss(1 - y, -scores, loss, weights)
    assert swapped.value == pytest.approx(point.value, rel=1e-12)
    assert_allclose(swapped.gradient, -point.gradient, atol=1e-14)
    order = rng.permutation(60)
    moved = pairwise_loss(y[order], scores[order], loss, weights[order])
    assert_allclose(moved.hessian_product(v[order]), point.hessian_product(v)[order], atol=1e-13)
    repeated = np.repeat(np.arange(60), weights.astype(int))
    assert pairwise_loss(y[repeated], scores[repeated], loss).value == pytest.approx(point.value, rel=1e-12)


def test_the_rounded_hinge():
    """Between the hinge and the hinge less half the width, and equal to its own definition."""
    rng = np.random.default_rng(0)
    positive, scores = rng.random(50) < 0.5, rng.standard_normal(50)
    weights = np.where(positive, 1 / positive.sum(), 1 / (~positive).sum())
    t = scores[positive][:, None] - scores[~positive]
    for width in (1.0, 0.3, 1e-3):
        point = SmoothHinge(positive, weights, width)(scores)
        rounded = np.where(t > 1 - width, np.maximum(0, 1 - t) ** 2 / (2 * width), 1 - t - width / 2)
        assert point.value == pytest.approx(rounded.mean(), rel=1e-10)
        slopes = np.clip((t - 1) / width, -1, 0)
        assert_allclose(point.gradient[positive], slopes.mean(axis=1) / positive.sum(), atol=1e-12)
        ones = positive.astype(float)
        assert point.hessian_product(ones) @ ones == pytest.approx(np.mean((t > 1 - width) & (t < 1)) / width, rel=1e-9)
    assert SquaredHinge(positive, weights, 0.5)(scores).value == pytest.approx(np.mean(np.maximum(0, 0.5 - t) ** 2) / 2)


@pytest.mark.parametrize("kind", ["normal", "cauchy", "few values", "one value", "sorted", "reversed"])
def test_the_order_of_margins(kind):
    """Sorted by cells, or by comparisons where cells would be crowded."""
    rng = np.random.default_rng(0)
    scores = {
        "normal": rng.standard_normal(3000),
        "cauchy": rng.standard_cauchy(3000),
        "few values": rng.integers(0, 3, 3000).astype(float),
        "one value": np.ones(3000),
        "sorted": np.arange(3000.0),
        "reversed": -np.arange(3000.0),
    }[kind]
    order, u = margin_order(scores, rng.random(3000) < 0.3, 1.0)
    assert np.all(np.diff(u[order]) >= 0)
    assert_array_equal(np.sort(order), np.arange(3000))
    by_cells = sort_by_cells(u, np.empty(3000, dtype=np.uint32))
    assert by_cells == (kind in ("normal", "sorted", "reversed"))


def test_a_steeper_sigmoid():
    rng = np.random.default_rng(0)
    positive, scores, v = rng.random(50) < 0.5, rng.standard_normal(50), rng.standard_normal(50)
    weights = np.where(positive, 1 / positive.sum(), 1 / (~positive).sum())
    steep, plain = Sigmoid(positive, weights, 3.0)(scores), Sigmoid(positive, weights)(3 * scores)
    assert steep.value == plain.value
    h = 1e-6
    ahead, behind = (Sigmoid(positive, weights, 3.0)(scores + sign * h * v) for sign in (1, -1))
    assert (ahead.value - behind.value) / (2 * h) == pytest.approx(steep.gradient @ v, rel=1e-6)
    assert_allclose(steep.hessian_product(v), (ahead.gradient - behind.gradient) / (2 * h), rtol=1e-5, atol=1e-9)


def test_boxes_beyond_the_table(monkeypatch):
    """Boxes that are sorted give what boxes that are looked up give."""
    rng = np.random.default_rng(0)
    y, scores = (rng.random(500) < 0.5).astype(int), 30 * rng.standard_normal(500)
    looked_up = pairwise_loss(y, scores, "logistic")
    monkeypatch.setattr(boxes, "SPARE_BOXES", -(10**6))
    sorted_ones = pairwise_loss(y, scores, "logistic")
    assert sorted_ones.value == pytest.approx(looked_up.value, rel=1e-14)
    assert_allclose(sorted_ones.gradient, looked_up.gradient, rtol=1e-13)


def test_exponential_beyond_the_largest_number():
    point = pairwise_loss([0, 1], [1000.0, 0.0], "exponential")
    assert point.value == np.inf
    # The factors overflow, and their product does not.
    point = pairwise_loss([0, 0, 1, 1], [1000.0, 1001.0, 1000.5, 1002.0], "exponential")
    assert point.value == pytest.approx(np.mean(np.exp([[-0.5, 0.5], [-2.0, -1.0]])))


def test_hostile_input_gets_one_sentence():
    with pytest.raises(ValueError, match=r"^loss must be one of squared, squared_hinge, hinge, .*, got 'huber'\.$"):
        pairwise_loss([0, 1], [0.0, 1.0], "huber")
    with pytest.raises(ValueError, match=r"^scores must have one dimension, got the shape \(2, 1\)\.$"):
        pairwise_loss([0, 1], [[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"Input scores contains NaN"):
        pairwise_loss([0, 1], [0.0, np.nan])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        pairwise_loss([0, 1], [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"class 1 has no row with a weight above 0"):
        pairwise_loss([0, 1], [0.0, 1.0], sample_weight=[1, 0])
    with pytest.raises(ValueError, match=r"holds only one class"):
        pairwise_loss([1, 1], [0.0, 1.0])
    assert set(LOSSES) == set(BY_HAND)
