"""Scores of rows with several models, each row by itself."""

from __future__ import annotations

from typing import Any

import numpy as np


def scores_by_row(X: Any, W: np.ndarray) -> np.ndarray:
    """Return X @ W.T, computed for each row by itself: equal rows have equal scores, whatever their block.

    The rounding of a BLAS product depends on the position of a row in the matrix, and would break ties.
    """
    if not isinstance(X, np.ndarray):  # sparse rows, or codes: these are always computed so
        return X @ W.T
    from .kernels import score_rows

    scores = np.empty((len(X), len(W)))
    score_rows(np.ascontiguousarray(X), np.ascontiguousarray(W), scores)
    return scores
