"""NSOLAM, NASAM, NPSAM and NBAM: linear AUC maximisation on the features of a Gaussian kernel.

Khalid, Ray and Chitsaz (2018), Scalable nonlinear AUC maximization methods; Khalid, Chitsaz and Ray, Proximal
stochastic AUC maximization.

Pipelines of four steps:

1. "scale" divides the columns by their standard deviations (the kernel does not see a shift, so sparse rows stay
   sparse): a change of units changes nothing. If all columns are of one kind, such as pixels or words,
   ``set_params(scale="passthrough")`` may rank better.
2. "nystroem" makes the features (:class:`aucmax.KMeansNystroem`): 400 landmarks for susy, 1,600 for the other data of
   the papers.
3. "shrink" divides feature j by sqrt(v_j + 10 v / n), where v_j is its variance, v the sum of all variances and n the
   number of rows. Features of large variance get a variance of 1. The others, of which n rows tell little, stay small,
   so that the steps and the penalty of the classifier trust them less.
4. The classifier, without standardisation.

With variant="paper" steps 1 and 3 are "passthrough": the papers take columns and features as they are.

Standardised features rank worse on few rows, unscaled ones on many (docs/measured/nystroem.md).

The features are held in memory: n_samples x n_components numbers, half the bytes if X is float32.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.preprocessing import StandardScaler

from .._docs import add_sections
from ..classifier import AUCClassifier
from ..rows.machine import check_columns
from ..rows.validate import canonical, check_indices
from .engine.stream_pipeline import StreamPipeline
from .engine.variant import ADAPTIVE, PAPER
from .nystroem import KMeansNystroem
from .psam import ASAM, PSAM
from .ranksvm import BAM
from .solam import SOLAM

RIDGE = 10  # of step 3. On 500, 2,000 and 14,000 rows of covtype, cod-rna and susy, 5 to 15 was best or nearly so.

# What the docstrings of the pipelines share.
SECTIONS = """Parameters
----------
n_components : int, default=400
    Number of landmarks, as in :class:`aucmax.KMeansNystroem`.
gamma : float, default=None
    Of the kernel, as in :class:`aucmax.KMeansNystroem`, for columns divided by their standard deviations.
random_state : int, RandomState instance or None, default=None
    What the landmarks{random} are drawn from.{more}
**parameters
    Of {of}.

Returns
-------
pipeline : StreamPipeline
    With the steps "scale", "nystroem", "shrink" and "{step}".{stream}

Examples
--------
>>> from sklearn.datasets import make_circles
>>> from aucmax import {name}
>>> X, y = make_circles(200, noise=0.1, factor=0.5, random_state=0)
>>> bool({name}(20, random_state=0).fit(X, y).score(X, y) > 0.99)
True
"""
STREAM = """
    In a stream the rows of the first `partial_fit` give the landmarks and the scales: give it some thousands."""
BATCH = """
C : float, default=None
    Weight of the loss in :class:`aucmax.BAM`. None chooses the regularisation by cross-validation, and is the default
    of BAM with variant="paper": the paper tunes it.
variant : {"adaptive", "paper"}, default="adaptive"
    "paper" takes columns and features as they are."""
EXACT = ':class:`aucmax.AUCClassifier`; with C or variant="paper" of :class:`aucmax.BAM`'


def _pipeline_of(classifier: Any, random: str) -> Callable[..., StreamPipeline]:
    def make(
        n_components: int = 400, *, gamma: float | None = None, random_state: Any = None, **parameters: Any
    ) -> StreamPipeline:
        own, variant = {"random_state": random_state} | parameters, parameters.get("variant", ADAPTIVE)
        return _kernel_pipeline(name.lower(), classifier, n_components, gamma, random_state, own, variant)

    name = classifier.__name__
    make.__name__ = make.__qualname__ = f"N{name}"
    make.__doc__ = f"Return a pipeline of Gaussian kernel features and `{name}`."
    values = {"name": f"N{name}", "step": name.lower(), "random": random, "more": "", "stream": STREAM}
    return add_sections(SECTIONS, of=f":class:`aucmax.{name}`", **values)(make)


NSOLAM = _pipeline_of(SOLAM, " and the order of the rows")
NASAM = _pipeline_of(ASAM, " and the pairs")
NPSAM = _pipeline_of(PSAM, " and the pairs")


@add_sections(SECTIONS, name="NBAM", step="bam", random="", more=BATCH, stream="", of=EXACT)
def NBAM(
    n_components: int = 400,
    *,
    gamma: float | None = None,
    random_state: Any = None,
    C: float | None = None,
    variant: str = "adaptive",
    **parameters: Any,
) -> StreamPipeline:
    """Return a pipeline of Gaussian kernel features and the exact minimiser of the pairwise squared hinge loss."""
    if variant not in (ADAPTIVE, PAPER):
        raise ValueError(f"variant must be 'adaptive' or 'paper', got {variant!r}.")
    if C is not None:
        parameters["C"] = C
    make = partial(AUCClassifier, "squared_hinge") if C is None and variant == ADAPTIVE else BAM
    return _kernel_pipeline("bam", make, n_components, gamma, random_state, parameters, variant)


def _kernel_pipeline(
    name: str, make: Any, n_components: int, gamma: float | None, random_state: Any, parameters: Any, variant: str
) -> StreamPipeline:
    published = variant == PAPER
    return StreamPipeline(
        [
            ("scale", "passthrough" if published else ColumnScaler(with_mean=False)),
            ("nystroem", KMeansNystroem(n_components, gamma=gamma, random_state=random_state)),
            ("shrink", "passthrough" if published else ShrinkingScaler(copy=False)),
            (name, make(**{"standardize": False} | parameters)),
        ]
    )


class ColumnScaler(StandardScaler):
    """`StandardScaler` as the entrance of a pipeline: scikit-learn follows the indices of sparse rows unchecked.

    It refuses indices that lead out of their arrays, and rows too wide for memory.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the standard deviations of the columns."""
        X = canonical(check_indices(X))
        if len(getattr(X, "shape", ())) == 2:  # scikit-learn makes a matrix of a list, and refuses a vector
            check_columns(X.shape[1])
        return super().fit(X, y, sample_weight)

    def transform(self, X: Any, copy: bool | None = None) -> Any:
        """Return rows with scaled columns."""
        return super().transform(canonical(check_indices(X)), copy)


class ShrinkingScaler(ColumnScaler):
    """A scaler that leaves columns of little variance small: it divides by the root of the variance plus a ridge."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the ridge, which is 10 times the sum of the variances over the number of rows, and the scales."""
        super().fit(X, y, sample_weight)
        scale = np.sqrt(self.var_ + RIDGE * self.var_.sum() / self.n_samples_seen_)
        self.scale_ = np.where(scale > 0, scale, 1.0)
        return self
