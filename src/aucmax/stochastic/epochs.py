"""The frame of the stochastic algorithms: passes over the rows, shuffling, streams, stopping, resuming.

An algorithm is a subclass that gives three things:

- `_start(width, n_rows)`: the state it starts from, a named tuple of arrays, for weight vectors of this length;
- `_epoch(state, sample, order, rng)`: one pass over the rows of a `Sample` in this order, changing the arrays in place;
- `_weights(state)`: the weight vector that the state stands for.

All of them work on columns that `fit` has shifted by their means and divided by their standard deviations (`rows`
does so on the fly; X is neither changed nor, if dense, copied), and `coef_` is for the columns as they are.
"""

from __future__ import annotations

import copy
import functools
import warnings
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils._param_validation import Interval

from ..data.moments import check_no_overflow, spread
from ..data.old_rows import Rows
from ..data.validation import check_labels, find_classes, stream_classes
from ..estimators.base import LinearAUCClassifier, all_or_nothing
from ..selection.calibration import Calibration, calibrate, calibrate_gaussian
from ..solvers.square import penalty_scale
from .row_access import CSRRows, DenseRows, coefficients, row_norms, row_width, view_rows


class Scaling(NamedTuple):
    """What is taken away from each column, and what it is then multiplied by."""

    shift: np.ndarray
    unit: np.ndarray

    @property
    def scale(self) -> np.ndarray:
        """One over the unit; infinite for columns that are constant."""
        with np.errstate(divide="ignore"):
            return 1 / self.unit

    @classmethod
    def none(cls, n_features: int) -> Scaling:
        """Return the scaling that leaves the columns as they are."""
        return cls(np.zeros(n_features), np.ones(n_features))


class Sample(NamedTuple):
    """Rows as the kernels see them.

    Attributes
    ----------
    rows : DenseRows or CSRRows
        The rows z.
    norms : ndarray of shape (n,)
        |z|^2 of each.
    positive : ndarray of bool, shape (n,)
        Which are positive.
    means : ndarray of shape (2, width)
        The class means of z, as weight vectors; only in `fit`.
    projections : ndarray of shape (n, 2)
        z . the class means; only where an algorithm has `_prepare` add them.
    """

    rows: DenseRows | CSRRows
    norms: np.ndarray
    positive: np.ndarray
    means: np.ndarray | None = None
    projections: np.ndarray | None = None

    @classmethod
    def of(cls, X: Any, positive: np.ndarray, scaling: Scaling, means: np.ndarray | None = None) -> Sample:
        """Return the rows of X under a scaling; `means` are those of X in the two classes."""
        rows = view_rows(X, *scaling)
        norms = np.empty(X.shape[0])
        row_norms(rows, norms)
        if means is not None:
            z = (means - scaling.shift) * scaling.unit
            center = rows.center if isinstance(rows, CSRRows) else np.zeros(X.shape[1])
            means = np.column_stack([z, np.zeros(2), z @ center])
        return cls(rows, norms, positive, means)


class Stream(NamedTuple):
    """What the frame itself carries from one call to the next."""

    scaling: Scaling
    rng: np.random.RandomState
    counts: np.ndarray  # rows of each class so far
    masses: np.ndarray  # and what they weigh in the means and variances of their scores
    score_means: np.ndarray
    score_variances: np.ndarray

    @classmethod
    def begin(cls, scaling: Scaling, rng: np.random.RandomState) -> Stream:
        """Return a stream that nothing has passed yet."""
        return cls(scaling, rng, np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2))

    def watch(self, scores: np.ndarray, positive: np.ndarray) -> Stream:
        """Return the stream with the scores of new rows; each row weighs as much as rows came before it.

        So later rows, whose scores are those of better weights, count for more.
        """
        mass = self.counts.sum() + np.arange(1, len(scores) + 1)
        counts, masses = self.counts.copy(), self.masses.copy()
        means, variances = self.score_means.copy(), self.score_variances.copy()
        for c, members in enumerate((~positive, positive)):
            if members.any():
                new = mass[members].sum()
                mean = np.average(scores[members], weights=mass[members])
                variance = np.average((scores[members] - mean) ** 2, weights=mass[members])
                share = new / (masses[c] + new)
                step = mean - means[c]
                variances[c] += share * (variance - variances[c]) + share * (1 - share) * step**2
                means[c] += share * step
                counts[c] += np.count_nonzero(members)
                masses[c] += new
        return self._replace(counts=counts, masses=masses, score_means=means, score_variances=variances)

    def calibration(self) -> Calibration:
        """Return the curve of Gaussian scores; of no slope until both classes were seen."""
        if self.counts.all():
            return calibrate_gaussian(self.score_means, self.score_variances, self.counts)
        share = (self.counts[1] + 1) / (self.counts.sum() + 2)
        return Calibration(0.0, 0.0, float(logit(share)))


def relative_change(before: np.ndarray, after: np.ndarray) -> float:
    """Return the norm of the change of the weights, relative to theirs."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.linalg.norm(after - before) / (np.linalg.norm(after) or 1))


class StochasticClassifier(LinearAUCClassifier):
    """A classifier fitted by passes over the rows."""

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "standardize": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "shuffle": ["boolean"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    standardize: bool
    max_iter: int
    tol: float | None
    shuffle: bool = True
    warm_start: bool
    random_state: Any

    classes_: np.ndarray
    state_: Any
    _stream: Stream

    # What an algorithm gives

    @abstractmethod
    def _start(self, width: int, n_rows: int) -> Any:
        """Return the state before the first row, for weight vectors of this length."""

    @abstractmethod
    def _epoch(self, state: Any, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> None:
        """Pass over the rows of `sample` in this order, changing the arrays of `state`."""

    @abstractmethod
    def _weights(self, state: Any) -> np.ndarray:
        """Return the weight vector of a state."""

    def _check_parameters(self, n_rows: int, n_features: int) -> None:
        """Raise a ValueError for parameters that data of this shape do not allow."""

    def _prepare(self, sample: Sample) -> Sample:
        """Return the sample with what every pass of `fit` needs of it."""
        return sample

    def _measure(self, state: Any, sample: Sample, before: np.ndarray, after: np.ndarray) -> float:
        """Return what `tol` is compared with after a pass: the relative change of the weights."""
        return relative_change(before, after)

    def _finish(self, w: np.ndarray, data: Rows, scaling: Scaling) -> np.ndarray:
        """Return what `fit` makes of the weights in the end."""
        return w

    # What the frame does with it

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Any:
        """Fit the weights in up to `max_iter` passes over the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; float32, float64 and CSR are used as they are.
        y : array-like of shape (n_samples,)
            Labels of two classes; the larger is the positive one.

        Returns
        -------
        self : estimator
            The fitted classifier.
        """
        resumed = self.warm_start and hasattr(self, "state_")
        X, y, _ = self._validate_rows(X, y, None, reset=not resumed)
        assert_all_finite(X, input_name="X")
        if resumed:
            check_labels(y, self.classes_)
        else:
            self.classes_ = find_classes(y)
        self._check_parameters(*X.shape)
        data = Rows(X, y, self.classes_)
        with np.errstate(over="ignore", invalid="ignore"):
            means, variances = data.column_statistics()
        check_no_overflow(variances)
        if resumed:
            stream, state = copy.deepcopy(self._stream), copy.deepcopy(self.state_)
        else:
            stream = Stream.begin(self._scaling(data.totals(), means, variances), check_random_state(self.random_state))
            state = self._start(row_width(X.shape[1]), len(y))
            self.n_iter_, self.convergence_ = 0, np.empty(0)
        sample = self._prepare(Sample.of(X, data.positive(), stream.scaling, means))
        context = self._init_callback_context(max_subtasks=self.max_iter)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        w = self._run(context, data, sample, stream, state)
        self._set_fitted(self._fitted(w, stream, data))
        self.state_, self._stream = state, stream.watch(data.scores(self.coef_[0]), sample.positive)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    def _run(self, context: Any, data: Rows, sample: Sample, stream: Stream, state: Any) -> np.ndarray:
        """Make the passes and return the weights."""
        w, measures = self._weights(state), []
        for _ in range(self.max_iter):
            task = context.subcontext(task_name="epoch").call_on_fit_task_begin(estimator=self, X=data.X, y=data.y)
            self._epoch(state, sample, self._order(data.n_rows, stream.rng), stream.rng)
            before, w = w, self._weights(state)
            self._check_finite(w)
            measures.append(self._measure(state, sample, before, w))
            stopped = task.call_on_fit_task_end(
                estimator=self,
                X=data.X,
                y=data.y,
                reconstruction_attributes=functools.partial(self._fitted, w, stream, data),
            )
            if stopped or (self.tol is not None and measures[-1] <= self.tol):
                break
        else:
            if self.tol is not None:
                self._warn_not_converged(measures[-1])
        self.n_iter_ += len(measures)
        self.convergence_ = np.append(self.convergence_, measures)
        return w

    def _warn_not_converged(self, measure: float) -> None:
        warnings.warn(
            f"{type(self).__name__} stopped at max_iter={self.max_iter} at {measure:.1e}, above "
            f"tol={self.tol:g}: increase max_iter, or set tol=None for a fixed number of passes.",
            ConvergenceWarning,
            stacklevel=6,
        )

    def _order(self, n_rows: int, rng: np.random.RandomState) -> np.ndarray:
        order = rng.permutation(n_rows) if self.shuffle else np.arange(n_rows)
        return order.astype(np.uint64)

    def _scaling(self, totals: np.ndarray, means: np.ndarray, variances: np.ndarray) -> Scaling:
        share = totals / totals.sum()
        center = share @ means
        std = spread(share @ variances + share.prod() * (means[1] - means[0]) ** 2, center)
        return Scaling(center, 1 / penalty_scale(std, self.standardize))

    def _fitted(self, w: np.ndarray, stream: Stream, data: Rows) -> dict[str, Any]:
        """Return the attributes that predict, calibrated on the training scores."""
        coef = coefficients(self._finish(w, data, stream.scaling), *stream.scaling)
        calibration = calibrate(data.scores(coef), data.positive(), None)
        return self._attributes(coef, calibration) | {"classes_": self.classes_}

    @staticmethod
    def _attributes(coef: np.ndarray, calibration: Calibration) -> dict[str, Any]:
        return {
            "coef_": coef[None, :],
            "intercept_": np.array([-calibration.threshold]),
            "calibration_": np.array([calibration.slope, calibration.base_logit]),
        }

    def _set_fitted(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def _check_finite(self, w: np.ndarray) -> None:
        if not np.isfinite(w).all():
            length = "eta0" if hasattr(self, "eta0") else "C"
            raise ValueError(f"The steps of {type(self).__name__} diverged: lower {length}, or leave it at None.")


class OnlineClassifier(StochasticClassifier):
    """A stochastic classifier that takes rows as they come."""

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        """Take one step for each row, in the order given.

        Any split of a stream into calls gives the same weights. Columns are taken as they come, since nothing is known
        of the rows to come, or as `fit` scaled them if it was called before: if their scales differ much, standardise
        the stream (:class:`sklearn.preprocessing.StandardScaler` has a `partial_fit` too).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,)
            Their labels; one class is enough. No step is taken until both classes were seen.
        classes : array-like of shape (2,), default=None
            The two classes, needed in the first call if its rows are of one class only.

        Returns
        -------
        self : estimator
            The classifier.
        """
        first = not hasattr(self, "classes_")
        X, y, _ = self._validate_rows(X, y, None, reset=first)
        assert_all_finite(X, input_name="X")
        self.classes_ = stream_classes(y, classes, None if first else self.classes_)
        if first:
            self._check_parameters(*X.shape)
            stream = Stream.begin(Scaling.none(X.shape[1]), check_random_state(self.random_state))
            state, self.n_iter_ = self._start(row_width(X.shape[1]), len(y)), 1
        else:
            stream, state = copy.deepcopy(self._stream), copy.deepcopy(self.state_)
        check_labels(y, self.classes_)
        sample = Sample.of(X, y == self.classes_[1], stream.scaling)
        self._epoch(state, sample, np.arange(len(y), dtype=np.uint64), stream.rng)
        w = self._weights(state)
        self._check_finite(w)
        coef = coefficients(w, *stream.scaling)
        self.state_ = state
        self._stream = stream.watch(Rows(X, y, self.classes_).scores(coef), sample.positive)
        self._set_fitted(self._attributes(coef, self._stream.calibration()))
        return self
