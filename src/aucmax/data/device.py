"""Rows on a device, dense or CSR: CuPy arrays, PyTorch tensors, and other arrays of the array API standard.

Class moments, scores, products with X, folds, sorting and AUCs are computed on the device, in float64. What is small
comes to the host: class moments, weights and sums. What has an entry for each row stays, except for samples, on which
candidates are compared, and for the labels where `cv` has splits of the user's own.

Rows of float32 are converted to float64 block by block, so that sums have the rounding error of float64.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from sklearn.externals.array_api_compat import device as device_of
from sklearn.externals.array_api_compat import is_array_api_obj, is_cupy_namespace
from sklearn.utils import check_consistent_length

from .arrays import by_class, namespace, on_device, place_beside, to_numpy
from .folds import SAMPLE, deal, in_parts, preimages
from .memory import MemoryRows, MemorySpace
from .moments import ClassMoments, chan_update, check_no_overflow, warn_of_underflow
from .protocol import FoldModels, Round, Targets
from .ranking import areas
from .scores import ScoreHistogram, ScoreMoments
from .validation import STAYS_ON_DEVICE, check_class_weights, check_labels, find_classes

# A block of rows has about so many values: a product of two GB takes long compared with the start of a kernel.
BLOCK_VALUES = 1 << 27
# Columns further from zero than so many standard deviations are shifted before they are squared. The others lose at
# most four of sixteen digits, and shifting all took a quarter of the time of the product.
FAR = 100.0
FIRST_ROWS = 4096  # tell which columns are far from zero
# Products of a matrix with itself are made of up to N_PANELS panels of at least PANEL columns: below the diagonal they
# are those above it, transposed. With 512 columns that takes 80% of the time of the whole product, with 8,192 half.
# CuPy copies a panel before a product, which pays only for wide ones.
PANEL, CUPY_PANEL, N_PANELS = 256, 1024, 8
Change = Callable[[Any], Any]


class DeviceVector:
    """A vector whose entries are an array on a device.

    Parameters
    ----------
    array : array of shape (n_rows,) or (n_rows, L)
        The entries.
    """

    __array_ufunc__ = None  # so that a number of NumPy leaves a product to this class

    def __init__(self, array: Any) -> None:
        self.array = array

    def __add__(self, other: DeviceVector) -> DeviceVector:
        return DeviceVector(self.array + other.array)

    def __sub__(self, other: DeviceVector) -> DeviceVector:
        return DeviceVector(self.array - other.array)

    def __mul__(self, factor: float) -> DeviceVector:
        return DeviceVector(float(factor) * self.array)

    __rmul__ = __mul__

    def __neg__(self) -> DeviceVector:
        return DeviceVector(-self.array)

    def __matmul__(self, other: DeviceVector) -> float:
        return float(self.array @ other.array)


class DeviceSpace(MemorySpace):
    """A score space whose vectors are arrays on a device: all rows are one block."""

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of rows of each class with a weight above 0."""
        usable, positive = self.targets.usable, self.targets.positive
        xp = namespace(positive)
        return np.array([int(xp.count_nonzero(usable & side)) for side in (~positive, positive)])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.targets.positive.shape[0]

    def reduce(
        self, function: Callable[..., Any], *vectors: Any, merge: Callable[[Any, Any], Any] = operator.add
    ) -> Any:
        """Return the summary of all rows, in memory."""
        found = function(self.targets, *map(entries, vectors))
        return to_numpy(found) if hasattr(found, "shape") else found

    def map(self, function: Callable[..., Any], *vectors: Any) -> Any:
        """Return `function` of all rows."""
        found = function(self.targets, *map(entries, vectors))
        return DeviceVector(found) if hasattr(found, "shape") else found


def find_targets(positive: Any, weights: Any, classes: np.ndarray, groups: np.ndarray | None = None) -> Targets:
    """Return the targets of rows on a device."""
    xp = namespace(positive)
    counted = xp.ones(positive.shape, dtype=xp.float64, device=device_of(positive)) if weights is None else weights
    zero = xp.zeros_like(counted)
    totals = np.array([float(xp.sum(xp.where(side, counted, zero))) for side in (~positive, positive)])
    check_class_weights(totals, classes)
    return Targets(positive, weights, totals, groups)


def entries(vector: Any) -> Any:
    """Return the array of a vector; other objects that describe rows are returned as they are."""
    return vector.array if isinstance(vector, DeviceVector) else vector


class DeviceRows(DeviceSpace):
    """The rows of a binary problem on a device.

    Parameters
    ----------
    X : array or CuPy CSR matrix of shape (n_rows, n_features)
        Float32 or float64 values.
    positive : array of bool, shape (n_rows,)
        Which rows are positive.
    classes : ndarray of shape (2,)
        The negative and the positive label.
    sample_weight : array of shape (n_rows,), default=None
        Nonnegative weights.
    groups : ndarray of shape (n_rows,), default=None
        Groups of rows that cross-validation keeps together, if its folds are made by group.
    changes : tuple of callables, default=()
        Each returns other columns for a block of rows in float64. The rows are those after all changes. If the last one
        has a method `products`, that makes the products of its columns with weights.
    n_features : int, default=None
        Number of columns after the changes; by default that of X.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> from aucmax.data.device import DeviceRows
    >>> X = xp.reshape(xp.arange(10, dtype=xp.float64), (5, 2))
    >>> rows = DeviceRows.of(X, ["no", "no", "yes", "no", "yes"])
    >>> rows.n_rows, rows.counts
    (5, array([3, 2]))
    >>> rows.moments().mean
    array([[2.66666667, 3.66666667],
           [6.        , 7.        ]])
    """

    in_memory = False
    feature_names: list[str] | None = None

    def __init__(
        self,
        X: Any,
        positive: Any,
        classes: np.ndarray,
        sample_weight: Any = None,
        groups: np.ndarray | None = None,
        changes: tuple[Change, ...] = (),
        n_features: int | None = None,
    ) -> None:
        super().__init__(None)
        self.X, self.classes, self.changes = X, classes, changes
        self.xp, self.is_sparse = namespace(positive), is_csr(X)
        self.n_features = X.shape[1] if n_features is None else n_features
        self._parts = positive, sample_weight, groups
        self.y: Any = None

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> DeviceRows:
        """Return the rows of X on its device, validated; y, weights and groups may be anywhere."""
        X = check_matrix(X)
        beside = X.data if is_csr(X) else X
        classes, positive = check_targets(y, beside)
        check_consistent_length(X, positive)
        groups = None if groups is None else to_numpy(groups)
        check_consistent_length(X, groups)
        weights = check_device_weights(sample_weight, beside, X.shape[0])
        rows = cls(X, positive, classes, weights, groups)
        rows.y = y  # callbacks are told
        return rows

    def _find_targets(self) -> Targets:
        positive, weights, groups = self._parts
        return find_targets(positive, weights, self.classes, groups)

    def _with(self, **changed: Any) -> DeviceRows:
        """Return the same rows with some of their arguments replaced."""
        positive, weights, groups = self._parts
        same = {"X": self.X, "positive": positive, "classes": self.classes, "sample_weight": weights, "groups": groups}
        return DeviceRows(**{**same, "changes": self.changes, "n_features": self.n_features, **changed})

    def mapped(self, change: Change, n_features: int) -> DeviceRows:
        """Return the rows with other columns, which are made block by block whenever they are needed."""
        return self._with(changes=(*self.changes, change), n_features=n_features)

    def _blocks(self, numbers: Any = None, n_changes: int | None = None) -> Iterator[tuple[slice, Any]]:
        """Yield blocks of rows, all or those of the given numbers, as float64 arrays, with their places.

        They are those after the first `n_changes` changes, by default after all.
        """
        n_rows = self.X.shape[0] if numbers is None else numbers.shape[0]
        width = max(self.n_features, self.X.shape[1])
        step = max(BLOCK_VALUES // width, width // 2, 1)
        for start in range(0, n_rows, step):
            part = slice(start, min(start + step, n_rows))
            if self.is_sparse:
                block = (self.X[part] if numbers is None else self.X[numbers[part]]).toarray()
            else:
                block = self.X[part, ...] if numbers is None else self.xp.take(self.X, numbers[part], axis=0)
            block = self.xp.astype(block, self.xp.float64, copy=False)
            for change in self.changes[:n_changes]:
                block = change(block)
            yield part, block

    def _numbers(self, mask: Any) -> Any:
        return self.xp.nonzero(mask)[0]

    def _beside(self, values: Any, dtype: Any = None) -> Any:
        """Return values as an array on the device of the rows."""
        return place_beside(values, self._parts[0], dtype)

    # Sizes

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def row_length(self) -> float:
        """Mean number of stored values in a row."""
        return self.X.nnz / max(self.n_rows, 1) if self.is_sparse else float(self.n_features)

    @property
    def has_groups(self) -> bool:
        """Whether there are groups."""
        return self._parts[2] is not None

    def expect(self, fit: Mapping[str, str], n_folds: int | None = None, columns: bool = False) -> None:
        """Do nothing: no answer takes a reading here."""

    # From columns to scores and back

    def scores(self, w: np.ndarray) -> DeviceVector:
        """Return X @ w for w of shape (n_features,) or (n_features, L)."""
        return DeviceVector(self._products(w))

    def _products(self, w: np.ndarray, numbers: Any = None) -> Any:
        w = self._beside(w, self.xp.float64)
        if self.is_sparse and not self.changes:
            return (self.X if numbers is None else self.X[numbers]) @ w
        if self.changes and hasattr(self.changes[-1], "products"):
            blocks = self._blocks(numbers, len(self.changes) - 1)
            products = [self.changes[-1].products(block, w) for _, block in blocks]
        else:
            products = [block @ w for _, block in self._blocks(numbers)]
        return products[0] if len(products) == 1 else self.xp.concat(products)

    def pullback(self, g: DeviceVector, center: np.ndarray | None = None) -> np.ndarray:
        """Return X.T @ g, or (X - center).T @ g, for g of shape (n_rows,) or (n_rows, L)."""
        many = center is not None and g.array.ndim > 1
        if self.is_sparse and not self.changes and not many:
            total = to_numpy(self.X.T @ g.array)
        else:
            total = np.zeros((self.n_features, *g.array.shape[1:]))
            shift = self._beside(center, self.xp.float64) if many else None
            for part, block in self._blocks():
                total += to_numpy((block - shift if many else block).T @ g.array[part, ...])
        if center is None or many:
            return total
        return total - center * float(self.xp.sum(g.array))

    def score_histogram(self, w: np.ndarray, moments: ScoreMoments | None = None) -> ScoreHistogram:
        """Return the histogram of the scores X @ w."""
        return ScoreHistogram.of(self, self.scores(w), moments)

    # Summaries of the columns

    def moments(self) -> ClassMoments:
        """Return the class moments of all rows."""
        return self._part_moments(None, 1)[0]

    def fold_moments(self, rounds: Sequence[Round]) -> list[list[ClassMoments]]:
        """Return the class moments of each part of each round."""
        return [self._part_moments(round.parts.array, round.n_parts) for round in rounds]

    def _members(self, parts: Any, part: int) -> Iterator[Any]:
        """Yield the numbers of the rows of a part with a weight above 0, for each class."""
        positive = self._parts[0]
        for side in (~positive, positive):
            side = side if parts is None else side & (parts == part)
            yield self._numbers(side if self._parts[1] is None else side & (self._parts[1] > 0))

    @np.errstate(over="ignore", invalid="ignore")  # the result is checked
    def _part_moments(self, parts: Any, n_parts: int) -> list[ClassMoments]:
        found = []
        for part in range(n_parts):
            moments = ClassMoments(self.n_features, self.classes)
            moments.beside = self._beside(np.zeros(1))
            for c, numbers in enumerate(self._members(parts, part)):
                if numbers.shape[0]:
                    weight, mean, scatter = self._square_rows(numbers)
                    moments.weight[c], moments.mean[c], moments.scatter[c] = weight, to_numpy(mean), to_numpy(scatter)
            found.append(moments)
        squares = [np.diagonal(moments.scatter, axis1=1, axis2=2) for moments in found]  # no other entry is larger
        if not np.isfinite(squares).all():
            self._check_finite()
        self._check_weightless()
        check_no_overflow(np.array(squares))
        warn_of_underflow(found[0].mean, squares[0])
        return found

    def _weighted_blocks(self, numbers: Any) -> Iterator[tuple[Any, Any, float]]:
        """Yield blocks of some rows with their weights, and the sum of these."""
        for part, block in self._blocks(numbers):
            if self._parts[1] is None:
                weights = self.xp.ones(block.shape[0], dtype=block.dtype, device=device_of(block))
            else:
                weights = self.xp.take(self._parts[1], numbers[part])
            yield block, weights, float(self.xp.sum(weights))

    def _square_rows(self, numbers: Any) -> tuple[float, Any, Any]:
        """Return weight, mean and centred second moment of some rows."""
        weight, mean, scatter, shift = 0.0, 0.0, None, None
        for block, weights, total in self._weighted_blocks(numbers):
            if scatter is None:
                shift = self._far_means(block)
            Z = block if shift is None else block - shift
            rest = weights @ Z / total  # a product: CuPy takes 20 times as long for a sum over rows
            square = self_product(Z if self._parts[1] is None else Z * self.xp.sqrt(weights)[:, None])
            square -= outer(rest * total, rest)
            its_mean = rest if shift is None else shift + rest
            if scatter is None:
                weight, mean, scatter = total, its_mean, square
            else:
                weight, mean, scatter = chan_update(weight, mean, scatter, total, its_mean, square, outer)
        return weight, mean, scatter

    def _far_means(self, block: Any) -> Any:
        """Return the means of the columns that are far from zero, 0 for the others; None if there are none."""
        first = block[: min(FIRST_ROWS, block.shape[0]), ...]
        share = self.xp.full(first.shape[0], 1 / first.shape[0], dtype=first.dtype, device=device_of(first))
        means = share @ first
        variances = share @ (first - means) ** 2
        far = means**2 > FAR**2 * variances
        return self.xp.where(far, means, self.xp.zeros_like(means)) if bool(self.xp.any(far)) else None

    @np.errstate(over="ignore", invalid="ignore")  # the result is checked
    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each column in the two classes, each of shape (2, n_features)."""
        means, variances = np.zeros((2, self.n_features)), np.zeros((2, self.n_features))
        for c, numbers in enumerate(self._members(None, 0)):
            weight, mean, square = 0.0, 0.0, self._beside(np.zeros(self.n_features))
            for block, weights, total in self._weighted_blocks(numbers):
                rest = weights @ block / total
                squares = weights @ (block - rest) ** 2
                weight, mean, square = chan_update(weight, mean, square, total, rest, squares, operator.mul)
            means[c], variances[c] = to_numpy(mean), to_numpy(square) / weight
        if not np.isfinite(variances).all():
            self._check_finite()
        self._check_weightless()
        check_no_overflow(variances)
        warn_of_underflow(means, variances)
        return means, variances

    def _check_weightless(self) -> None:
        """Check the rows that are in no summary."""
        if self._parts[1] is not None:
            weightless = self._numbers(self._parts[1] == 0)
            if weightless.shape[0]:
                self._check_finite(weightless)

    def _check_finite(self, numbers: Any = None) -> None:
        """Raise a ValueError if a value of X is not finite, as scikit-learn does."""
        for _, block in self._blocks(numbers):
            check_finite(block, "X")

    def gram(self, scale: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows of X / scale, after shifting the columns to remove large means."""
        X = self.xp.concat([block for _, block in self._blocks()])
        X = (X - self.xp.mean(X, axis=0)) / self._beside(scale, self.xp.float64)
        return to_numpy(X @ X.T)

    # Cross-validation

    def deal(self, n_folds: int, number: int) -> DeviceVector:
        """Return the fold of each row in round `number`."""
        positive, usable = self._parts[0], self.targets.usable
        folds: Any = None
        for side, count in zip((~positive, positive), self.counts.tolist(), strict=True):
            members = side & usable
            if number:  # integers of 64 bits without a sign, which few devices have, permute the ranks
                table = self._beside(deal(np.arange(count), count, n_folds, number))
                mine = self.xp.take(table, ranks_in(members))
            else:
                mine = deal(ranks_in(members), count, n_folds, number)
            folds = self.xp.where(members, mine, self.xp.zeros_like(mine) if folds is None else folds)
        return DeviceVector(folds)

    def label(self, parts: np.ndarray) -> DeviceVector:
        """Return part numbers as a vector."""
        return DeviceVector(self._beside(parts))

    def held_out(self, models: Sequence[FoldModels]) -> DeviceHeldOut:
        """Evaluate the models of each split on its test set."""
        return DeviceHeldOut(self, models)

    # Other views of the same rows

    def subset(self, parts: DeviceVector, chosen: Sequence[int]) -> DeviceRows:
        """Return the rows of the chosen parts."""
        return self.take(self._numbers(in_parts(parts.array, chosen)))

    def take(self, numbers: Any) -> DeviceRows:
        """Return rows by their numbers, given as an array on the device."""
        positive, weights, groups = self._parts
        return self._with(
            X=self.X[numbers] if self.is_sparse else self.xp.take(self.X, numbers, axis=0),
            positive=self.xp.take(positive, numbers),
            sample_weight=None if weights is None else self.xp.take(weights, numbers),
            groups=None if groups is None else groups[to_numpy(numbers)],
        )

    def sample(self, n_each: int) -> MemoryRows:
        """Return in memory at most `n_each` rows of each class, always the same ones; all rows if there are few."""
        if self.counts.max() <= n_each:
            return self.in_host_memory()
        chosen = []
        for numbers, count in zip(self._members(None, 0), self.counts.tolist(), strict=True):
            ranks = preimages(np.arange(min(count, n_each)), count, SAMPLE)
            chosen.append(self.xp.take(numbers, self._beside(ranks)))
        return self.take(self.xp.sort(self.xp.concat(chosen))).in_host_memory()

    def in_host_memory(self) -> MemoryRows:
        """Return a copy of the rows in memory."""
        if self.is_sparse and not self.changes:
            X = self.X.get()
        else:
            X = np.concatenate([to_numpy(block) for _, block in self._blocks()])
        positive, weights, groups = self._parts
        y = by_class(self.classes, to_numpy(positive))
        return MemoryRows(X, y, self.classes, None if weights is None else to_numpy(weights), groups)

    def columns(self, columns: np.ndarray) -> DeviceRows:
        """Return the same rows with some of their columns."""
        kept = self._beside(columns)
        return self.mapped(lambda block: self.xp.take(block, kept, axis=1), len(columns))

    def reweighted(self, weights: DeviceVector) -> DeviceRows:
        """Return the same rows with other weights."""
        return self._with(sample_weight=weights.array)

    def shifted(self, shift: np.ndarray) -> DeviceRows:
        """Return the rows of X - shift."""
        moved = self._beside(shift, self.xp.float64)
        return self.mapped(lambda block: block - moved, self.n_features)

    def iterate(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Raise a ValueError: a device does not take one row after the other."""
        raise ValueError(STAYS_ON_DEVICE)


class DeviceHeldOut:
    """The models of the folds, evaluated on held-out rows; see :class:`aucmax.data.protocol.HeldOut`.

    Parameters
    ----------
    rows : DeviceRows
        All rows.
    models : sequence of FoldModels
        The models of each round.

    Attributes
    ----------
    auc : ndarray of shape (n_splits, n_candidates)
        The AUC of each test set, over all rounds.
    """

    def __init__(self, rows: DeviceRows, models: Sequence[FoldModels]) -> None:
        self.rows, self.models = rows, models
        self.auc = np.array([self._areas(*split) for split in self._splits()])

    def _splits(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        """Yield the mask of the test rows, the weights and the midpoints of each split."""
        for round, weights, midpoints, _ in self.models:
            for split, W, middle in zip(round.splits, weights, midpoints, strict=True):
                yield in_parts(round.parts.array, split.test), W, middle

    def _areas(self, test: Any, W: np.ndarray, midpoints: np.ndarray) -> list[float]:
        xp, (positive, weights, _) = self.rows.xp, self.rows._parts
        numbers = self.rows._numbers(test)
        scores = self.rows._products(W.T, numbers)
        columns = (scores[:, k] for k in range(len(W)))
        return areas(xp.take(positive, numbers), columns, None if weights is None else xp.take(weights, numbers))

    def histogram(self, candidate: int) -> ScoreHistogram:
        """Return the histogram of one candidate's held-out scores, minus midpoints and averaged over the rounds."""
        xp = self.rows.xp
        totals = times = self.rows._beside(np.zeros(self.rows.n_rows))
        for test, W, midpoints in self._splits():
            scores = self.rows._products(W[candidate], self.rows._numbers(test)) - float(midpoints[candidate])
            totals = xp.where(test, totals + xp.take(scores, ranks_in(test)), totals)
            times = times + xp.astype(test, xp.float64)
        unknown = xp.full_like(totals, float("nan"))
        means = xp.where(times > 0, totals / xp.where(times > 0, times, xp.ones_like(times)), unknown)
        return ScoreHistogram.of(self.rows, DeviceVector(means))


class DeviceScores(DeviceSpace):
    """Scores on a device, with labels and weights from anywhere.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of two classes; the larger is the positive one.
    sample_weight : array-like of shape (n_rows,), default=None
        Nonnegative weights.
    classes : ndarray of shape (2,), default=None
        The classes, if they are known.
    **scores : array of shape (n_rows,) or (n_rows, n_scores)
        The scores, under the names that errors call them by. At least one is on a device, which all are moved to.
    """

    def __init__(self, y: Any, sample_weight: Any = None, classes: np.ndarray | None = None, **scores: Any) -> None:
        beside = next(filter(on_device, scores.values()), next(iter(scores.values())))
        xp = namespace(beside)
        self.columns = []
        for name, values in scores.items():
            values = place_beside(values, beside, xp.float64)
            check_finite(values, name)
            check_consistent_length(beside, values)
            self.columns += [values] if values.ndim == 1 else [values[:, k] for k in range(values.shape[1])]
        self.classes, positive = check_targets(y, beside, classes)
        check_consistent_length(beside, positive)
        weights = check_device_weights(sample_weight, beside, beside.shape[0])
        super().__init__(find_targets(positive, weights, self.classes))

    def column(self, k: int) -> DeviceVector:
        """Return a vector of scores."""
        return DeviceVector(self.columns[k])

    def areas(self) -> list[float]:
        """Return the AUC of each column."""
        return areas(self.targets.positive, self.columns, self.targets.sample_weight)


# What is checked at the entrance


def is_csr(X: Any) -> bool:
    """Return whether X is a CSR matrix of CuPy."""
    return getattr(X, "format", None) == "csr"


def check_matrix(X: Any, sparse: bool = True) -> Any:
    """Return X as float32 or float64, dense or, if `sparse` allows it, CSR."""
    if str(getattr(X, "layout", "torch.strided")) != "torch.strided":
        raise ValueError("X on a device must be dense, got a sparse tensor: use its to_dense().")
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"X must have rows and columns, got an array of shape {tuple(X.shape)}.")
    if type(X).__module__.startswith("cupyx"):
        if not sparse:
            raise ValueError("X on a device must be dense here, got a sparse matrix: use its toarray().")
        X = X if is_csr(X) else X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    xp = namespace(X)
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError("Complex data not supported: X has complex values.")
    X = X.detach() if getattr(X, "requires_grad", False) else X
    return X if X.dtype in (xp.float32, xp.float64) else xp.astype(X, xp.float64)


def check_targets(y: Any, beside: Any, classes: np.ndarray | None = None) -> tuple[np.ndarray, Any]:
    """Return the classes of labels that are anywhere, and the mask of the positives on the device of `beside`.

    Classes that are known are checked, and returned.
    """
    if isinstance(y, np.ndarray) or not is_array_api_obj(y):
        y = np.asarray(y)
        y = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
        found = find_classes(y)
        if classes is not None:
            check_labels(found, classes)
        classes = found if classes is None else classes
        return classes, place_beside(y == classes[1], beside)
    xp = namespace(y)
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension, got an array of shape {tuple(y.shape)}.")
    # Twice, since scikit-learn warns of labels that hardly ever repeat.
    found = find_classes(np.repeat(to_numpy(xp.unique_values(y)), 2))
    if classes is not None:
        check_labels(found, classes)
    classes = found if classes is None else classes
    return classes, place_beside(y == place_beside(classes, y)[1], beside)


def check_device_weights(weights: Any, beside: Any, n_rows: int) -> Any:
    """Return one nonnegative float64 weight for each row, or None where every row counts once."""
    if weights is None:
        return None
    xp = namespace(beside)
    if isinstance(weights, Real):
        weights = np.full(n_rows, float(weights))
    weights = place_beside(weights, beside, xp.float64)
    if tuple(weights.shape) != (n_rows,):
        raise ValueError(f"sample_weight must have the shape ({n_rows},), got {tuple(weights.shape)}.")
    check_finite(weights, "sample_weight")
    if bool(xp.any(weights < 0)):
        raise ValueError("Negative values in data passed to `sample_weight`.")
    if not bool(xp.any(weights > 0)):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def check_finite(values: Any, name: str) -> None:
    """Raise a ValueError if a value is not finite, in the words of scikit-learn."""
    xp = namespace(values)
    if bool(xp.all(xp.isfinite(values))):
        return
    if bool(xp.any(xp.isnan(values))):
        raise ValueError(f"Input {name} contains NaN.")
    raise ValueError(f"Input {name} contains infinity or a value too large for {values.dtype!r}.")


def ranks_in(mask: Any) -> Any:
    """Return the rank of each chosen row among the chosen ones; for the other rows, some rank."""
    xp = namespace(mask)
    return xp.clip(xp.cumulative_sum(xp.astype(mask, xp.int64)) - 1, 0, None)


def outer(a: Any, b: Any) -> Any:
    """Return the outer product of two vectors."""
    return a[:, None] * b[None, :]


def self_product(Z: Any) -> Any:
    """Return Z.T @ Z."""
    xp, n_columns = namespace(Z), Z.shape[1]
    width = max(CUPY_PANEL if is_cupy_namespace(xp) else PANEL, -(-n_columns // N_PANELS))
    product = xp.empty((n_columns, n_columns), dtype=Z.dtype, device=device_of(Z))
    for start in range(0, n_columns, width):
        stop = min(start + width, n_columns)
        panel = Z[:, start:stop].T @ Z[:, start:]
        product[start:stop, start:] = panel
        product[stop:, start:stop] = panel[:, stop - start :].T
    return product


def device_scores(X: Any, w: np.ndarray) -> Any:
    """Return X @ w on the device of X; values that are not finite are refused."""
    X = check_matrix(X)
    values = X.data if is_csr(X) else X
    check_finite(values, "X")
    xp = namespace(values)
    nothing = xp.zeros(X.shape[0], dtype=xp.bool, device=device_of(values))
    return DeviceRows(X, nothing, np.array([0, 1])).scores(w).array
