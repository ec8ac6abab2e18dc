"""Fits to files that need not fit into memory: the same weights as in memory, from passes over blocks of rows.

- The square loss and the Gaussian classifiers take the class moments: one pass, and the square loss a second one, over
  the scores, for the calibration. Cross-validation takes the moments of each fold in the first pass and scores the
  models of the folds in the second; where rows of the rarer class are so few that folds are dealt again, each round
  takes one pass more.
- The online algorithms take one pass for the means and variances of the columns, one for each epoch, in the order of
  the file (``shuffle=False``), and one over the scores.

Memory is that of a block, of the moments and of the cells that scores are counted in, whatever the number of rows.
"""

from __future__ import annotations

import os
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..classifier import AUCClassifier
from ..estimators.base import LinearAUCClassifier, all_or_nothing
from ..estimators.moment_classifier import MomentClassifier
from ..files import Block, Source, open_source
from ..stochastic.epochs import OnlineClassifier, Sample, Stream, relative_change
from ..stochastic.row_access import coefficients, row_width
from .block_rows import MEMORY, BlockRows
from .block_selection import cross_validate_blocks
from .passes import Tree


def fit_stream(
    estimator: LinearAUCClassifier,
    source: Source | str | os.PathLike[str],
    *,
    positive: str | None = None,
    memory: int = MEMORY,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
) -> LinearAUCClassifier:
    """Fit an estimator to a file that need not fit into memory.

    Parameters
    ----------
    estimator : AUCClassifier with the square loss, GaussianAUC, GaussianError or an online algorithm
        What is fitted, in place. `loss="auto"` is the square loss here. Online algorithms take the rows in the order of
        the file: they must have ``shuffle=False``.
    source : Source or path
        The file, see :func:`aucmax.files.open_source`.
    positive : str, default=None
        The positive label; all others are negative. By default there must be two, and the larger is positive.
    memory : int, default=2 GiB
        About how many bytes the process may use.
    checkpoint : path, default=None
        A file to go on from after an interruption; it is removed in the end.
    checkpoint_every : float, default=30
        Seconds between two checkpoints.

    Returns
    -------
    estimator
        The fitted estimator.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import dump_svmlight_file, load_breast_cancer
    >>> from aucmax import AUCClassifier
    >>> from aucmax.streaming import fit_stream
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "train.libsvm"
    ...     dump_svmlight_file(X, y, str(path), zero_based=False)
    ...     clf = fit_stream(AUCClassifier(loss="squared"), path)
    >>> round(clf.score(X, y), 3)
    0.997
    """
    source = source if isinstance(source, Source) else open_source(source, with_target=True)
    rows = BlockRows.open(estimator, source, positive, memory, checkpoint, checkpoint_every)
    fit_blocks(estimator, rows)
    rows.passes.clear()
    return estimator


def can_stream(estimator: Any) -> bool:
    """Return whether `fit_stream` can fit this estimator."""
    if isinstance(estimator, AUCClassifier):
        return estimator.loss in ("auto", "squared") and estimator.solver in ("auto", "moments")
    return isinstance(estimator, MomentClassifier) or (
        isinstance(estimator, OnlineClassifier) and hasattr(estimator, "partial_fit")
    )


def fit_blocks(estimator: Any, rows: BlockRows) -> None:
    """Fit an estimator to rows that come by blocks; where it fails, the estimator is left as it was."""
    if not can_stream(estimator):
        raise ValueError(
            f"{type(estimator).__name__} needs all rows in memory: give it more memory, or take AUCClassifier with "
            "loss='squared', a Gaussian classifier or an online algorithm, which read a file by blocks."
        )
    estimator._validate_params()
    if isinstance(estimator, AUCClassifier):
        fit = _fit_squared
    elif isinstance(estimator, MomentClassifier):
        fit = _fit_moments
    else:
        fit = _fit_epochs
    all_or_nothing(fit)(estimator, rows)


def _fit_squared(clf: AUCClassifier, rows: BlockRows) -> None:
    chosen = clf.alpha is None or (clf.n_nonzero is not None and np.size(clf.n_nonzero) > 1)
    if chosen and not isinstance(clf.cv, Integral | None):
        raise ValueError(f"A file that is read by blocks is cross-validated in a number of folds, got cv={clf.cv!r}.")
    rows.gather((5 if clf.cv is None else int(clf.cv)) if chosen else 1)
    clf._forget("moments_", "alphas_", "cv_results_", "dual_gap_")
    rows.describe(clf)
    fitting = clf._fitting(rows.n_features, "moments")._replace(loss="squared")
    clf._fit_rows(rows, fitting, cross_validate_blocks)


def _fit_moments(clf: MomentClassifier, rows: BlockRows) -> None:
    rows.gather(1)
    clf.fit_moments(rows.moments()[0])
    rows.describe(clf)


def _fit_epochs(clf: OnlineClassifier, rows: BlockRows) -> None:
    """Do what `OnlineClassifier.fit` does with ``shuffle=False``."""
    for parameter in ("shuffle", "warm_start"):
        if getattr(clf, parameter):
            raise ValueError(f"A file is read in its own order, from the start: set {parameter}=False.")
    means, variances = rows.column_statistics()
    rows.describe(clf)
    clf._check_parameters(rows.n_rows, rows.n_features)
    scaling = clf._scaling(rows.counts, means, variances)
    start = clf._start(row_width(rows.n_features), rows.n_rows)
    rows.check_state(clf, start)
    rng = check_random_state(clf.random_state)

    def step(tree: Tree, block: Block) -> None:
        X, positive = rows.take(block)
        sample = Sample.of(X, positive, scaling)
        clf._epoch(tree["state"], sample, np.arange(len(positive), dtype=np.uint64), tree["rng"])

    def again(tree: Tree) -> bool:
        before, tree["weights"] = tree["weights"], clf._weights(tree["state"])
        clf._check_finite(tree["weights"])
        tree["measures"].append(relative_change(before, tree["weights"]))
        return len(tree["measures"]) < clf.max_iter and not converged(tree)

    def converged(tree: Tree) -> bool:
        return clf.tol is not None and tree["measures"][-1] <= clf.tol

    epochs: Tree = {"state": start, "rng": rng, "weights": clf._weights(start), "measures": []}
    epochs = rows.passes.run("epochs", epochs, step, again)
    if clf.tol is not None and not converged(epochs):
        clf._warn_not_converged(epochs["measures"][-1])
    coef = coefficients(epochs["weights"], *scaling)
    center, scale = scaling.shift @ coef, float(np.linalg.norm(coef * np.sqrt(variances.sum(axis=0))))
    calibration, stream = rows.calibrate(coef, center, scale, Stream.begin(scaling, epochs["rng"]))
    clf._set_fitted(clf._attributes(coef, calibration))
    clf.state_, clf._stream = epochs["state"], stream
    clf.n_iter_, clf.convergence_ = len(epochs["measures"]), np.array(epochs["measures"])
