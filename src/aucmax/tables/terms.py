"""Terms of an additive model: one for each column, and one for each chosen pair of columns.

Conventions
-----------
A term has m cells: the codes of a column, or groups of the codes of one column times groups of another. Its curve is a
vector f of m values, and its penalty is f'Sf. For the bins of a numeric column,

    f'Sf = m sum_k (f_{k+1} - f_k)^2 + RIDGE |f|^2

For categories and for missing values S is the identity. For a pair it is the Kronecker product of the two. A change of
basis f = T u with T'ST = I makes the penalty |u|^2: in these coordinates all solvers of linear models work as they are.

What a surface says about one of its columns alone belongs to the column's curve: surfaces have no main effects. Many
curves and surfaces have the same sum. Those are shown in which each curve has the mean 0 over the training rows,
and each surface too over the rows of each of its lines: with the weight W of the cells of a surface F,

    sum_j W_ij F_ij = 0 for each i,     sum_i W_ij F_ij = 0 for each j.

The main effects a_i + b_j that are taken from F for it are found by least squares, weighted by W, and they are added to
the curves of the two columns (Lengerich, Tan, Chang, Hooker and Caruana, 2020, Purifying interaction effects). The
score of a row does not change, unless one of two columns has a value that is not known: then its surface counts as the
mean over this column.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag, solve_triangular

from ..models.checks import Sizes, array, count, instance, named_tuple
from .bins import Column

RIDGE = 1e-3  # of a curve, relative to the square of its slope: a constant is hardly penalised, the AUC does not see it
PAIR_RIDGE = 1.0  # of a pair, whose main effects belong to its columns
MAX_GROUPS = 8  # of the codes of a column in a pair


class Term(NamedTuple):
    """A curve, or a surface, as a sum of which scores are made."""

    columns: tuple[int, ...]  # the column, or the two columns
    # For each column, the group of each of its codes: the codes themselves for a single column.
    groups: tuple[np.ndarray, ...]
    shape: tuple[int, ...]  # the number of groups of each column

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(np.prod(self.shape))

    def cells(self, codes: np.ndarray) -> np.ndarray:
        """Return the cell of each row, -1 where nothing is known of one of its values; `codes` are by column."""
        places = [np.append(group, -1)[codes[:, j]] for j, group in zip(self.columns, self.groups, strict=True)]
        if len(places) == 1:
            return places[0]
        return np.where(np.minimum(*places) < 0, -1, places[0] * self.shape[1] + places[1])


def single_term(number: int, column: Column) -> Term:
    """Return the term of a column."""
    return Term((number,), (np.arange(column.n_codes),), (column.n_codes,))


def coarse_term(number: int, column: Column) -> Term:
    """Return the term of a column with the groups that it has in a pair."""
    group = group_codes(column)
    return Term((number,), (group,), (int(group.max(initial=-1)) + 1,))


def pair_term(numbers: tuple[int, int], columns: Sequence[Column]) -> Term:
    """Return the term of two columns, with at most about MAX_GROUPS groups of each."""
    first, second = (coarse_term(j, columns[j]) for j in numbers)
    return Term(numbers, first.groups + second.groups, first.shape + second.shape)


def group_codes(column: Column, n_groups: int = MAX_GROUPS) -> np.ndarray:
    """Return a group for each code: neighbouring bins of about the same weight together, or the rarest categories."""
    mass = column.mass[: column.n_values]
    if len(mass) <= n_groups:
        return np.arange(column.n_codes)
    if column.categorical:
        groups = np.minimum(np.argsort(np.argsort(-mass, kind="stable")), n_groups - 1)
    else:
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        groups = np.unique((middle * n_groups).astype(np.intp), return_inverse=True)[1]
    return np.append(groups, groups.max() + 1) if column.missing else groups


def penalty(term: Term, columns: Sequence[Column]) -> np.ndarray:
    """Return the matrix S of a term."""
    ridge = RIDGE if len(term.columns) == 1 else PAIR_RIDGE
    parts = [one_penalty(columns[j], m, ridge) for j, m in zip(term.columns, term.shape, strict=True)]
    return parts[0] if len(parts) == 1 else np.kron(*parts)


def one_penalty(column: Column, n_cells: int, ridge: float) -> np.ndarray:
    """Return the penalty on the values of a column, or of its groups."""
    if column.categorical:
        return np.eye(n_cells)
    m = n_cells - column.missing
    slopes = np.diff(np.eye(m), axis=0)
    curve = m * slopes.T @ slopes + ridge * np.eye(m)
    return block_diag(curve, np.eye(1)) if column.missing else curve


class Basis:
    """The coordinates u of all terms, in which the penalty is |u|^2; the penalty of term t is strengths[t] * f'Sf.

    `blocks` has the matrix T of each term, `edges`, of shape (n_terms + 1,), where its cells begin among all K.
    """

    def __init__(self, terms: Sequence[Term], columns: Sequence[Column], strengths: np.ndarray) -> None:
        self.edges = edges_of(terms)
        self.blocks = []
        for term, strength in zip(terms, strengths, strict=True):
            lower = np.linalg.cholesky(strength * penalty(term, columns))
            self.blocks.append(solve_triangular(lower, np.eye(len(lower)), lower=True).T)

    @property
    def n_cells(self) -> int:
        """Number of cells, and of coordinates."""
        return int(self.edges[-1])

    def values(self, u: np.ndarray) -> np.ndarray:
        """Return the values f = T u of all cells, shape (K,) or (K, L)."""
        parts = np.split(u, self.edges[1:-1])
        return np.concatenate([T @ part for T, part in zip(self.blocks, parts, strict=True)])

    def rmatvec(self, g: np.ndarray) -> np.ndarray:
        """Return T'g, shape (K,) or (K, L)."""
        parts = np.split(g, self.edges[1:-1])
        return np.concatenate([T.T @ part for T, part in zip(self.blocks, parts, strict=True)])

    def pull_scatter(self, sums: np.ndarray, total: float, mean: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` with T'(sums - total * mean mean')T, shape (K, K); of `sums` only the upper half is read."""
        for t, (a, b) in enumerate(itertools.pairwise(self.edges)):
            pulled = self.blocks[t].T @ (sums[a:b, a : self.n_cells] - np.outer(total * mean[a:b], mean[a:]))
            for T, c, d in zip(self.blocks[t:], self.edges[t:-1], self.edges[t + 1 :], strict=True):
                block = pulled[:, c - a : d - a] @ T
                out[a:b, c:d], out[c:d, a:b] = block, block.T

    def statistics(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each coordinate, for shares of the cells; a row has one cell of a term."""
        means, variances = [], []
        for T, share in zip(self.blocks, np.split(shares, self.edges[1:-1]), strict=True):
            means.append(share @ T)
            variances.append(share @ (T - means[-1]) ** 2 + (1 - share.sum()) * means[-1] ** 2)
        return np.concatenate(means), np.concatenate(variances)

    def coordinates(self, f: np.ndarray) -> np.ndarray:
        """Return the u of values f = T u."""
        parts = np.split(f, self.edges[1:-1])
        return np.concatenate([solve_triangular(T, part) for T, part in zip(self.blocks, parts, strict=True)])


def edges_of(terms: Sequence[Term]) -> np.ndarray:
    """Return where the cells of each term begin among all cells."""
    return np.concatenate([[0], np.cumsum([term.n_cells for term in terms], dtype=np.intp)])


def cell_codes(terms: Sequence[Term], codes: np.ndarray) -> np.ndarray:
    """Return the cell of each row in each term among all K cells, K where nothing is known; shape (n, n_terms)."""
    edges = edges_of(terms)
    out = np.empty((len(codes), len(terms)), dtype=np.int32)
    for t, term in enumerate(terms):
        cells = term.cells(codes)
        out[:, t] = np.where(cells < 0, edges[-1], edges[t] + cells)
    return out


def main_effects(W: np.ndarray) -> np.ndarray:
    """Return the matrix that gives the main effects (a, b) of a surface, shape (A + B, A * B), for its weights W."""
    A, B = W.shape
    G = np.diag(np.append(W.sum(axis=1), W.sum(axis=0)))
    G[:A, A:], G[A:, :A] = W, W.T
    sums = np.vstack([np.repeat(np.eye(A), B, axis=1), np.tile(np.eye(B), A)]) * W.ravel()
    return np.linalg.pinv(G, hermitian=True) @ sums


def purification(terms: Sequence[Term], mass: np.ndarray) -> sparse.csr_array:
    """Return the matrix that moves the main effects of surfaces to the curves, shape (K, K).

    terms[j] belongs to column j, and `mass`, of shape (K,), is the weight of the training rows in each cell.
    """
    edges = edges_of(terms)
    moved = sparse.lil_array((len(mass), len(mass)))
    for term, start, stop in zip(terms, edges[:-1], edges[1:], strict=True):
        if len(term.columns) == 1:
            continue
        effects = main_effects(mass[start:stop].reshape(term.shape))
        sides = np.split(effects, [term.shape[0]])
        for column, groups, side in zip(term.columns, term.groups, sides, strict=True):
            moved[edges[column] : edges[column + 1], start:stop] = side[groups]
        first, second = np.divmod(np.arange(stop - start), term.shape[1])
        moved[start:stop, start:stop] = -(sides[0][first] + sides[1][second])
    return sparse.eye_array(len(mass), format="csr") + moved.tocsr()


def means_of(terms: Sequence[Term], mass: np.ndarray) -> sparse.csr_array:
    """Return the matrix that gives the mean of each term over the training rows, shape (n_terms, K)."""
    edges = edges_of(terms)
    totals = [float(mass[a:b].sum()) for a, b in itertools.pairwise(edges)]
    shares = [mass[a:b] / (total or 1.0) for (a, b), total in zip(itertools.pairwise(edges), totals, strict=True)]
    places = np.repeat(np.arange(len(terms)), np.diff(edges))
    return sparse.csr_array((np.concatenate(shares), (places, np.arange(len(mass)))), shape=(len(terms), len(mass)))


def centring(terms: Sequence[Term], mass: np.ndarray) -> sparse.csr_array:
    """Return the matrix that makes the mean of each term 0, shape (K, K)."""
    repeated = np.repeat(np.arange(len(terms)), np.diff(edges_of(terms)))
    return sparse.eye_array(len(mass), format="csr") - means_of(terms, mass)[repeated]


def standard_errors(change: sparse.csr_array, covariance: np.ndarray) -> np.ndarray:
    """Return the standard errors of changed values, given the covariance of those before the change."""
    return np.sqrt(np.maximum(change.multiply(change @ covariance).sum(axis=1), 0.0))


def check_term(value: Any, where: str, sizes: Sizes) -> None:
    """Check a term by itself: one column or two, and for each its number of groups."""
    CHECK_FIELDS(value, where, sizes)
    if len(value.columns) not in (1, 2) or not len(value.columns) == len(value.groups) == len(value.shape):
        raise ValueError(f"{where} has other numbers of columns, of groups and of sizes than belong together")
    for column, group, n_groups in zip(*value, strict=True):
        count(column, f"columns of {where}", sizes)
        count(n_groups, f"shape of {where}", sizes)
        array("i", None)(group, f"groups of {where}", sizes)
        if ((group < 0) | (group >= n_groups)).any():
            raise ValueError(f"groups of {where} are out of range")


CHECK_FIELDS = named_tuple(Term, columns=instance(tuple), groups=instance(tuple), shape=instance(tuple))
