"""How strongly each term is smoothed: the strengths of the penalties, by their marginal likelihood.

The objective is the penalised log-likelihood of a logistic model,

    l(f) - 1/2 sum_t lam_t f_t'S_t f_t

Seen as a prior, the penalty makes f_t Gaussian with the precision lam_t S_t. Each step is one of Newton's method for f
and one for the strengths,

    lam_t = (m_t - lam_t tr(V_tt S_t)) / f_t'S_t f_t

where V is the inverse Hessian: the degrees of freedom of the curve over its roughness. A fixed point maximises the
marginal likelihood, with Laplace's approximation (Wood and Fasiolo, 2017, A generalized Fellner-Schall method). A curve
that explains nothing gets a strength so high that it is flat. No row is held out, and ten steps are enough for all
strengths together, where cross-validation would need a grid for each. A prior does not depend on the number of rows,
so the strengths of a sample serve for all rows.

A step takes q^2 / 2 additions for each row, with q terms, and 2/3 K^3 multiplications, with K cells: the Hessian is
L L', and V_tt is the product of a few columns of the inverse of L. Only at the end is all of V made.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dlauum, dpotrf, dpotrs, dtrtri

from ..losses.rowwise import logistic_terms
from ..solvers.descent import along, backtrack
from .bins import Column
from .kernels import gather, joint_sums, scatter
from .terms import Term, edges_of, penalty

MAX_STEPS = 12
CLOSE = 0.1  # of the logarithm of the strengths, each weighted by the degrees of freedom of its curve
LOWEST, HIGHEST = 1e-4, 1e6
FIRST_STEPS = 2  # with the strengths of the start, so that curves have a shape
FIXED_STEPS = 5  # with given strengths
JITTER = 1e-10  # of the Hessian's diagonal, relative to its mean


class Evidence(NamedTuple):
    """The result."""

    strengths: np.ndarray  # shape (n_terms,): the strengths
    values: np.ndarray  # shape (K,): the values of all cells, nearly of the largest penalised likelihood
    offset: float  # the log-odds of a row whose values are 0
    freedom: np.ndarray  # shape (n_terms,): the degrees of freedom of each curve
    covariance: np.ndarray  # shape (K, K): the covariance of the values, seen as a posterior


def find_strengths(
    codes: np.ndarray,
    positive: np.ndarray,
    weights: np.ndarray,
    terms: Sequence[Term],
    columns: Sequence[Column],
    start: Evidence | None = None,
    fixed: np.ndarray | None = None,
) -> Evidence:
    """Return the strengths of the penalties of all terms, and the curves for them.

    `codes`, of shape (n, n_terms), has the cell of each row in each term, see `terms.cell_codes`. `start` is the result
    for the first of these terms, to start from. With `fixed` strengths, only the curves for them are found.
    """
    edges, shares = edges_of(terms), [penalty(term, columns) for term in terms]
    K, signs = int(edges[-1]), np.where(positive, 1.0, -1.0)
    lam, f = np.ones(len(terms)), np.zeros(K + 1)  # the last entry of f is the offset
    f[K] = np.log(weights[positive].sum() / weights[~positive].sum())
    if start is not None:
        lam[: len(start.strengths)], f[: len(start.values)], f[K] = start.strengths, start.values, start.offset
    if fixed is not None:
        lam = fixed

    def objective(f: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Return minus the penalised log-likelihood, its derivatives by the scores, and the penalty's gradient."""
        losses, slopes, curvatures = logistic_terms(signs * (gather(codes, np.append(f[:K], 0.0)) + f[K]))
        parts = np.split(f[:K], edges[1:-1])
        pull = np.concatenate([lam_t * (S @ part) for lam_t, S, part in zip(lam, shares, parts, strict=True)])
        return float(weights @ losses + pull @ f[:K] / 2), weights * signs * slopes, weights * curvatures, pull

    def degrees(inverse: np.ndarray) -> np.ndarray:
        """Return the degrees of freedom of each curve; `inverse` is the inverse of L."""
        parts = [inverse[a:, a:b] for a, b in itertools.pairwise(edges)]
        return np.array([len(S) - k * np.sum(S * (U.T @ U)) for k, U, S in zip(lam, parts, shares, strict=True)])

    for number in range(MAX_STEPS if fixed is None else FIXED_STEPS):
        value, slopes, curvatures, pull = objective(f)
        factor, step, slope = newton_step(codes, slopes, curvatures, pull, lam, shares, edges)
        f = f + backtrack(along(lambda f: objective(f)[0], f, step), value, slope) * step
        if number < (FIRST_STEPS if fixed is None else FIXED_STEPS - 1):
            continue
        inverse, _ = dtrtri(factor, lower=True, overwrite_c=True)
        freedom = degrees(inverse)
        if fixed is not None:
            break
        rough = np.array([part @ S @ part for part, S in zip(np.split(f[:K], edges[1:-1]), shares, strict=True)])
        new = np.clip(np.maximum(freedom, 0) / np.maximum(rough, 1e-300), LOWEST, HIGHEST)
        change = np.abs(np.log(new / lam)) * np.clip(freedom, 0, 1)
        if change.max(initial=0.0) < CLOSE:
            break
        lam = new
    V, _ = dlauum(inverse, lower=True, overwrite_c=True)
    lower = np.tril(V[:K, :K], -1)
    return Evidence(lam, f[:K], float(f[K]), freedom, lower + lower.T + np.diag(np.diag(V)[:K]))


def newton_step(
    codes: np.ndarray,
    slopes: np.ndarray,
    curvatures: np.ndarray,
    pull: np.ndarray,
    lam: np.ndarray,
    shares: Sequence[np.ndarray],
    edges: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return L, where L L' is the Hessian for the values and the offset, Newton's step, and the slope along it."""
    K = int(edges[-1])
    gradient = np.append(scatter(codes, slopes, K + 1)[:K] + pull, slopes.sum())
    H = joint_sums(codes, curvatures, K + 1).T  # the lower half is filled
    H[K, :K] = scatter(codes, curvatures, K + 1)[:K]
    H[K, K] = curvatures.sum()
    for a, b, lam_t, S in zip(edges[:-1], edges[1:], lam, shares, strict=True):
        H[a:b, a:b] += lam_t * S
    H[np.diag_indices(K + 1)] += JITTER * np.trace(H) / (K + 1)
    factor, _ = dpotrf(H, lower=True, overwrite_a=True)
    step, _ = dpotrs(factor, -gradient, lower=True)
    return factor, step, float(gradient @ step)
