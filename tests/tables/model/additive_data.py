"""Small rows of mixed types for the tests of this folder."""

import numpy as np

from aucmax.rows.memory import MemoryRows
from aucmax.tables.bins import add_values, encode, find_columns, finish_counts, no_values
from aucmax.tables.fitting.evidence import System
from aucmax.tables.fitting.ladder import Design

CATEGORICAL = np.array([False, False, True, False])


def mixed_rows(n=400, seed=0):
    """Return X with a curve, a column that is mostly zero, three categories and noise, with missing values; and y."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    X[:, 1] = np.where(rng.random(n) < 0.8, 0.0, rng.integers(1, 60, n))
    X[:, 2] = rng.integers(0, 3, n)
    logits = X[:, 0] ** 2 - 1 + (X[:, 1] > 30) + np.array([0.0, 1.0, -1.0])[X[:, 2].astype(int)]
    y = (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(np.int64)
    X[rng.random(n) < 0.1, 0] = np.nan
    return X, y


def mixed_frame(n=400, seed=0):
    """Return the same rows as a frame of pandas, with words for the categories, and y."""
    import pandas as pd

    X, y = mixed_rows(n, seed)
    words = np.array(["red", "green", "blue"], dtype=object)[X[:, 2].astype(int)]
    return pd.DataFrame({"curve": X[:, 0], "zeros": X[:, 1], "colour": words, "noise": X[:, 3]}), y


def count_values(x, weights=None):
    """Return the distinct values of a column and their weights."""
    counts = no_values()
    add_values(counts, x, np.ones(len(x)) if weights is None else weights, len(x))
    return finish_counts(counts)


def columns_of(X, categorical=CATEGORICAL, max_bins=8, weights=None):
    """Return how the columns of rows become codes."""
    return find_columns([count_values(x, weights) for x in X.T], np.asarray(categorical), max_bins)


class Problem:
    """Rows in memory as codes, and the terms that they may have."""

    def __init__(self, X, y, categorical=CATEGORICAL, max_bins=8, weights=None, signs=None, n_rows=None):
        self.columns = columns_of(X, categorical, max_bins, weights)
        signs = np.zeros(len(self.columns), dtype=np.int8) if signs is None else np.asarray(signs)
        self.rows = MemoryRows(encode(self.columns, X), y == 1, np.array([False, True]), weights)
        self.design = Design(self.columns, signs, len(X) if n_rows is None else n_rows)

    def system(self, blocks):
        """Return the rows in the coordinates of some terms."""
        return System(self.rows.X, self.rows.targets.positive, self.rows.sample_weight, blocks)
