"""The pairwise losses in score space, against the double loop over the pairs and finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from odd_rows import ChunkSpace
from scipy.optimize import minimize
from scipy.special import expit, logit

from aucmax import roc_auc
from aucmax.losses import LOSSES, find_loss
from aucmax.losses import chebyshev_sums as boxes
from aucmax.losses.evaluation import pairwise_loss
from aucmax.losses.hinges import Knots, SmoothHinge, SquaredHinge, sort_by_cells
from aucmax.losses.pairwise import Sigmoid
from aucmax.rows.memory import MemorySpace
from aucmax.rows.protocol import Targets

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


def space_of(positive, weights=None):
    """Rows in memory of which only the classes and the weights are known."""
    ones = np.ones(len(positive)) if weights is None else weights
    return MemorySpace(Targets(positive, weights, np.array([ones[~positive].sum(), ones[positive].sum()])))


def over_the_pairs(loss, y, scores, weights, v):
    """Return value, gradient and Hessian-vector product by the definition; `loss` is a name, or l, l' and l''."""
    value, slope, curvature = BY_HAND[loss] if isinstance(loss, str) else loss
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
@settings(max_examples=60, deadline=None, derandomize=True)
def test_pairwise_loss_equals_the_mean_over_all_pairs(loss, problem):
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
def test_pairwise_loss_of_any_range_of_scores(loss, width, weighted):
    rng = np.random.default_rng(0)
    n = 300
    y = (rng.random(n) < 0.3).astype(int)
    weights = rng.exponential(size=n) if weighted else np.ones(n)
    assert_equals_the_pairs(loss, y, width * rng.random(n), weights, rng.standard_normal(n), rtol=3e-12)


@every_loss
def test_pairwise_loss_of_far_outliers_and_close_scores(loss):
    rng = np.random.default_rng(1)
    y = (rng.random(200) < 0.5).astype(int)
    scores = rng.standard_normal(200)
    far = 40.0 if loss == "exponential" else 1e9
    scores[[0, 1]] = far, -far
    assert_equals_the_pairs(loss, y, scores, np.ones(200), rng.standard_normal(200), rtol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "sigmoid"])
def test_pairwise_loss_keeps_relative_precision_in_the_tails(loss):
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
def test_pairwise_loss_derivatives_by_finite_differences(loss):
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
def test_pairwise_loss_invariances(loss):
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


def test_rounded_hinge_by_its_definition():
    """Between the hinge and the hinge less half the width, and equal to its own definition."""
    rng = np.random.default_rng(0)
    positive, scores = rng.random(50) < 0.5, rng.standard_normal(50)
    space = space_of(positive)
    t = scores[positive][:, None] - scores[~positive]
    for width in (1.0, 0.3, 1e-3):
        point = SmoothHinge(width)(space, scores)
        rounded = np.where(t > 1 - width, np.maximum(0, 1 - t) ** 2 / (2 * width), 1 - t - width / 2)
        assert point.value == pytest.approx(rounded.mean(), rel=1e-10)
        slopes = np.clip((t - 1) / width, -1, 0)
        assert_allclose(point.gradient[positive], slopes.mean(axis=1) / positive.sum(), atol=1e-12)
        ones = positive.astype(float)
        assert point.hessian_product(ones) @ ones == pytest.approx(np.mean((t > 1 - width) & (t < 1)) / width, rel=1e-9)
    assert SquaredHinge(0.5)(space, scores).value == pytest.approx(np.mean(np.maximum(0, 0.5 - t) ** 2) / 2)


@pytest.mark.parametrize("kind", ["normal", "cauchy", "few values", "one value", "sorted", "reversed"])
def test_the_knots_and_the_slots_between_them(kind):
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
    positive = rng.random(3000) < 0.3
    for rare_positive in (True, False):
        space = space_of(positive == rare_positive)
        knots = Knots.of(space, scores, 1.0)
        assert knots.rare_positive == rare_positive
        x = (1 if rare_positive else -1) * scores + np.where(positive, -0.5, 0.5)
        assert_array_equal(knots.values[:-4], np.sort(x[positive]))
        assert_array_equal(knots.values[-4:], np.inf)
        slots = space.map(knots.slots, scores)
        assert_array_equal(slots, np.searchsorted(knots.values[:-4], x))
        out = np.empty(positive.sum() + 4), np.zeros(positive.sum() + 1, dtype=np.uint32)
        by_cells = sort_by_cells(x[positive], knots.low, knots.scale, *out)
        assert by_cells == (kind in ("normal", "sorted", "reversed"))


def test_a_steeper_sigmoid():
    rng = np.random.default_rng(0)
    positive, scores, v = rng.random(50) < 0.5, rng.standard_normal(50), rng.standard_normal(50)
    space = space_of(positive)
    steep, plain = Sigmoid(3.0)(space, scores), Sigmoid()(space, 3 * scores)
    assert steep.value == plain.value
    h = 1e-6
    ahead, behind = (Sigmoid(3.0)(space, scores + sign * h * v) for sign in (1, -1))
    assert (ahead.value - behind.value) / (2 * h) == pytest.approx(steep.gradient @ v, rel=1e-6)
    assert_allclose(steep.hessian_product(v), (ahead.gradient - behind.gradient) / (2 * h), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "sigmoid"])
def test_chebyshev_sums_of_a_score_just_below_the_last_box(loss):
    """Less the lowest box it would round up to a box beyond all others."""
    scores = np.append(np.linspace(-20.0, 30.0, 36), np.nextafter(50.0, 0))
    assert scores[-1] - scores[0] == 70.0
    y = np.arange(37) % 2
    assert_equals_the_pairs(loss, y, scores, np.ones(37), np.sin(np.arange(37)))


def test_chebyshev_sums_of_sorted_boxes_equal_the_table(monkeypatch):
    """Boxes that are sorted give what boxes that are looked up give."""
    rng = np.random.default_rng(0)
    y, scores = (rng.random(500) < 0.5).astype(int), 30 * rng.standard_normal(500)
    looked_up = pairwise_loss(y, scores, "logistic")
    monkeypatch.setattr(boxes, "SPARE_BOXES", -(10**6))
    sorted_ones = pairwise_loss(y, scores, "logistic")
    assert sorted_ones.value == pytest.approx(looked_up.value, rel=1e-14)
    assert_allclose(sorted_ones.gradient, looked_up.gradient, rtol=1e-13)


# Blocks


def rounded_hinge(width):
    """Return l, l' and l'' of the hinge with its corner rounded off."""
    return (
        lambda t: np.where(t > 1 - width, np.maximum(0, 1 - t) ** 2 / (2 * width), 1 - t - width / 2),
        lambda t: np.clip((t - 1) / width, -1, 0),
        lambda t: ((t > 1 - width) & (t < 1)) / width,
    )


def steep_sigmoid(slope):
    """Return l, l' and l'' of the sigmoid of slope * t."""
    value, first, second = BY_HAND["sigmoid"]
    return lambda t: value(slope * t), lambda t: slope * first(slope * t), lambda t: slope**2 * second(slope * t)


# What a solver may call, with l, l' and l'' of the margin.
IN_BLOCKS = {
    **{name: (find_loss(name), by_hand) for name, by_hand in BY_HAND.items()},
    **{f"hinge, rounded by {width}": (SmoothHinge(width), rounded_hinge(width)) for width in (1.0, 0.03)},
    **{f"sigmoid of {slope} t": (Sigmoid(slope), steep_sigmoid(slope)) for slope in (0.5, 16.0)},
}


@st.composite
def problems_in_blocks(draw):
    """A problem, its scores near to each other or far apart, and sizes of blocks: some are empty, some of one class."""
    y, scores, weights, v = draw(problems())
    weights = draw(st.sampled_from([None, weights]))
    scores = scores * draw(st.sampled_from([1.0, 1.0, 40.0, 1e7]))
    edges = sorted(draw(st.lists(st.integers(0, len(y)), max_size=8)))
    if draw(st.booleans()):  # all negatives before all positives, and a block ends there
        order = np.argsort(y, kind="stable")
        y, scores, v = y[order], scores[order], v[order]
        weights = None if weights is None else weights[order]
        edges = sorted([*edges, int(np.sum(y == 0))])
    return y, scores, weights, v, edges


@pytest.mark.parametrize("kind", IN_BLOCKS)
@given(problem=problems_in_blocks())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_pairwise_loss_is_independent_of_blocks(kind, problem):
    loss, by_hand = IN_BLOCKS[kind]
    y, scores, weights, v, edges = problem
    positive = y == 1
    scores = scores + 1e-3 * positive  # keep away from the corners
    blocks = ChunkSpace(np.split(positive, edges), None if weights is None else np.split(weights, edges))
    whole = loss(space_of(positive, weights), scores)
    point = loss(blocks, blocks.vector(np.split(scores, edges)))
    if np.isinf(whole.value):
        assert kind == "exponential"
        assert np.isinf(point.value)
        return
    found = point.value, point.gradient, point.hessian_product(blocks.vector(np.split(v, edges)))
    one_block = whole.value, whole.gradient, whole.hessian_product(v)
    ones = np.ones(len(y)) if weights is None else weights
    pairs = over_the_pairs(by_hand, y, scores, ones, v)
    terms, far = pairs, 0.0
    if isinstance(loss, SmoothHinge):  # the difference of two squared hinges, and as exact as they are
        terms = [term / loss.width for term in over_the_pairs("squared_hinge", y, scores, ones, v)]
        far = np.spacing(np.abs(scores).max()) / loss.width  # scores less their corners, of scores far from zero
    rounding = 1e-15 * space_of(positive, weights).targets.pair_weights.max() * np.abs(v).max()
    for k, (of_blocks, of_one, of_pairs, term) in enumerate(zip(found, one_block, pairs, terms, strict=True)):
        of_blocks = np.concatenate(blocks.chunks(of_blocks)) if k else of_blocks
        atol = 1e-12 * np.abs(term).max() + (rounding if k else 1e-300)
        assert_allclose(of_blocks, of_one, rtol=1e-12, atol=atol)
        assert_allclose(of_blocks, of_pairs, rtol=1e-12, atol=atol + far)


def test_exponential_beyond_the_largest_number():
    point = pairwise_loss([0, 1], [1000.0, 0.0], "exponential")
    assert point.value == np.inf
    # The factors overflow, and their product does not.
    point = pairwise_loss([0, 0, 1, 1], [1000.0, 1001.0, 1000.5, 1002.0], "exponential")
    assert point.value == pytest.approx(np.mean(np.exp([[-0.5, 0.5], [-2.0, -1.0]])))


def test_pairwise_loss_refuses_bad_input():
    with pytest.raises(ValueError, match=r"^loss must be one of squared, pooled, squared_hinge, .*, got 'huber'\.$"):
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
    assert set(LOSSES) == {*BY_HAND, "pooled", "balanced_logistic"}  # the last two are in test_rowwise


@pytest.mark.dask
def test_pairwise_loss_refuses_dask_collections():
    da = pytest.importorskip("dask.array")
    y, scores = np.arange(6) % 2, np.linspace(-1, 1, 6)
    lazy = da.from_array(scores)
    for arguments in ((da.from_array(y), lazy), (y, lazy), (y, scores, "hinge", lazy)):
        with pytest.raises(ValueError, match="needs all scores in one place: compute\\(\\) y and scores first"):
            pairwise_loss(*arguments)


# Consistency: whether the best scores of a population are in the order of the probabilities

PROBABILITIES = (np.array([0.2, 0.4, 0.5, 0.8]), np.array([0.02, 0.05, 0.3, 0.35, 0.6, 0.61]))


def population_risk(scores, loss, probabilities):
    """The loss of a population whose rows are equally often one of some points, with these probabilities of being 1."""
    y = np.repeat([1, 0], len(scores))
    return pairwise_loss(y, np.tile(scores, 2), loss, sample_weight=np.append(probabilities, 1 - probabilities)).value


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic", "exponential"])
@pytest.mark.parametrize("probabilities", PROBABILITIES, ids=len)
def test_minimisers_of_consistent_losses_order_points_by_their_probability(loss, probabilities):
    found = minimize(population_risk, 0 * probabilities, (loss, probabilities), tol=1e-12).x
    assert np.diff(found).min() > 0.005
    if loss == "squared":  # w.delta of the indicators of the points, by the normal equations of the double sum
        positive, negative = (p / p.sum() for p in (probabilities, 1 - probabilities))
        C = np.diag(positive + negative) - np.outer(positive, negative) - np.outer(negative, positive)
        expected = np.linalg.lstsq(C, positive - negative, rcond=None)[0]
    elif loss in ("logistic", "exponential"):
        expected = logit(probabilities) / (2 if loss == "exponential" else 1)
    else:
        return
    assert_allclose(found - found[0], expected - expected[0], atol=2e-3)


def test_the_hinge_is_not_consistent():
    probabilities = PROBABILITIES[0]
    # Its risk is linear between the scores with differences of 0 and 1, so one of its minimisers has whole numbers.
    whole = np.stack(np.meshgrid([0.0], *[np.arange(-3.0, 4.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 4)
    risks = np.array([population_risk(scores, "hinge", probabilities) for scores in whole])
    assert_array_equal(whole[risks < risks.min() + 1e-9], [[0, 1, 1, 2]])  # 0.4 and 0.5 are alike
    rng = np.random.default_rng(0)
    for scores in np.sort(rng.uniform(0, 3, (200, 4)), axis=1):
        assert population_risk(scores, "hinge", probabilities) > risks.min()


def test_the_sigmoid_comes_nearer_to_the_best_order_with_longer_scores():
    probabilities = PROBABILITIES[0]
    y, weights = np.repeat([1, 0], 4), np.append(probabilities, 1 - probabilities)
    least = 1 - roc_auc(y, np.tile(probabilities, 2), weights)
    gaps = [population_risk(length * probabilities, "sigmoid", probabilities) - least for length in (1, 10, 100, 1000)]
    assert np.all(np.diff(gaps) < 0)
    assert abs(gaps[-1]) < 1e-9
