"""How strongly each term is penalised, and the terms themselves: by their marginal likelihood.

The objective is the penalised log-likelihood of a logistic model,

    l(u) - 1/2 sum_t lam_t u_t'S_t u_t

Seen as a prior, the penalty makes u_t Gaussian with the precision lam_t S_t. Newton's method for u and an update of the
strengths alternate,

    lam_t = (r_t - lam_t tr(V_tt S_t)) / u_t'S_t u_t

where V is the inverse Hessian: the degrees of freedom of the term over its roughness. A fixed point maximises the
marginal likelihood, with Laplace's approximation (Wood and Fasiolo, 2017, A generalized Fellner-Schall method). No row
is held out, and ten steps are enough for all strengths together, where cross-validation would need a grid for each. A
prior does not depend on the number of rows, so the strengths of a sample serve for all rows.

Strengths say something about each other: among 200 columns of noise, some look as if they had a weak shape. So the
strengths of all curves have a gamma prior of PULL degrees of freedom with a common mean mu, and the strengths of all
surfaces another one. With the degrees of freedom d_t and the roughness q_t of each term,

    lam_t = (d_t + PULL) / (q_t + PULL / mu),    mu = the mean of all lam_t

maximises the evidence times this prior, for the strengths and mu together. Where most terms are weak mu is high, and
they are flat. The prior falls slowly below mu, so a strong term keeps a strength of its own, and fast above: a column
of noise among a few strong ones has about two degrees of freedom.

The Hessian is A for the coordinates of most terms and the offset. A category with more than WIDE levels stands apart:
its own block D is diagonal, and B is the block between the two. With the Schur complement

    A - B D^-1 B' = L L'

a column of 10,000 levels costs no more than its products with L. If there are several such columns, each is eliminated
by itself, the sum of these solutions preconditions conjugate gradients, and the strengths neglect that the columns
depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from ...losses.rowwise import logistic_terms
from ...solvers.descent import backtrack
from ..kernels import add_joint, add_products, gather, scatter
from ..terms import Block

WIDE = 100  # levels of a category that stands apart
MAX_STEPS = 15
CLOSE = 0.25  # of the logarithm of the strengths, each weighted by the degrees of freedom of its terms, up to 1
LOWEST, HIGHEST = 1e-4, 1e6
FIRST_STEPS = 2  # with the strengths of the start, so that terms have a shape; one if there is a fit to start from
INNER = 4  # updates of the strengths for one Hessian
PULL = 2.0  # degrees of freedom by which the strengths of curves, and those of surfaces, are pulled together
MEAN_STEPS, MEAN_TOL = 100, 1e-3  # of the iteration for the mean of strengths
JITTER, MORE_JITTER = 1e-10, 1e-6  # of the Hessian's diagonal, relative to each entry
CHUNK_BYTES = 1 << 26  # of the coordinates of rows that are made at once
# Seconds on one core, to choose between two ways to a Hessian: of an addition to a cell, a multiplication of BLAS, and
# the call of a kernel.
ADD, MULTIPLY, CALL = 1.5e-9, 5e-11, 1e-5
CG_TOL, CG_STEPS = 1e-5, 100


class System:
    """Rows in the coordinates of some terms, with an offset: products with their matrix M, and M' diag(h) M.

    `codes`, of shape (n, p), has the codes of the columns; at most `most_wide` categories stand apart. The vectors of
    coordinates f have the terms of `order` one after the other, and the offset last: terms of functions first, then
    terms whose coordinates are cells, then the wide ones. Sums over the rows are made by cell, and then multiplied by
    the functions T of the term. A block of the Hessian is

        T_s' J T_t,     J_ab = sum of h over the rows in cell a of s and cell b of t

    which takes an addition for each row. With few rows, the functions of each row take less: X' diag(h) X.
    """

    def __init__(
        self,
        codes: np.ndarray,
        positive: np.ndarray,
        weights: np.ndarray | None,
        blocks: Sequence[Block],
        most_wide: int | None = None,
    ) -> None:
        self.raw, self.positive, self.weights, self.blocks = codes, positive, weights, blocks
        sizes = [block.size if block.T is None and block.S.ndim == 1 else 0 for block in blocks]
        widest = [t for t in np.argsort(sizes, kind="stable")[::-1].tolist() if sizes[t] > WIDE][:most_wide]
        ranks = [0 if block.T is not None else 2 if t in widest else 1 for t, block in enumerate(blocks)]
        self.order = np.argsort(ranks, kind="stable").tolist()
        self.own = [blocks[t] for t in self.order]
        self.ends = np.concatenate([[0], np.cumsum([block.size for block in self.own])]).astype(np.intp)
        self.cell_ends = np.concatenate([[0], np.cumsum([block.term.n_cells for block in self.own])]).astype(np.intp)
        n_functions, self.n_terms = ranks.count(0), len(self.own) - ranks.count(2)  # that do not stand apart
        self.n_narrow, self.K = int(self.ends[self.n_terms]), int(self.ends[-1])
        self.wide = list(range(self.n_terms, len(self.own)))
        self.n_by_rows = 0 if self._cells_take_less(n_functions) else n_functions
        self.d = int(self.ends[self.n_by_rows])
        self.step = max(CHUNK_BYTES // (8 * self.d + 4 * len(blocks)), 1024)
        self._kept: list[tuple[slice, np.ndarray, np.ndarray]] | None = None

    def _cells_take_less(self, n_functions: int) -> bool:
        """Return whether the Hessian of the terms of functions takes less time by cells than by rows."""
        cells, sizes = np.diff(self.cell_ends)[:n_functions], np.diff(self.ends)[:n_functions]
        products = np.outer(cells, cells) * (np.minimum.outer(sizes, sizes) * 2 * MULTIPLY + ADD)
        by_cells = np.sum(len(self.raw) * ADD + products + CALL) / 2
        return bool(by_cells < len(self.raw) * float(sizes.sum()) * (sizes.sum() * MULTIPLY + ADD))

    def parts(self, f: np.ndarray) -> list[np.ndarray]:
        """Return the coordinates of each term, in the order of `blocks`."""
        found = dict(zip(self.order, np.split(f[: self.K], self.ends[1:-1]), strict=True))
        return [found[t] for t in range(len(self.blocks))]

    def join(self, parts: Sequence[np.ndarray], offset: float) -> np.ndarray:
        """Return the vector of the coordinates of each term and an offset."""
        return np.concatenate([*(parts[t] for t in self.order), [offset]])

    def to_cells(self, f: np.ndarray) -> np.ndarray:
        """Return the values of all cells, and the offset last."""
        parts = np.split(f, self.ends[1:])
        return np.concatenate([*(block.values(part) for block, part in zip(self.own, parts, strict=False)), f[-1:]])

    def from_cells(self, sums: np.ndarray) -> np.ndarray:
        """Return sums over the rows by coordinates, given them by cells."""
        parts = zip(self.own, np.split(sums, self.cell_ends[1:]), strict=False)
        return np.concatenate([*(part if block.T is None else block.T.T @ part for block, part in parts), sums[-1:]])

    def chunks(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield slices of rows, their cells in each term, shape (n_terms, n), and their functions if they are used."""
        if self._kept is None:
            found = (self._chunk(slice(a, a + self.step)) for a in range(0, len(self.raw), self.step))
            if len(self.raw) > 4 * self.step:
                yield from found
                return
            self._kept = list(found)
        yield from self._kept

    def _chunk(self, rows: slice) -> tuple[slice, np.ndarray, np.ndarray]:
        codes = self.raw[rows]
        cells = np.empty((len(self.own), len(codes)), dtype=np.int32)
        X = np.empty((len(codes), self.d))
        for t, block in enumerate(self.own):
            ours = np.maximum(block.term.cells(codes), 0)  # only rows without weight are in cell -1
            cells[t] = self.cell_ends[t] + ours
            if t < self.n_by_rows and block.T is not None:
                X[:, self.ends[t] : self.ends[t + 1]] = block.T[ours]
        return rows, cells, X

    def scores(self, f: np.ndarray) -> np.ndarray:
        """Return M f, with the offset."""
        values = self.to_cells(f)
        return np.concatenate([gather(cells, values) for _, cells, _ in self.chunks()])

    def masses(self, chosen: np.ndarray | None = None) -> list[np.ndarray]:
        """Return the weight of the rows in each cell of each term; of the rows that are `chosen` if it is given."""
        found = np.zeros(self.cell_ends[-1] + 1)
        for rows, cells, _ in self.chunks():
            weights = self.weights_of(rows)
            scatter(cells, weights if chosen is None else weights * chosen[rows], found)
        parts = dict(zip(self.order, np.split(found[:-1], self.cell_ends[1:-1]), strict=True))
        return [parts[t] for t in range(len(self.blocks))]

    def losses(self, rows: slice, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss of some rows, and its derivatives by their scores."""
        signs, weights = np.where(self.positive[rows], 1.0, -1.0), self.weights_of(rows)
        losses, slopes, curvatures = logistic_terms(signs * scores)
        return float(weights @ losses), weights * signs * slopes, weights * curvatures

    def weights_of(self, rows: slice) -> np.ndarray:
        """Return the weights of some rows."""
        return np.ones(len(self.positive[rows])) if self.weights is None else self.weights[rows]

    def value(self, lam: np.ndarray, f: np.ndarray) -> float:
        """Return minus the penalised log-likelihood."""
        values = self.to_cells(f)
        loss = sum(self.losses(rows, gather(cells, values))[0] for rows, cells, _ in self.chunks())
        return loss + float(self.penalty(lam, f) @ f[: self.K]) / 2

    def penalty(self, lam: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the gradient of the penalty, shape (K,)."""
        parts = zip(self.own, np.split(f[: self.K], self.ends[1:-1]), strict=True)
        return np.concatenate([lam[block.strength] * block.pull(part) for block, part in parts])

    def expand(self, f: np.ndarray) -> Expansion:
        """Return the loss at f with its gradient and Hessian, in one pass over the rows."""
        values, k, loss = self.to_cells(f), self.n_narrow, 0.0
        sums = np.zeros((3, len(values)))  # by cells: of the slopes, of the working responses and of the curvatures
        A, curvatures = np.zeros((k + 1, k + 1)), []
        wide = [np.zeros((self.own[t].size, k + 1)) for t in self.wide]
        for rows, cells, X in self.chunks():
            scores = gather(cells, values)
            value, slopes, h = self.losses(rows, scores)
            loss += value
            for each, into in zip((slopes, h * scores - slopes, h), sums, strict=True):
                scatter(cells, each, into)
            self._add_products(cells, X, h, A, wide)
            if len(wide) > 1:
                curvatures.append(h)
        gradient, working, masses = map(self.from_cells, sums)
        A[k, :k], A[k, k] = masses[:k], masses[-1]
        places = [slice(self.ends[t], self.ends[t + 1]) for t in self.wide]
        for B, place in zip(wide, places, strict=True):
            B[:, k] = masses[place]
        return Expansion(f, loss, gradient, working, Hessian(self, curvatures, np.asfortranarray(A), wide, places))

    def _add_products(
        self, cells: np.ndarray, X: np.ndarray, h: np.ndarray, A: np.ndarray, wide: Sequence[np.ndarray]
    ) -> None:
        """Add the products of some rows to the lower half of A and to the B of each wide category."""
        sizes = np.diff(self.cell_ends).tolist()
        room = np.empty(max(sizes) * max(sizes[: self.n_terms], default=0))  # a new array for each pair would cost more
        if self.d:
            A[: self.d, : self.d] += dsyrk(1.0, (X * np.sqrt(h)[:, None]).T, lower=True)
        for s, block in enumerate(self.own[self.n_by_rows :], self.n_by_rows):
            out = A[self.ends[s] : self.ends[s + 1]] if s < self.n_terms else wide[s - self.n_terms]
            if self.d:
                add_products(cells[s], self.cell_ends[s], X, h, out)
            for t, other in enumerate(self.own[self.n_by_rows : min(s + 1, self.n_terms)], self.n_by_rows):
                place, first, second = out[:, self.ends[t] : self.ends[t + 1]], self.cell_ends[s], self.cell_ends[t]
                if block.T is None and other.T is None:
                    add_joint(cells[s], first, cells[t], second, h, place)
                    continue
                J = room[: sizes[s] * sizes[t]].reshape(sizes[s], sizes[t])
                J.fill(0.0)
                add_joint(cells[s], first, cells[t], second, h, J)
                J = J if other.T is None else J @ other.T
                place += J if block.T is None else block.T.T @ J


class Hessian(NamedTuple):
    """M' diag(h) M: the block A of most coordinates and the offset, its lower half, and B of each wide category."""

    system: System
    curvatures: list[np.ndarray]  # h in the chunks of the rows, if there are several wide categories
    A: np.ndarray  # in the order of Fortran, as LAPACK takes it
    wide: list[np.ndarray]  # B of each wide category
    places: list[slice]  # their coordinates

    def __matmul__(self, f: np.ndarray) -> np.ndarray:
        values = self.system.to_cells(f)
        out = np.zeros(len(values))
        for (_, cells, _), h in zip(self.system.chunks(), self.curvatures, strict=True):
            scatter(cells, h * gather(cells, values), out)
        return self.system.from_cells(out)

    def reduced(self, lam: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return A with the penalties, or its Schur complement for each wide category, and the D of these."""
        system, A = self.system, self.A.copy(order="F")
        diagonals, k = list[np.ndarray](), system.n_narrow
        for number, t in enumerate(system.order):
            block, a, b = system.blocks[t], system.ends[number], system.ends[number + 1]
            if a < k:
                A[a:b, a:b] += lam[block.strength] * (np.diag(block.S) if block.S.ndim == 1 else block.S)
            else:
                diagonals.append(self.wide[len(diagonals)][:, k] + lam[block.strength] * block.S)
        A[np.diag_indices(k + 1)] *= 1 + JITTER
        complements = [
            A - dsyrk(1.0, (B / np.sqrt(D)[:, None]).T, lower=True) for B, D in zip(self.wide, diagonals, strict=True)
        ]
        return complements or [A], diagonals

    def penalised(self, lam: np.ndarray) -> Factor:
        """Return the Hessian with the penalties, factored."""
        matrices, diagonals = self.reduced(lam)
        return Factor(self, lam, diagonals, [cholesky(A) for A in matrices])


class Factor:
    """A penalised Hessian: `lowers` has the factor L of A, or of the Schur complement of each wide category."""

    def __init__(
        self, hessian: Hessian, lam: np.ndarray, diagonals: list[np.ndarray], lowers: list[np.ndarray]
    ) -> None:
        self.hessian, self.lam, self.diagonals, self.lowers = hessian, lam, diagonals, lowers

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Return the solution of H f = b."""
        if len(self.diagonals) < 2:
            return self._precondition(b)
        f = self._precondition(b) / len(self.diagonals)
        r = b - self._product(f)
        z = self._precondition(r)
        p, rz, stop = z, float(r @ z), CG_TOL**2 * float(b @ b)
        for _ in range(CG_STEPS):
            if float(r @ r) <= stop:
                break
            Hp = self._product(p)
            length = rz / float(p @ Hp)
            f, r = f + length * p, r - length * Hp
            z = self._precondition(r)
            rz, before = float(r @ z), rz
            p = z + rz / before * p
        return f

    def _precondition(self, b: np.ndarray) -> np.ndarray:
        """Return the sum of the solutions with each of the wide categories; exact if there is at most one."""
        K, k = self.hessian.system.K, self.hessian.system.n_narrow
        narrow, out = np.append(b[:k], b[K]), np.zeros(K + 1)
        for number, lower in enumerate(self.lowers):
            rest = narrow
            if self.diagonals:
                B, D, place = self.hessian.wide[number], self.diagonals[number], self.hessian.places[number]
                rest = narrow - (b[place] / D) @ B
            found = dpotrs(lower, rest, lower=True)[0]
            out[:k] += found[:k]
            out[K] += found[k]
            if self.diagonals:
                out[place] = (b[place] - B @ found) / D
        return out

    def _product(self, f: np.ndarray) -> np.ndarray:
        out = self.hessian @ f
        out[:-1] += self.hessian.system.penalty(self.lam, f)
        return out

    @cached_property
    def inverse(self) -> np.ndarray:
        """The inverse of L, for the widest category if there are several."""
        return dtrtri(self.lowers[self._widest], lower=True)[0]

    @property
    def _widest(self) -> int:
        return int(np.argmax([len(D) for D in self.diagonals])) if self.diagonals else 0

    def traces(self) -> np.ndarray:
        """Return tr(V_tt S_t) of each term, in the order of the coordinates."""
        system, found = self.hessian.system, []
        for t, a, b in zip(system.order, system.ends, system.ends[1:], strict=False):
            S = system.blocks[t].S
            if a < system.n_narrow:
                U = self.inverse[a:, a:b]
                found.append(float(np.einsum("ij,ij,j", U, U, S) if S.ndim == 1 else np.sum(S * (U.T @ U))))
        for number, (B, D) in enumerate(zip(self.hessian.wide, self.diagonals, strict=True)):
            Q = solve_triangular(self.lowers[number], B.T, lower=True)
            found.append(float(np.sum(1 / D + np.einsum("ij,ij->j", Q, Q) / D**2)))  # the others add to the variances
        return np.array(found)

    def errors(self, made_of: Sequence[tuple[int, np.ndarray | None]], share: np.ndarray) -> np.ndarray:
        """Return the standard errors of the values of some cells, less their mean with these shares.

        The values are the sum of products of matrices (m, r) with the coordinates of terms, given by the number of the
        term; None is the identity.
        """
        system, moves = self.hessian.system, np.zeros((len(self.inverse), len(share)))
        variances = np.zeros(len(share))
        for t, matrix in made_of:
            number = system.order.index(t)
            a, b = system.ends[number], system.ends[number + 1]
            if a < system.n_narrow:
                moves += self.inverse[:, a:b] if matrix is None else self.inverse[:, a:b] @ matrix.T
                continue
            place = number - system.wide[0]
            B, D = self.hessian.wide[place], self.diagonals[place]
            if place == self._widest:
                moves -= self.inverse @ (B.T / D)
            variances += (1 - 2 * share) / D + share**2 @ (1 / D)
        moves -= (moves @ share)[:, None]
        return np.sqrt(variances + np.einsum("ij,ij->j", moves, moves))


def cholesky(A: np.ndarray) -> np.ndarray:
    """Return the lower factor of a matrix, of which only the lower half is read."""
    lower, failed = dpotrf(A, lower=True, clean=True)
    if failed:  # by rounding
        lower, _ = dpotrf(A + MORE_JITTER * np.diag(np.diag(A)), lower=True, clean=True)
    return lower


class Expansion(NamedTuple):
    """The loss at f, and what Newton's method needs of it."""

    f: np.ndarray
    loss: float
    gradient: np.ndarray  # M's, with the derivatives s by the scores
    working: np.ndarray  # M'(h M f - s): the right-hand side of (M' diag(h) M + P) f = b
    hessian: Hessian

    def along(self, system: System, lam: np.ndarray, step: np.ndarray) -> tuple[float, float]:
        """Return the penalised loss, and its slope along a step."""
        pulled = system.penalty(lam, self.f)
        value = self.loss + float(pulled @ self.f[:-1]) / 2
        return value, float(self.gradient @ step + pulled @ step[:-1])

    def towards(self, system: System, lam: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Return how far towards `new` the penalised loss falls enough."""
        step = new - self.f
        value, slope = self.along(system, lam, step)
        return self.f + backtrack(lambda length: system.value(lam, self.f + length * step), value, slope) * step


class Fit(NamedTuple):
    """Terms with their strengths."""

    blocks: Sequence[Block]
    strengths: np.ndarray  # those that blocks name by `Block.strength`
    freedom: np.ndarray  # shape (n_blocks,): the degrees of freedom of each term
    coordinates: list[np.ndarray]  # of each term
    offset: float  # the log-odds of a row whose terms are 0
    n_iter: int

    def score(self, codes: np.ndarray) -> np.ndarray:
        """Return the log-odds of other rows, given the codes of their columns."""
        scores = np.full(len(codes), self.offset)
        for block, u in zip(self.blocks, self.coordinates, strict=True):
            scores += np.append(block.values(u), 0.0)[block.term.cells(codes)]
        return scores


def find_strengths(system: System, start: Fit | None = None) -> Fit:
    """Return the terms with the strengths that maximise the evidence, starting from a fit of the same terms."""
    blocks = system.blocks
    if start is None:
        weights, lam = system.weights_of(slice(None)), np.ones(1 + max(block.strength for block in blocks))
        offset = float(np.log(weights[system.positive].sum() / weights[~system.positive].sum()))
        f, n_first = system.join([np.zeros(block.size) for block in blocks], offset), FIRST_STEPS
    else:
        lam, f, n_first = start.strengths, system.join(start.coordinates, start.offset), 1
    owners, pools = np.array([blocks[t].strength for t in system.order]), np.zeros(len(lam), dtype=np.intp)
    pools[[block.strength for block in blocks]] = [block.pool for block in blocks]
    freedom = np.zeros(len(blocks))
    for number in range(MAX_STEPS):
        at, change = system.expand(f), np.inf
        for inner in range(INNER if number >= n_first else 1):
            used, factor = lam, at.hessian.penalised(lam)
            new = factor.solve(at.working)
            if number < n_first:
                break
            freedom = np.maximum(np.diff(system.ends) - lam[owners] * factor.traces(), 0.0)
            parts = zip(system.order, np.split(new[: system.K], system.ends[1:-1]), strict=True)
            rough = np.array([part @ blocks[t].pull(part) for t, part in parts])
            total, roughness = (np.bincount(owners, each, len(lam)) for each in (freedom, rough))
            lam = pull_together(total, np.maximum(roughness, 1e-300), pools)
            if inner == 0:
                change = float((np.abs(np.log(lam / used)) * np.clip(total, 0, 1)).max(initial=0.0))
        f = at.towards(system, used, new)
        if change < CLOSE:
            break
    in_order = np.empty(len(blocks))
    in_order[system.order] = freedom
    return Fit(blocks, lam, in_order, system.parts(f), float(f[-1]), number + 1)


def pull_together(freedom: np.ndarray, rough: np.ndarray, pools: np.ndarray) -> np.ndarray:
    """Return the strengths, given the degrees of freedom and the roughness of their terms; pool 0 has no prior."""
    lam = freedom / rough
    for pool in np.unique(pools[pools > 0]):
        d, q = freedom[pools == pool], rough[pools == pool]
        mean = np.clip(d.sum() / q.sum(), LOWEST, HIGHEST)
        for _ in range(MEAN_STEPS):
            shares, before = 1 / (q + PULL / mean), mean
            mean = np.clip((shares @ d) / (shares @ q), LOWEST, HIGHEST)
            if abs(mean - before) <= MEAN_TOL * mean:
                break
        lam[pools == pool] = (d + PULL) / (q + PULL / mean)
    return np.clip(lam, LOWEST, HIGHEST)


Solve = Callable[[Hessian, np.ndarray, np.ndarray], np.ndarray]


def find_mode(system: System, fit: Fit, tol: float, max_iter: int, solve: Solve | None = None) -> tuple[Fit, Factor]:
    """Return the terms that maximise the penalised likelihood with the strengths of a fit, and the last Hessian.

    Newton's method ends when a step promises to lower the objective by less than `tol` squared of it. `solve` returns
    where a step leads, given the Hessian, the right-hand side of its equations and the strengths; it may keep to
    constraints.
    """
    f, lam = system.join(fit.coordinates, fit.offset), fit.strengths
    for n_iter in range(max_iter):  # noqa: B007
        at = system.expand(f)
        factor = at.hessian.penalised(lam)
        new = factor.solve(at.working) if solve is None else solve(at.hessian, at.working, lam)
        value, slope = at.along(system, lam, new - f)
        if -slope / max(value, 1e-300) <= tol**2:
            break
        f = at.towards(system, lam, new)
    parts, offset = system.parts(f), float(f[-1])
    return fit._replace(coordinates=parts, offset=offset, n_iter=fit.n_iter + n_iter), factor
