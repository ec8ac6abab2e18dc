"""How strongly each term is penalised, and the terms themselves: by their marginal likelihood.

The objective is the penalised log-likelihood of a logistic model,

    l(u) - 1/2 sum_t lam_t u_t'S_t u_t

Seen as a prior, the penalty makes u_t Gaussian with the precision lam_t S_t. Newton's method for u and an update of the
strengths alternate,

    lam_t = (r_t - lam_t tr(V_tt S_t)) / u_t'S_t u_t

where V is the inverse Hessian: the degrees of freedom of the term over its roughness. A fixed point maximises the
marginal likelihood, with Laplace's approximation (Wood and Fasiolo, 2017, A generalized Fellner-Schall method). A term
that explains nothing gets a strength so high that it is flat. No row is held out, and ten steps are enough for all
strengths together, where cross-validation would need a grid for each. A prior does not depend on the number of rows, so
the strengths of a sample serve for all rows.

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

from ..losses.rowwise import logistic_terms
from ..solvers.descent import backtrack
from .kernels import add_cross, add_pairs, add_products, gather, scatter
from .terms import Block

WIDE = 100  # levels of a category that stands apart
MAX_STEPS = 15
CLOSE = 0.25  # of the logarithm of the strengths, each weighted by the degrees of freedom of its terms, up to 1
LOWEST, HIGHEST = 1e-4, 1e6
FIRST_STEPS = 2  # with the strengths of the start, so that terms have a shape
INNER = 2  # updates of the strengths for one Hessian
JITTER, MORE_JITTER = 1e-10, 1e-6  # of the Hessian's diagonal, relative to each entry
CHUNK_BYTES = 1 << 26  # of the coordinates of rows that are made at once
# Columns with so many functions each, of so few cells together, are summed by cells, if there are so many more rows
# times functions than squares of cells: a step on 300,000 rows of 20 curves takes a twentieth of the time.
FUNCTIONS_EACH, MOST_CELLS, MORE_ROWS = 10, 1 << 12, 4
CG_TOL, CG_STEPS = 1e-5, 100


class System:
    """Rows in the coordinates of some terms, with an offset: products with their matrix M, and M' diag(h) M.

    `codes`, of shape (n, p), has the codes of the columns; at most `most_wide` categories stand apart. The vectors of
    coordinates f have the terms of `order` one after the other, and the offset last: terms of functions first, then
    terms whose coordinates are cells, then the wide ones. If there are many rows, the curves are among those of cells:
    sums over the rows are made in *raw* coordinates, with the values T u of each cell in place of u.
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
        curves = [t for t, block in enumerate(blocks) if ranks[t] == 0 and len(block.term.columns) == 1]
        n_cells = sum(block.term.n_cells for block, rank in zip(blocks, ranks, strict=True) if rank < 2)
        n_functions = sum(blocks[t].size for t in curves)
        by_cells = FUNCTIONS_EACH * len(curves) <= n_functions and n_cells <= MOST_CELLS
        if by_cells and len(codes) * n_functions >= MORE_ROWS * n_cells**2:
            ranks = [1 if t in curves else rank for t, rank in enumerate(ranks)]
        self.order = np.argsort(ranks, kind="stable").tolist()
        self.ends = np.concatenate([[0], np.cumsum([blocks[t].size for t in self.order])]).astype(np.intp)
        self.bases = [None if ranks[t] == 0 else blocks[t].T for t in self.order]
        sizes = [blocks[t].size if T is None else len(T) for t, T in zip(self.order, self.bases, strict=True)]
        self.raw_ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.n_functions, self.n_narrow = (int(self.ends[sum(rank <= k for rank in ranks)]) for k in (0, 1))
        self.n_in_cells = sum(rank > 0 for rank in ranks)
        self.wide = [k for k, t in enumerate(self.order) if ranks[t] == 2]
        self.K = int(self.ends[-1])
        per_row = 8 * (self.n_functions + len(blocks))
        self.step = max(CHUNK_BYTES // per_row, 1024)
        self._kept: list[tuple[slice, np.ndarray, np.ndarray]] | None = None

    def parts(self, f: np.ndarray) -> list[np.ndarray]:
        """Return the coordinates of each term, in the order of `blocks`."""
        found = dict(zip(self.order, np.split(f[: self.K], self.ends[1:-1]), strict=True))
        return [found[t] for t in range(len(self.blocks))]

    def join(self, parts: Sequence[np.ndarray], offset: float) -> np.ndarray:
        """Return the vector of the coordinates of each term and an offset."""
        return np.concatenate([*(parts[t] for t in self.order), [offset]])

    def to_raw(self, f: np.ndarray) -> np.ndarray:
        """Return raw coordinates."""
        parts = zip(self.bases, np.split(f, self.ends[1:]), strict=False)
        return np.concatenate([*(part if T is None else T @ part for T, part in parts), f[-1:]])

    def from_raw(self, sums: np.ndarray) -> np.ndarray:
        """Return sums over rows by coordinates, given those by raw ones, of all terms or without the wide ones."""
        bases = self.bases if len(sums) > self.raw_ends[-1] else self.bases[: len(self.bases) - len(self.wide)]
        parts = zip(bases, np.split(sums, self.raw_ends[1 : len(bases) + 1]), strict=False)
        return np.concatenate([*(part if T is None else T.T @ part for T, part in parts), sums[-1:]])

    def chunks(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield slices of rows, with the values of their functions and the cells of the other terms."""
        if self._kept is None:
            found = (self._chunk(slice(a, a + self.step)) for a in range(0, len(self.raw), self.step))
            if len(self.raw) > 4 * self.step:
                yield from found
                return
            self._kept = list(found)
        yield from self._kept

    def _chunk(self, rows: slice) -> tuple[slice, np.ndarray, np.ndarray]:
        codes, own = self.raw[rows], [self.blocks[t] for t in self.order]
        X = np.empty((len(codes), self.n_functions))
        cells, first = np.empty((len(codes), self.n_in_cells), dtype=np.int32), len(own) - self.n_in_cells
        for t, (block, a, b) in enumerate(zip(own, self.raw_ends, self.raw_ends[1:], strict=False)):
            ours = block.term.cells(codes)
            if block.T is not None and t < first:
                X[:, a:b] = block.T[ours]
            else:
                cells[:, t - first] = a + ours
        return rows, X, cells

    def scores(self, f: np.ndarray) -> np.ndarray:
        """Return M f, with the offset."""
        raw = self.to_raw(f)
        return np.concatenate([self._scores(raw, X, cells) for _, X, cells in self.chunks()])

    def _scores(self, f: np.ndarray, X: np.ndarray, cells: np.ndarray) -> np.ndarray:
        out = X @ f[: self.n_functions] + f[-1]
        gather(cells, f, out)
        return out

    def _pull(self, g: np.ndarray, X: np.ndarray, cells: np.ndarray, out: np.ndarray) -> None:
        """Add M'g of some rows to `out`, by raw coordinates."""
        out[: self.n_functions] += X.T @ g
        scatter(cells, g, out)
        out[-1] += g.sum()

    def masses(self) -> list[np.ndarray]:
        """Return the weight of the rows in each cell of each term."""
        found = [np.zeros(block.term.n_cells) for block in self.blocks]
        for start in range(0, len(self.raw), self.step):
            rows = slice(start, start + self.step)
            for mass, block in zip(found, self.blocks, strict=True):
                # A value that only rows without weight have is in cell -1.
                mass += np.bincount(block.term.cells(self.raw[rows]) + 1, self.weights_of(rows), len(mass) + 1)[1:]
        return found

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
        raw = self.to_raw(f)
        loss = sum(self.losses(rows, self._scores(raw, X, cells))[0] for rows, X, cells in self.chunks())
        return loss + float(self.penalty(lam, f) @ f[: self.K]) / 2

    def penalty(self, lam: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the gradient of the penalty, shape (K,)."""
        parts = zip(self.order, np.split(f[: self.K], self.ends[1:-1]), strict=True)
        return np.concatenate([lam[self.blocks[t].strength] * self.blocks[t].pull(part) for t, part in parts])

    def expand(self, f: np.ndarray) -> Expansion:
        """Return the loss at f with its gradient and Hessian, in one pass over the rows."""
        d, n_wide, raw, loss = self.n_functions, len(self.wide), self.to_raw(f), 0.0
        k = int(self.raw_ends[len(self.order) - n_wide])
        A, (gradient, working, sums) = np.zeros((k + 1, k + 1)), np.zeros((3, len(raw)))
        wide = [np.zeros((int(self.ends[j + 1] - self.ends[j]), k + 1)) for j in self.wide]
        curvatures = []
        for rows, X, cells in self.chunks():
            scores = self._scores(raw, X, cells)
            value, slopes, h = self.losses(rows, scores)
            loss += value
            self._pull(slopes, X, cells, gradient)
            self._pull(h * scores - slopes, X, cells, working)
            self._pull(h, X, cells, sums)
            narrow = np.ascontiguousarray(cells[:, : cells.shape[1] - n_wide])
            add_pairs(narrow, h, A)
            if d:
                A[:d, :d] += dsyrk(1.0, (X * np.sqrt(h)[:, None]).T, lower=True)
                add_products(narrow, X, h, A)
            for B, j, column in zip(wide, self.wide, cells.T[cells.shape[1] - n_wide :], strict=True):
                ours = np.ascontiguousarray(column - self.raw_ends[j])
                add_cross(ours, narrow, h, B)
                add_products(ours[:, None], X, h, B)
            if n_wide > 1:
                curvatures.append(h)
        A[k, :k], A[k, k] = sums[:k], sums[-1]
        for B, j in zip(wide, self.wide, strict=True):
            B[:, k] = sums[self.raw_ends[j] : self.raw_ends[j + 1]]
        if any(T is not None for T in self.bases):
            A = self.from_raw(self.from_raw(A + np.tril(A, -1).T).T)
            wide = [np.ascontiguousarray(self.from_raw(B.T).T) for B in wide]
        gradient, working = self.from_raw(gradient), self.from_raw(working)
        places = [slice(self.ends[j], self.ends[j + 1]) for j in self.wide]
        return Expansion(f, loss, gradient, working, Hessian(self, curvatures, A, wide, places))


class Hessian:
    """M' diag(h) M: the block A of most coordinates and the offset, its lower half, and B of each wide category.

    `curvatures` are h in the chunks of the rows, if there are several wide categories.
    """

    def __init__(
        self,
        system: System,
        curvatures: list[np.ndarray],
        A: np.ndarray,
        wide: list[np.ndarray],
        places: list[slice],
    ) -> None:
        self.system, self.curvatures, self.A, self.wide, self.places = system, curvatures, A, wide, places

    def __matmul__(self, f: np.ndarray) -> np.ndarray:
        raw = self.system.to_raw(f)
        out = np.zeros(len(raw))
        for (_, X, cells), h in zip(self.system.chunks(), self.curvatures, strict=True):
            self.system._pull(h * self.system._scores(raw, X, cells), X, cells, out)
        return self.system.from_raw(out)

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
            found.append(float(np.sum(1 / D + self._pulled(number, B, D))))
        return np.array(found)

    def _pulled(self, number: int, B: np.ndarray, D: np.ndarray) -> np.ndarray:
        """Return what the other coordinates add to the variances of a wide category."""
        Q = solve_triangular(self.lowers[number], B.T, lower=True)
        return np.einsum("ij,ij->j", Q, Q) / D**2

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

    def towards(self, system: System, lam: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Return how far towards `new` the penalised loss falls enough."""
        step, pulled = new - self.f, system.penalty(lam, self.f)
        slope = float(self.gradient @ step + pulled @ step[:-1])
        value = self.loss + float(pulled @ self.f[:-1]) / 2
        return self.f + backtrack(lambda length: system.value(lam, self.f + length * step), value, slope) * step

    def promise(self, system: System, lam: np.ndarray, new: np.ndarray) -> float:
        """Return by how much of itself the penalised loss falls towards `new`, to first order."""
        step, pulled = new - self.f, system.penalty(lam, self.f)
        value = self.loss + float(pulled @ self.f[:-1]) / 2
        return -float(self.gradient @ step + pulled @ step[:-1]) / max(value, 1e-300)


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
    """Return the terms with the strengths that maximise the evidence.

    `start` is the result for the first of these terms, to start from.
    """
    blocks, n_strengths = system.blocks, 1 + max(block.strength for block in system.blocks)
    lam, known = np.ones(n_strengths), [np.zeros(block.size) for block in blocks]
    weights = system.weights_of(slice(None))
    offset = float(np.log(weights[system.positive].sum() / weights[~system.positive].sum()))
    if start is not None:
        lam[: len(start.strengths)] = start.strengths
        known[: len(start.coordinates)], offset = start.coordinates, start.offset
    f, owners = system.join(known, offset), np.array([blocks[t].strength for t in system.order])
    freedom = np.zeros(len(blocks))
    for number in range(MAX_STEPS):
        at, change = system.expand(f), 0.0
        for inner in range(INNER if number >= FIRST_STEPS else 1):
            used, factor = lam, at.hessian.penalised(lam)
            new = factor.solve(at.working)
            if number < FIRST_STEPS:
                break
            freedom = np.maximum(np.diff(system.ends) - lam[owners] * factor.traces(), 0.0)
            parts = zip(system.order, np.split(new[: system.K], system.ends[1:-1]), strict=True)
            rough = np.array([part @ blocks[t].pull(part) for t, part in parts])
            total, roughness = (np.bincount(owners, each, n_strengths) for each in (freedom, rough))
            lam = np.clip(total / np.maximum(roughness, 1e-300), LOWEST, HIGHEST)
            if inner == 0:
                change = float((np.abs(np.log(lam / used)) * np.clip(total, 0, 1)).max(initial=0.0))
        f = at.towards(system, used, new)
        if number >= FIRST_STEPS and change < CLOSE:
            break
    in_order = np.empty(len(blocks))
    in_order[system.order] = freedom
    return Fit(blocks, lam, in_order, system.parts(f), float(f[-1]), number + 1)


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
        if at.promise(system, lam, new) <= tol**2:
            break
        f = at.towards(system, lam, new)
    parts, offset = system.parts(f), float(f[-1])
    return fit._replace(coordinates=parts, offset=offset, n_iter=fit.n_iter + n_iter), factor
