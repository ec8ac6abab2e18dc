"""Small rows of mixed types for the tests of this folder."""

import numpy as np

from aucmax.rows.memory import MemoryRows
from aucmax.tables.bins import add_values, find_columns, finish_counts, no_values
from aucmax.tables.pairs import make_design
from aucmax.tables.rows import code_rows, summarise_values


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


CATEGORICAL = np.array([False, False, True, False])


def design_of(X, y, max_bins, pairs=0, weights=None):
    """Return the design of rows in memory, and these rows as codes."""
    known = MemoryRows(X, y, np.array([0, 1]), weights)
    columns = find_columns(summarise_values(known), CATEGORICAL, max_bins, 1024)
    design = make_design(known, columns, pairs, np.zeros(4))
    return design, code_rows(known, columns, design.terms, design.basis)


def count_values(x, weights):
    """Return the distinct values of a column and their weights."""
    counts = no_values()
    add_values(counts, x, weights, len(x))
    return finish_counts(counts)
