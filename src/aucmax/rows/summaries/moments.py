"""Class moments: all that the algorithms of the square loss need to know about the data.

Conventions
-----------
Class 0 is the negative class and class 1 the positive one, as in ``classes_``. For each class c,

    W_c = sum of the sample weights,   m_c = mean,   S_c = sum_i weight_i (x_i - m_c)(x_i - m_c)'

and C_c = S_c / W_c is the biased covariance, delta = m_1 - m_0. The mean over all pairs of a positive and a
negative row of (1 - w.(x+ - x-))^2 is then, exactly,

    f(w) = 1 - 2 w.delta + (w.delta)^2 + w'(C_0 + C_1)w

Every block of rows is shifted by the mean so far before it is squared, and merged by Chan's update. This avoids
cancellation where means are large compared with the spread, and any split and order of the rows gives the same moments
up to rounding.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..._compat import _get_feature_names
from ..._docs import inherit_entries
from ...files.atomic_write import write_atomically
from ..machine import map_spans, usable_memory
from ..validate import check_all_finite, check_class_weights, check_labels, check_rows, check_weights
from .block_moments import average, csr_moments, dense_moments, gather

FILE_FORMAT = "aucmax.ClassMoments 1"
# Sums of squares below lose digits: they are near the smallest number that a float holds with all of its digits.
LEAST_VARIANCE = 1e-300
# CSR with more than this share of nonzeros is squared as dense blocks.
DENSE_FROM = 0.2


# Entries of the docstrings of methods.
METHODS = """
Parameters
----------
other : ClassMoments
    Moments of the same columns and classes.
w : ndarray of shape (n_features,)
    Weights.

Returns
-------
moments : Self
    The moments; these ones are not changed.
"""


class ClassMoments:
    """Weight, mean and centred second moment of the two classes.

    Parameters
    ----------
    n_features : int
        Number of columns of the data to come.
    classes : pair of labels, default=(0, 1)
        The labels of the negative and of the positive class.

    Attributes
    ----------
    weight : ndarray of shape (2,)
        Sum of the sample weights, or the number of rows, of the negative and the positive class.
    mean : ndarray of shape (2, n_features)
        Class means.
    scatter : ndarray of shape (2, n_features, n_features)
        Weighted sums of the centred outer products: the covariance times the weight.
    feature_names : ndarray of object or None
        The names of the columns, of the first frame. Rows and moments with other names, or in another order, are
        refused.
    beside : array or None
        An array on the device that the rows are on: large matrices are factored there. Copies and files do not know it.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import ClassMoments
    >>> X, y = np.array([[0.0], [2.0], [3.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> moments = ClassMoments(n_features=1).update(X, y)
    >>> moments.mean.ravel(), moments.weight
    (array([1., 4.]), array([2., 2.]))
    >>> halves = [ClassMoments(1).update(X[rows], y[rows]) for rows in ([0, 3], [1, 2])]
    >>> halves[0].merge(halves[1]).scatter.ravel()
    array([2., 2.])
    """

    beside: Any = None
    feature_names: np.ndarray | None = None

    def __init__(self, n_features: int, classes: Any = (0, 1)) -> None:
        self.classes = check_classes(classes)
        check_memory(n_features)
        self.weight = np.zeros(2)
        self.mean = np.zeros((2, n_features))
        self.scatter = np.zeros((2, n_features, n_features))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "beside"}

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.mean.shape[1]

    def __repr__(self) -> str:
        negative, positive = self.weight
        return f"ClassMoments(n_features={self.n_features}, negative={negative:g}, positive={positive:g})"

    # Building

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> ClassMoments:
        """Add rows, in place. If the call fails, nothing has changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of float32 or float64; sparse rows are converted to CSR and never densified as a whole. The columns of
            a frame must have the names of the frames before, in the same order.
        y : array-like of shape (n_samples,)
            Labels; a block may hold one class only.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights; a weight of 2 is the same as repeating the row.

        Returns
        -------
        self : ClassMoments
            The moments of all rows so far.
        """
        names = _get_feature_names(X)
        X, y = check_rows(X, y)
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, but these moments were made for {self.n_features}.")
        self._check_names(names)
        check_labels(y, self.classes)
        new = class_moments(X, y, self.classes, check_weights(sample_weight, X, allow_zero=True))
        if names is not None:
            new.feature_names = names
        joined = self.merge(new)
        check_no_overflow(joined.scatter)
        self.__dict__.update(vars(joined))
        return self

    def _check_names(self, names: np.ndarray | None) -> None:
        if names is None or self.feature_names is None or np.array_equal(names, self.feature_names):
            return
        j = int(np.argmax(names != self.feature_names))
        raise ValueError(
            f"Column {j} is {names[j]!r}, but it is {self.feature_names[j]!r} in these moments: give the columns the "
            "same names, in the same order."
        )

    def _check_compatible(self, other: ClassMoments) -> None:
        if other.n_features != self.n_features:
            raise ValueError(
                f"Moments of {self.n_features} features cannot be joined with moments of {other.n_features}."
            )
        if not np.array_equal(self.classes, other.classes):
            raise ValueError(
                f"Moments of the classes {self.classes.tolist()} cannot be joined with moments of "
                f"{other.classes.tolist()}."
            )
        self._check_names(other.feature_names)

    def absorb(self, other: ClassMoments) -> None:
        """Add the rows of other moments, in place."""
        self._check_compatible(other)
        if self.feature_names is None and other.feature_names is not None:
            self.feature_names = other.feature_names
        for c in range(2):
            self._add(c, other.weight[c], other.mean[c], other.scatter[c])

    @np.errstate(over="ignore", invalid="ignore")  # `check_no_overflow` checks the result
    def _add(self, c: int, weight: float, mean: np.ndarray, scatter: np.ndarray) -> None:
        self.weight[c], self.mean[c], _ = chan_update(
            self.weight[c], self.mean[c], self.scatter[c], weight, mean, scatter, np.outer
        )

    def copy(self) -> ClassMoments:
        """Return a copy that shares no array with these moments."""
        return self._with(self.weight.copy(), self.mean.copy(), self.scatter.copy())

    def _with(self, weight: np.ndarray, mean: np.ndarray, scatter: np.ndarray) -> ClassMoments:
        new = ClassMoments.__new__(ClassMoments)
        new.classes, new.weight, new.mean, new.scatter = self.classes, weight, mean, scatter
        if self.feature_names is not None and mean.shape[1] == len(self.feature_names):
            new.feature_names = self.feature_names
        if self.beside is not None:
            new.beside = self.beside
        return new

    def widened(self, n_features: int) -> ClassMoments:
        """Return the moments of the same rows with columns of zeros appended, up to `n_features` columns.

        Parameters
        ----------
        n_features : int
            The number of columns, at least as many as there are.
        """
        more = n_features - self.n_features
        if not more:
            return self
        columns = ((0, 0), (0, more))
        return self._with(self.weight, np.pad(self.mean, columns), np.pad(self.scatter, (*columns, (0, more))))

    def relabelled(self, classes: Any, swapped: bool = False) -> ClassMoments:
        """Return these moments under other labels, with the same arrays; `swapped` swaps the two classes.

        Parameters
        ----------
        classes : pair of labels
            The new labels of the negative and the positive class.
        swapped : bool, default=False
            Whether the negative class becomes the positive one.
        """
        turn = -1 if swapped else 1
        new = self._with(self.weight[::turn], self.mean[::turn], self.scatter[::turn])
        new.classes = check_classes(classes)
        return new

    def merge(self, *others: ClassMoments) -> ClassMoments:
        """Return the moments of these rows and the rows of `others` together.

        Parameters
        ----------
        *others : ClassMoments
            Moments of the same columns and classes.
        """
        merged = self.copy()
        for other in others:
            merged.absorb(other)
        return merged

    def subtract(self, other: ClassMoments) -> ClassMoments:
        """Return the moments of these rows without the rows of `other`, which must be among them.

        A class that keeps less than a billionth of its weight counts as empty. The rounding error is relative to the
        moments of all rows, so the result loses digits if nearly all rows are taken away. Merging the moments of the
        remaining parts is safer where these are known. Moments of rows that cannot be among these are refused: no
        others would leave these means and variances.
        """
        self._check_compatible(other)
        rest = self.copy()
        for c in range(2):
            whole, part = self.weight[c], other.weight[c]
            left = whole - part
            if left < -1e-9 * whole:
                raise ValueError(f"Moments of weight {part:g} cannot be subtracted from moments of weight {whole:g}.")
            shift, own, its = self.mean[c] - other.mean[c], *(np.diagonal(each.scatter[c]) for each in (self, other))
            rounding = 1e-6 * (own + whole * self.mean[c] ** 2)
            if left <= 1e-9 * whole:
                strange = (np.abs(own - its) > rounding) | (whole * shift**2 > rounding)
                rest.weight[c], rest.mean[c], rest.scatter[c] = 0, 0, 0
            else:
                strange = own - its - shift**2 * (part * whole / left) < -rounding
                rest.weight[c] = left
                rest.mean[c] += shift * (part / left)
                step = other.mean[c] - rest.mean[c]
                rest.scatter[c] -= other.scatter[c] + np.outer(step * (left * part / whole), step)
            if strange.any():
                raise ValueError(
                    f"The moments to subtract are not part of these: with them, column {strange.argmax()} has a larger "
                    f"variance in class {self.classes[c].item()!r}, or another mean."
                )
        return rest

    # Reading

    @property
    def delta(self) -> np.ndarray:
        """Mean of the positives minus mean of the negatives, shape (n_features,)."""
        return self.mean[1] - self.mean[0]

    def pair_scatter(self) -> np.ndarray:
        """Return C_0 + C_1 + delta delta', half the Hessian of the pairwise square loss.

        Returns
        -------
        M : ndarray of shape (n_features, n_features)
            The matrix.
        """
        self.check_both_classes()
        M = self.scatter[0] / self.weight[0]
        M += self.scatter[1] / self.weight[1]
        M += np.outer(self.delta, self.delta)
        return M

    def pooled(self) -> ClassMoments:
        """Return the same weights and means, with both covariances replaced by the pooled one.

        In the pooled covariance (W_0 C_0 + W_1 C_1) / (W_0 + W_1), a class counts by its weight: a rare class,
        estimated from few rows, counts little. The square loss with it is linear discriminant analysis.
        """
        self.check_both_classes()
        share = self.weight / self.weight.sum()
        return self._with(self.weight, self.mean, np.multiply.outer(share, self.scatter.sum(axis=0)))

    def squared_loss(self, w: np.ndarray) -> float:
        """Return the mean of (1 - w.(x+ - x-))^2 over all pairs of a positive and a negative row.

        Returns
        -------
        loss : float
            The mean.
        """
        means, variances = self.project(w)
        return float((1 - (means[1] - means[0])) ** 2 + variances.sum())

    def squared_loss_gradient(self, w: np.ndarray) -> np.ndarray:
        """Return the gradient of `squared_loss`.

        Returns
        -------
        gradient : ndarray of shape (n_features,)
            The gradient at `w`.
        """
        return 2 * (self.pair_scatter() @ w - self.delta)

    def project(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means and variances of the scores x.w in the two classes, each of shape (2,).

        Returns
        -------
        means : ndarray of shape (2,)
            Of the negative and the positive class.
        variances : ndarray of shape (2,)
            Likewise.
        """
        self.check_both_classes()
        variances = np.array([w @ self.scatter[c] @ w for c in range(2)]) / self.weight
        return self.mean @ w, np.maximum(variances, 0)

    def std(self) -> np.ndarray:
        """Return the standard deviation of each column over both classes, as ``StandardScaler`` computes it.

        It is 1 for columns that are constant up to rounding, so that they can be divided by it.

        Returns
        -------
        std : ndarray of shape (n_features,)
            The standard deviations.
        """
        std = self.spread()
        return np.where(std == 0, 1.0, std)

    def spread(self) -> np.ndarray:
        """Return the standard deviation of each column over both classes, exactly 0 if it is constant.

        Returns
        -------
        spread : ndarray of shape (n_features,)
            The standard deviations.
        """
        within = np.diagonal(self.scatter, axis1=1, axis2=2).sum(axis=0) / self.weight.sum()
        return pooled_std(self.weight, self.mean, within)

    def rescaled(self, scale: np.ndarray) -> ClassMoments:
        """Return the moments of X / scale, without touching X.

        Parameters
        ----------
        scale : ndarray of shape (n_features,)
            What each column is divided by.
        """
        return self._with(self.weight.copy(), self.mean / scale, self.scatter / np.outer(scale, scale))

    def standardized(self) -> ClassMoments:
        """Return the moments of the columns divided by their standard deviation.

        The means are not subtracted: a shift changes neither the AUC nor the pairwise losses.
        """
        return self.rescaled(self.std())

    def check_both_classes(self) -> None:
        """Raise a ValueError unless both classes have weight."""
        check_class_weights(self.weight, self.classes)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to an ``.npz`` file, whole or not at all.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced.
        """
        arrays = {name: getattr(self, name) for name in ("classes", "weight", "mean", "scatter")}
        if self.feature_names is not None:
            arrays["feature_names"] = self.feature_names.astype(str)
        write_atomically(path, lambda file: np.savez(file, format=np.array(FILE_FORMAT), **arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClassMoments:
        """Read what `save` wrote; nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        moments : ClassMoments
            The moments.
        """
        with open(path, "rb") as file:
            try:
                with np.load(file, allow_pickle=False) as arrays:
                    if str(arrays["format"]) != FILE_FORMAT:
                        raise ValueError("another format")
                    new = cls(0, arrays["classes"])
                    new.weight, new.mean, new.scatter = arrays["weight"], arrays["mean"], arrays["scatter"]
                    d, names = new.n_features, arrays.get("feature_names")
                if names is not None:
                    new.feature_names = names.astype(object)
                if (
                    new.weight.shape != (2,)
                    or new.mean.shape != (2, d)
                    or new.scatter.shape != (2, d, d)
                    or (names is not None and names.shape != (d,))
                ):
                    raise ValueError("arrays of different shapes")
            except Exception as error:  # NumPy and zipfile raise many kinds, from KeyError to BadZipFile
                raise ValueError(f"{os.fspath(path)} is not a whole file of class moments.") from error
        return new


inherit_entries(ClassMoments, METHODS)


def check_classes(classes: Any) -> np.ndarray:
    """Return two different labels as an array."""
    labels = np.asarray(classes)
    if labels.dtype == object:  # a file could only hold these as a pickle
        labels = np.array(labels.tolist())
    if labels.shape != (2,) or labels[0] == labels[1]:
        raise ValueError(f"classes must be two different labels, negative and positive; got {classes!r}.")
    return labels


def check_memory(n_features: int, advice: str = "fit all rows at once with AUCClassifier(solver='cg')") -> None:
    """Raise a MemoryError if the moments would not fit: np.zeros may succeed even then, and the process dies later."""
    needed = 2 * 8 * n_features**2
    if needed > usable_memory():
        raise MemoryError(
            f"Class moments for {n_features:,} columns take {needed / 1e9:,.0f} GB, more than this machine has: "
            f"{advice}."
        )


def covariance_shares(weight: np.ndarray, pooled: bool) -> np.ndarray:
    """Return the factors of the two covariances in their sum: 1 and 1, or 2 W_c / W if the classes are pooled."""
    return 2 * weight / weight.sum(axis=-1, keepdims=True) if pooled else np.ones_like(weight)


def chan_update(
    weight: Any, mean: Any, square: Any, more: Any, its_mean: Any, its_square: Any, product: Callable[..., Any]
) -> tuple[Any, Any, Any]:
    """Return weight, mean and centred second moment of two sets of rows together (Chan, Golub and LeVeque, 1979).

    `product` makes a second moment from a mean: np.outer for matrices, np.multiply for numbers and columns. Arrays of
    second moments are changed in place.
    """
    if more == 0:
        return weight, mean, square
    total = weight + more
    step = its_mean - mean
    square += its_square
    if weight > 0:
        square += product(step * (weight * more / total), step)
    return total, mean + step * (more / total), square


def pooled_std(totals: np.ndarray, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column over both classes, exactly 0 if it is constant.

    `totals` (2,) are the class weights, `means` (2, n_features) the class means. `variances` are the class variances
    (2, n_features), or their mean by class weight (n_features,).
    """
    share = totals / totals.sum()
    within = share @ variances if variances.ndim == 2 else variances
    return spread(within + share.prod() * (means[1] - means[0]) ** 2, share @ means)


def spread(variance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return standard deviations, exactly 0 for columns constant up to rounding, or of squares that underflow."""
    rounding = (10 * np.finfo(np.float64).eps * mean) ** 2
    return np.where(variance <= np.maximum(rounding, LEAST_VARIANCE), 0.0, np.sqrt(np.maximum(variance, 0)))


# The pass over the data


def class_moments(X: Any, y: np.ndarray, classes: np.ndarray, sample_weight: np.ndarray | None = None) -> ClassMoments:
    """Return the class moments of validated rows, in one pass.

    In addition to X, memory holds a block of rows and the moments, whatever the number of rows. Labels are compared
    with the classes block by block. Values that are not finite are refused.
    """
    n_rows, n_features = X.shape
    densify = sparse.issparse(X) and X.nnz > DENSE_FROM * n_rows * n_features
    is_sparse = sparse.issparse(X) and not densify
    # Enough rows that the d x d work of merging a block is small compared with the work on its rows, but at most 128 MB
    # or the size of the moments.
    step = max(1 << 16, 16 * n_features) if is_sparse else max(min(4096, 2**24 // n_features), n_features)

    @np.errstate(over="ignore", invalid="ignore")  # `check_no_overflow` checks the result
    def one_span(span: slice) -> ClassMoments:
        part = ClassMoments(n_features, classes)
        buffer = np.empty((0 if is_sparse else min(step, span.stop - span.start), n_features))
        for start in range(span.start, span.stop, step):
            rows = slice(start, min(start + step, span.stop))
            block, positive = X[rows].toarray() if densify else X[rows], y[rows] == classes[1]
            for c, members in enumerate((~positive, positive)):
                if sample_weight is not None:
                    members = members & (sample_weight[rows] > 0)
                chosen = np.flatnonzero(members)
                weights = None if sample_weight is None else sample_weight[rows][chosen]
                total = float(len(chosen)) if weights is None else float(weights.sum())
                if total > 0 and is_sparse:
                    part._add(c, total, *csr_moments(block[chosen], weights, total))
                elif total > 0:
                    Z = gather(block, chosen, buffer)
                    shift = part.mean[c] if part.weight[c] else average(Z, weights, total)
                    part._add(c, total, *dense_moments(Z, weights, total, shift))
        return part

    moments = ClassMoments(n_features, classes)
    for part in map_spans(one_span, n_rows, step, n_features):
        moments.absorb(part)
    if not np.isfinite(moments.scatter).all():
        check_all_finite(X)
    if sample_weight is not None and not sample_weight.all():
        check_all_finite(X[sample_weight == 0])  # rows that are in no moment
    check_no_overflow(moments.scatter)
    weight = np.maximum(moments.weight, np.finfo(np.float64).tiny)
    warn_of_underflow(moments.mean, np.diagonal(moments.scatter, axis1=1, axis2=2) / weight[:, None])
    return moments


def warn_of_underflow(mean: np.ndarray, variance: np.ndarray) -> None:
    """Warn of columns that are not 0, but so small that their squares lose digits: `spread` takes them as constant."""
    is_small = (np.abs(mean) < 1e-140).all(axis=0) & (variance <= LEAST_VARIANCE).all(axis=0)
    lost = np.flatnonzero(is_small & ((mean != 0) | (variance > 0)).any(axis=0))
    if len(lost):
        warnings.warn(
            f"The squares of the values of X underflow in {len(lost)} columns, the first of them column {lost[0]}. "
            "These count as constant and get no weight: multiply them by a power of ten.",
            UserWarning,
            stacklevel=2,
        )


def check_no_overflow(squares: np.ndarray) -> None:
    """Raise a ValueError if the squares of finite values are not finite."""
    if not np.isfinite(squares).all():
        raise ValueError("The squares of the values of X overflow: divide its largest columns by a power of ten.")
