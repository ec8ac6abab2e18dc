"""Each map is the minimiser it says it is, by the optimality condition or by brute force."""

import numpy as np
import pytest

from aucmax.papers.engine.proximal import hard_threshold, order_statistic, project_l1, soft_threshold


def vectors():
    """Yield vectors of many lengths, with ties and zeros in half of them."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 8, 40, 200):
        for _ in range(10):
            yield rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4)
            yield rng.integers(-3, 4, n).astype(float)


def applied(function, w, *arguments):
    v = w.copy()
    function(v, *arguments)
    return v


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (0.7, 0.0), (0.0, 0.4), (0.7, 0.4), (1.0, 2.0)])
def test_soft_threshold_meets_the_optimality_condition(l1, l2):
    for w in vectors():
        v = applied(soft_threshold, w, l1, l2)
        subgradient = w - v - l2 * v
        used = v != 0
        np.testing.assert_allclose(subgradient[used], l1 * np.sign(v[used]), rtol=1e-9, atol=1e-12 * np.abs(w).max())
        assert np.all(np.abs(subgradient[~used]) <= l1)


def test_soft_threshold_against_a_grid():
    grid = np.linspace(-4, 4, 80_001)
    for w in (-3.0, -0.5, 0.0, 0.2, 1.7):
        costs = (grid - w) ** 2 / 2 + 0.6 * np.abs(grid) + 0.3 * grid**2 / 2
        assert applied(soft_threshold, np.array([w]), 0.6, 0.3)[0] == pytest.approx(grid[np.argmin(costs)], abs=1e-4)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.99])
def test_project_l1_is_the_soft_threshold_that_ends_on_the_ball(share):
    for w in vectors():
        size = np.abs(w).sum()
        if size == 0:
            continue
        v = applied(project_l1, w, share * size)
        assert np.abs(v).sum() == pytest.approx(share * size, rel=1e-12, abs=1e-12 * size)
        used = v != 0
        lost = np.abs(w) - np.abs(v)
        theta = lost[used].max() if used.any() else np.abs(w).max()
        np.testing.assert_allclose(lost[used], theta, rtol=1e-9, atol=1e-12 * size)
        assert np.all(np.abs(w[~used]) <= theta + 1e-12 * size)
        assert np.all(v[used] * w[used] > 0)
        np.testing.assert_allclose(applied(project_l1, v, share * size), v, rtol=0, atol=1e-12 * size)


def test_project_l1_is_nearer_than_any_other_point_of_the_ball():
    rng = np.random.default_rng(1)
    for _ in range(20):
        w = rng.standard_normal(4)
        radius = 0.5 * np.abs(w).sum()
        distance = np.linalg.norm(w - applied(project_l1, w, radius))
        others = rng.dirichlet(np.ones(5), 2000)[:, :4] * radius * rng.choice([-1, 1], (2000, 4))
        assert np.all(np.linalg.norm(w - others, axis=1) >= distance)


def test_project_l1_ends_where_entries_are_at_the_threshold_up_to_rounding():
    """Rounding moves the threshold of all entries above 0.1, and that of the two others below: it must not go on."""
    w = np.array([1, 2, 3]) * 0.1
    np.testing.assert_allclose(applied(project_l1, w, 3 * 0.1), [0, 0.1, 0.2], rtol=0, atol=1e-15)
    rng = np.random.default_rng(0)
    for _ in range(300):
        times, unit = rng.integers(1, 4, rng.integers(3, 30)), rng.random()
        expected = np.maximum(times - 1, 0) * unit
        np.testing.assert_allclose(applied(project_l1, times * unit, expected.sum()), expected, rtol=0, atol=1e-13)


def test_project_l1_leaves_what_is_inside():
    for w in vectors():
        np.testing.assert_array_equal(applied(project_l1, w, 1.001 * np.abs(w).sum()), w)


def test_hard_threshold_keeps_exactly_the_k_largest_and_of_equal_ones_the_first():
    for w in vectors():
        for k in {1, 2, len(w) // 2 + 1, len(w) - 1} - {0}:
            expected = np.zeros_like(w)
            kept = np.argsort(-np.abs(w), kind="stable")[:k]
            expected[kept] = w[kept]
            np.testing.assert_array_equal(applied(hard_threshold, w, k), expected)


def test_hard_threshold_of_equal_sizes():
    w = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    for k in range(1, 5):
        np.testing.assert_array_equal(applied(hard_threshold, w, k), np.where(np.arange(5) < k, w, 0))


def test_hard_threshold_keeps_all_where_k_is_no_less_than_their_number():
    for w in vectors():
        for k in (len(w), len(w) + 1, 10 * len(w)):
            np.testing.assert_array_equal(applied(hard_threshold, w, k), w)


def test_order_statistic_against_sorting():
    for w in vectors():
        for a in (w, np.sort(w), np.sort(w)[::-1].copy(), np.zeros_like(w)):
            for r in {0, len(a) // 3, len(a) - 1}:
                assert order_statistic(a.copy(), r) == np.sort(a)[r]
