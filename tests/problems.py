"""Made-up problems that tests share."""

import numpy as np
from scipy import sparse

from aucmax.rows.memory import MemoryRows

CLASSES = np.array([0, 1])


def noisy_line(n=200, d=5, seed=0, rate=0.3):
    """Columns of different units and means; the rows of the highest noisy linear score are positive."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 3, d) + rng.uniform(-5, 5, d)
    signal = (X - X.mean(axis=0)) @ rng.standard_normal(d) + 2 * rng.standard_normal(n)
    return X, (signal > np.quantile(signal, 1 - rate)).astype(int)


def shifted_class(n=120, d=5, seed=0):
    """Columns of units from 0.1 to 10, two of which are shifted for positives; the third is a square in part."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    X = rng.standard_normal((n, d)) * np.logspace(-1, 1, d)
    X[:, :2] += 0.7 * X[:, :2].std(axis=0) * y[:, None]
    X[:, 2] += X[:, 1] ** 2
    return X, y


def two_clouds(n=600, seed=0):
    """A tail of positives far out, which the square loss minds and the squared hinge does not."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.standard_normal((n, 3))
    X[:, 0] += 1.5 * y
    far = np.flatnonzero(y)[::4]
    X[far] += [30.0, 30.0, 0.0]
    return X, y


def skewed(n=300, d=6, seed=0):
    """Classes with long tails in some columns, so that the losses disagree."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.exp(rng.standard_normal((n, d)) * np.linspace(0, 1, d))
    return X, (X @ np.linspace(1, 0.2, d) + rng.logistic(size=n) > 1).astype(int)


def wide(n=40, d=150, signal=0.8):
    """More columns than rows, of different units; positives are shifted in ten of them."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.standard_normal((n, d)) * np.linspace(0.5, 3, d) + 5 + signal * np.outer(y, np.arange(d) < 10), y


def correlated_rows(n=60, d=8, seed=0, kind="float64", weighted=False, mixing=1.0):
    """Columns that depend on each other, a third of the values stored if CSR, and a shift between the classes.

    `kind` is "float64", "float32", "CSR" or "float32 CSR".
    """
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    y[:2] = 0, 1
    X = rng.normal(size=(n, d)) @ (np.eye(d) + mixing * rng.normal(size=(d, d)) / np.sqrt(d))
    X += 0.7 * rng.normal(size=d) * y[:, None]
    X = X.astype(np.float32) if "float32" in kind else X
    X = sparse.csr_array(X * (rng.random((n, d)) < 0.3)) if "CSR" in kind else X
    return MemoryRows(X, y, CLASSES, rng.exponential(size=n) if weighted else None)


def dense(rows):
    """Return the rows in memory as a dense matrix of float64."""
    return np.asarray(rows.X.toarray() if sparse.issparse(rows.X) else rows.X, dtype=np.float64)


def pairs(X, y, weights=None):
    """Return all differences of a positive and a negative row, and their shares of the weight."""
    weights = np.ones(len(y)) if weights is None else np.asarray(weights)
    differences = (X[y == 1][:, None] - X[y == 0]).reshape(-1, X.shape[1])
    shares = np.outer(weights[y == 1], weights[y == 0]).ravel()
    return differences, shares / shares.sum()


def normal_equations(rows, scale=1.0):
    """Return M and delta for X / scale, the means of zz' and z over all differences z of a pair, by np.cov."""
    X, weights = dense(rows), np.ones(rows.n_rows) if rows.sample_weight is None else rows.sample_weight
    M, means = 0.0, []
    for c in range(2):
        Z, w = X[rows.y == c], weights[rows.y == c]
        means.append(np.average(Z, axis=0, weights=w))
        M = M + np.atleast_2d(np.cov(Z.T, aweights=w, bias=True))
    delta = means[1] - means[0]
    return (M + np.outer(delta, delta)) / np.outer(scale, scale), delta / scale
