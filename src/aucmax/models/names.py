"""The names of classes and functions in model files and checkpoints, and where each of them lives.

A file holds the names on the left, and their places on the right, ``module:attribute``, may change. The published
algorithms, their states and the steps of their pipelines come from their registry. Reading a file imports these modules
and no others.
"""

import importlib
import sys
from typing import Any

from .. import _HOME
from ..papers.registry import ALGORITHMS

# By tag, as `encoding` explains them; a name is used once.
NAMES = {
    "estimator": {
        "GaussianRandomProjection": "sklearn.random_projection:GaussianRandomProjection",
        "PCA": "sklearn.decomposition:PCA",
        "Pipeline": "sklearn.pipeline:Pipeline",
        "SelectKBest": "sklearn.feature_selection:SelectKBest",
        "StandardScaler": "sklearn.preprocessing:StandardScaler",
        "StreamPipeline": "aucmax.papers.engine.stream_pipeline:StreamPipeline",
        "TruncatedSVD": "sklearn.decomposition:TruncatedSVD",
    },
    "named_tuple": {
        "AveragedWeights": "aucmax.papers.engine.averages:AveragedWeights",
        "ClassBuffers": "aucmax.papers.engine.buffers:ClassBuffers",
        "Scaling": "aucmax.papers.engine.sample:Scaling",
        "Stream": "aucmax.papers.engine.epochs:Stream",
        "TableReading": "aucmax.tables.reading.table:Reading",
        "TableColumn": "aucmax.tables.reading.kinds:Column",
        "TableColumnPart": "aucmax.tables.reading.kinds:Part",
        "Column": "aucmax.tables.bins:Column",
        "Term": "aucmax.tables.terms:Term",
        "Steps": "aucmax.tables.fitting.merging:Steps",
        # In checkpoints only.
        "ScoreHistory": "aucmax.papers.engine.epochs:ScoreHistory",
        "ScoreMoments": "aucmax.rows.summaries.scores:ScoreMoments",
        "BoxMoments": "aucmax.losses.chebyshev_sums:BoxMoments",
        "ExponentialSums": "aucmax.losses.pairwise:ExponentialSums",
    },
    "moments": {"ClassMoments": "aucmax.rows.summaries.moments:ClassMoments"},
    "partial": {"random_scores": "aucmax.papers.opauc_pipelines:_random_scores"},
    "csr": {"csr_array": "scipy.sparse:csr_array", "csr_matrix": "scipy.sparse:csr_matrix"},
}

for _name in ("AUCClassifier", "TableClassifier", "KMeansNystroem", "TableEncoder"):
    NAMES["estimator"][_name] = f"aucmax.{_HOME[_name]}:{_name}"
for _method in ALGORITHMS.values():  # a class, or a function that makes a pipeline of these steps
    NAMES["estimator"] |= {name: f"{_method.module}:{name}" for name in _method.steps or (_method.maker,)}
    NAMES["named_tuple"] |= {name: f"{_method.module}:{name}" for name in _method.states}


def name_of(thing: Any, tag: str) -> str | None:
    """Return the name that a class or function has under a tag, or None where it has none; nothing is imported.

    A class or function that somebody holds has been imported, so its place is among the loaded modules.
    """
    for name, place in NAMES[tag].items():
        module, _, attribute = place.partition(":")
        if getattr(sys.modules.get(module), attribute, None) is thing:
            return name
    return None


def find(name: str, tag: str) -> Any:
    """Return the class or function that has a name under a tag; its module is imported."""
    if name not in NAMES[tag]:
        raise ValueError(f"{name!r} is unknown")
    module, _, attribute = NAMES[tag][name].partition(":")
    return getattr(importlib.import_module(module), attribute)
