"""Small rows of mixed types for the tests of this folder."""

import numpy as np


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
