"""NSOLAM, NASAM, NPSAM and NBAM: linear AUC maximisation on the features of a Gaussian kernel.

Khalid, Ray and Chitsaz (2018), Scalable nonlinear AUC maximization methods; Khalid, Chitsaz and Ray, Proximal
stochastic AUC maximization.

Pipelines of three steps:

1. "scale" divides the columns by their standard deviations (the kernel does not see a shift, so sparse rows stay
   sparse). The papers take the columns as distributed; here a change of units changes nothing. Where all columns are of
   one kind, as pixels or words are, ``set_params(scale="passthrough")`` may rank better. With variant="paper", which
   the classifier takes, the step is "passthrough".
2. "nystroem" gives the features (:class:`aucmax.KMeansNystroem`): 400 landmarks for susy, 1,600 for the other data of
   the papers.
3. The classifier, with its defaults. It standardises the features as it does any others, so features of small
   eigenvalues count as much as the first. On 20,000 rows that ranks better on covtype and cod-rna and worse on susy;
   with few or noisy rows, ``standardize=False`` with a small alpha, 1e-6 for PSAM and ASAM, is safer.

The features are held in memory: n_samples x n_components numbers, half the bytes where X is float32.
"""

from typing import Any, Self

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from .._docs import add_sections
from ..classifier import AUCClassifier
from ..rows.machine import check_columns
from ..rows.validate import canonical, check_indices
from .nystroem import KMeansNystroem
from .psam import ASAM, PSAM
from .solam import SOLAM

# What the docstrings of the pipelines share.
SECTIONS = """Parameters
----------
n_components : int, default=400
    Number of landmarks, as in :class:`aucmax.KMeansNystroem`.
gamma : float, default=None
    Of the kernel, as in :class:`aucmax.KMeansNystroem`, for columns divided by their standard deviations.
random_state : int, RandomState instance or None, default=None
    What {random} drawn from.
**parameters
    Of :class:`aucmax.{of}.

Returns
-------
pipeline : Pipeline
    With the steps "scale", "nystroem" and "{step}".

Examples
--------
>>> from sklearn.datasets import make_circles
>>> from aucmax import {name}
>>> X, y = make_circles(200, noise=0.1, factor=0.5, random_state=0)
>>> bool({name}(20, random_state=0).fit(X, y).score(X, y) > 0.99)
True
"""


@add_sections(SECTIONS, name="NSOLAM", random="the landmarks and the order of the rows are", of="SOLAM`", step="solam")
def NSOLAM(
    n_components: int = 400, *, gamma: float | None = None, random_state: Any = None, **parameters: Any
) -> Pipeline:
    """Return a pipeline of Gaussian kernel features and `SOLAM`."""
    return _kernel_pipeline(n_components, gamma, random_state, "solam", SOLAM(random_state=random_state, **parameters))


@add_sections(SECTIONS, name="NASAM", random="the landmarks and the pairs are", of="ASAM`", step="asam")
def NASAM(
    n_components: int = 400, *, gamma: float | None = None, random_state: Any = None, **parameters: Any
) -> Pipeline:
    """Return a pipeline of Gaussian kernel features and `ASAM`."""
    return _kernel_pipeline(n_components, gamma, random_state, "asam", ASAM(random_state=random_state, **parameters))


@add_sections(SECTIONS, name="NPSAM", random="the landmarks and the pairs are", of="PSAM`", step="psam")
def NPSAM(
    n_components: int = 400, *, gamma: float | None = None, random_state: Any = None, **parameters: Any
) -> Pipeline:
    """Return a pipeline of Gaussian kernel features and `PSAM`."""
    return _kernel_pipeline(n_components, gamma, random_state, "psam", PSAM(random_state=random_state, **parameters))


@add_sections(
    SECTIONS,
    name="NBAM",
    random="the landmarks are",
    of="AUCClassifier`, which chooses its regularisation by cross-validation if alpha is not given",
    step="bam",
)
def NBAM(
    n_components: int = 400, *, gamma: float | None = None, random_state: Any = None, **parameters: Any
) -> Pipeline:
    """Return a pipeline of Gaussian kernel features and the exact minimiser of the pairwise squared hinge loss."""
    return _kernel_pipeline(n_components, gamma, random_state, "bam", AUCClassifier("squared_hinge", **parameters))


def _kernel_pipeline(n_components: int, gamma: float | None, random_state: Any, name: str, classifier: Any) -> Pipeline:
    nystroem = KMeansNystroem(n_components, gamma=gamma, random_state=random_state)
    as_distributed = getattr(classifier, "variant", "") == "paper"
    scale = "passthrough" if as_distributed else ColumnScaler(with_mean=False)
    return Pipeline([("scale", scale), ("nystroem", nystroem), (name, classifier)])


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
