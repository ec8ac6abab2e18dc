"""Terms of a table model: lines, curves and levels of a column, and surfaces of two columns.

Conventions
-----------
A term has m cells: the codes of a column, or groups of the codes of one column times groups of another. It is a vector
f of m values, and a row has the value of its cell. All terms are fitted in coordinates u with f = T u, and the penalty
is u'Su, times a strength that is found for it:

- levels: T and S are the identity, so each level is a random effect;
- a curve over the bins of a number: T is the identity, and f'Sf = m sum_k (f_{k+1} - f_k)^2 + RIDGE |f|^2. If all
  columns together have too many bins, T holds the smoothest functions of each column: the generalised eigenvectors of
  S and the weights of the bins with the smallest eigenvalues, which are then the diagonal of S;
- a line: T is the mean value of each bin, standardised, and S is 1;
- missing values have a coordinate of their own, with the penalty 1;
- a surface: products of the smoothest functions of both columns over at most MAX_GROUPS groups of their codes. S is
  diagonal, with the products of the roughnesses of both; all surfaces together have the products with the smallest S.

What a surface says about one of its columns alone belongs to the column's curve: surfaces have no main effects. Many
curves and surfaces have the same sum. Those are shown in which each curve has the mean 0 over the training rows, and
each surface too over the rows of each of its lines: with the weight W of the cells of a surface F,

    sum_j W_ij F_ij = 0 for each i,     sum_i W_ij F_ij = 0 for each j.

The main effects a_i + b_j that are taken from F for it are found by least squares, weighted by W, and they are added to
the curves of the two columns (Lengerich, Tan, Chang, Hooker and Caruana, 2020, Purifying interaction effects). The
score of a row does not change, unless one of two columns has a value that no training row had: then its surface counts
as the mean over this column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from ..models.checks import Sizes, array, count, instance, named_tuple
from .bins import Column

RIDGE = 1e-3  # of a curve, relative to the square of its slope: a constant is hardly penalised, the AUC does not see it
SURFACE_RIDGE = 1.0  # of a surface, whose main effects belong to its columns
MAX_GROUPS = 32  # of the codes of a column in a surface
MOST = 6  # functions of a column in a surface
CURVES, SURFACES = 1, 2  # pools of strengths, see `evidence.py`


class Term(NamedTuple):
    """A line, a curve, levels or a surface, as a sum of which scores are made."""

    columns: tuple[int, ...]  # the column, or the two columns
    # For each column, the group of each of its codes: the codes themselves for a single column; -1 if the term says
    # nothing of it.
    groups: tuple[np.ndarray, ...]
    shape: tuple[int, ...]  # the number of groups of each column

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    def cells(self, codes: np.ndarray) -> np.ndarray:
        """Return the cell of each row, -1 where nothing is known of one of its values; `codes` are by column."""
        places = [np.append(group, -1)[codes[:, j]] for j, group in zip(self.columns, self.groups, strict=True)]
        if len(places) == 1:
            return places[0]
        return np.where(np.minimum(*places) < 0, -1, places[0] * self.shape[1] + places[1])


class Block(NamedTuple):
    """The coordinates of a term."""

    term: Term
    T: np.ndarray | None  # shape (m, r): the values of the cells are T @ u; None for the identity
    S: np.ndarray  # shape (r, r) or (r,): the penalty, or its diagonal
    strength: int  # the number of its strength, which blocks may share
    pool: int = 0  # of its strength

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.S)

    def values(self, u: np.ndarray) -> np.ndarray:
        """Return the values of the cells."""
        return u if self.T is None else self.T @ u

    def pull(self, u: np.ndarray) -> np.ndarray:
        """Return S @ u."""
        return self.S * u if self.S.ndim == 1 else self.S @ u


class Functions(NamedTuple):
    """The smoothest functions over groups of the codes of a column."""

    groups: np.ndarray  # the group of each code
    values: np.ndarray  # shape (n_groups, r): the functions
    roughness: np.ndarray  # shape (r,): the penalty of each


def single_term(number: int, column: Column) -> Term:
    """Return the term of a column."""
    return Term((number,), (np.arange(column.n_codes),), (column.n_codes,))


def levels(number: int, column: Column, strength: int) -> Block:
    """Return the levels of a category."""
    return Block(single_term(number, column), None, np.ones(column.n_codes), strength)


def line(number: int, column: Column, strength: int) -> Block:
    """Return the line of a number, and its missing values."""
    weights = column.mass[: column.n_values] / max(column.mass[: column.n_values].sum(), 1e-300)
    values = column.center - weights @ column.center
    values = values / (np.abs(values).max(initial=0.0) or 1.0)  # their squares may be too large
    spread = np.sqrt(weights @ values**2)
    T = np.eye(column.n_codes)[:, column.n_values - 1 :] if column.n_values else np.eye(column.n_codes)
    if column.n_values:
        T[: column.n_values, 0] = values / (spread if spread > 0 else 1.0)
    return Block(single_term(number, column), T, np.ones(T.shape[1]), strength)


def curve(number: int, column: Column, strength: int, n_functions: int) -> Block:
    """Return the curve of a number, made of at most so many functions."""
    S = roughness(column.n_values, RIDGE)
    if column.n_values <= n_functions:
        return Block(single_term(number, column), None, with_missing(S, column.missing), strength, CURVES)
    penalties, functions = smoothest(S, column.mass[: column.n_values], n_functions)
    T = with_missing(functions, column.missing)
    return Block(single_term(number, column), T, np.append(penalties, [1.0] * column.missing), strength, CURVES)


def narrow(wide: Block, column: Column, n_functions: int, values: np.ndarray) -> tuple[Block, np.ndarray]:
    """Return a curve with its smoothest functions alone, and the coordinates that come next to its values."""
    assert wide.T is not None
    kept = np.append(np.arange(n_functions), [wide.size - 1] * column.missing).astype(np.intp)
    T, mass = wide.T[:, kept], column.mass[: column.n_values]
    shares = np.append(mass / mass.sum(), [1.0] * column.missing)
    return wide._replace(T=T, S=wide.S[kept]), T.T @ (shares * values)


def make_surfaces(
    pairs: Sequence[tuple[int, int]], functions: dict[int, Functions], first: int, most: int
) -> list[Block]:
    """Return surfaces with at most about so many coordinates together; their strengths are numbered from `first`.

    Each has the smoothest product of functions of its columns, and those that are among the smoothest of all.
    """
    penalties = [np.outer(*(functions[j].roughness for j in pair)) for pair in pairs]
    limit = np.sort(np.concatenate([penalty.ravel() for penalty in penalties]))[:most][-1]
    blocks = []
    for number, (pair, penalty) in enumerate(zip(pairs, penalties, strict=True), first):
        a, b = (functions[j] for j in pair)
        j, k = np.nonzero(penalty <= max(limit, penalty.min()))
        T = (a.values[:, None, j] * b.values[None, :, k]).reshape(-1, len(j))
        term = Term(pair, (a.groups, b.groups), (len(a.values), len(b.values)))
        blocks.append(Block(term, T, penalty[j, k], number, SURFACES))
    return blocks


def roughness(n: int, ridge: float) -> np.ndarray:
    """Return the penalty on the differences of n neighbours."""
    slopes = np.diff(np.eye(n), axis=0)
    return n * slopes.T @ slopes + ridge * np.eye(n)


def with_missing(matrix: np.ndarray, missing: bool) -> np.ndarray:
    """Return a matrix with one more row and column for missing values, if there are any."""
    if not missing:
        return matrix
    larger = np.pad(matrix, (0, 1))
    larger[-1, -1] = 1.0
    return larger


def smoothest(S: np.ndarray, mass: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest roughnesses of n functions that are orthonormal under the weights, and the functions."""
    return eigh(S, np.diag(mass / mass.sum() + 1e-12), subset_by_index=[0, min(n, len(S)) - 1])


def functions_of(column: Column, n: int) -> Functions:
    """Return the n smoothest functions of a column in a surface; levels are all equally far apart."""
    groups = group_codes(column, MAX_GROUPS)
    n_groups = int(groups.max(initial=-1)) + 1
    mass = np.bincount(groups[groups >= 0], column.mass[groups >= 0], n_groups)
    S = np.eye(n_groups)
    if not column.categorical:
        S = with_missing(roughness(n_groups - column.missing, SURFACE_RIDGE), column.missing)
    penalties, values = smoothest(S, mass, n)
    return Functions(groups, values, penalties)


def group_codes(column: Column, n_groups: int) -> np.ndarray:
    """Return a group for each code: neighbouring bins of about the same weight together, or the rarest levels."""
    mass = column.mass[: column.n_values]
    groups = np.arange(column.n_values)
    if len(mass) > n_groups and column.categorical:
        groups = np.minimum(np.argsort(np.argsort(-mass, kind="stable")), n_groups - 1)
    elif len(mass) > n_groups:
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        groups = np.unique((middle * n_groups).astype(np.intp), return_inverse=True)[1]
    last = groups.max(initial=-1)
    return np.append(groups, [last + 1] * column.missing + [-1] * column.categorical).astype(np.intp)


def groups_in(column: Column, groups: np.ndarray) -> int:
    """Return how many groups the codes of a column have, where missing and other values have their own."""
    last = column.categorical and groups[-1] >= 0
    return len(np.unique(groups[: column.n_values])) + int(column.missing) + int(last)


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


class Shown(NamedTuple):
    """The terms as they are shown: surfaces without main effects, and all of mean 0."""

    values: list[np.ndarray]  # the values of each term
    mean: float  # what was taken from all of them
    # For each term of a single column, what its values are made of before their mean is taken: the number of a term and
    # the matrix of its coordinates, None for the identity.
    made_of: list[list[tuple[int, np.ndarray | None]]]


def show(blocks: Sequence[Block], u: Sequence[np.ndarray], shares: Sequence[np.ndarray]) -> Shown:
    """Return the terms as they are shown, given their coordinates and the shares of the rows in their cells.

    The first blocks belong to the columns, in their order.
    """
    values = [block.values(part).copy() for block, part in zip(blocks, u, strict=True)]
    made_of = [[(t, block.T)] for t, block in enumerate(blocks) if len(block.term.columns) == 1]
    for t in range(len(made_of), len(blocks)):
        term, T = blocks[t].term, blocks[t].T
        sides = np.split(main_effects(shares[t].reshape(term.shape)), [term.shape[0]])
        effects = [side @ values[t] for side in sides]
        values[t] -= np.add.outer(*effects).ravel()
        for column, groups, side, effect in zip(term.columns, term.groups, sides, effects, strict=True):
            known = groups >= 0
            values[column] += np.where(known, effect[groups], 0.0)
            made_of[column].append((t, np.where(known[:, None], (side if T is None else side @ T)[groups], 0.0)))
    means = [float(share @ value) for share, value in zip(shares, values, strict=True)]
    return Shown([value - mean for value, mean in zip(values, means, strict=True)], sum(means), made_of)


def check_term(value: Any, where: str, sizes: Sizes) -> None:
    """Check a term by itself: one column or two, and for each its number of groups."""
    CHECK_FIELDS(value, where, sizes)
    if len(value.columns) not in (1, 2) or not len(value.columns) == len(value.groups) == len(value.shape):
        raise ValueError(f"{where} has other numbers of columns, of groups and of sizes than belong together")
    for column, group, n_groups in zip(*value, strict=True):
        count(column, f"columns of {where}", sizes)
        count(n_groups, f"shape of {where}", sizes)
        array("i", None)(group, f"groups of {where}", sizes)
        if ((group < -1) | (group >= n_groups)).any():
            raise ValueError(f"groups of {where} are out of range")


CHECK_FIELDS = named_tuple(Term, columns=instance(tuple), groups=instance(tuple), shape=instance(tuple))
