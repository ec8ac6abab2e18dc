"""Rows in memory, dense or CSR. All results are float64, whatever the precision of X.

Wide rows can be rotated into as many coordinates as there are rows (`rotate`). A fit with an L2 penalty depends on the
rows through their inner products alone, and its weights lie in the span of the centred rows. If
K = V diag(lambda) V' is the matrix of these inner products, the rows V sqrt(lambda) have the same inner products in
`rank` columns. All folds, losses and alphas are then fitted to these, and the weights u of the coordinates are the
weights (X - mean)' V u / sqrt(lambda) of the columns.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from .folds import SAMPLE, in_parts, preimages
from .machine import (
    ALWAYS_AVAILABLE,
    N_SPANS,
    SHARED_FROM,
    cut_rows,
    map_spans,
    map_threads,
    one_blas_thread,
    usable_memory,
)
from .protocol import InMemoryRows, PairSums, Targets
from .summaries.block_moments import BLOCK, class_columns, shift_full_columns, subtract
from .summaries.moments import DENSE_FROM, ClassMoments, check_no_overflow, class_moments, warn_of_underflow
from .summaries.ranking import areas
from .summaries.scores import ScoreGrid, ScoreHistogram, ScoreMoments
from .validate import check_all_finite, check_class_weights

RANK_TOL = 1e-12  # smaller eigenvalues, relative to the largest, are rounding errors


class MemorySpace:
    """A score space whose vectors are arrays: all rows are one block."""

    pair_sums: PairSums | None = None
    targets: Targets

    def __init__(self, targets: Targets) -> None:
        self.targets = targets

    @property
    def n_rows(self) -> int:
        return self.targets.positive.shape[0]

    @property
    def counts(self) -> np.ndarray:
        return self.targets.counts

    @property
    def totals(self) -> np.ndarray:
        return self.targets.totals

    def check_memory(self, what: str, n_bytes: float, advice: str) -> None:
        """Raise a MemoryError if something would take more memory than this process may use."""
        if n_bytes > ALWAYS_AVAILABLE and n_bytes > (usable := usable_memory()):
            raise MemoryError(
                f"{what} takes {n_bytes / 1e9:,.1f} GB, but this process may use {usable / 1e9:,.1f} GB: {advice}."
            )

    def reduce(
        self, function: Callable[..., Any], *vectors: np.ndarray, merge: Callable[[Any, Any], Any] = operator.add
    ) -> Any:
        return function(self.targets, *vectors)

    def accumulate(self, empty: Callable[[], Any], add: Callable[..., None], *vectors: np.ndarray) -> Any:
        summary = empty()
        add(summary, self.targets, *vectors)
        return summary

    def map(self, function: Callable[..., Any], *vectors: np.ndarray) -> Any:
        return function(self.targets, *vectors)

    def aucs(self, *scores: Any) -> list[float]:
        return self.reduce(lambda targets, *s: areas(targets.positive, s, targets.sample_weight), *scores)


class NumericRows:
    """Members of the row interface as most rows have them: columns are numbers, and nothing is prepared."""

    feature_names: list[str] | None = None  # `fit` takes them from X itself
    reading: Any = None
    more_memory: str | None = None

    def prefetch(
        self, fit: Mapping[str, str], moments: bool = False, columns: bool = False, values: Any = None
    ) -> None:
        """Do nothing: only a file that was not read yet can make use of it."""

    def put_away(self, array: np.ndarray) -> np.ndarray:
        return array

    def as_table(self) -> Self:
        return self

    def score_histogram(self: Any, w: np.ndarray, moments: ScoreMoments | None = None) -> ScoreHistogram:
        return ScoreHistogram.of(self, self.scores(w), moments)


class MatrixRows(NumericRows):
    """Rows that are one matrix X, dense or CSR, in memory or on a device: their sizes."""

    X: Any
    is_sparse: bool
    n_features: int
    groups: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def row_length(self) -> float:
        return self.X.nnz / max(self.n_rows, 1) if self.is_sparse else float(self.n_features)


class MemoryRows(MatrixRows, MemorySpace):
    """The rows of a binary problem in memory, validated.

    X is a float32 or float64 array or CSR of shape (n_rows, n_features). Whether it is finite is checked in its
    moments. Each label of `y` is one of `classes`, the negative and the positive label. Cross-validation keeps `groups`
    together if its folds are made by group.
    """

    in_memory = True

    def __init__(
        self,
        X: Any,
        y: np.ndarray,
        classes: np.ndarray,
        sample_weight: np.ndarray | None = None,
        groups: np.ndarray | None = None,
    ) -> None:
        self.X, self.y, self.classes, self.sample_weight, self.groups = X, y, classes, sample_weight, groups
        self.is_sparse, self.n_features = sparse.issparse(X), X.shape[1]

    @cached_property
    def targets(self) -> Targets:  # type: ignore[override]
        """Class and weight of all rows, determined when they are first needed: an exact fit does not need them."""
        positive = self.y == self.classes[1]
        sides = (~positive, positive)
        if self.sample_weight is None:
            totals = np.array([np.count_nonzero(side) for side in sides], dtype=np.float64)
        else:
            totals = np.array([self.sample_weight[side].sum() for side in sides])
        check_class_weights(totals, self.classes)
        return Targets(positive, self.sample_weight, totals, self.groups)

    # From columns to scores and back

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return X @ w for w of shape (n_features,) or (n_features, L), columns contiguous."""
        return scores_of(self.X, w)

    def as_vector(self, values: np.ndarray) -> np.ndarray:
        return values

    def rmatvec(self, g: np.ndarray, center: np.ndarray | None = None) -> np.ndarray:
        """Return X.T @ g, or (X - center).T @ g, for g of shape (n_rows,) or (n_rows, L).

        If g has several columns, X is shifted before the product, which avoids cancellation; the shift is cheap
        compared with the products.
        """
        many = center is not None and g.ndim > 1
        shift: Any = 0.0
        if self.is_sparse:
            X, shift = shift_full_columns(self.X, self.targets.pair_weights, 2.0) if many else (self.X, shift)
            out = X.T @ g
        else:  # on tall X, BLAS takes less than half the time by blocks
            shift = center if many else shift

            def one_span(span: slice) -> np.ndarray:
                out = np.zeros((self.n_features, *g.shape[1:]))
                for start in range(span.start, span.stop, BLOCK):
                    part = slice(start, min(start + BLOCK, span.stop))
                    out += (self.X[part] - shift if many else self.X[part]).T @ g[part]
                return out

            out = sum(map_threads(one_span, product_spans(self.X)), np.zeros(()))
        return out if center is None else out - np.multiply.outer(center - shift, g.sum(axis=0))

    def score_histogram(self, w: np.ndarray, moments: ScoreMoments | None = None) -> ScoreHistogram:
        """Return the histogram of the scores X @ w; if their moments are known, the scores are never all in memory."""
        if moments is None:
            return super().score_histogram(w)
        means, variances = moments.mean, moments.variance
        grid = ScoreGrid.around(means, variances)

        def one_span(span: slice) -> np.ndarray:
            total: Any = 0
            for start in range(span.start, span.stop, BLOCK):
                part = slice(start, min(start + BLOCK, span.stop))
                weights = None if self.sample_weight is None else self.sample_weight[part]
                targets = Targets(self.y[part] == self.classes[1], weights, moments.weight)
                total = total + grid.bin(targets, self.X[part] @ w)
            return total

        mass = sum(map_spans(one_span, self.n_rows, BLOCK, self.n_features), np.zeros(()))
        return ScoreHistogram(grid, mass, means, variances)

    # Summaries of the columns

    def gather(self, name: str, empty: Callable[[], Any], add: Callable[[Any, Any, Targets], None], merge: Any) -> Any:
        state = empty()
        add(state, self.X, self.targets)
        return state

    def moments(self) -> ClassMoments:
        return class_moments(self.X, self.y, self.classes, self.sample_weight)

    @np.errstate(over="ignore", invalid="ignore")  # the result is checked
    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        weight, means, squares = class_columns(self.X, self.targets.positive, self.sample_weight)
        variances = squares / weight[:, None]
        if not np.isfinite(variances).all():
            check_all_finite(self.X)
        if self.sample_weight is not None and not self.sample_weight.all():
            check_all_finite(self.X[self.sample_weight == 0])  # rows that are in no column statistic
        check_no_overflow(variances)
        warn_of_underflow(means, variances)
        return means, variances

    def gram(self, scale: np.ndarray) -> np.ndarray:
        if self.is_sparse and self.X.nnz <= DENSE_FROM * self.n_rows * self.n_features:
            X = shift_full_columns(self.X, self.targets.pair_weights, 2.0)[0] @ sparse.diags_array(1 / scale)
            return (X @ X.T).toarray()
        X = self.X.toarray() if self.is_sparse else self.X
        X = (X - X.mean(axis=0, dtype=np.float64)) / scale
        return X @ X.T

    def values(self) -> np.ndarray:
        return self.X.toarray() if self.is_sparse else self.X

    def matrix(self, scale: np.ndarray, center: np.ndarray | None = None) -> Any:
        if center is None:
            return (self.X @ sparse.diags_array(1 / scale)).tocsr() if self.is_sparse else self.X / scale
        Z = (self.X.toarray() if self.is_sparse else self.X) - center  # float64, since the center is
        Z /= scale
        return Z

    def as_operator(self, scale: np.ndarray, center: np.ndarray | None = None) -> Any:
        """Return what multiplies and takes rows like `matrix`, which it is here; a subclass may spare itself that."""
        return self.matrix(scale, center)

    # Other views of the same rows

    def subset(self, parts: np.ndarray, chosen: Sequence[int]) -> MemoryRows:
        return self.take(np.flatnonzero(in_parts(parts, chosen)))

    def take(self, rows: np.ndarray) -> MemoryRows:
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        return MemoryRows(self.X[rows], self.y[rows], self.classes, weights, groups)

    def sample(self, n_each: int) -> MemoryRows:
        if self.counts.max() <= n_each:
            return self
        chosen = np.zeros(self.n_rows, dtype=bool)
        for side, count in zip((~self.targets.positive, self.targets.positive), self.counts, strict=True):
            members = np.flatnonzero(self.targets.usable & side)
            chosen[members[preimages(np.arange(min(count, n_each)), int(count), SAMPLE)]] = True
        return self.take(np.flatnonzero(chosen))

    def columns(self, columns: np.ndarray) -> MemoryRows:
        return MemoryRows(self.X[:, columns], self.y, self.classes, self.sample_weight, self.groups)

    def reweighted(self, weights: np.ndarray) -> MemoryRows:
        return MemoryRows(self.X, self.y, self.classes, weights, self.groups)

    def shifted(self, shift: np.ndarray) -> MemoryRows:
        return MemoryRows(subtract(self.X, shift), self.y, self.classes, self.sample_weight, self.groups)

    def mapped(self, change: Callable[[Any], Any], n_features: int) -> MemoryRows:
        return MemoryRows(np.asarray(change(self.X)), self.y, self.classes, self.sample_weight, self.groups)

    # The stochastic algorithms

    def iterate(
        self,
        name: str,
        state: dict[str, Any],
        prepare: Callable[[Any, Targets], Any],
        step: Callable[[dict[str, Any], Any], None],
        again: Callable[[dict[str, Any]], bool],
    ) -> dict[str, Any]:
        prepared = prepare(self.X, self.targets)
        while True:
            step(state, prepared)
            if not again(state):
                return state


def scores_of(X: Any, W: np.ndarray) -> np.ndarray:
    """Return X @ W for W of shape (n_features,) or (n_features, L), columns contiguous."""
    spans = [slice(0, X.shape[0])] if sparse.issparse(X) else product_spans(X)
    if len(spans) == 1 and (sparse.issparse(X) or X.dtype == np.float64):
        return np.asfortranarray(X @ W)
    out = np.empty((*W.shape[1:], X.shape[0]))

    def one_span(span: slice) -> None:
        for start in range(span.start, span.stop, BLOCK):  # by blocks, so that only a block of rows is copied at a time
            part = slice(start, min(start + BLOCK, span.stop))
            out[..., part] = (X[part] @ W).T

    for _ in map_threads(one_span, spans):
        pass
    return out.T


def product_spans(X: Any) -> list[slice]:
    """Return slices that cover the rows of a dense X; if it is large, several, which threads share in products."""
    return cut_rows(X.shape[0], N_SPANS if X.size >= SHARED_FROM else 1)


class Rotation(NamedTuple):
    """Rows in coordinates, and the way back."""

    rows: MemoryRows  # the coordinates of the rows, with the same classes, weights and groups
    source: InMemoryRows  # the rows themselves
    scale: np.ndarray  # (n_features,): the columns were divided by it
    center: np.ndarray  # (n_features,): a point among the rows
    variances: np.ndarray  # (rank,): the variances of the coordinates, which are uncorrelated
    # (n_rows, rank): V / sqrt(lambda), which turns weights of the coordinates into a combination of rows.
    to_rows: np.ndarray

    def weights(self, U: np.ndarray) -> np.ndarray:
        """Return the weights of X for weights of the coordinates, shape (rank,) or (n, rank)."""
        combination = np.ascontiguousarray((U @ self.to_rows.T).T)
        return self.source.rmatvec(combination, self.center).T / self.scale / self.scale


def rotate(rows: InMemoryRows, scale: np.ndarray, center: np.ndarray) -> Rotation:
    """Return the rows of X / scale in coordinates with the inner products of the centred rows."""
    K = rows.gram(scale)
    means = K.mean(axis=0)
    K = K - means[:, None] - means + means.mean()
    with one_blas_thread():
        values, V = np.linalg.eigh(K)
    kept = values > RANK_TOL * max(float(values[-1]), 0.0)
    kept[-1] = True  # if all rows are equal, there is one coordinate of zeros
    root = np.sqrt(np.maximum(values[kept], 0.0))
    t = rows.targets
    labels = rows.classes[t.positive.astype(np.intp)]
    coordinates = MemoryRows(V[:, kept] * root, labels, rows.classes, t.sample_weight, t.groups)
    to_rows = V[:, kept] / np.where(root > 0, root, 1.0)
    return Rotation(coordinates, rows, scale, center, root**2 / len(V), to_rows)
