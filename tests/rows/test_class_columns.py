"""Means and squares of the columns of two classes, against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from aucmax.rows.summaries.block_moments import class_columns

N = 700  # more than two of the blocks that dense rows are merged by


def exact(values, weights):
    """Return weight, mean and centred sum of squares in rational numbers."""
    x, w = [Fraction(float(value)) for value in values], [Fraction(float(weight)) for weight in weights]
    total = sum(w)
    mean = sum(a * b for a, b in zip(w, x, strict=True)) / total
    return float(total), float(mean), float(sum(a * (b - mean) ** 2 for a, b in zip(w, x, strict=True)))


def columns(rng):
    """Return columns that are far from zero, constant, sparse, binary, drifting, and nonzero in one class alone."""
    positive = rng.random(N) < 0.3
    far, sparse_one = 1e7 + rng.standard_normal(N), rng.standard_normal(N) * (rng.random(N) < 0.02)
    drift, one_class = np.linspace(-1e4, 1e4, N), np.where(positive, 5.0 + rng.standard_normal(N), 0.0)
    return np.column_stack([far, np.full(N, 0.1), sparse_one, rng.random(N) < 0.5, drift, one_class]), positive


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_class_columns_are_as_in_exact_arithmetic(container, weighted):
    rng = np.random.default_rng(0)
    X, positive = columns(rng)
    weights = rng.integers(0, 3, N) * rng.random(N) if weighted else None
    weight, means, squares = class_columns(container(X), positive, weights)
    for c in range(2):
        own = positive == c
        for j in range(X.shape[1]):
            expected = exact(X[own, j], weights[own] if weighted else np.ones(own.sum()))
            np.testing.assert_allclose((weight[c], means[c, j]), expected[:2], rtol=1e-13, atol=1e-13)
            np.testing.assert_allclose(squares[c, j], expected[2], rtol=1e-9, atol=1e-300)
    assert (squares[:, 1] == 0).all()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_class_without_rows_has_no_weight(container):
    weight, means, squares = class_columns(container(np.ones((4, 2))), np.ones(4, dtype=bool), None)
    np.testing.assert_array_equal(weight, [0, 4])
    np.testing.assert_array_equal(means, [[0, 0], [1, 1]])
    np.testing.assert_array_equal(squares, np.zeros((2, 2)))
