"""Linear classifiers that maximise the area under the ROC curve.

Names are loaded when they are first used: importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from .papers import ALGORITHMS

__version__ = "0.1.0"

_HOME = {
    "AUCClassifier": "classifier",
    "AdditiveAUCClassifier": "additive.classifier",
    "BlendDisplay": "report.blend_displays",
    "CandidatesDisplay": "report.blend_displays",
    "ClassMoments": "data.moments",
    "CurvesDisplay": "report.curves_display",
    "ImportanceDisplay": "report.importance_display",
    "KMeansNystroem": "papers.nystroem",
    "TableEncoder": "table_encoder",
    "PathDisplay": "report.path_display",
    "ROCDisplay": "report.roc_display",
    "ScoresDisplay": "report.scores_display",
    "WeightsDisplay": "report.weights_display",
    "PathCV": "selection.cross_validation",
    "ProgressBar": "sklearn_releases",
    "Scorecard": "additive.scorecard",
    "cross_validate_path": "selection.cross_validation",
    "load_model": "models.model_file",
    "open_rows": "file_rows",
    "save_model": "models.model_file",
    "AUCComparison": "metrics",
    "AUCInterval": "metrics",
    "compare_auc": "metrics",
    "pairwise_loss": "losses.pairwise",
    "roc_auc": "metrics",
    "roc_auc_ci": "metrics",
    "support_f1": "metrics",
    "support_jaccard": "metrics",
    **{name: method.module.removeprefix("aucmax.") for name, method in ALGORITHMS.items() if method.maker == name},
}

_SUBMODULES = (
    "compare",
    "data",
    "datasets",
    "files",
    "losses",
    "metrics",
    "papers",
    "report",
    "selection",
)

__all__ = [*sorted(_HOME), "__version__"]

if TYPE_CHECKING:  # the published algorithms are Any to type checkers: one line in their registry is enough
    from .additive.classifier import AdditiveAUCClassifier as AdditiveAUCClassifier
    from .additive.scorecard import Scorecard as Scorecard
    from .classifier import AUCClassifier as AUCClassifier
    from .data.moments import ClassMoments as ClassMoments
    from .file_rows import open_rows as open_rows
    from .losses.pairwise import pairwise_loss as pairwise_loss
    from .metrics import AUCComparison as AUCComparison
    from .metrics import AUCInterval as AUCInterval
    from .metrics import compare_auc as compare_auc
    from .metrics import roc_auc as roc_auc
    from .metrics import roc_auc_ci as roc_auc_ci
    from .metrics import support_f1 as support_f1
    from .metrics import support_jaccard as support_jaccard
    from .models.model_file import load_model as load_model
    from .models.model_file import save_model as save_model
    from .papers.nystroem import KMeansNystroem as KMeansNystroem
    from .report.blend_displays import BlendDisplay as BlendDisplay
    from .report.blend_displays import CandidatesDisplay as CandidatesDisplay
    from .report.curves_display import CurvesDisplay as CurvesDisplay
    from .report.importance_display import ImportanceDisplay as ImportanceDisplay
    from .report.path_display import PathDisplay as PathDisplay
    from .report.roc_display import ROCDisplay as ROCDisplay
    from .report.scores_display import ScoresDisplay as ScoresDisplay
    from .report.weights_display import WeightsDisplay as WeightsDisplay
    from .selection.cross_validation import PathCV as PathCV
    from .selection.cross_validation import cross_validate_path as cross_validate_path
    from .sklearn_releases import ProgressBar as ProgressBar
    from .table_encoder import TableEncoder as TableEncoder


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
