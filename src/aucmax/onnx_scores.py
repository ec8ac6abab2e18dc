"""How far the scores of an ONNX file are from those of the model that it was made of.

Both are computed in double precision, but sums may have another order, and a runtime may change the graph. So the
difference is measured: onnxruntime scores rows, such as the training rows, which a model does not keep.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from .data.validation import check_indices

# How many numbers a runtime is given at a time.
BLOCK = 2**22


class ScoreDifference(NamedTuple):
    """The scores of an ONNX file beside those of its model.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    largest : float
        The largest difference between the two scores of a row.
    low, high : float
        The lowest and the highest score of the model.
    """

    n_rows: int
    largest: float
    low: float
    high: float


def compare_scores(model: Any, path: str | os.PathLike[str], X: Any) -> ScoreDifference:
    """Return the largest difference between the scores of an ONNX file and those of its model.

    Parameters
    ----------
    model : estimator
        What the file was made of.
    path : str or path
        The file that :func:`aucmax.onnx_export.export_onnx` wrote.
    X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
        Rows as the model takes them, for example the training rows.

    Returns
    -------
    difference : ScoreDifference
        The largest difference, and the range of the scores.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import AUCClassifier
    >>> from aucmax.onnx_export import export_onnx
    >>> from aucmax.onnx_scores import compare_scores
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = AUCClassifier(alpha=0.1).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(clf, f"{folder}/model.onnx")
    ...     found = compare_scores(clf, f"{folder}/model.onnx", X)
    >>> bool(found.largest < 1e-9 * (found.high - found.low))
    True
    """
    return measure_difference(path, as_onnx_takes(model, X), model.decision_function(X))


def as_onnx_takes(model: Any, X: Any) -> Any:
    """Return rows as the ONNX file of a model takes them: numbers, with codes of the levels of tables and frames."""
    first = model[0] if isinstance(model, Pipeline) else model
    if hasattr(first, "reading_"):  # of a TableEncoder
        return first.reading_.codes(first._table(X, reset=False))[0]
    if hasattr(first, "columns_"):  # of an additive model
        return first._read(X)
    return check_indices(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)


def measure_difference(path: str | os.PathLike[str], rows: Any, scores: np.ndarray) -> ScoreDifference:
    """Return the largest difference between the scores of an ONNX file and those given.

    Parameters
    ----------
    path : str or path
        The file.
    rows : {ndarray, sparse matrix} of shape (n_samples, n_columns)
        The rows as the file takes them.
    scores : ndarray of shape (n_samples,)
        Their scores by the model.

    Returns
    -------
    difference : ScoreDifference
        The largest difference, and the range of the scores.
    """
    try:
        from onnxruntime import InferenceSession
    except ImportError:
        raise ImportError("Scores of ONNX files need the package onnxruntime: pip install onnxruntime.") from None
    session = InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"])
    rows = sparse.csr_array(rows) if sparse.issparse(rows) else rows
    step, largest = max(1, BLOCK // rows.shape[1]), 0.0
    for start in range(0, rows.shape[0], step):
        block = rows[start : start + step]
        block = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
        (found,) = session.run(["score"], {"X": block})
        largest = max(largest, float(np.abs(found - scores[start : start + step]).max()))
    return ScoreDifference(rows.shape[0], largest, float(scores.min()), float(scores.max()))
