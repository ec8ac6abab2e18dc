"""The published algorithms, one file each, and the one list of them that tests, documentation and comparisons read.

Importing this module imports none of them: an `Algorithm` loads its file when it is first made.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

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


class Algorithm(NamedTuple):
    """A published algorithm.

    Attributes
    ----------
    name : str
        Its name here, in the papers' spelling as far as Python allows.
    module : str
        The file of this package it lives in.
    paper : str
        Where it was published, a key of `PAPERS`.
    family : str
        What it optimises: "pairwise square", "pairwise hinge", "pairwise squared hinge", "pairwise logistic",
        "logistic", "univariate" or "Gaussian".
    online : bool
        Whether it learns from a stream, by `partial_fit`.
    grid : mapping
        The values that the papers choose the parameters from.
    parameters : mapping
        Parameters that make the class this algorithm.
    maker : str
        The class or function of the module, where it has another name.
    """

    name: str
    module: str
    paper: str
    family: str
    online: bool
    grid: Mapping[str, Any]
    parameters: Mapping[str, Any] = {}
    maker: str = ""

    @property
    def make(self) -> Callable[..., Any]:
        """The class, or the function that makes a pipeline."""
        return getattr(importlib.import_module(f".{self.module}", __name__), self.maker or self.name)

    def __call__(self, **parameters: Any) -> Any:
        """Return an estimator with these parameters and the defaults for the others."""
        return self.make(**{**self.parameters, **parameters})


def _powers(base: float, low: int, high: int) -> list[float]:
    return [float(base) ** k for k in range(low, high + 1)]


def _of_step(step: str, grid: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{step}__{name}": values for name, values in grid.items()}


_OPAUC = {"eta0": _powers(2, -12, 10), "alpha": _powers(2, -10, 2)}
_PIPELINE = _of_step("opauc", _OPAUC)
_SADDLE_STEPS = [float(zeta) for zeta in range(1, 101, 9)]
_RADII = _powers(10, -1, 5)
_SOLAM = {"eta0": _SADDLE_STEPS, "radius": _RADII}
_SPAM = {"eta0": _powers(10, -5, 2), "alpha": _powers(10, -5, 2)}
_NONZEROS = {"n_nonzero": list(range(10, 101, 10))}
_BLOCKS = {**_NONZEROS, "n_blocks": [1, 2, 4, 8, 10]}
_ASAM = {"alpha": _powers(10, -10, -7)}
_UNI = {"eta0": _powers(2, -12, 10), "alpha": _powers(2, -10, 10)}
_BUFFERED = {"C": _powers(2, -10, 10)}
_RANK_SVM = {"C": _powers(2, -10, 10)}  # the papers' lambda: 1 / C is in the same grid
_SQUARE = "pairwise square"

ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("OPAUC", "opauc", "OPAUC", _SQUARE, True, _OPAUC),
        Algorithm("OPAUCr", "opauc", "OPAUC", _SQUARE, True, _OPAUC, {"rank": 50}, "OPAUC"),
        Algorithm("OPAUCf", "pipelines", "OPAUC", _SQUARE, False, _PIPELINE),
        Algorithm("OPAUCrp", "pipelines", "OPAUC", _SQUARE, False, _PIPELINE),
        Algorithm("OPAUCpca", "pipelines", "OPAUC", _SQUARE, False, _PIPELINE),
        Algorithm("SOLAM", "solam", "SOLAM", _SQUARE, True, _SOLAM),
        # The papers' lambda is 2 alpha.
        Algorithm(
            "RegSOLAM",
            "solam",
            "SPDAM",
            _SQUARE,
            True,
            {"eta0": _SADDLE_STEPS, "alpha": [lam / 2 for lam in _powers(10, -5, 5)]},
        ),
        Algorithm("SPAM", "spam", "SPAM", _SQUARE, False, _SPAM),
        Algorithm("SPAMl1", "spam", "SPAM", _SQUARE, False, _SPAM, {"penalty": "l1"}, "SPAM"),
        Algorithm("SPAMl1l2", "spam", "SPAM", _SQUARE, False, _SPAM, {"penalty": "elasticnet"}, "SPAM"),
        Algorithm("FSAUC", "fsauc", "FSAUC", _SQUARE, False, {"eta0": _powers(2, -10, 10), "radius": _RADII}),
        Algorithm("SPDAM", "spdam", "SPDAM", _SQUARE, False, {"alpha": _powers(10, -5, 1)}),
        Algorithm("SHTAUC", "sht", "SHT", _SQUARE, False, _BLOCKS),
        Algorithm("StoIHT", "stoiht", "StoIHT", "logistic", False, _BLOCKS),
        Algorithm("HSGHT", "hsght", "HSG-HT", "logistic", False, {**_NONZEROS, "batch_size": [1, 10, 100, 1000]}),
        Algorithm("ASAM", "asam", "ASAM", "pairwise hinge", False, _ASAM),
        Algorithm("PSAM", "psam", "PSAM", "pairwise hinge", False, _ASAM),
        Algorithm("NSOLAM", "kernel_pipelines", "PSAM", _SQUARE, False, _of_step("solam", _SOLAM)),
        Algorithm("NASAM", "kernel_pipelines", "ASAM", "pairwise hinge", False, _of_step("asam", _ASAM)),
        Algorithm("NPSAM", "kernel_pipelines", "PSAM", "pairwise hinge", False, _of_step("psam", _ASAM)),
        # The papers' C is 1 / (2 alpha) over the number of pairs; here alpha is cross-validated.
        Algorithm("NBAM", "kernel_pipelines", "ASAM", "pairwise squared hinge", False, {}),
        Algorithm("UniSqu", "univariate", "Uni", "univariate", True, _UNI),
        Algorithm("UniExp", "univariate", "Uni", "univariate", True, _UNI),
        Algorithm("UniLog", "univariate", "Uni", "univariate", True, _UNI),
        Algorithm("OAM", "oam", "OAM", "pairwise hinge", True, _BUFFERED),
        Algorithm("OAMgra", "oam", "OAM", "pairwise hinge", True, _BUFFERED, {"update": "gradient"}, "OAM"),
        Algorithm("CBR", "cbr", "CBR", "pairwise hinge", True, _BUFFERED),
        Algorithm("CBRdiag", "cbr", "CBR", "pairwise hinge", True, _BUFFERED, {"covariance": "diagonal"}, "CBR"),
        Algorithm("BAM", "ranksvm", "BAM", "pairwise squared hinge", False, {"C": _powers(2, -15, 10)}),
        Algorithm("SVMPerf", "ranksvm", "SVM-perf", "pairwise hinge", False, _RANK_SVM),
        Algorithm("SVMOR", "ranksvm", "SVM-OR", "pairwise hinge", False, _RANK_SVM),
        Algorithm("PairwiseDescent", "pairwise_descent", "Gaussian", "pairwise hinge", False, {}),
        Algorithm(
            "PairwiseDescentLog",
            "pairwise_descent",
            "Gaussian",
            "pairwise logistic",
            False,
            {},
            {"loss": "logistic"},
            "PairwiseDescent",
        ),
        Algorithm("GaussianAUC", "gaussian", "Gaussian", "Gaussian", True, {}),
        Algorithm("GaussianError", "gaussian", "Gaussian", "Gaussian", True, {}),
    )
}
