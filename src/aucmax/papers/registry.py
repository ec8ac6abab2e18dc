"""The list of the published algorithms, one line each, and `Method`, the one entry type of all registries.

Importing this module imports no algorithm: a `Method` imports its file when it is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec, resolve_name
from typing import Any, NamedTuple


class Method(NamedTuple):
    """A method that can be fitted by its name. Calling it makes the estimator.

    Examples
    --------
    >>> from aucmax.papers import ALGORITHMS
    >>> method = ALGORITHMS["OPAUCr"]
    >>> method.family, sorted(method.grid), method(alpha=0.1)
    ('pairwise square', ['alpha', 'eta0'], OPAUC(alpha=0.1, rank=50))
    """

    name: str  # what tables call it; of a published algorithm, the papers' spelling as far as Python allows
    # The class, or the function that makes the estimator: "module:name" to import it when it is first used, or the
    # object itself. A module that begins with a dot is a file of this folder. The estimator needs a `decision_function`
    # or `predict_proba`, and takes a `random_state` if anything in it is random.
    source: str | Callable[..., Any]
    # The values to choose parameters from, under the names that `set_params` of the estimator takes.
    grid: Mapping[str, Sequence[Any]] = {}
    parameters: Mapping[str, Any] = {}  # fixed parameters, given to the source whenever it is called
    # What it optimises: "pairwise square", "pairwise hinge", "pairwise squared hinge", "pairwise logistic", "logistic",
    # "univariate" or "Gaussian". Methods of other libraries have "scikit-learn", "linear" or "trees".
    family: str = ""
    paper: str = ""  # where it was published, a key of `aucmax.papers.PAPERS`; "" if in none of them
    online: bool = False  # whether it learns from a stream, by `partial_fit`
    standardize: bool = False  # whether a `StandardScaler` is put before it, as it does not scale columns itself
    takes_sparse: bool = True  # whether it takes sparse rows
    takes_tables: bool = False  # whether it is fitted to the levels of a table (`Levels`), not to its features
    requires: tuple[str, ...] = ()  # the packages it needs that aucmax does not depend on, as pip names them
    note: str = ""  # what tables say about it
    states: tuple[str, ...] = ()  # the named tuples of its module that a fitted estimator holds, and so a model file
    steps: tuple[str, ...] = ()  # of a function that makes a pipeline: the transformers of its module that may be steps

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
_square, _hinge = partial(Method, family="pairwise square"), partial(Method, family="pairwise hinge")
_online = partial(_square, online=True)
_gaussian = partial(Method, family="Gaussian", paper="Gaussian", online=True)
_univariate = partial(Method, family="univariate", paper="Uni", online=True)
_SCALE = ("ColumnScaler", "ShrinkingScaler")  # steps of pipelines

ALGORITHMS = {
    method.name: method
    for method in (
        _online("OPAUC", ".opauc:OPAUC", _OPAUC, paper="OPAUC", states=("CovarianceState", "SketchState")),
        _online("OPAUCr", ".opauc:OPAUC", _OPAUC, {"rank": 50}, paper="OPAUC"),
        _online("OPAUCf", ".opauc_pipelines:OPAUCf", _PIPELINE, paper="OPAUC", steps=("LimitedSelection",)),
        _online("OPAUCrp", ".opauc_pipelines:OPAUCrp", _PIPELINE, paper="OPAUC", steps=("LimitedProjection",)),
        _online("OPAUCpca", ".opauc_pipelines:OPAUCpca", _PIPELINE, paper="OPAUC", steps=("LimitedPCA", "LimitedSVD")),
        _online("SOLAM", ".solam:SOLAM", _SOLAM, paper="SOLAM", states=("SaddleState",)),
        _online("RegSOLAM", ".solam:RegSOLAM", _REG_SOLAM, paper="SPDAM"),
        _square("SPAM", ".spam:SPAM", _SPAM, paper="SPAM", states=("SPAMState",)),
        _square("SPAMl1", ".spam:SPAM", _SPAM, {"penalty": "l1"}, paper="SPAM"),
        _square("SPAMl1l2", ".spam:SPAM", _SPAM, {"penalty": "elasticnet"}, paper="SPAM"),
        _online("FSAUC", ".fsauc:FSAUC", _FSAUC, paper="FSAUC", states=("Stage",)),
        _square("SPDAM", ".spdam:SPDAM", {"alpha": powers(10, -5, 1)}, paper="SPDAM", states=("PrimalDualState",)),
        _square("SHTAUC", ".hard_thresholding:SHTAUC", _BLOCKS, paper="SHT", states=("ThresholdState",)),
        Method("StoIHT", ".hard_thresholding:StoIHT", _BLOCKS, family="logistic", paper="StoIHT"),
        Method("HSGHT", ".hard_thresholding:HSGHT", _BATCHES, family="logistic", paper="HSG-HT"),
        _hinge("ASAM", ".psam:ASAM", _ASAM, paper="ASAM", online=True, states=("PairState",)),
        _hinge("PSAM", ".psam:PSAM", _ASAM, paper="PSAM", online=True),
        _square(
            "NSOLAM", ".kernel_pipelines:NSOLAM", of_step("solam", _SOLAM), paper="PSAM", online=True, steps=_SCALE
        ),
        _hinge("NASAM", ".kernel_pipelines:NASAM", of_step("asam", _ASAM), paper="ASAM", online=True, steps=_SCALE),
        _hinge("NPSAM", ".kernel_pipelines:NPSAM", of_step("psam", _ASAM), paper="PSAM", online=True, steps=_SCALE),
        # The papers' C is 1 / (2 alpha) over the number of pairs; here alpha is cross-validated.
        Method("NBAM", ".kernel_pipelines:NBAM", family="pairwise squared hinge", paper="ASAM", steps=_SCALE),
        _univariate("UniSqu", ".univariate:UniSqu", _UNI, states=("UnivariateState",)),
        _univariate("UniExp", ".univariate:UniExp", _UNI),
        _univariate("UniLog", ".univariate:UniLog", _UNI),
        _hinge("OAM", ".oam:OAM", _BUFFERED, paper="OAM", online=True, states=("OAMState",)),
        _hinge("OAMgra", ".oam:OAM", _BUFFERED, {"update": "gradient"}, paper="OAM", online=True),
        _hinge("CBR", ".cbr:CBR", _BUFFERED, paper="CBR", online=True, states=("DiagonalState", "FullState")),
        _hinge("CBRdiag", ".cbr:CBR", _BUFFERED, {"covariance": "diagonal"}, paper="CBR", online=True),
        Method("BAM", ".ranksvm:BAM", {"C": powers(2, -15, 10)}, family="pairwise squared hinge", paper="BAM"),
        _hinge("SVMPerf", ".ranksvm:SVMPerf", _RANK_SVM, paper="SVM-perf"),
        _hinge("SVMOR", ".ranksvm:SVMOR", _RANK_SVM, paper="SVM-OR"),
        _square("LSSVM", ".ranksvm:LSSVM", _RANK_SVM, paper="OPAUC"),
        _hinge("PairwiseDescent", ".pairwise_descent:PairwiseDescent", paper="Gaussian"),
        Method(
            "PairwiseDescentLog",
            ".pairwise_descent:PairwiseDescent",
            parameters={"loss": "logistic"},
            family="pairwise logistic",
            paper="Gaussian",
        ),
        Method("LogisticDescent", ".pairwise_descent:LogisticDescent", family="logistic", paper="Gaussian"),
        _gaussian("GaussianAUC", ".gaussian:GaussianAUC"),
        _gaussian("GaussianError", ".gaussian:GaussianError"),
    )
}
