"""The list of the published algorithms, one line each, and `Method`, the one entry type of all registries.

Importing this module imports no algorithm: a `Method` imports its file when it is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec, resolve_name
from typing import Any, NamedTuple


class Method(NamedTuple):
    """A method that can be fitted by its name. Calling it makes the estimator.

    Attributes
    ----------
    name : str
        What tables call it; of a published algorithm, the papers' spelling as far as Python allows.
    source : str or callable
        The class, or the function that makes the estimator: "module:name" to import it when it is first used, or the
        object itself. A module that begins with a dot is a file of this folder. The estimator needs a
        `decision_function` or `predict_proba`, and takes a `random_state` if anything in it is random.
    grid : mapping of str to list
        The values to choose parameters from, under the names that `set_params` of the estimator takes.
    parameters : mapping
        Fixed parameters, given to the source whenever it is called.
    family : str
        What it optimises: "pairwise square", "pairwise hinge", "pairwise squared hinge", "pairwise logistic",
        "logistic", "univariate" or "Gaussian". Methods of other libraries have "scikit-learn", "linear" or "trees".
    paper : str
        Where it was published, a key of `aucmax.papers.PAPERS`; "" if in none of them.
    online : bool
        Whether it learns from a stream, by `partial_fit`.
    standardize : bool
        Whether a `StandardScaler` is put before it: for estimators that do not scale columns themselves.
    takes_sparse : bool
        Whether it takes sparse rows.
    takes_tables : bool
        Whether it is fitted to the levels of a table (`Levels`), not to its features.
    requires : tuple of str
        The packages it needs that aucmax does not depend on, as pip names them.
    note : str
        What tables say about it.
    states : tuple of str
        The named tuples of its module that a fitted estimator holds, and so a model file.
    steps : tuple of str
        Of a function that makes a pipeline: the transformers of its module that may be steps.

    Examples
    --------
    >>> from aucmax.papers import ALGORITHMS
    >>> method = ALGORITHMS["OPAUCr"]
    >>> method.family, sorted(method.grid), method(alpha=0.1)
    ('pairwise square', ['alpha', 'eta0'], OPAUC(alpha=0.1, rank=50))
    """

    name: str
    source: str | Callable[..., Any]
    grid: Mapping[str, Sequence[Any]] = {}
    parameters: Mapping[str, Any] = {}
    family: str = ""
    paper: str = ""
    online: bool = False
    standardize: bool = False
    takes_sparse: bool = True
    takes_tables: bool = False
    requires: tuple[str, ...] = ()
    note: str = ""
    states: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The full name of the module that the source lives in."""
        if callable(self.source):
            return self.source.__module__
        return resolve_name(self.source.partition(":")[0], __package__ or "")

    @property
    def maker(self) -> str:
        """The name of the class or function in its module."""
        return self.source.__name__ if callable(self.source) else self.source.partition(":")[2]

    @property
    def make(self) -> Callable[..., Any]:
        """The class, or the function that makes the estimator, without the fixed parameters."""
        return self.source if callable(self.source) else getattr(importlib.import_module(self.module), self.maker)

    @property
    def missing(self) -> list[str]:
        """The required packages that are not installed."""
        return [package for package in self.requires if find_spec(package) is None]

    def __call__(self, **parameters: Any) -> Any:
        """Return an estimator with these parameters beside the fixed ones, and the defaults for the others."""
        estimator = self.make(**{**self.parameters, **parameters})
        if not self.standardize:
            return estimator
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler

        return Pipeline([("scale", StandardScaler()), ("classifier", estimator)])

    def seeded(self, seed: int) -> Any:
        """Return an estimator that draws its random numbers from the seed."""
        estimator = self()
        is_random = any(plain_name(name) == "random_state" for name in estimator.get_params())
        return self(random_state=seed) if is_random else estimator

    def fix(self, **parameters: Any) -> Method:
        """Return the same method with some parameters fixed: they leave the grid and stand in its name."""
        listed = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        return self._replace(
            name=f"{self.name}({listed})",
            parameters={**self.parameters, **parameters},
            grid={name: values for name, values in self.grid.items() if plain_name(name) not in parameters},
        )


def standardized(
    name: str, source: str | Callable[..., Any], grid: Mapping[str, Sequence[Any]], **fields: Any
) -> Method:
    """Return a method behind a `StandardScaler`, with a grid under the classifier's own names."""
    return Method(name, source, of_step("classifier", grid), standardize=True, **fields)


def powers(base: float, low: int, high: int, step: int = 1) -> list[float]:
    """Return the powers of a base from one exponent to another.

    Examples
    --------
    >>> from aucmax.papers.registry import powers
    >>> powers(10, -2, 2, step=2)
    [0.01, 1.0, 100.0]
    """
    return [float(base) ** k for k in range(low, high + 1, step)]


def of_step(step: str, grid: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Return the grid of a step under the names of its pipeline."""
    return {f"{step}__{name}": values for name, values in grid.items()}


def plain_name(parameter: str) -> str:
    """Return the name of a parameter without the name of the step it belongs to."""
    return parameter.rpartition("__")[2]


def full_name(parameter: str, estimator: Any) -> str | None:
    """Return the name of a parameter with its step's name before it; None if the estimator has no such parameter."""
    names = list(estimator.get_params())
    return parameter if parameter in names else next((name for name in names if plain_name(name) == parameter), None)


PAPERS = {
    "OPAUC": "Gao, Jin, Zhu and Zhou (2013), One-pass AUC optimization",
    "SOLAM": "Ying, Wen and Lyu (2016), Stochastic online AUC maximization",
    "SPAM": "Natole, Ying and Lyu (2018), Stochastic proximal algorithms for AUC maximization",
    "FSAUC": "Liu, Zhang, Chen, Wang and Yang (2018), Fast stochastic AUC maximization with O(1/n)-convergence rate",
    "SPDAM": "Natole, Ying and Lyu (2019), Stochastic AUC optimization algorithms with linear convergence",
    "SHT": "Yang, Zhou, Lei and Ying (2020), Stochastic hard thresholding algorithms for AUC maximization",
    "StoIHT": "Nguyen, Needell and Woolf (2017), Linear convergence of stochastic iterative greedy algorithms",
    "HSG-HT": "Zhou, Yuan and Feng (2018), Efficient stochastic gradient hard thresholding",
    "ASAM": "Khalid, Ray and Chitsaz (2018), Scalable nonlinear AUC maximization methods",
    "PSAM": "Khalid, Chitsaz and Ray (undated), Proximal stochastic AUC maximization",
    "BAM": "Chapelle and Keerthi (2010), Efficient algorithms for ranking with SVMs",
    "SVM-perf": "Joachims (2005), A support vector method for multivariate performance measures",
    "SVM-OR": "Joachims (2006), Training linear SVMs in linear time",
    "Uni": "Kotlowski, Dembczynski and Huellermeier (2011), Bipartite ranking through minimization of univariate loss",
    "OAM": "Zhao, Hoi, Jin and Yang (2011), Online AUC maximization",
    "CBR": "Khalid, Ray and Chitsaz (2016), Confidence-weighted bipartite ranking",
    "Gaussian": "Ghanbari and Scheinberg (2018), Directly and efficiently optimizing prediction error and AUC",
}


def short_paper(paper: str) -> str:
    """Return the authors and the year of a paper, without its title."""
    return paper.partition("),")[0] + ")"


_OPAUC = {"eta0": powers(2, -12, 10), "alpha": powers(2, -10, 2)}
_PIPELINE = of_step("opauc", _OPAUC)
_SADDLE_STEPS = [float(zeta) for zeta in range(1, 101, 9)]
_RADII = powers(10, -1, 5)
_SOLAM = {"eta0": _SADDLE_STEPS, "radius": _RADII}
# The papers' lambda is 2 alpha.
_REG_SOLAM = {"eta0": _SADDLE_STEPS, "alpha": [lam / 2 for lam in powers(10, -5, 5)]}
_FSAUC = {"eta0": powers(2, -10, 10), "radius": _RADII}
_SPAM = {"eta0": powers(10, -5, 2), "alpha": powers(10, -5, 2)}
_NONZEROS = {"n_nonzero": list(range(10, 101, 10))}
_BLOCKS = {**_NONZEROS, "n_blocks": [1, 2, 4, 8, 10]}
_BATCHES = {**_NONZEROS, "batch_size": [1, 10, 100, 1000]}
_ASAM = {"alpha": powers(10, -10, -7)}
_UNI = {"eta0": powers(2, -12, 10), "alpha": powers(2, -10, 10)}
_BUFFERED = {"C": powers(2, -10, 10)}
_RANK_SVM = {"C": powers(2, -10, 10)}  # the papers' lambda: 1 / C is in the same grid
_SQUARE, _HINGE, _SQUARED_HINGE = "pairwise square", "pairwise hinge", "pairwise squared hinge"
_SCALER, _PCA = ("ColumnScaler",), ("LimitedPCA", "LimitedSVD")  # steps of pipelines

ALGORITHMS = {
    method.name: method
    for method in (
        Method(
            "OPAUC",
            ".opauc:OPAUC",
            _OPAUC,
            family=_SQUARE,
            paper="OPAUC",
            online=True,
            states=("CovarianceState", "SketchState"),
        ),
        Method("OPAUCr", ".opauc:OPAUC", _OPAUC, parameters={"rank": 50}, family=_SQUARE, paper="OPAUC", online=True),
        Method(
            "OPAUCf", ".opauc_pipelines:OPAUCf", _PIPELINE, family=_SQUARE, paper="OPAUC", steps=("LimitedSelection",)
        ),
        Method(
            "OPAUCrp",
            ".opauc_pipelines:OPAUCrp",
            _PIPELINE,
            family=_SQUARE,
            paper="OPAUC",
            steps=("LimitedProjection",),
        ),
        Method("OPAUCpca", ".opauc_pipelines:OPAUCpca", _PIPELINE, family=_SQUARE, paper="OPAUC", steps=_PCA),
        Method("SOLAM", ".solam:SOLAM", _SOLAM, family=_SQUARE, paper="SOLAM", online=True, states=("SaddleState",)),
        Method("RegSOLAM", ".solam:RegSOLAM", _REG_SOLAM, family=_SQUARE, paper="SPDAM", online=True),
        Method("SPAM", ".spam:SPAM", _SPAM, family=_SQUARE, paper="SPAM", states=("SPAMState",)),
        Method("SPAMl1", ".spam:SPAM", _SPAM, parameters={"penalty": "l1"}, family=_SQUARE, paper="SPAM"),
        Method("SPAMl1l2", ".spam:SPAM", _SPAM, parameters={"penalty": "elasticnet"}, family=_SQUARE, paper="SPAM"),
        Method("FSAUC", ".fsauc:FSAUC", _FSAUC, family=_SQUARE, paper="FSAUC", states=("Stage",)),
        Method(
            "SPDAM",
            ".spdam:SPDAM",
            {"alpha": powers(10, -5, 1)},
            family=_SQUARE,
            paper="SPDAM",
            states=("PrimalDualState",),
        ),
        Method("SHTAUC", ".hard_thresholding:SHTAUC", _BLOCKS, family=_SQUARE, paper="SHT", states=("ThresholdState",)),
        Method("StoIHT", ".hard_thresholding:StoIHT", _BLOCKS, family="logistic", paper="StoIHT"),
        Method("HSGHT", ".hard_thresholding:HSGHT", _BATCHES, family="logistic", paper="HSG-HT"),
        Method("ASAM", ".psam:ASAM", _ASAM, family=_HINGE, paper="ASAM", states=("PairState",)),
        Method("PSAM", ".psam:PSAM", _ASAM, family=_HINGE, paper="PSAM"),
        Method(
            "NSOLAM", ".kernel_pipelines:NSOLAM", of_step("solam", _SOLAM), family=_SQUARE, paper="PSAM", steps=_SCALER
        ),
        Method("NASAM", ".kernel_pipelines:NASAM", of_step("asam", _ASAM), family=_HINGE, paper="ASAM", steps=_SCALER),
        Method("NPSAM", ".kernel_pipelines:NPSAM", of_step("psam", _ASAM), family=_HINGE, paper="PSAM", steps=_SCALER),
        # The papers' C is 1 / (2 alpha) over the number of pairs; here alpha is cross-validated.
        Method("NBAM", ".kernel_pipelines:NBAM", family=_SQUARED_HINGE, paper="ASAM", steps=_SCALER),
        Method(
            "UniSqu",
            ".univariate:UniSqu",
            _UNI,
            family="univariate",
            paper="Uni",
            online=True,
            states=("UnivariateState",),
        ),
        Method("UniExp", ".univariate:UniExp", _UNI, family="univariate", paper="Uni", online=True),
        Method("UniLog", ".univariate:UniLog", _UNI, family="univariate", paper="Uni", online=True),
        Method("OAM", ".oam:OAM", _BUFFERED, family=_HINGE, paper="OAM", online=True, states=("OAMState",)),
        Method(
            "OAMgra", ".oam:OAM", _BUFFERED, parameters={"update": "gradient"}, family=_HINGE, paper="OAM", online=True
        ),
        Method(
            "CBR", ".cbr:CBR", _BUFFERED, family=_HINGE, paper="CBR", online=True, states=("DiagonalState", "FullState")
        ),
        Method(
            "CBRdiag",
            ".cbr:CBR",
            _BUFFERED,
            parameters={"covariance": "diagonal"},
            family=_HINGE,
            paper="CBR",
            online=True,
        ),
        Method("BAM", ".ranksvm:BAM", {"C": powers(2, -15, 10)}, family=_SQUARED_HINGE, paper="BAM"),
        Method("SVMPerf", ".ranksvm:SVMPerf", _RANK_SVM, family=_HINGE, paper="SVM-perf"),
        Method("SVMOR", ".ranksvm:SVMOR", _RANK_SVM, family=_HINGE, paper="SVM-OR"),
        Method("PairwiseDescent", ".pairwise_descent:PairwiseDescent", family=_HINGE, paper="Gaussian"),
        Method(
            "PairwiseDescentLog",
            ".pairwise_descent:PairwiseDescent",
            parameters={"loss": "logistic"},
            family="pairwise logistic",
            paper="Gaussian",
        ),
        Method("GaussianAUC", ".gaussian:GaussianAUC", family="Gaussian", paper="Gaussian", online=True),
        Method("GaussianError", ".gaussian:GaussianError", family="Gaussian", paper="Gaussian", online=True),
    )
}
