"""The published algorithms, one file each, and the list of them that tests, documentation and comparisons read.

Importing this module imports none of them: a `Method` imports its file when it is first used.
"""

from .method import Method as Method
from .method import of_step, powers

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

ALGORITHMS = {
    method.name: method
    for method in (
        Method("OPAUC", ".opauc:OPAUC", _OPAUC, family=_SQUARE, paper="OPAUC", online=True),
        Method("OPAUCr", ".opauc:OPAUC", _OPAUC, parameters={"rank": 50}, family=_SQUARE, paper="OPAUC", online=True),
        Method("OPAUCf", ".pipelines:OPAUCf", _PIPELINE, family=_SQUARE, paper="OPAUC"),
        Method("OPAUCrp", ".pipelines:OPAUCrp", _PIPELINE, family=_SQUARE, paper="OPAUC"),
        Method("OPAUCpca", ".pipelines:OPAUCpca", _PIPELINE, family=_SQUARE, paper="OPAUC"),
        Method("SOLAM", ".solam:SOLAM", _SOLAM, family=_SQUARE, paper="SOLAM", online=True),
        Method("RegSOLAM", ".solam:RegSOLAM", _REG_SOLAM, family=_SQUARE, paper="SPDAM", online=True),
        Method("SPAM", ".spam:SPAM", _SPAM, family=_SQUARE, paper="SPAM"),
        Method("SPAMl1", ".spam:SPAM", _SPAM, parameters={"penalty": "l1"}, family=_SQUARE, paper="SPAM"),
        Method("SPAMl1l2", ".spam:SPAM", _SPAM, parameters={"penalty": "elasticnet"}, family=_SQUARE, paper="SPAM"),
        Method("FSAUC", ".fsauc:FSAUC", _FSAUC, family=_SQUARE, paper="FSAUC"),
        Method("SPDAM", ".spdam:SPDAM", {"alpha": powers(10, -5, 1)}, family=_SQUARE, paper="SPDAM"),
        Method("SHTAUC", ".sht:SHTAUC", _BLOCKS, family=_SQUARE, paper="SHT"),
        Method("StoIHT", ".stoiht:StoIHT", _BLOCKS, family="logistic", paper="StoIHT"),
        Method("HSGHT", ".hsght:HSGHT", _BATCHES, family="logistic", paper="HSG-HT"),
        Method("ASAM", ".asam:ASAM", _ASAM, family=_HINGE, paper="ASAM"),
        Method("PSAM", ".psam:PSAM", _ASAM, family=_HINGE, paper="PSAM"),
        Method("NSOLAM", ".kernel_pipelines:NSOLAM", of_step("solam", _SOLAM), family=_SQUARE, paper="PSAM"),
        Method("NASAM", ".kernel_pipelines:NASAM", of_step("asam", _ASAM), family=_HINGE, paper="ASAM"),
        Method("NPSAM", ".kernel_pipelines:NPSAM", of_step("psam", _ASAM), family=_HINGE, paper="PSAM"),
        # The papers' C is 1 / (2 alpha) over the number of pairs; here alpha is cross-validated.
        Method("NBAM", ".kernel_pipelines:NBAM", family=_SQUARED_HINGE, paper="ASAM"),
        Method("UniSqu", ".univariate:UniSqu", _UNI, family="univariate", paper="Uni", online=True),
        Method("UniExp", ".univariate:UniExp", _UNI, family="univariate", paper="Uni", online=True),
        Method("UniLog", ".univariate:UniLog", _UNI, family="univariate", paper="Uni", online=True),
        Method("OAM", ".oam:OAM", _BUFFERED, family=_HINGE, paper="OAM", online=True),
        Method(
            "OAMgra", ".oam:OAM", _BUFFERED, parameters={"update": "gradient"}, family=_HINGE, paper="OAM", online=True
        ),
        Method("CBR", ".cbr:CBR", _BUFFERED, family=_HINGE, paper="CBR", online=True),
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
