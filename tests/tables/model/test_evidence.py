"""The strengths of the penalties maximise the marginal likelihood."""

import itertools

import numpy as np
import pytest
from additive_data import CATEGORICAL, count_values, mixed_rows
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit
from slow import slow_except

from aucmax.tables import evidence
from aucmax.tables.bins import find_columns
from aucmax.tables.evidence import find_strengths
from aucmax.tables.pairs import encode
from aucmax.tables.terms import cell_codes, centring, edges_of, penalty, single_term, standard_errors

X, Y = mixed_rows(300)
COLUMNS = find_columns([count_values(x, np.ones(len(x))) for x in X.T], CATEGORICAL, 8, 1000)
TERMS = [single_term(j, column) for j, column in enumerate(COLUMNS)]
CODES = cell_codes(TERMS, encode(COLUMNS, X))
D = sum(np.eye(int(edges_of(TERMS)[-1]))[CODES[:, t]] for t in range(4))


def total_penalty(strengths):
    edges = edges_of(TERMS)
    S = np.zeros((edges[-1] + 1,) * 2)
    for t, term in enumerate(TERMS):
        S[edges[t] : edges[t + 1], edges[t] : edges[t + 1]] = strengths[t] * penalty(term, COLUMNS)
    return S


def log_evidence(strengths):
    """Return Laplace's approximation of the marginal likelihood, the slow way; the offset has a flat prior."""
    S, one = total_penalty(strengths), np.column_stack([D, np.ones(len(D))])

    def value(f):
        s = one @ f
        return np.sum(np.logaddexp(0, s) - Y * s) + f @ S @ f / 2, one.T @ (expit(s) - Y) + S @ f

    f = minimize(value, np.zeros(len(S)), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-14}).x
    p = expit(one @ f)
    H = one.T @ ((p * (1 - p))[:, None] * one) + S
    return -value(f)[0] + np.linalg.slogdet(S[:-1, :-1])[1] / 2 - np.linalg.slogdet(H)[1] / 2


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "MAX_STEPS", 200)
        patch.setattr(evidence, "CLOSE", 1e-9)
        return find_strengths(CODES, Y == 1, np.ones(len(Y)), TERMS, COLUMNS)


@pytest.mark.parametrize("t", slow_except([0], range(3)))
def test_no_strength_can_be_changed_for_the_better(found, t):
    """The curvature also depends on the strengths, which the updates ignore: they find the best about."""
    here = log_evidence(found.strengths)
    for factor in (1 / 3, 3):
        other = found.strengths.copy()
        other[t] *= factor
        assert log_evidence(other) < here


def test_a_strength_is_the_freedom_of_the_curve_over_its_roughness(found):
    parts = np.split(found.values, edges_of(TERMS)[1:-1])
    rough = [part @ penalty(term, COLUMNS) @ part for part, term in zip(parts, TERMS, strict=True)]
    assert_allclose(found.strengths[:3], found.freedom[:3] / rough[:3], rtol=1e-5)


def test_the_values_minimise_the_penalised_loss(found):
    one = np.column_stack([D, np.ones(len(D))])
    f = np.append(found.values, found.offset)
    gradient = one.T @ (expit(one @ f) - Y) + total_penalty(found.strengths) @ f
    assert_allclose(gradient, 0, atol=1e-5)


def test_find_strengths_flattens_a_column_of_noise(found):
    assert found.freedom[3] < 0.6
    assert found.freedom[:3].min() > 0.7
    assert (found.freedom <= [column.n_codes for column in COLUMNS]).all()


def test_find_strengths_of_weights_are_those_of_repetitions():
    counts = np.random.default_rng(0).integers(0, 3, len(Y))
    weighted = find_strengths(CODES, Y == 1, counts.astype(float), TERMS, COLUMNS)
    repeated = find_strengths(
        np.repeat(CODES, counts, axis=0), np.repeat(Y == 1, counts), np.ones(counts.sum()), TERMS, COLUMNS
    )
    assert_allclose(weighted.strengths, repeated.strengths, rtol=1e-6)


def test_errors_are_those_of_centred_curves(found):
    edges, mass = edges_of(TERMS), np.concatenate([column.mass for column in COLUMNS])
    errors = standard_errors(centring(TERMS, mass), found.covariance)
    for a, b in itertools.pairwise(edges):
        C = np.eye(b - a) - mass[a:b] / mass[a:b].sum()
        expected = np.sqrt(np.diag(C @ found.covariance[a:b, a:b] @ C.T))
        assert_allclose(errors[a:b], expected, atol=1e-8)


def test_separable_rows_have_finite_values():
    x = np.arange(20.0)[:, None]
    columns = find_columns([count_values(x, np.ones(len(x))) for x in x.T], np.array([False]), 20, 100)
    terms = [single_term(0, columns[0])]
    found = find_strengths(cell_codes(terms, encode(columns, x)), x[:, 0] > 9, np.ones(20), terms, columns)
    assert np.isfinite(found.values).all()
    assert (np.diff(found.values) >= -1e-6).all()
