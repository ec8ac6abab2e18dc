"""The frame of the stochastic algorithms: passes over the rows, shuffling, streams, stopping, resuming.

An algorithm is a subclass that gives three things:

- `_start(n_features, n_rows)`: the state it starts from, a named tuple of arrays;
- `_epoch(state, sample, drawn)`: one pass over the rows of a `Sample`, changing the arrays in place;
- `_weights(state)`: the weight vector that the state stands for, unless it holds `AveragedWeights` by the name of `w`.

`drawn` is what the pass visits: an order of the rows, unless the algorithm has a `_draw` of its own. All random numbers
of a pass are drawn there.

`fit` is a straight line: the entrance makes `MemoryRows`, `_fit_rows` hands them to `EpochLoop`, and the rows
(`rows.iterate`) calls the loop once for each block of rows and asks it after each pass whether to go on. Rows in memory
are one block, so a file differs in nothing but the number of blocks.

Columns are shifted and scaled on the fly, by `row_access`: X is neither changed nor, if dense, copied.
"""

from __future__ import annotations

import copy
import functools
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..._base import LinearAUCClassifier, all_or_nothing
from ..._compat import _fit_context, jit
from ...models.checks import Check, Sizes, anything, array, instance, named_tuple, real
from ...rows.memory import MemoryRows, scores_of
from ...rows.protocol import Rows, Targets
from ...rows.summaries.kernels import bin_columns
from ...rows.summaries.scores import N_BINS, ScoreGrid, ScoreHistogram, ScoreMoments, check_scores
from ...rows.validate import check_all_finite, check_labels, check_weights, find_classes, stream_classes
from ...search.calibration import Calibration, calibrate, calibrate_gaussian
from .buffers import ClassBuffers
from .row_access import coefficients
from .sample import Sample, Scaling, row_order
from .variant import POSITIVE, VariantMixin

MOST_STEPS = 1 << 28  # of a pass: 2 GB for their order; more only where rows are more


class ScoreHistory(NamedTuple):
    """The scores of a stream of rows, of which later ones count for more: those are scores of better weights."""

    even: ScoreMoments  # of scores that count as the weights of their rows say
    rising: ScoreMoments  # of scores that count as much again as rows came before them

    @classmethod
    def of(cls, targets: Targets, scores: np.ndarray) -> ScoreHistory:
        """Return the history of a block; a row of weight k counts as k rows one after the other."""
        even, rising = np.zeros((2, 3, 2))
        add_scores(scores, targets.positive, targets.sample_weight, even, rising)
        return cls(ScoreMoments(*even), ScoreMoments(*rising))

    def histogram(self, space: Any, scores: Any) -> ScoreHistogram:
        """Return the histogram of a vector of scores whose history this is."""
        check_scores(self.even)
        means, variances = self.even.mean, self.even.variance
        grid = ScoreGrid.around(means, variances)
        return ScoreHistogram(grid, space.reduce(functools.partial(bin_scores, grid), scores), means, variances)

    def merge(self, after: ScoreHistory) -> ScoreHistory:
        """Return the history of these rows and those that came after them."""
        n, (weight, mean, square) = self.even.weight.sum(), after.even
        again = ScoreMoments(n * weight, mean, n * square)
        return ScoreHistory(self.even.merge(after.even), self.rising.merge(after.rising).merge(again))


class Stream(NamedTuple):
    """What the frame itself carries from one call to the next."""

    scaling: Scaling  # how columns are scaled
    rng: np.random.RandomState  # what orders, batches and buffers are drawn from
    carry: float  # the fraction of a row that the weights so far have left over, see `sample`
    moments: np.ndarray  # shape (2, 3, 2): the two `ScoreMoments` of the history of the scores so far

    @classmethod
    def begin(cls, scaling: Scaling, rng: np.random.RandomState) -> Stream:
        """Return a stream that nothing has passed yet."""
        return cls(scaling, rng, 0.0, np.zeros((2, 3, 2)))

    @property
    def history(self) -> ScoreHistory:
        """The scores of the rows so far."""
        return ScoreHistory(*(ScoreMoments(*sums) for sums in self.moments))

    def watch(self, history: ScoreHistory) -> Stream:
        """Return the stream after new rows with these scores."""
        check_scores(history.rising)
        return self._replace(moments=np.array(self.history.merge(history)))

    def calibration(self) -> Calibration:
        """Return the curve of Gaussian scores; of no slope until both classes were seen."""
        (weight, *_), rising = self.history
        if weight.all():
            return calibrate_gaussian(rising.mean, rising.variance, weight)
        share = (weight[1] + 1) / (weight.sum() + 2)
        return Calibration(0.0, 0.0, float(logit(share)))


def n_bytes_in(state: Any) -> int:
    """Return the size of the arrays of a named tuple, and of those in it."""
    return sum(n_bytes_in(part) for part in state) if isinstance(state, tuple) else getattr(state, "nbytes", 0)


class EpochLoop:
    """The passes of one fit, as `Rows.iterate` calls them.

    What a checkpoint needs is in the dict `progress`: the state of the algorithm, the random numbers, the fraction of a
    row that is left over, the weights after the last pass, and what `tol` was compared with after each pass.

    `means` are the class means of the columns, `context` and `callback_args` are for callbacks. `sample` is the last
    block, as the algorithm has prepared it, and `stopped` says whether a callback has ended the fit.
    """

    def __init__(
        self,
        clf: StochasticClassifier,
        rows: Rows,
        scaling: Scaling,
        means: np.ndarray,
        context: Any,
        callback_args: dict[str, Any],
    ) -> None:
        self.clf, self.rows, self.scaling, self.means = clf, rows, scaling, means
        self.context, self.callback_args = context, callback_args
        self.sample: Any = None
        self.task: Any = None
        self.stopped = False

    def prepare(self, X: Any, targets: Targets) -> Any:
        """Return a block of rows as the algorithm takes it."""
        self.sample = self.clf._prepare(Sample.of(X, targets, self.scaling, self.means))
        return self.sample

    def begin(self) -> None:
        """Tell callbacks of a new pass, at its first block."""
        if self.task is None:
            self.task = self.context.subcontext(task_name="epoch")
            self.task.call_on_fit_task_begin(estimator=self.clf, **self.callback_args)

    def step(self, progress: dict[str, Any], sample: Any) -> None:
        """Pass over one block."""
        self.begin()
        clf, rng = self.clf, progress["rng"]
        state = progress["state"]
        order, progress["carry"] = clf._order(sample, progress["carry"], rng)
        clf._pass(state, sample, order, rng)

    def again(self, progress: dict[str, Any]) -> bool:
        """Return whether another pass is needed."""
        self.begin()  # a checkpoint may lie between the last block and this
        clf, state = self.clf, progress["state"]
        before, w = progress["weights"], clf._weights(state)
        clf._check_finite(w)
        progress["weights"] = w
        progress["measures"].append(clf._measure(state, self.sample, before, w))
        self.stopped = self.task.call_on_fit_task_end(
            estimator=clf, **self.callback_args, reconstruction_attributes=functools.partial(self.attributes, w)
        )
        self.task = None
        is_last = len(progress["measures"]) >= clf._chosen("max_iter")
        return not (self.stopped or is_last or self.has_converged(progress))

    def has_converged(self, progress: dict[str, Any]) -> bool:
        """Return whether the last pass has come below `tol`."""
        return self.clf.tol is not None and progress["measures"][-1] <= self.clf.tol

    def attributes(self, w: np.ndarray) -> dict[str, Any]:
        """Return the attributes that predict, calibrated on the training scores."""
        coef = self.coefficients(w)
        calibration = calibrate(lambda: self.rows.score_histogram(coef))
        return fitted_attributes(coef, calibration) | {
            "classes_": self.rows.classes,
            "n_features_in_": self.rows.n_features,
        }

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """Return the weights for the columns as they are."""
        return coefficients(self.clf._finish(w, self.sample) if self.rows.in_memory else w, *self.scaling)


def fitted_attributes(coef: np.ndarray, calibration: Calibration) -> dict[str, Any]:
    """Return the attributes that predict."""
    return {
        "coef_": coef[None, :],
        "intercept_": np.array([-calibration.threshold]),
        "calibration_": np.array([calibration.slope, calibration.base_logit]),
    }


class StochasticClassifier(VariantMixin, LinearAUCClassifier):
    """A classifier fitted by passes over the rows.

    Parameters
    ----------
    variant : {"adaptive", "paper"}, default="adaptive"
        "paper" takes the paper's own steps, on the columns as they are; the notes list what differs.

    standardize : bool, default=None
        Whether `fit` works on columns divided by their standard deviations. None is True, and False with
        variant="paper". With variant="adaptive" `fit` also centres the columns, even if this is False. The data are not
        changed, and `coef_` is for the columns as they are.

    max_iter : int, default=15
        Number of passes of `fit` over the rows.

    tol : float, default=None
        `fit` stops when the weights change by no more than this in a pass, relative to their norm. None makes all
        `max_iter` passes.

    shuffle : bool, default=True
        Whether the rows are put into a new random order before each pass of `fit`.

    warm_start : bool, default=False
        Whether `fit` continues from the state of the last call, random numbers included: two fits of 5 passes are the
        same as one of 10.

    random_state : int, RandomState instance or None, default=None
        The source of all that is random: orders of the rows, pairs, blocks, batches, buffers, sketches.

    average : bool, default=None
        Whether the result is the average of the weights over the steps, later ones counting for more, or the last ones.
        None is True, and False with variant="paper".

    Attributes
    ----------
    state_ : named tuple
        The state of the algorithm, with the rows in its buffers, if it has any; `partial_fit` and `warm_start` continue
        from it.

    n_iter_ : int
        Passes made.

    convergence_ : ndarray of shape (`n_iter_`,)
        The number that `tol` is compared with, after each pass.
    """

    _file_schema: ClassVar[dict[str, Check]] = {
        **LinearAUCClassifier._file_schema,
        "state_": anything,  # see `_check_file`
        "_stream": named_tuple(
            Stream,
            scaling=named_tuple(Scaling, shift=array("d", "d"), unit=array("d", "d")),
            rng=instance(np.random.RandomState),
            carry=real,
            moments=array("d", 2, 3, 2),
        ),
        "convergence_": array("f", None, finite=False),
    }

    variant: str = "adaptive"
    standardize: bool | None = None
    max_iter: int | None = 15
    tol: float | None = None
    warm_start: bool = False
    random_state: Any = None

    _parameter_constraints = {  # noqa: RUF012
        "tol": [POSITIVE, None],
        "eta0": [POSITIVE, None],
        "average": ["boolean", None],
        "shuffle": ["boolean"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }
    _by_variant = {"_center": (True, False)}  # noqa: RUF012

    shuffle = True  # a parameter of most algorithms

    # What an algorithm gives

    @abstractmethod
    def _start(self, n_features: int, n_rows: int) -> Any:
        """Return the state before the first row."""

    def _draw(self, state: Any, sample: Any, order: np.ndarray, rng: np.random.RandomState) -> Any:
        """Return what a pass visits, of rows in this order: all that is random in it."""
        return order

    @abstractmethod
    def _epoch(self, state: Any, sample: Any, drawn: Any) -> None:
        """Pass over the rows of `sample` that were drawn, changing the arrays of `state`."""

    def _weights(self, state: Any) -> np.ndarray:
        """Return the weight vector of a state: here, the average of its weights or the last ones."""
        return state.w.average() if self._chosen("average") in (None, True) else state.w.last()

    _repeats_rows = True  # by their weights in the order of a pass; False where `_epoch` takes the weights itself

    def _check_parameters(self, n_rows: int, n_features: int) -> None:
        """Raise a ValueError for parameters that data of this shape do not allow."""

    def _prepare(self, sample: Sample) -> Any:
        """Return the sample with what every pass of `fit` needs of it."""
        return sample

    def _measure(self, state: Any, sample: Any, before: np.ndarray, after: np.ndarray) -> float:
        """Return what `tol` is compared with after a pass: the relative change of the weights."""
        with np.errstate(over="ignore", invalid="ignore"):
            change = after - before
            return float(np.sqrt(change @ change / (after @ after or 1.0)))

    def _finish(self, w: np.ndarray, sample: Any) -> np.ndarray:
        """Return what `fit` makes of the weights in the end."""
        return w

    # What the frame does with it

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the weights in up to `max_iter` passes over the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; float32, float64 and CSR are used as they are.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as the row twice, 0 the same as leaving it out. So they also
            say how many steps a pass takes, where an algorithm steps on single rows: their mean should be about 1.
        """
        resumed = self._is_resumed()
        X, y, sample_weight = self._validate_rows(X, y, sample_weight, reset=not resumed)
        if resumed:
            check_labels(y, self.classes_)
        else:
            self.classes_ = find_classes(y)
        self._fit_rows(MemoryRows(X, y, self.classes_, sample_weight), X=X, y=y)
        return self

    def _is_resumed(self) -> bool:
        return self.warm_start and hasattr(self, "state_")

    def _fit_rows(self, rows: Rows, **callback_args: Any) -> None:
        self._check_rows(rows)
        self._check_total_weight(rows)
        self._check_parameters(int(rows.counts.sum()), rows.n_features)
        state = self._first_state(rows)  # before any pass: it may not fit into memory
        means, variances = rows.column_statistics()
        if self._is_resumed():
            stream = copy.deepcopy(self._stream)
        else:
            scaling, standardize = Scaling.none(rows.n_features), self._chosen("standardize")
            if standardize or self._chosen("_center"):
                scaling = Scaling.of(rows.totals, means, variances, standardize)
            stream = Stream.begin(scaling, check_random_state(self.random_state))
            self.n_iter_, self.convergence_ = 0, np.empty(0)
        context = self._init_callback_context(max_subtasks=self._chosen("max_iter"))
        context.call_on_fit_task_begin(estimator=self, **callback_args)
        loop = EpochLoop(self, rows, stream.scaling, means, context, callback_args)
        progress = {"state": state, "rng": stream.rng, "carry": stream.carry, "measures": []}
        progress["weights"] = self._weights(state)
        progress = self._run(loop, progress)
        self.n_iter_ += len(progress["measures"])
        before = getattr(self, "convergence_", np.empty(0))  # `partial_fit` sets none
        self.convergence_ = np.append(before, progress["measures"])
        coef = loop.coefficients(progress["weights"])
        scores = rows.scores(coef)
        history = rows.reduce(ScoreHistory.of, scores, merge=ScoreHistory.merge)
        self.__dict__.update(fitted_attributes(coef, calibrate(lambda: history.histogram(rows, scores))))
        self.state_ = progress["state"]
        self._stream: Stream = stream._replace(rng=progress["rng"], carry=progress["carry"]).watch(history)
        context.call_on_fit_task_end(estimator=self, **callback_args, reconstruction_attributes={})

    def _first_state(self, rows: Rows) -> Any:
        """Return the state that the passes start from."""
        what = f"The state of {type(self).__name__} for {rows.n_features:,} columns"
        advice = "take an algorithm whose state has fewer numbers for each column, such as SOLAM"
        n_rows = int(rows.counts.sum())
        try:
            state = copy.deepcopy(self.state_) if self._is_resumed() else self._start(rows.n_features, n_rows)
        except MemoryError:
            raise MemoryError(f"{what} does not fit into memory: {advice}.") from None
        rows.check_memory(what, 2 * n_bytes_in(state), advice)  # a pass makes one copy (measured for OPAUCr)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # kernels take one row after the other
        return tags

    def _check_rows(self, rows: Rows) -> None:
        """Raise a ValueError for rows that the algorithm cannot take."""
        if not rows.in_memory:
            raise ValueError(
                f"{type(self).__name__} needs all rows in memory: take an online algorithm such as SOLAM, or "
                "AUCClassifier, which read a file by blocks."
            )
        if self._is_resumed() and (rows.n_features != self.n_features_in_ or list(rows.classes) != list(self.classes_)):
            raise ValueError(
                f"With warm_start=True the rows must have the {self.n_features_in_} columns and the classes "
                f"{self.classes_.tolist()} of the last fit."
            )

    def _check_total_weight(self, rows: Rows) -> None:
        """Raise a ValueError for weights with which a pass would have next to no steps, or too many for memory."""
        total, most = rows.totals.sum(), max(MOST_STEPS, 2 * rows.n_rows)
        if self._repeats_rows and not 2 <= total <= most:
            raise ValueError(
                f"The weights sum to {total:.3g}, but {type(self).__name__} meets a row as often as its weight says: "
                f"scale them so that they sum to the number of steps of a pass, from 2 to {most:.1e}."
            )

    def _run(self, loop: EpochLoop, progress: dict[str, Any]) -> dict[str, Any]:
        """Make the passes."""
        progress = loop.rows.iterate("epochs", progress, loop.prepare, loop.step, loop.again)
        n_passes = self._chosen("max_iter")
        if self.tol is not None and not (loop.stopped or loop.has_converged(progress)):
            warnings.warn(
                f"{type(self).__name__} stopped at max_iter={n_passes} at {progress['measures'][-1]:.1e}, above "
                f"tol={self.tol:g}: increase max_iter, or set tol=None for a fixed number of passes.",
                ConvergenceWarning,
                stacklevel=6,
            )
        return progress

    def _pass(self, state: Any, sample: Any, order: np.ndarray, rng: np.random.RandomState) -> None:
        """Draw what a pass visits, and make it."""
        try:
            self._epoch(state, sample, self._draw(state, sample, order, rng))
        except ZeroDivisionError:  # from kernels: in place of a NaN, which `_check_finite` would find
            self._refuse_weights()

    def _order(self, sample: Any, carry: float, rng: np.random.RandomState) -> tuple[np.ndarray, float]:
        """Return the order of a pass over the rows, and the fraction of a row that is left over."""
        weights = sample.weights if self._repeats_rows else None
        return row_order(len(sample.positive), weights, self.shuffle, carry, rng)

    def _check_file(self, attributes: dict[str, Any], sizes: Sizes) -> None:
        """Raise a ValueError unless a state from a file has the types and shapes of the one that a fit starts from."""
        if "state_" in attributes:
            state, d = attributes["state_"], sizes["d"]
            check_like(state, self._start(d, self._n_rows_in(state)), f"state_ of {type(self).__name__}", d)

    def _n_rows_in(self, state: Any) -> int:
        """Return the number of rows that a state was made for, if its size depends on them."""
        return 2

    def _check_finite(self, w: np.ndarray) -> None:
        if not np.isfinite(w).all():
            self._refuse_weights()

    def _refuse_weights(self) -> NoReturn:
        length = "eta0" if hasattr(self, "eta0") else "C"
        raise ValueError(f"The steps of {type(self).__name__} diverged: lower {length}, or leave it at None.")


class OnlineClassifier(StochasticClassifier):
    """A stochastic classifier that takes rows as they come."""

    shuffle: bool = True

    def _check_rows(self, rows: Rows) -> None:
        if rows.in_memory or not hasattr(self, "partial_fit"):
            super()._check_rows(rows)
            return
        for parameter in ("shuffle", "warm_start"):
            if getattr(self, parameter):
                raise ValueError(f"A file is read in its own order, from the start: set {parameter}=False.")

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
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
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as the row twice, 0 the same as leaving it out. Fractions add
            up from row to row and from call to call: of rows of weight 0.5, each second one is met.
        """
        first = not hasattr(self, "classes_")
        if not first and not hasattr(self, "state_"):
            raise ValueError(
                "partial_fit continues from the state of the last call, and this model was saved without it."
            )
        X, y, _ = self._validate_rows(X, y, None, reset=first)
        sample_weight = check_weights(sample_weight, X, allow_zero=True)
        check_all_finite(X)
        self.classes_ = stream_classes(y, classes, None if first else self.classes_)
        check_labels(y, self.classes_)
        if first:
            self._check_parameters(*X.shape)
            stream = Stream.begin(Scaling.none(X.shape[1]), check_random_state(self.random_state))
            state, self.n_iter_ = self._start(X.shape[1], len(y)), 1
        else:
            stream, state = copy.deepcopy(self._stream), copy.deepcopy(self.state_)
        positive = y == self.classes_[1]
        targets = Targets(positive, sample_weight, np.bincount(positive, sample_weight, 2))
        sample = Sample.of(X, targets, stream.scaling)
        order, carry = row_order(len(sample.positive), sample.weights, False, stream.carry, stream.rng)
        self._pass(state, sample, order, stream.rng)
        w = self._weights(state)
        self._check_finite(w)
        coef = coefficients(w, *stream.scaling)
        self.state_ = state
        self._stream = stream._replace(carry=carry).watch(ScoreHistory.of(targets, scores_of(X, coef)))
        self.__dict__.update(fitted_attributes(coef, self._stream.calibration()))
        return self


def check_like(found: Any, start: Any, where: str, n_features: int) -> None:
    """Raise a ValueError unless a state is made as the one that a fit starts from: kernels trust shapes and indices.

    `start` is the state of an algorithm with the same parameters before its first row; `where` names the state in
    errors.
    """
    if type(found) is not type(start):
        raise ValueError(f"{where} is {type(found).__name__}, where {type(start).__name__} is expected")
    if isinstance(start, ClassBuffers):
        found.check(where, start.lengths.shape[1], n_features)
    elif isinstance(start, tuple):
        for name, part, expected in zip(type(start)._fields, found, start, strict=True):  # type: ignore[attr-defined]
            check_like(part, expected, f"{name} of {where}", n_features)
    elif (found.dtype, found.shape) != (start.dtype, start.shape):
        expected = f"{start.dtype} of shape {start.shape}"
        raise ValueError(f"{where} is {found.dtype} of shape {found.shape}, where {expected} is expected")
    elif not found.flags.c_contiguous:
        raise ValueError(f"{where} is not in the order of rows")
    elif not np.isfinite(found).all():
        raise ValueError(f"{where} holds values that are not finite")


def bin_scores(grid: ScoreGrid, targets: Targets, scores: np.ndarray) -> np.ndarray:
    """Return what `grid.bin` does, up to rounding, in two thirds of its time: here Numba is imported already."""
    mass = np.zeros((1, 2, N_BINS + 1))
    low, scale = np.array([grid.low]), np.array([N_BINS / (grid.high - grid.low or 1)])
    bin_columns(scores[:, None], targets.positive, targets.sample_weight, low, scale, mass)
    return mass[0]


@jit
def add_scores(scores, positive, weights, even, rising):
    """Fill weight, mean and centred sum of squares of the scores in each class, for both ways of counting.

    All are 0 at the start. Scores are shifted by the first of their class, so that nothing cancels in the squares.
    """
    first, before = np.zeros(2), 0.0
    for i in range(scores.shape[0]):
        w, own = 1.0 if weights is None else weights[i], np.uint64(positive[i])
        if w > 0.0:
            if even[0, own] == 0.0:
                first[own] = scores[i]
            z, late = scores[i] - first[own], w * (before + 0.5 * (w + 1.0))
            before += w
            even[0, own] += w
            even[1, own] += w * z
            even[2, own] += w * z * z
            rising[0, own] += late
            rising[1, own] += late * z
            rising[2, own] += late * z * z
    for c in range(2):
        for sums in (even, rising):
            if sums[0, c] > 0.0:
                mean = sums[1, c] / sums[0, c]
                sums[1, c], sums[2, c] = first[c] + mean, max(sums[2, c] - mean * sums[1, c], 0.0)
