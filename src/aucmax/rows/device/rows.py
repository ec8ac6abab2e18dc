"""Rows on a device, dense or CSR: CuPy arrays, PyTorch tensors, and other arrays of the array API standard.

Class moments, scores, products with X, sorting and AUCs are computed on the device, in float64. What is small comes to
the host: class moments, weights and sums. What has an entry for each row stays, except for samples, on which candidates
are compared: all rows if `cv` has splits of the user's own.

Rows of float32 are converted to float64 block by block, so that sums have the rounding error of float64.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_consistent_length

from ..arrays import by_class, device_of, namespace, place_beside, to_numpy
from ..folds import SAMPLE, preimages
from ..memory import MatrixRows, MemoryRows
from ..protocol import Targets
from ..summaries.moments import ClassMoments, chan_update, check_no_overflow, warn_of_underflow
from ..validate import DEVICE_NOT_SUPPORTED
from .checks import check_device_weights, check_finite, check_matrix, check_targets, is_csr
from .moments import ProductSums, pieces_of, room_for_moments
from .scores import DeviceSpace, DeviceVector, find_targets

# A block of rows has about so many values: a product of a GB takes long compared with the start of a kernel. A block of
# many columns has half as many rows as columns, so that adding its product to the others takes little of the time of
# the product, up to 8 GB.
BLOCK_VALUES, MOST_VALUES = 1 << 27, 1 << 30


Change = Callable[[Any], Any]


class LinearChange(Protocol):
    """A change of columns that ends in a product: the new columns are `before(block) @ matrix`.

    With `squares_before`, second moments may be computed before the product, S = matrix' S_before matrix. That takes
    one product with the matrix in all, and not one for each row, but squares the condition of the matrix.
    """

    before: Change
    matrix: Any
    squares_before: bool

    def __call__(self, block: Any) -> Any: ...


class DeviceRows(MatrixRows, DeviceSpace):
    """The rows of a binary problem on a device.

    X is an array or CuPy CSR of float32 or float64 with shape (n_rows, n_features). Each of `changes` returns other
    columns for a block of rows in float64; the rows are the result of all changes, with `n_features` columns. A change
    that ends in a product has the attributes of :class:`LinearChange`, which avoid most products with its columns.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> from aucmax.rows.device.rows import DeviceRows
    >>> X = xp.reshape(xp.arange(10, dtype=xp.float64), (5, 2))
    >>> rows = DeviceRows.of(X, ["no", "no", "yes", "no", "yes"])
    >>> rows.n_rows, rows.counts
    (5, array([3, 2]))
    """

    in_memory = False

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
        self.X, self.classes, self.sample_weight, self.groups = X, classes, sample_weight, groups
        self.positive, self.changes = positive, changes
        self.xp, self.is_sparse = namespace(positive), is_csr(X)
        self.n_features = X.shape[1] if n_features is None else n_features

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
        return cls(X, positive, classes, weights, groups)

    @cached_property
    def targets(self) -> Targets:  # type: ignore[override]
        return find_targets(self.positive, self.sample_weight, self.classes, self.groups)

    def _with(self, **changed: Any) -> DeviceRows:
        names = ("X", "positive", "classes", "sample_weight", "groups", "changes", "n_features")
        return DeviceRows(**{**{name: getattr(self, name) for name in names}, **changed})

    def mapped(self, change: Change, n_features: int) -> DeviceRows:
        """Return the rows with other columns, which are made block by block whenever they are needed.

        A change of rows in memory is made by its counterpart, which its method `on_device` returns.
        """
        if hasattr(change, "on_device"):
            self.check_finite()
            change = change.on_device(self.positive)
        return self._with(changes=(*self.changes, change), n_features=n_features)

    @property
    def _linear(self) -> LinearChange | None:
        """The last change, if it ends in a product with a matrix."""
        last: Any = self.changes[-1] if self.changes else None
        return last if hasattr(last, "matrix") else None

    def _before_product(self, last: LinearChange) -> DeviceRows:
        """Return the rows before the product of the last change."""
        return self._with(changes=(*self.changes[:-1], last.before), n_features=last.matrix.shape[0])

    def _blocks(self, numbers: Any = None, columns: slice = slice(None)) -> Iterator[tuple[slice, Any]]:
        """Yield blocks of all rows, or of rows by number, as float64 arrays, with their slices.

        `columns` are columns of X, before any changes.
        """
        n_rows = self.X.shape[0] if numbers is None else numbers.shape[0]
        width = max(self.n_features, self.X.shape[1])
        step = max(BLOCK_VALUES // width, min(width // 2, MOST_VALUES // width), 1)
        for start in range(0, n_rows, step):
            part = slice(start, min(start + step, n_rows))
            if self.is_sparse:
                block = (self.X[part] if numbers is None else self.X[numbers[part]]).toarray()
            elif numbers is None:
                block = self.X[part, columns]
            else:
                block = self.xp.take(self.X[:, columns], numbers[part], axis=0)
            block = self.xp.astype(block, self.xp.float64, copy=False)
            for change in self.changes:
                block = change(block)
            yield part, block

    def _pieces(self, numbers: Any) -> Iterator[tuple[slice, list[Any]]]:
        """Yield blocks of some rows as :class:`ProductSums` takes them, with their slices."""
        cuts = pieces_of(self.xp, self.n_features)
        if len(cuts) > 1 and not self.changes and not self.is_sparse:  # each piece is gathered, and nothing is copied
            for gathered in zip(*(self._blocks(numbers, cut) for cut in cuts), strict=True):
                yield gathered[0][0], [piece for _, piece in gathered]
            return
        for part, block in self._blocks(numbers):
            yield part, [block] if len(cuts) == 1 else [self.xp.asarray(block[:, cut], copy=True) for cut in cuts]

    def _numbers(self, mask: Any) -> Any:
        return self.xp.nonzero(mask)[0]

    def _beside(self, values: Any, dtype: Any = None) -> Any:
        return place_beside(values, self.positive, dtype)

    # From columns to scores and back

    def scores(self, w: np.ndarray) -> DeviceVector:
        return DeviceVector(self._products(w))

    def _products(self, w: np.ndarray) -> Any:
        w = self._beside(w, self.xp.float64)
        if (last := self._linear) is not None:
            return self._before_product(last)._products(last.matrix @ w)
        if self.is_sparse and not self.changes:
            return self.X @ w
        products = [block @ w for _, block in self._blocks()]
        return products[0] if len(products) == 1 else self.xp.concat(products)

    def as_vector(self, values: np.ndarray) -> DeviceVector:
        return DeviceVector(self._beside(values))

    def rmatvec(self, g: DeviceVector, center: np.ndarray | None = None) -> np.ndarray:
        many = center is not None and g.array.ndim > 1
        if not many and (last := self._linear) is not None:
            total = to_numpy(last.matrix.T @ self._beside(self._before_product(last).rmatvec(g)))
        elif self.is_sparse and not self.changes and not many:
            total = to_numpy(self.X.T @ g.array)
        else:
            total = np.zeros((self.n_features, *g.array.shape[1:]))
            shift = self._beside(center, self.xp.float64) if many else None
            for part, block in self._blocks():
                total += to_numpy((block - shift if many else block).T @ g.array[part, ...])
        if center is None or many:
            return total
        return total - center * float(self.xp.sum(g.array))

    # Summaries of the columns

    def _members(self) -> Iterator[Any]:
        """Yield the numbers of the rows with a weight above 0, for each class."""
        for side in (~self.positive, self.positive):
            yield self._numbers(side if self.sample_weight is None else side & (self.sample_weight > 0))

    @np.errstate(over="ignore", invalid="ignore")  # the result is checked
    def moments(self) -> ClassMoments:
        moments = ClassMoments(self.n_features, self.classes)
        moments.beside = self._beside(np.zeros(1))
        for c, numbers in enumerate(self._members()):
            if numbers.shape[0]:
                with room_for_moments(self.n_features):
                    weight, mean, scatter = self._square_rows(numbers)
                moments.weight[c], moments.mean[c], moments.scatter[c] = weight, to_numpy(mean), to_numpy(scatter)
        self._check_summary(moments.mean, np.diagonal(moments.scatter, axis1=1, axis2=2))  # no other entry is larger
        return moments

    def _square_rows(self, numbers: Any, shift_all: bool = False) -> tuple[float, Any, Any]:
        """Return weight, mean and centred second moment of some rows, see `ProductSums`."""
        last = self._linear
        if last is not None and last.squares_before:
            weight, mean, scatter = self._before_product(last)._square_rows(numbers, shift_all=True)
            return weight, mean @ last.matrix, last.matrix.T @ (scatter @ last.matrix)
        sums: ProductSums | None = None
        for part, pieces in self._pieces(numbers):
            sums = sums or ProductSums(pieces, shift_all)
            sums.add(pieces, self._weights(numbers[part]))
        assert sums is not None
        return sums.finish()

    def _weights(self, numbers: Any) -> Any:
        """Return the weights of some rows, or None where every row counts once."""
        return None if self.sample_weight is None else self.xp.take(self.sample_weight, numbers)

    @np.errstate(over="ignore", invalid="ignore")  # the result is checked
    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        means, variances = np.zeros((2, self.n_features)), np.zeros((2, self.n_features))
        for c, numbers in enumerate(self._members()):
            weight, mean, square = 0.0, 0.0, self._beside(np.zeros(self.n_features))
            counted = self._weights(numbers)
            if counted is None:
                counted = self.xp.ones(numbers.shape[0], dtype=self.xp.float64, device=device_of(numbers))
            if self.is_sparse and not self.changes:
                weight, mean, square = csr_columns(self.X[numbers], counted)
            else:
                for part, block in self._blocks(numbers):
                    weights = counted[part]
                    total = float(self.xp.sum(weights))
                    rest = weights @ block / total
                    squares = weights @ (block - rest) ** 2
                    weight, mean, square = chan_update(weight, mean, square, total, rest, squares, operator.mul)
            means[c], variances[c] = to_numpy(mean), to_numpy(square) / weight
        self._check_summary(means, variances)
        return means, variances

    def _check_summary(self, means: np.ndarray, squares: np.ndarray) -> None:
        """Check the values of X by a summary of them, and the rows without weight, which are in no summary."""
        if not np.isfinite(squares).all():
            self.check_finite()
        if self.sample_weight is not None:
            weightless = self._numbers(self.sample_weight == 0)
            if weightless.shape[0]:
                self.check_finite(weightless)
        check_no_overflow(squares)
        warn_of_underflow(means, squares)

    def check_finite(self, numbers: Any = None) -> None:
        """Raise a ValueError if a value of X is not finite, as scikit-learn does."""
        if self.is_sparse and not self.changes:
            return check_finite((self.X if numbers is None else self.X[numbers]).data, "X")
        for _, block in self._blocks(numbers):
            check_finite(block, "X")
        return None

    def gram(self, scale: np.ndarray) -> np.ndarray:
        if self.is_sparse and not self.changes:
            return to_numpy(csr_gram(self.X, self._beside(scale, self.xp.float64), BLOCK_VALUES))
        X = self.xp.concat([block for _, block in self._blocks()])
        X = (X - self.xp.mean(X, axis=0)) / self._beside(scale, self.xp.float64)
        return to_numpy(X @ X.T)

    # Other views of the same rows

    def take(self, numbers: Any) -> DeviceRows:
        return self._with(
            X=self.X[numbers] if self.is_sparse else self.xp.take(self.X, numbers, axis=0),
            positive=self.xp.take(self.positive, numbers),
            sample_weight=self._weights(numbers),
            groups=None if self.groups is None else self.groups[to_numpy(numbers)],
        )

    def sample(self, n_each: int) -> MemoryRows:
        if self.counts.max() <= n_each:
            return self.in_host_memory()
        chosen = []
        for numbers, count in zip(self._members(), self.counts.tolist(), strict=True):
            ranks = preimages(np.arange(min(count, n_each)), count, SAMPLE)
            chosen.append(self.xp.take(numbers, self._beside(ranks)))
        return self.take(self.xp.sort(self.xp.concat(chosen))).in_host_memory()

    def in_host_memory(self) -> MemoryRows:
        """Return a copy of the rows in memory."""
        if self.is_sparse and not self.changes:
            X = self.X.get()
        else:
            X = np.concatenate([to_numpy(block) for _, block in self._blocks()])
        y = by_class(self.classes, to_numpy(self.positive))
        weights = None if self.sample_weight is None else to_numpy(self.sample_weight)
        return MemoryRows(X, y, self.classes, weights, self.groups)

    def columns(self, columns: np.ndarray) -> DeviceRows:
        kept = self._beside(columns)
        return self.mapped(lambda block: self.xp.take(block, kept, axis=1), len(columns))

    def reweighted(self, weights: DeviceVector) -> DeviceRows:
        return self._with(sample_weight=weights.array)

    def shifted(self, shift: np.ndarray) -> DeviceRows:
        moved = self._beside(shift, self.xp.float64)
        return self.mapped(lambda block: block - moved, self.n_features)

    def iterate(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        raise ValueError(DEVICE_NOT_SUPPORTED)

    gather = iterate


def device_scores(X: Any, w: np.ndarray) -> Any:
    """Return X @ w on the device of X; values that are not finite are refused."""
    X = check_matrix(X)
    values = X.data if is_csr(X) else X
    check_finite(values, "X")
    xp = namespace(values)
    nothing = xp.zeros(X.shape[0], dtype=xp.bool, device=device_of(values))
    return DeviceRows(X, nothing, np.array([0, 1])).scores(w).array


def csr_columns(X: Any, weights: Any) -> tuple[float, Any, Any]:
    """Return the weight of CSR rows (n, d), and mean and centred sum of squares of each column.

    With the mean m of a column, W the weight of all rows and V the weight of the rows that store a value in it, the sum
    of squares is the sum of w (x - m)^2 over the stored values, plus (W - V) m^2 for the zeros: nothing cancels. All
    weights are above 0.
    """
    xp = namespace(X.data)
    values = xp.astype(X.data, xp.float64)
    total = float(xp.sum(weights))

    def sums(values: Any) -> Any:
        return type(X)((values, X.indices, X.indptr), shape=X.shape).T @ weights

    mean = sums(values) / total
    zeros = xp.clip(total - sums(xp.ones_like(values)), 0.0, None)
    return total, mean, sums((values - mean[X.indices]) ** 2) + zeros * mean**2


def csr_gram(X: Any, scale: Any, n_values: int) -> Any:
    """Return the inner products of CSR rows of X / scale, minus their mean, from `n_values` dense values at a time."""
    xp = namespace(X.data)
    n, d = X.shape
    products, step = xp.zeros((n, n), dtype=xp.float64), max(n_values // n, 1)
    columns = X.tocsc()  # of which a CSR matrix would give some in the time of all
    for start in range(0, d, step):
        cut = slice(start, min(start + step, d))
        dense = xp.astype(columns[:, cut].toarray(), xp.float64)
        dense = (dense - xp.mean(dense, axis=0)) / scale[cut]
        products += dense @ dense.T
    return products
