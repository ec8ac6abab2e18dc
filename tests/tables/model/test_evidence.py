"""Terms and the strengths of their penalties, beside dense matrices."""

import functools

import numpy as np
import pytest
from additive_data import CATEGORICAL, Problem, mixed_rows
from numpy.testing import assert_allclose
from scipy.linalg import block_diag
from scipy.special import expit
from slow import slow_except

from aucmax.tables.fitting import evidence
from aucmax.tables.fitting.evidence import find_mode, find_strengths

X, Y = mixed_rows(300)
WEIGHTS = np.random.default_rng(1).integers(0, 4, 300).astype(float)


def with_levels(*n_levels):
    """Return the rows with further categories, which help to explain the labels."""
    rng = np.random.default_rng(2)
    codes = np.stack([rng.permutation(np.arange(300) % n) for n in n_levels], axis=1).astype(float)
    effects = sum(rng.standard_normal(n)[codes[:, k].astype(int)] for k, n in enumerate(n_levels))
    y = np.where(rng.random(300) < 0.5, Y, effects > 0)
    return np.hstack([X, codes]), y, np.append(CATEGORICAL, [True] * len(n_levels))


def surfaces_of(problem):
    return [*problem.design.curves, *problem.design.surfaces([(0, 2), (0, 3)], 1 + len(problem.columns), 32)]


def make_systems():
    plain, weighted = Problem(X, Y), Problem(X, Y, weights=WEIGHTS)
    smooth = Problem(X, Y, max_bins=60, n_rows=40)
    one = Problem(*with_levels(130), max_bins=60, n_rows=60)
    two = Problem(*with_levels(130, 110), max_bins=60, n_rows=60)
    assert smooth.design.curves[0].T is not None
    assert plain.design.curves[0].T is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "CALL", -1.0)
        by_cells = {
            "functions by cells": smooth.system(smooth.design.curves),
            "surfaces by cells": smooth.system(surfaces_of(smooth)),
            "one wide category by cells": one.system(surfaces_of(one)),
            "two wide categories by cells": two.system(two.design.curves),
        }
    assert all(system.d == 0 for system in by_cells.values())
    patch = pytest.MonkeyPatch()
    patch.setattr(evidence, "CALL", 1.0)
    found = {
        **by_cells,
        "lines": plain.system(plain.design.lines),
        "cells": plain.system(plain.design.curves),
        "weights": weighted.system(weighted.design.curves),
        "functions": smooth.system(smooth.design.curves),
        "surfaces": smooth.system(surfaces_of(smooth)),
        "one wide category": one.system(surfaces_of(one)),
        "two wide categories": two.system(two.design.curves),
    }
    patch.undo()
    assert found["surfaces"].d > 0
    return found


SYSTEMS = make_systems()
EXACT = [name for name in SYSTEMS if "two wide" not in name]
every_system = pytest.mark.parametrize("name", SYSTEMS)


@functools.cache
def matrix_of(system):
    """Return the rows in the coordinates of the terms, then the offset."""
    parts = []
    for t in system.order:
        block = system.blocks[t]
        T = np.eye(block.size) if block.T is None else block.T
        parts.append(T[block.term.cells(system.raw)])
    return np.hstack([*parts, np.ones((len(system.raw), 1))])


def penalty_of(system, lam):
    blocks = [system.blocks[t] for t in system.order]
    parts = [lam[each.strength] * (np.diag(each.S) if each.S.ndim == 1 else each.S) for each in blocks]
    return block_diag(*parts, 0.0)


def loss_of(system, lam, f):
    """Return minus the penalised log-likelihood, its gradient and its Hessian."""
    M, P, y, w = matrix_of(system), penalty_of(system, lam), system.positive, system.weights_of(slice(None))
    s = M @ f
    p = expit(s)
    value = w @ (np.logaddexp(0, s) - y * s) + f @ P @ f / 2
    return value, M.T @ (w * (p - y)) + P @ f, M.T @ ((w * p * (1 - p))[:, None] * M) + P


def some_point(system):
    rng, n_strengths = np.random.default_rng(0), 1 + max(block.strength for block in system.blocks)
    return rng.uniform(0.5, 3, n_strengths), rng.standard_normal(system.K + 1) / 3


def mode_of(system):
    fit, factor = find_mode(system, find_strengths(system), 1e-9, 100)
    return fit, factor, system.join(fit.coordinates, fit.offset)


@pytest.fixture(scope="module")
def found():
    """The strengths of a small system, found to the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "MAX_STEPS", 300)
        patch.setattr(evidence, "CLOSE", 1e-9)
        patch.setattr(evidence, "MEAN_TOL", 1e-12)
        return find_strengths(SYSTEMS["cells"])


@every_system
def test_loss_and_gradient_are_those_of_the_dense_matrix(name):
    system = SYSTEMS[name]
    lam, f = some_point(system)
    at, (value, gradient, _) = system.expand(f), loss_of(system, lam, f)
    assert_allclose(system.value(lam, f), value)
    found = at.gradient + np.append(system.penalty(lam, f), 0.0)
    assert_allclose(found, gradient, atol=1e-10)
    assert_allclose(system.scores(f), matrix_of(system) @ f, atol=1e-12)


@every_system
def test_a_step_solves_the_equations_of_the_dense_hessian(name):
    system = SYSTEMS[name]
    lam, f = some_point(system)
    at, (_, gradient, H) = system.expand(f), loss_of(system, lam, f)
    tol = 1e-5 if name in EXACT else 1e-3
    assert_allclose(at.hessian.penalised(lam).solve(at.working), f - np.linalg.solve(H, gradient), rtol=tol, atol=tol)


@every_system
def test_traces_are_those_of_the_dense_inverse(name):
    system = SYSTEMS[name]
    lam, f = some_point(system)
    V, S = np.linalg.inv(loss_of(system, lam, f)[2]), penalty_of(system, np.ones(len(lam)))
    expected = [np.sum(V[a:b, a:b] * S[a:b, a:b]) for a, b in zip(system.ends, system.ends[1:], strict=False)]
    found = system.expand(f).hessian.penalised(lam).traces()
    assert_allclose(found, expected, rtol=1e-5 if name in EXACT else 0.05)


@every_system
def test_errors_are_those_of_the_dense_inverse(name):
    system = SYSTEMS[name]
    lam, f = some_point(system)
    V, factor = np.linalg.inv(loss_of(system, lam, f)[2]), system.expand(f).hessian.penalised(lam)
    masses = system.masses()
    for t, block in enumerate(system.blocks[:4]):
        number, share = system.order.index(t), masses[t] / masses[t].sum()
        made_of, move = [(t, block.T)], np.zeros((len(share), len(V)))
        move[:, system.ends[number] : system.ends[number + 1]] = np.eye(block.size) if block.T is None else block.T
        if "surfaces" in name and t == 0:  # a value that is made of two terms
            other, T = len(system.blocks) - 1, np.random.default_rng(0).standard_normal((len(share), 9))
            T = np.tile(T, 4)[:, : system.blocks[other].size]
            a = system.ends[system.order.index(other)]
            made_of.append((other, T))
            move[:, a : a + T.shape[1]] = T
        move -= share @ move
        expected = np.sqrt(np.diag(move @ V @ move.T))
        assert_allclose(factor.errors(made_of, share), expected, rtol=1e-5 if name in EXACT else 0.05)


@pytest.mark.parametrize("name", [name for name in SYSTEMS if "wide" in name])
def test_errors_of_wide_categories(name):
    system = SYSTEMS[name]
    lam, f = some_point(system)
    V, factor = np.linalg.inv(loss_of(system, lam, f)[2]), system.expand(f).hessian.penalised(lam)
    for number in system.wide:
        t, a, b = system.order[number], system.ends[number], system.ends[number + 1]
        share = system.masses()[t] / len(X)
        move = np.eye(b - a) - share
        expected = np.sqrt(np.diag(move @ V[a:b, a:b] @ move.T))
        assert_allclose(factor.errors([(t, None)], share), expected, rtol=1e-5 if name in EXACT else 0.1)


@every_system
def test_the_mode_minimises_the_penalised_loss(name):
    system = SYSTEMS[name]
    fit, _, f = mode_of(system)
    value, gradient, _ = loss_of(system, fit.strengths, f)
    assert np.abs(gradient).max() < 1e-5 * value
    assert_allclose(fit.score(system.raw), matrix_of(system) @ f, atol=1e-10)


def test_strengths_are_freedom_over_roughness_with_the_prior_of_curves(found):
    system = SYSTEMS["cells"]
    f = system.join(found.coordinates, found.offset)
    H, P = loss_of(system, found.strengths, f)[2], penalty_of(system, found.strengths)
    rough = [u @ block.pull(u) for u, block in zip(found.coordinates, found.blocks, strict=True)]
    freedom = np.diag(np.linalg.solve(H, H - P))
    expected = [freedom[a:b].sum() for a, b in zip(system.ends, system.ends[1:], strict=False)]
    assert_allclose(found.freedom, np.array(expected)[np.argsort(system.order)], rtol=1e-4, atol=1e-4)
    lam = found.strengths[[block.strength for block in found.blocks]]
    curves = ~np.array(CATEGORICAL)
    prior = evidence.PULL * curves
    assert_allclose(lam, (found.freedom + prior) / (rough + prior / lam[curves].mean()), rtol=1e-4)


@pytest.mark.parametrize("rough", [[2.0, 0.3, 5e-4, 1e-5], [3.0], [1e-3, 1e-3]])
def test_strengths_that_are_pulled_together_maximise_a_gamma_prior(rough):
    """The derivatives of sum (d log lam - q lam) / 2 and of the logarithm of the gamma density, by lam and by mu."""
    freedom, rough = np.array([4.0, 1.5, 0.4, 0.01])[: len(rough)], np.array(rough)
    lam = evidence.pull_together(np.append(freedom, 7.0), np.append(rough, 2.0), np.array([1] * len(rough) + [0]))
    assert lam[-1] == 3.5
    lam, shape = lam[:-1], evidence.PULL / 2

    def objective(logs):
        lam, mu = np.exp(logs[:-1]), np.exp(logs[-1])
        prior = np.sum(shape * np.log(shape * lam / mu) - shape * lam / mu)
        return np.sum(freedom * np.log(lam) - rough * lam) / 2 + prior

    at = np.log(np.append(lam, lam.mean()))
    steps = 1e-4 * np.eye(len(at))
    gradient = [(objective(at + step) - objective(at - step)) / 2e-4 for step in steps]
    assert_allclose(gradient, 0, atol=2e-3)
    if len(lam) == 1:
        assert_allclose(lam, freedom / rough)


def log_evidence(system, lam):
    """Return Laplace's approximation of the marginal likelihood, the slow way; the offset has a flat prior."""
    f = np.zeros(system.K + 1)
    for _ in range(20):
        value, gradient, H = loss_of(system, lam, f)
        f = f - np.linalg.solve(H, gradient)
    assert np.abs(gradient).max() < 1e-8
    P = penalty_of(system, lam)[:-1, :-1]
    return -value + np.linalg.slogdet(P)[1] / 2 - np.linalg.slogdet(H)[1] / 2


@pytest.mark.parametrize("t", slow_except([0], range(3)))
def test_no_strength_can_be_changed_for_the_better(found, t):
    """The curvature also depends on the strengths, which the updates ignore: they find the best about."""
    system = SYSTEMS["cells"]
    here = log_evidence(system, found.strengths)
    for factor in (1 / 3, 3):
        other = found.strengths.copy()
        other[1 + t] *= factor
        assert log_evidence(system, other) < here


def test_noise_among_noise_is_flat_and_signal_is_not(found, monkeypatch):
    """Without a common prior, some columns of noise look as if they had a shape."""
    assert found.freedom[:3].min() > 0.7
    assert (found.freedom <= [block.size for block in found.blocks]).all()
    noise = np.random.default_rng(3).standard_normal((300, 40))
    problem = Problem(np.hstack([X[:, :1], noise]), Y, [False] * 41)
    system = problem.system(problem.design.curves)
    freedom = find_strengths(system).freedom
    assert freedom[0] > 3
    assert freedom[1:].max() < 1.5
    monkeypatch.setattr(evidence, "PULL", 1e-9)
    assert find_strengths(system).freedom[1:].max() > 3


@pytest.mark.parametrize("rung", ["lines", "curves"])
def test_weights_are_repetitions(rung):
    counts = WEIGHTS.astype(int)
    first = Problem(X, Y, weights=WEIGHTS)
    repeated = Problem(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    fits = [find_strengths(each.system(getattr(each.design, rung))) for each in (first, repeated)]
    assert_allclose(fits[0].strengths, fits[1].strengths, rtol=1e-6)
    assert_allclose(np.concatenate(fits[0].coordinates), np.concatenate(fits[1].coordinates), atol=1e-8)


def test_chunks_of_rows_are_all_rows(monkeypatch):
    """A system keeps few chunks, and makes many again."""
    problem = Problem(*with_levels(130, 110), max_bins=60, n_rows=60)
    lam, f = some_point(SYSTEMS["two wide categories"])
    whole = SYSTEMS["two wide categories"].expand(f)
    for step in (100, 7):
        system = problem.system(problem.design.curves)
        system.step = step
        at = system.expand(f)
        assert_allclose(at.gradient, whole.gradient, atol=1e-10)
        assert_allclose(at.hessian.A, whole.hessian.A, atol=1e-10)
        assert_allclose(at.hessian.penalised(lam).solve(f), whole.hessian.penalised(lam).solve(f), rtol=1e-3, atol=1e-4)
        for ours, theirs in zip(system.masses(), SYSTEMS["two wide categories"].masses(), strict=True):
            assert_allclose(ours, theirs)


def test_separable_rows_have_finite_values():
    x = np.arange(20.0)[:, None]
    problem = Problem(x, (x[:, 0] > 9).astype(int), [False], 20)
    fit = mode_of(problem.system(problem.design.curves))[0]
    assert np.isfinite(fit.coordinates[0]).all()
    assert (np.diff(fit.coordinates[0]) >= -1e-6).all()


def test_a_start_from_fewer_terms_leads_to_the_same_terms():
    problem = Problem(X, Y)
    system = problem.system(surfaces_of(problem))
    below = find_strengths(problem.system(problem.design.curves))
    new = system.blocks[len(below.blocks) :]
    start = below._replace(
        blocks=system.blocks,
        coordinates=[*below.coordinates, *(np.zeros(block.size) for block in new)],
        strengths=np.append(below.strengths, [1.0] * len(new)),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "MAX_STEPS", 300)
        patch.setattr(evidence, "CLOSE", 1e-6)
        fits = [find_strengths(system, start) for start in (None, start)]
    scores = [fit.score(system.raw) for fit in fits]
    assert_allclose(scores[0], scores[1], atol=0.02)
