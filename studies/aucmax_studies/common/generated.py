"""Generated data sets of the study beside other libraries: each shows where one way of training is right.

Every function draws the same rows whenever it is called. `GENERATED` lists them by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

Rows = tuple[Any, np.ndarray]


def equal_gaussians() -> Rows:
    """Draw Gaussian classes with equal covariances, 48 positives of 600 rows: pooled covariances are right.

    The covariance of the positives alone is estimated from few rows, and a loss that gives it half of the weight is
    noisier than linear discriminant analysis.
    """
    rng = np.random.default_rng(1)
    y = labels(600, 48)
    mixing = correlated(20, rng)
    return rng.standard_normal((600, 20)) @ mixing + np.outer(y, rng.normal(0, 0.45, 20) @ mixing), y


def unequal_gaussians() -> Rows:
    """Draw Gaussian classes with unequal covariances, 10% positives: the pairwise square loss is right.

    The AUC of weights w is Phi(w.delta / sqrt(w.(S+ + S-)w)), so both covariances count alike. Methods that pool all
    rows nearly forget that of the positives.
    """
    rng = np.random.default_rng(2)
    y = labels(3000, 300)
    wide_for_positives = np.where(np.arange(20) < 10, 3.0, 0.5)
    X = rng.standard_normal((3000, 20)) * np.where(y[:, None] == 1, wide_for_positives, wide_for_positives[::-1])
    return X + np.outer(y, np.full(20, 0.35)), y


def logistic_model() -> Rows:
    """Draw a logistic model with 30 Gaussian columns and 10% positives: the logistic loss of single rows is right.

    It is the likelihood of these data, and no other consistent method has a smaller variance.
    """
    rng = np.random.default_rng(3)
    X = rng.standard_normal((3000, 30)) @ correlated(30, rng)
    return X, draw_labels(X @ rng.normal(0, 0.35, 30), 0.1, rng)


def heavy_tails() -> Rows:
    """Draw a logistic model whose columns have heavy tails (Student's t, 2 degrees of freedom): hinges are right.

    Rows far out are nearly certain. A square loss punishes them for being far on their right side; a hinge, a logistic
    or a sigmoid loss does not.
    """
    rng = np.random.default_rng(4)
    X = rng.standard_t(2, (2500, 15))
    return X, draw_labels(X @ rng.normal(0, 0.3, 15), 0.2, rng)


def mislabelled() -> Rows:
    """Draw rows with heavy tails, a fifth of them with the wrong label: a bounded loss, such as the sigmoid, is right.

    A wrong label far from the boundary costs a convex loss as much as many right ones gain.
    """
    rng = np.random.default_rng(5)
    X = rng.standard_t(3, (2500, 15))
    y = draw_labels(4 * X @ rng.normal(0, 0.3, 15), 0.3, rng)
    return X, np.where(rng.random(2500) < 0.2, 1 - y, y)


def rare_levels() -> Rows:
    """Draw two factors of 500 levels, one-hot, of Zipf's frequencies: a penalty on the columns as they are is right.

    The effects of all levels are drawn from one Gaussian, which is what that penalty assumes. Standardised columns of
    rare levels are large, and the penalty hardly shrinks what few rows say about them.
    """
    rng = np.random.default_rng(6)
    frequencies = 1 / np.arange(1, 501)
    levels = rng.choice(500, (4000, 2), p=frequencies / frequencies.sum()) + np.array([0, 500])
    X = sparse.csr_array((np.ones(8000), levels.ravel(), np.arange(0, 8001, 2)), shape=(4000, 1000))
    return X, draw_labels(X @ rng.standard_normal(1000), 0.2, rng)


def wide_correlated() -> Rows:
    """Draw 1,617 correlated columns, 135 positives among 1,400 rows: strong shrinkage is right.

    A hundred factors carry most of the variance and all of the signal. The other directions are noise, and there are
    more of them than rows.
    """
    rng = np.random.default_rng(7)
    factors = rng.standard_normal((1400, 100))
    X = factors @ rng.standard_normal((100, 1617)) / 10 + 0.5 * rng.standard_normal((1400, 1617))
    return X, exactly(135, factors @ rng.normal(0, 0.2, 100) + rng.logistic(size=1400))


def few_columns_matter() -> Rows:
    """Draw 200 columns of which 5 matter, 400 rows: an L1 penalty is right.

    A quadratic penalty keeps all 200 weights, and the noise of 195 of them.
    """
    rng = np.random.default_rng(8)
    X = rng.standard_normal((400, 200))
    return X, draw_labels(X[:, :5] @ [1.2, -1.2, 1.0, -1.0, 0.8], 0.4, rng)


def rare_positives() -> Rows:
    """Draw 74 correlated columns and 50 positives among 5,000 rows: shrinkage that suits few positives is right.

    In the training half there are fewer positives than columns.
    """
    rng = np.random.default_rng(9)
    X = rng.standard_normal((5000, 74)) @ correlated(74, rng)
    return X, exactly(50, X @ rng.normal(0, 0.4, 74) + rng.logistic(size=5000))


def flipped_rare_positives() -> Rows:
    """Draw 30 correlated columns and 2% positives of 4,000 rows, then turn 1% of all labels: about 3% positives."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 30)) @ correlated(30, rng)
    y = exactly(80, X @ rng.normal(0, 1.2, 30) + rng.logistic(size=4000))
    return X, np.where(rng.random(4000) < 0.01, 1 - y, y)


def nearly_singular() -> Rows:
    """Draw 40 columns whose covariance has the condition number 1e6; the signal is in all of its directions alike."""
    rng = np.random.default_rng(0)
    Z, turn = rng.standard_normal((2000, 40)), np.linalg.qr(rng.standard_normal((40, 40)))[0]
    y = draw_labels(Z @ rng.normal(0, 0.7, 40), 0.4, rng)
    return Z * np.geomspace(1, 1e-3, 40) @ turn, y


GENERATED: dict[str, Callable[[], Rows]] = {
    "made-equal-gaussians": equal_gaussians,
    "made-few-columns-matter": few_columns_matter,
    "made-heavy-tails": heavy_tails,
    "made-logistic-model": logistic_model,
    "made-mislabelled": mislabelled,
    "made-rare-levels": rare_levels,
    "made-rare-positives": rare_positives,
    "made-unequal-gaussians": unequal_gaussians,
    "made-wide-correlated": wide_correlated,
}


def labels(n_rows: int, n_positive: int) -> np.ndarray:
    """Return labels with the positives first."""
    return (np.arange(n_rows) < n_positive).astype(np.int64)


def correlated(n_columns: int, rng: np.random.Generator) -> np.ndarray:
    """Return a matrix that turns independent columns into correlated ones, of condition number 10."""
    rotation = np.linalg.qr(rng.standard_normal((n_columns, n_columns)))[0]
    return np.geomspace(1, 0.1, n_columns)[:, None] * rotation


def draw_labels(scores: np.ndarray, positive: float, rng: np.random.Generator) -> np.ndarray:
    """Return labels of a logistic model: the share `positive` of rows with the largest score plus logistic noise.

    Up to the intercept, which is that of the share, the chance of a row to be positive is logistic in its score.
    """
    return exactly(round(positive * len(scores)), scores + rng.logistic(size=len(scores)))


def exactly(n_positive: int, values: np.ndarray) -> np.ndarray:
    """Return labels that are positive for the `n_positive` largest values."""
    y = np.zeros(len(values), dtype=np.int64)
    y[np.argsort(values)[len(values) - n_positive :]] = 1
    return y
