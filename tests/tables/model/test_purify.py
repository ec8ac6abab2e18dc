"""Surfaces without main effects: the score stays, and lines of surfaces have the mean 0."""

import numpy as np
import pytest
from additive_data import CATEGORICAL, design_of, mixed_rows
from numpy.testing import assert_allclose

from aucmax import AdditiveAUCClassifier
from aucmax.tables.kernels import gather
from aucmax.tables.rows import cell_mass
from aucmax.tables.terms import centring, edges_of, main_effects, means_of, purification, standard_errors

X, Y = mixed_rows(300)
PAIRS = [(0, 2), (0, 3), (1, 2)]
DESIGN, ROWS = design_of(X, Y, 12, PAIRS)
MASS, EDGES = cell_mass(ROWS), edges_of(DESIGN.terms)
PURE = purification(DESIGN.terms, MASS)


def surfaces(values):
    """Yield each surface with the weights of its cells."""
    for term, a, b in zip(DESIGN.terms, EDGES[:-1], EDGES[1:], strict=True):
        if len(term.columns) == 2:
            yield values[a:b].reshape(term.shape), MASS[a:b].reshape(term.shape)


@pytest.mark.parametrize("seed", range(3))
def test_the_score_of_a_row_does_not_change(seed):
    values = np.random.default_rng(seed).standard_normal(EDGES[-1])
    before, after = (gather(ROWS.codes, np.append(each, 0.0)) for each in (values, PURE @ values))
    assert_allclose(after, before, atol=1e-10)
    for F, W in surfaces(PURE @ values):
        assert_allclose((W * F).sum(axis=0), 0, atol=1e-9)
        assert_allclose((W * F).sum(axis=1), 0, atol=1e-9)
    assert not np.allclose(next(surfaces(values))[0], next(surfaces(PURE @ values))[0], atol=0.1)
    assert_allclose(PURE @ (PURE @ values), PURE @ values, atol=1e-10)


def test_main_effects_are_found_and_leave_nothing():
    rng = np.random.default_rng(0)
    W = rng.integers(0, 5, (4, 6)).astype(float)
    W[2], W[:, 5] = 0, 0  # a line and a column without rows
    a, b = rng.standard_normal(4), rng.standard_normal(6)
    found = main_effects(W) @ np.add.outer(a, b).ravel()
    left = (np.add.outer(a, b) - np.add.outer(found[:4], found[4:]))[W > 0]
    assert_allclose(left, 0, atol=1e-10)
    assert found[2] == pytest.approx(0)


def test_the_estimator_has_pure_surfaces_of_mean_0():
    model = AdditiveAUCClassifier("squared", alpha=0.01, max_bins=12, pairs=PAIRS, categorical_features=CATEGORICAL)
    model.fit(X, Y)
    for F, W in surfaces(model.coef_[0]):
        assert_allclose((W * F).sum(axis=0), 0, atol=1e-9)
        assert_allclose((W * F).sum(axis=1), 0, atol=1e-9)
    assert_allclose(means_of(model.terms_, model.mass_) @ model.coef_[0], 0, atol=1e-12)


def test_standard_errors_are_those_of_the_changed_values():
    change = centring(DESIGN.terms, MASS) @ PURE
    full = change.toarray() @ DESIGN.covariance @ change.toarray().T
    assert_allclose(standard_errors(change, DESIGN.covariance), np.sqrt(np.maximum(np.diag(full), 0)), atol=1e-9)
    values = np.random.default_rng(1).standard_normal(EDGES[-1])
    assert_allclose(means_of(DESIGN.terms, MASS) @ (change @ values), 0, atol=1e-12)
