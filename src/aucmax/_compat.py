"""The two libraries whose releases differ: scikit-learn from 1.6 on, and Numba. No other file asks for a release.

scikit-learn has callbacks from 1.9 on. For earlier releases, `set_callbacks` and the hooks of a callback have the same
names here, so that code for either works with both; `ProgressBar` is a plain one.

`jit` compiles kernels. Kernels take arrays, numbers and named tuples of them, and trust them. The next process finds
them in Numba's disk cache.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Self

import numba
import numpy as np
from sklearn.base import _fit_context as _fit_context
from sklearn.utils import _safe_indexing as _safe_indexing
from sklearn.utils._array_api import _convert_to_numpy as _convert_to_numpy
from sklearn.utils._array_api import get_config as get_config
from sklearn.utils._param_validation import Interval as Interval
from sklearn.utils._param_validation import Options as Options
from sklearn.utils._param_validation import RealNotInt as RealNotInt
from sklearn.utils._param_validation import StrOptions as StrOptions
from sklearn.utils._param_validation import validate_params as validate_params
from sklearn.utils._set_output import _get_output_config as _get_output_config
from sklearn.utils.validation import _check_feature_names_in as _check_feature_names_in
from sklearn.utils.validation import _check_n_features as _check_n_features
from sklearn.utils.validation import _check_sample_weight
from sklearn.utils.validation import _get_feature_names as _get_feature_names

# Sums may be reordered and contracted, which makes them fast, but infinities and NaN keep their meaning.
REORDER = {"reassoc", "contract"}
FAST: Any = {"fastmath": REORDER}


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """Compile `function` without the interpreter lock, cached on disk wherever a folder can be written."""
    if function is None:
        return functools.partial(jit, **options)
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # Numba's "no locator available": no folder may hold the cache
        return numba.njit(nogil=True, **options)(function)


try:
    from sklearn.callback import CallbackSupportMixin, ProgressBar

    def end_callbacks(estimator: Any) -> None:
        """Do nothing: scikit-learn ends the callbacks of a fit itself."""

except ImportError:

    class CallbackContext:
        """A task of a fit: the fit itself, or one of its at most `max_subtasks` steps, whose parent is the fit."""

        def __init__(
            self, callbacks: list[Any], task_name: str, max_subtasks: int = 0, parent: CallbackContext | None = None
        ) -> None:
            self.callbacks, self.task_name, self.max_subtasks, self.parent = callbacks, task_name, max_subtasks, parent

        def subcontext(self, task_name: str) -> CallbackContext:
            """Return the context of a task inside this one."""
            return CallbackContext(self.callbacks, task_name, parent=self)

        def call_on_fit_task_begin(self, *, estimator: Any, **callback_args: Any) -> CallbackContext:
            """Tell the callbacks that the task begins."""
            self._tell("on_fit_task_begin", estimator, callback_args)
            return self

        def call_on_fit_task_end(self, *, estimator: Any, **callback_args: Any) -> bool:
            """Tell the callbacks that the task has ended; return whether one of them wants the fit to stop."""
            return self._tell("on_fit_task_end", estimator, callback_args)

        def _tell(self, hook: str, estimator: Any, callback_args: dict[str, Any]) -> bool:
            """Call a hook of all callbacks with what it asks for by keyword."""
            stop = False
            for callback in self.callbacks:
                call = getattr(callback, hook)
                asked = [p.name for p in inspect.signature(call).parameters.values() if p.kind == p.KEYWORD_ONLY]
                stop |= bool(call(estimator, self, **{name: callback_args.get(name) for name in asked}))
            return stop

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Adds callbacks to an estimator, as scikit-learn does from 1.9 on."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Set callbacks for the estimator.

            Parameters
            ----------
            *callbacks : callback instances
                The callbacks, such as `aucmax.ProgressBar()`; none removes them.

            Returns
            -------
            self : estimator instance
                The estimator itself.
            """
            hooks = ("setup", "on_fit_task_begin", "on_fit_task_end", "teardown")
            if any(isinstance(c, type) or not all(hasattr(c, hook) for hook in hooks) for c in callbacks):
                raise TypeError("callbacks must be instances following the FitCallback protocol.")
            self.__dict__.pop("_skl_callbacks", None)
            if callbacks:
                self._skl_callbacks = list(callbacks)
            return self

        def __sklearn_clone__(self) -> Any:
            """Return a clone with the same callbacks."""
            copy = super().__sklearn_clone__()  # type: ignore[misc]
            return copy.set_callbacks(*getattr(self, "_skl_callbacks", []))

        def _init_callback_context(self, max_subtasks: int = 0) -> CallbackContext:
            """Return the context of a fit, and tell the callbacks of it."""
            callbacks = getattr(self, "_skl_callbacks", [])
            self._callback_fit_ctx = CallbackContext(callbacks, "fit", max_subtasks)
            for callback in callbacks:
                callback.setup(self, self._callback_fit_ctx)
            return self._callback_fit_ctx

    def end_callbacks(estimator: Any) -> None:
        """Tell the callbacks that a fit has ended, well or not."""
        context = vars(estimator).pop("_callback_fit_ctx", None)
        for callback in context.callbacks if context is not None else ():
            callback.teardown(estimator, context)

    class ProgressBar:  # type: ignore[no-redef]
        """A progress bar for each fit, in the terminal.

        Examples
        --------
        >>> from aucmax import AUCClassifier, ProgressBar
        >>> clf = AUCClassifier().set_callbacks(ProgressBar())
        """

        def setup(self, estimator: Any, context: CallbackContext) -> None:
            """Show an empty bar."""
            try:
                from rich.progress import Progress
            except ImportError:
                raise ImportError("ProgressBar needs rich: pip install 'aucmax[cli]'") from None
            self._progress = Progress()
            self._task = self._progress.add_task(type(estimator).__name__, total=context.max_subtasks)
            self._progress.start()

        def on_fit_task_begin(self, estimator: Any, context: CallbackContext) -> None:
            """Do nothing: a step is counted when it ends."""

        def on_fit_task_end(self, estimator: Any, context: CallbackContext) -> None:
            """Count a step of the fit."""
            if context.parent is not None:
                self._progress.advance(self._task)

        def teardown(self, estimator: Any, context: CallbackContext) -> None:
            """End the bar."""
            self._progress.stop()
            del self._progress, self._task  # which cannot be pickled


if "allow_all_zero_weights" in inspect.signature(_check_sample_weight).parameters:
    check_sample_weight = _check_sample_weight

else:

    def check_sample_weight(sample_weight: Any, X: Any, *, allow_all_zero_weights: bool, **options: Any) -> np.ndarray:
        """Return the weights, checked as scikit-learn does from 1.8 on."""
        weights: np.ndarray = _check_sample_weight(sample_weight, X, **options)
        if not (allow_all_zero_weights or weights.any()):
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return weights


__all__ = ["CallbackSupportMixin", "ProgressBar", "check_sample_weight", "end_callbacks"]
