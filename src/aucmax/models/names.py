"""The names of classes and functions in model files and checkpoints, and where each of them lives.

A file holds the names on the left, and their places on the right, ``module:attribute``, may change. The published
algorithms and their states come from their registry. Reading a file imports these modules and no others.
"""

import importlib
import sys
from typing import Any

from ..papers.registry import ALGORITHMS

# By tag, as `encoding` explains them; a name is used once.
NAMES = {
    "estimator": {
        "AUCClassifier": "aucmax.classifier:AUCClassifier",
        "AdditiveAUCClassifier": "aucmax.additive.classifier:AdditiveAUCClassifier",
        "KMeansNystroem": "aucmax.papers.nystroem:KMeansNystroem",
        "TableEncoder": "aucmax.tables.encoder:TableEncoder",
        "GaussianRandomProjection": "sklearn.random_projection:GaussianRandomProjection",
        "ColumnScaler": "aucmax.papers.kernel_pipelines:ColumnScaler",
        "LimitedPCA": "aucmax.papers.opauc_pipelines:LimitedPCA",
        "LimitedProjection": "aucmax.papers.opauc_pipelines:LimitedProjection",
        "LimitedSVD": "aucmax.papers.opauc_pipelines:LimitedSVD",
        "LimitedSelection": "aucmax.papers.opauc_pipelines:LimitedSelection",
        "PCA": "sklearn.decomposition:PCA",
        "Pipeline": "sklearn.pipeline:Pipeline",
        "SelectKBest": "sklearn.feature_selection:SelectKBest",
        "StandardScaler": "sklearn.preprocessing:StandardScaler",
        "TruncatedSVD": "sklearn.decomposition:TruncatedSVD",
    },
    "named_tuple": {
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
        "AUCBins": "aucmax.rows.blocks.held_out:AUCBins",
        "ScoreHistory": "aucmax.papers.engine.epochs:ScoreHistory",
        "ScoreMoments": "aucmax.rows.summaries.scores:ScoreMoments",
        "BoxMoments": "aucmax.losses.chebyshev_sums:BoxMoments",
        "ExponentialSums": "aucmax.losses.pairwise:ExponentialSums",
    },
    "moments": {"ClassMoments": "aucmax.rows.summaries.moments:ClassMoments"},
    "partial": {"random_scores": "aucmax.papers.opauc_pipelines:_random_scores"},
    "csr": {
        "csr_array": "scipy.sparse:csr_array",
        "csr_matrix": "scipy.sparse:csr_matrix",
    },
}

for _method in ALGORITHMS.values():
    if not _method.module.endswith("_pipelines"):  # functions, which make pipelines of what is listed above
        NAMES["estimator"][_method.maker] = f"{_method.module}:{_method.maker}"
    NAMES["named_tuple"] |= {state: f"{_method.module}:{state}" for state in _method.states}


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
