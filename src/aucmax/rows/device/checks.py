"""The checks of arrays on a device in the public functions: as in `validate.py`, without a copy to memory."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ..arrays import is_standard, namespace, place_beside, to_numpy
from ..validate import check_labels, find_classes


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
    if not is_standard(y):
        y = np.asarray(y)
        y = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
        found = find_classes(y)
    elif y.ndim != 1:
        raise ValueError(f"y must have one dimension, got an array of shape {tuple(y.shape)}.")
    else:  # labels twice, since scikit-learn warns of those that hardly ever repeat
        found = find_classes(np.repeat(to_numpy(namespace(y).unique_values(y)), 2))
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
