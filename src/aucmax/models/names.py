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
        "KMeansNystroem": "aucmax.nystroem:KMeansNystroem",
        "TableEncoder": "aucmax.table_encoder:TableEncoder",
        "ASAM": "aucmax.algorithms.asam:ASAM",
        "BAM": "aucmax.algorithms.ranksvm:BAM",
        "CBR": "aucmax.algorithms.cbr:CBR",
        "FSAUC": "aucmax.algorithms.fsauc:FSAUC",
        "GaussianAUC": "aucmax.algorithms.gaussian:GaussianAUC",
        "GaussianError": "aucmax.algorithms.gaussian:GaussianError",
        "HSGHT": "aucmax.algorithms.hsght:HSGHT",
        "OAM": "aucmax.algorithms.oam:OAM",
        "OPAUC": "aucmax.algorithms.opauc:OPAUC",
        "PSAM": "aucmax.algorithms.psam:PSAM",
        "PairwiseDescent": "aucmax.algorithms.pairwise_descent:PairwiseDescent",
        "RegSOLAM": "aucmax.algorithms.solam:RegSOLAM",
        "SHTAUC": "aucmax.algorithms.sht:SHTAUC",
        "SOLAM": "aucmax.algorithms.solam:SOLAM",
        "SPAM": "aucmax.algorithms.spam:SPAM",
        "SPDAM": "aucmax.algorithms.spdam:SPDAM",
        "SVMOR": "aucmax.algorithms.ranksvm:SVMOR",
        "SVMPerf": "aucmax.algorithms.ranksvm:SVMPerf",
        "StoIHT": "aucmax.algorithms.stoiht:StoIHT",
        "UniExp": "aucmax.algorithms.univariate:UniExp",
        "UniLog": "aucmax.algorithms.univariate:UniLog",
        "UniSqu": "aucmax.algorithms.univariate:UniSqu",
        "GaussianRandomProjection": "sklearn.random_projection:GaussianRandomProjection",
        "CheckedScaler": "aucmax.algorithms.checked_scaler:CheckedScaler",
        "LimitedPCA": "aucmax.algorithms.reduction:LimitedPCA",
        "LimitedProjection": "aucmax.algorithms.reduction:LimitedProjection",
        "LimitedSVD": "aucmax.algorithms.reduction:LimitedSVD",
        "LimitedSelection": "aucmax.algorithms.reduction:LimitedSelection",
        "PCA": "sklearn.decomposition:PCA",
        "CheckedPipeline": "aucmax.algorithms.checked_pipeline:CheckedPipeline",
        "Pipeline": "sklearn.pipeline:Pipeline",
        "SelectKBest": "sklearn.feature_selection:SelectKBest",
        "StandardScaler": "sklearn.preprocessing:StandardScaler",
        "TruncatedSVD": "sklearn.decomposition:TruncatedSVD",
    },
    "named_tuple": {
        "CBRDiagonalState": "aucmax.algorithms.cbr:DiagonalState",
        "CBRFullState": "aucmax.algorithms.cbr:FullState",
        "FSAUCStage": "aucmax.algorithms.fsauc:Stage",
        "OAMState": "aucmax.algorithms.oam:OAMState",
        "OPAUCCovarianceState": "aucmax.algorithms.opauc:CovarianceState",
        "OPAUCSketchState": "aucmax.algorithms.opauc:SketchState",
        "PairState": "aucmax.stochastic.pair_sampling:PairState",
        "PrimalDualState": "aucmax.algorithms.spdam:PrimalDualState",
        "SPAMState": "aucmax.algorithms.spam:SPAMState",
        "SaddleState": "aucmax.algorithms.solam:SaddleState",
        "ThresholdState": "aucmax.stochastic.hard_thresholding:ThresholdState",
        "UnivariateState": "aucmax.algorithms.univariate:UnivariateState",
        "AveragedWeights": "aucmax.stochastic.averaged_weights:AveragedWeights",
        "ClassBuffers": "aucmax.stochastic.row_buffers:ClassBuffers",
        "Scaling": "aucmax.stochastic.sample:Scaling",
        "Stream": "aucmax.stochastic.epochs:Stream",
        "TableReading": "aucmax.tables.reading:Reading",
        "TableColumn": "aucmax.tables.kinds:Column",
        "TableColumnPart": "aucmax.tables.kinds:Part",
        "Column": "aucmax.additive.bins:Column",
        "Term": "aucmax.additive.terms:Term",
        # In checkpoints only.
        "AUCBins": "aucmax.data.held_out:AUCBins",
        "ScoreHistory": "aucmax.stochastic.score_history:ScoreHistory",
        "ScoreMoments": "aucmax.data.scores:ScoreMoments",
        "BoxMoments": "aucmax.losses.chebyshev_sums:BoxMoments",
        "ExponentialSums": "aucmax.losses.pairwise:ExponentialSums",
    },
    "moments": {"ClassMoments": "aucmax.data.moments:ClassMoments"},
    "partial": {"random_scores": "aucmax.algorithms.pipelines:_random_scores"},
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
