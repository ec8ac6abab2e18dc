"""Short cards: steps of the curves merged, where this changes the scores of the rows least.

Conventions
-----------
A card has a few *lines* for each of some columns: ranges of a number, lists of levels, missing values. It gives row i
the constant and the value of its line in each column, (D f)_i. The best card with given lines is the one that is
closest to the scores s of the model, in

    1/2 sum_i h_i (s_i - (D f)_i)^2 + r / 2 |f - c|^2,     h = w p (1 - p),     r = RIDGE mean(w),

where c are the values of the curves: a card with every step of a model without surfaces is the model. The sum is to
second order the Kullback-Leibler divergence of its probabilities from the model's (Dupuis and Robert, 2003, Variable
selection in qualitative models via an entropic explanatory power). Labels play no part: the model has smoothed them
already. With J = D' diag(h) D + r I,

    f = V (D' diag(h) s + r c),     V = J^-1.

To merge the lines a and b is the constraint d'f = 0 with d = e_a - e_b. It costs (d'f)^2 / (2 d'V d), and the best card
that satisfies it has

    f <- f - V d d'f / d'V d,     V <- V - V d d'V / d'V d.

All other lines, also those of other columns, so take over what they can. A merge takes K^2 operations for K lines,
whatever the number of rows. The cheapest pair is merged first. Which pairs there are: neighbouring ranges of a number,
any two lists of levels, and missing values with any line of their column. A column whose last two lines are merged
leaves the card, which is two lines shorter: its cost counts half. If a shape is broken, the two lines that break it are
merged next. Surfaces are on no short card; the curves take over what they can.

1. `coarsen` merges neighbours in each curve by their own squared error, until START lines are left of all curves.
2. `Merging.project` makes f and V from one pass over the rows.
3. `Merging.to` merges, down to STORED lines for the model file, and from there to any number.
4. `Steps.with_column` brings back a column that has left the card before; the other lines keep their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotri
from scipy.special import expit

from ...models.checks import Sizes, array, named_tuple, number
from ..bins import Column, last_of_bins
from ..kernels import add_pairs, merge_chain, merge_lines
from .evidence import cholesky

START, STORED = 256, 128  # lines from which merging knows all columns, and that a model keeps
BROUGHT_BACK = 3  # lines of a column that comes back, at most
MOST_CELLS = 8192  # of all columns, to begin with
RIDGE = 0.5  # the information of two rows
TINY, FREE = 1e-12, 1e-9  # the weight of a cell without rows, and an error that is always made, relative to all rows
CHUNK = 1 << 16  # rows


class Steps(NamedTuple):
    """A card of at most STORED lines, and all that is needed to merge them further."""

    line: np.ndarray  # of each cell of the columns; -1 in columns that are not on it
    values: np.ndarray  # shape (k + 1,): the value of each line, and the constant
    covariance: np.ndarray  # shape (k + 1, k + 1): V
    row: float  # the mean weight of the training rows that have one

    def points(self, columns: Sequence[Column], codes: np.ndarray, unit: float) -> np.ndarray:
        """Return the sum of the whole points of some rows, without the constant; `unit` are the points of a 1."""
        whole, found = np.append(np.rint(unit * self.values[:-1]), 0.0)[self.line], np.zeros(len(codes))
        for j, cells in enumerate(by_column(columns, whole)):
            if cells.any():
                found += np.append(cells, 0.0)[codes[:, j]]
        return found

    def with_column(self, columns: Sequence[Column], j: int, curve: np.ndarray, mass: np.ndarray) -> Steps:
        """Return the card with a column that is not on it; it has no lines if its curve is flat.

        `mass` is the sum of h over the rows of each cell. With the other columns the lines have no covariance.
        """
        ours, values = coarsen([columns[j]], [curve], [mass + TINY * mass.sum()], BROUGHT_BACK)
        k, m = len(self.values) - 1, len(values)
        cells, order = self.line.copy(), [*range(k), *range(k + 1, k + 1 + m), k]  # the constant stays the last
        by_column(columns, cells)[j][:] = np.where(ours < 0, ours, k + ours)
        variances = 1 / (np.bincount(ours[ours >= 0], mass[ours >= 0], m) + RIDGE * self.row)
        V = np.pad(self.covariance, (0, m))
        V[np.arange(k + 1, k + 1 + m), np.arange(k + 1, k + 1 + m)] = variances
        return self._replace(
            line=cells, values=np.append(self.values, values)[order], covariance=V[np.ix_(order, order)]
        )


class Merging:
    """Lines that are being merged: `line` is the line of each cell, `owner` the column of each line."""

    def __init__(self, columns: Sequence[Column], signs: np.ndarray, steps: Steps) -> None:
        line, f, V, row = steps
        self.line, self.f, self.V, self.row = line, f.copy(), np.ascontiguousarray(V).copy(), row
        k = len(f) - 1
        self.signs, self.group, self.owner = signs.astype(np.float64), np.arange(k), np.zeros(k, dtype=np.intp)
        self.near, self.alone = np.zeros((k, k), dtype=bool), np.zeros(k, dtype=bool)
        for j, (column, cells) in enumerate(zip(columns, by_column(columns, line), strict=True)):
            ours, ranges = np.unique(cells[cells >= 0]), cells[: column.n_values]
            if not len(ours):
                continue
            self.owner[ours] = j
            if column.categorical:
                self.near[np.ix_(ours, ours)] = True
                continue
            self.near[ranges[:-1], ranges[1:]] = True
            if column.missing and cells[-1] not in ranges:
                self.near[ours, cells[-1]] = self.alone[cells[-1]] = True
        self.near |= self.near.T
        np.fill_diagonal(self.near, False)

    @classmethod
    def project(
        cls,
        columns: Sequence[Column],
        signs: np.ndarray,
        curves: Sequence[np.ndarray],
        codes: np.ndarray,
        weights: np.ndarray,
        scores: np.ndarray,
    ) -> Merging:
        """Return the card of START lines that is closest to the scores of a model on some rows.

        `curves` are the values of the cells of each column, and `codes`, of shape (n, p), the cells of the rows.
        """
        p = expit(scores)
        h = weights * p * (1 - p)
        row = float(weights[weights > 0].mean())
        ridge, tiny = RIDGE * row, TINY * h.sum()
        masses = [np.bincount(each, h, c.n_codes)[: c.n_codes] + tiny for each, c in zip(codes.T, columns, strict=True)]
        line, centers = coarsen(columns, curves, masses, START)
        k = int(line.max(initial=-1)) + 1
        used = [(j, np.append(cells, k)) for j, cells in enumerate(by_column(columns, line)) if (cells >= 0).any()]
        J, b = np.zeros((k + 1, k + 1)), np.zeros(k + 1)
        for start in range(0, len(codes), CHUNK):
            rows = slice(start, start + CHUNK)
            cells = np.full((len(codes[rows]), len(used) + 1), k, dtype=np.int32)
            for place, (j, lines) in enumerate(used):
                cells[:, place] = lines[codes[rows, j]]  # k for what only rows without weight have
            add_pairs(cells, h[rows], J)
            for ours in cells.T:
                b += np.bincount(ours, h[rows] * scores[rows], k + 1)
        J[np.arange(k), np.arange(k)] += ridge
        b[:k] += ridge * centers
        V, _ = dpotri(cholesky(J), lower=True)
        V = np.tril(V) + np.tril(V, -1).T
        return cls(columns, signs, Steps(line, V @ b, V, row))

    def to(self, n: int, kept: np.ndarray | None = None) -> int:
        """Merge until at most n lines are left, and return how many are; columns that are `kept` stay."""
        kept = np.zeros(len(self.signs), dtype=bool) if kept is None else kept
        return int(merge_lines(self.f, self.V, self.owner, self.near, self.alone, self.signs, kept, self.group, n))

    def steps(self) -> Steps:
        """Return the card of the lines that are left."""
        k = len(self.group)
        alive = np.flatnonzero(self.group == np.arange(k))
        number = np.full(k + 1, -1)
        number[alive] = np.arange(len(alive))
        left = np.append(alive, k)
        covariance = np.ascontiguousarray(self.V[np.ix_(left, left)])
        return Steps(number[np.append(self.group, -1)[self.line]], self.f[left], covariance, self.row)


def by_column(columns: Sequence[Column], cells: np.ndarray) -> list[np.ndarray]:
    """Return what belongs to the cells of each column."""
    return np.split(cells, np.cumsum([column.n_codes for column in columns])[:-1])


def coarsen(
    columns: Sequence[Column], curves: Sequence[np.ndarray], masses: Sequence[np.ndarray], n_lines: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return a line for each cell, about so many, and the mean value of each; -1 for columns that hardly matter.

    Neighbours are merged, of a number in its order and of a category in the order of its values, by their squared error
    weighted by the masses. A level without rows so joins the nearest value. A column with one line has none.
    """
    spread = [-float(mass @ (f - mass @ f / mass.sum()) ** 2) for mass, f in zip(masses, curves, strict=True)]
    used = np.sort(np.argsort(spread, kind="stable")[: START // 2]).tolist()
    most = MOST_CELLS // max(len(used), 1)
    values, weights, joined, places = [np.zeros(0)], [np.zeros(0)], [np.zeros(0, dtype=bool)], []
    for j in used:
        column, f, mass = columns[j], curves[j], masses[j]
        n = column.n_codes if column.categorical else column.n_values
        order = np.append(np.argsort(f, kind="stable") if column.categorical else np.arange(n), np.arange(n, len(f)))
        last = np.append(last_of_bins(mass[order[:n]], most), np.ones(len(f) - n, dtype=bool))
        first = np.append(0, np.flatnonzero(last)[:-1] + 1)
        weights.append(np.add.reduceat(mass[order], first))
        values.append(np.add.reduceat((mass * f)[order], first) / weights[-1])
        joined.append(np.append(np.arange(1, len(first)) < len(first) - (len(f) - n), False))
        place = np.empty(len(f), dtype=np.intp)
        place[order] = np.cumsum(np.append(False, last[:-1]))
        places.append(place)
    total = max((float(mass.sum()) for mass in masses), default=0.0)
    sizes = merge_chain(*map(np.concatenate, (values, weights, joined)), n_lines, FREE * total)
    number = np.repeat(np.arange(len(sizes)), sizes)
    found, start, k, centers = [np.full(column.n_codes, -1) for column in columns], 0, 0, [np.zeros(0)]
    for j, place in zip(used, places, strict=True):
        lines = np.unique(number[start + place], return_inverse=True)[1]
        start += int(place.max()) + 1
        if lines.max() > 0:
            found[j] = k + lines
            k += int(lines.max()) + 1
            centers.append(np.bincount(lines, masses[j] * curves[j]) / np.bincount(lines, masses[j]))
    return np.concatenate(found), np.concatenate(centers)


def check_steps(value: Any, where: str, sizes: Sizes) -> None:
    """Check a short card by itself: each line has a cell."""
    CHECK_FIELDS(value, where, sizes)
    n_lines = len(value.values) - 1
    if not np.array_equal(np.unique(value.line[value.line >= 0]), np.arange(n_lines)) or (value.line < -1).any():
        raise ValueError(f"lines of {where} do not belong to its values")
    if (np.diag(value.covariance) < 0).any():
        raise ValueError(f"covariance of {where} holds negative variances")


def check_lines(value: Steps, columns: Sequence[Column], where: str) -> None:
    """Check that the lines of a short card belong to the columns: each to one, which is on the card or not."""
    k = len(value.values)
    fits = len(value.line) == sum(column.n_codes for column in columns) and value.covariance.shape == (k, k)
    found = [np.unique(lines) for lines in by_column(columns, value.line)] if fits else []
    owners = np.concatenate([lines[lines >= 0] for lines in found]) if found else np.zeros(0)
    if not fits or len(owners) != k - 1 or any(lines[0] < 0 < len(lines) - 1 for lines in found if len(lines)):
        raise ValueError(f"{where} do not belong to its columns")


CHECK_FIELDS = named_tuple(
    Steps,
    line=array("i", None),
    values=array("f", None),
    covariance=array("d", None, None),
    row=number(int, float, low=0),
)
