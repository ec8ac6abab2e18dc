"""The names of classes and functions in model files and checkpoints, and where each of them lives.

A file holds the names on the left. They never change, so that old files can still be read. Where a class or function is
moved or renamed, change its place on the right, ``module:attribute``. Reading a file imports these modules and no
others.
"""

import importlib
import sys
from typing import Any

# By tag, as `encoding` explains them; a name is used once.
NAMES = {
    "estimator": {
        "AUCClassifier": "aucmax.classifier:AUCClassifier",
        "AdditiveAUCClassifier": "aucmax.additive.classifier:AdditiveAUCClassifier",
        "KMeansNystroem": "aucmax.papers.nystroem:KMeansNystroem",
        "TableEncoder": "aucmax.table_encoder:TableEncoder",
        "ASAM": "aucmax.papers.psam:ASAM",
        "BAM": "aucmax.papers.ranksvm:BAM",
        "CBR": "aucmax.papers.cbr:CBR",
        "FSAUC": "aucmax.papers.fsauc:FSAUC",
        "GaussianAUC": "aucmax.papers.gaussian:GaussianAUC",
        "GaussianError": "aucmax.papers.gaussian:GaussianError",
        "HSGHT": "aucmax.papers.hard_thresholding:HSGHT",
        "OAM": "aucmax.papers.oam:OAM",
        "OPAUC": "aucmax.papers.opauc:OPAUC",
        "PSAM": "aucmax.papers.psam:PSAM",
        "PairwiseDescent": "aucmax.papers.pairwise_descent:PairwiseDescent",
        "RegSOLAM": "aucmax.papers.solam:RegSOLAM",
        "SHTAUC": "aucmax.papers.hard_thresholding:SHTAUC",
        "SOLAM": "aucmax.papers.solam:SOLAM",
        "SPAM": "aucmax.papers.spam:SPAM",
        "SPDAM": "aucmax.papers.spdam:SPDAM",
        "SVMOR": "aucmax.papers.ranksvm:SVMOR",
        "SVMPerf": "aucmax.papers.ranksvm:SVMPerf",
        "StoIHT": "aucmax.papers.hard_thresholding:StoIHT",
        "UniExp": "aucmax.papers.univariate:UniExp",
        "UniLog": "aucmax.papers.univariate:UniLog",
        "UniSqu": "aucmax.papers.univariate:UniSqu",
        "GaussianRandomProjection": "sklearn.random_projection:GaussianRandomProjection",
        "CheckedScaler": "aucmax.papers.checked_scaler:CheckedScaler",
        "LimitedPCA": "aucmax.papers.opauc_pipelines:LimitedPCA",
        "LimitedProjection": "aucmax.papers.opauc_pipelines:LimitedProjection",
        "LimitedSVD": "aucmax.papers.opauc_pipelines:LimitedSVD",
        "LimitedSelection": "aucmax.papers.opauc_pipelines:LimitedSelection",
        "PCA": "sklearn.decomposition:PCA",
        "CheckedPipeline": "aucmax.papers.checked_pipeline:CheckedPipeline",
        "Pipeline": "sklearn.pipeline:Pipeline",
        "SelectKBest": "sklearn.feature_selection:SelectKBest",
        "StandardScaler": "sklearn.preprocessing:StandardScaler",
        "TruncatedSVD": "sklearn.decomposition:TruncatedSVD",
    },
    "named_tuple": {
        "CBRDiagonalState": "aucmax.papers.cbr:DiagonalState",
        "CBRFullState": "aucmax.papers.cbr:FullState",
        "FSAUCStage": "aucmax.papers.fsauc:Stage",
        "OAMState": "aucmax.papers.oam:OAMState",
        "OPAUCCovarianceState": "aucmax.papers.opauc:CovarianceState",
        "OPAUCSketchState": "aucmax.papers.opauc:SketchState",
        "PairState": "aucmax.papers.psam:PairState",
        "PrimalDualState": "aucmax.papers.spdam:PrimalDualState",
        "SPAMState": "aucmax.papers.spam:SPAMState",
        "SaddleState": "aucmax.papers.solam:SaddleState",
        "ThresholdState": "aucmax.papers.hard_thresholding:ThresholdState",
        "UnivariateState": "aucmax.papers.univariate:UnivariateState",
        "AveragedWeights": "aucmax.papers.engine.averages:AveragedWeights",
        "ClassBuffers": "aucmax.papers.engine.buffers:ClassBuffers",
        "Scaling": "aucmax.papers.engine.sample:Scaling",
        "Stream": "aucmax.papers.engine.epochs:Stream",
        "TableReading": "aucmax.tables.reading:Reading",
        "TableColumn": "aucmax.tables.kinds:Column",
        "TableColumnPart": "aucmax.tables.kinds:Part",
        "Column": "aucmax.additive.bins:Column",
        "Term": "aucmax.additive.terms:Term",
        # In checkpoints only.
        "AUCBins": "aucmax.data.held_out:AUCBins",
        "ScoreHistory": "aucmax.papers.engine.epochs:ScoreHistory",
        "ScoreMoments": "aucmax.data.scores:ScoreMoments",
        "BoxMoments": "aucmax.losses.chebyshev_sums:BoxMoments",
        "ExponentialSums": "aucmax.losses.pairwise:ExponentialSums",
    },
    "moments": {"ClassMoments": "aucmax.data.moments:ClassMoments"},
    "partial": {"random_scores": "aucmax.papers.opauc_pipelines:_random_scores"},
    "csr": {
        "csr_array": "scipy.sparse:csr_array",
        "csr_matrix": "scipy.sparse:csr_matrix",
    },
}


def name_of(thing: Any, tag: str) -> str | None:
    """Return the name of a class or function among those of a tag, or None where it has none; nothing is imported.

    A class or function that somebody holds has been imported, so its place is among the loaded modules.

    Examples
    --------
    >>> from aucmax import SOLAM
    >>> from aucmax.models.names import name_of
    >>> name_of(SOLAM, "estimator"), name_of(SOLAM, "named_tuple"), name_of(print, "partial")
    ('SOLAM', None, None)
    """
    for name, place in NAMES[tag].items():
        module, _, attribute = place.partition(":")
        if getattr(sys.modules.get(module), attribute, None) is thing:
            return name
    return None


def find(name: str, tag: str) -> Any:
    """Return the class or function of a name among those of a tag; its module is imported.

    Examples
    --------
    >>> from aucmax.models.names import find
    >>> find("SOLAM", "estimator").__name__
    'SOLAM'
    """
    if name not in NAMES[tag]:
        raise ValueError(f"{name!r} is unknown")
    module, _, attribute = NAMES[tag][name].partition(":")
    return getattr(importlib.import_module(module), attribute)
