"""Linear classifiers that maximise the area under the ROC curve.

Names are loaded when they are first used: importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from .papers import ALGORITHMS

__version__ = "0.1.0"

_HOME = {
    "AUCClassifier": "classifier",
    "TableClassifier": "tables.classifier",
    "BlendDisplay": "report.displays.blend",
    "CandidatesDisplay": "report.displays.blend",
    "ClassMoments": "rows.summaries.moments",
    "CurvesDisplay": "report.displays.curves",
    "ImportanceDisplay": "report.displays.importance",
    "KMeansNystroem": "papers.nystroem",
    "TableEncoder": "tables.encoder",
    "PathDisplay": "report.displays.path",
    "ROCDisplay": "report.displays.roc",
    "ScoresDisplay": "report.displays.scores",
    "WeightsDisplay": "report.displays.weights",
    "PathCV": "search.path_cv",
    "ProgressBar": "_compat",
    "Scorecard": "tables.scorecard",
    "adjust_base_rate": "search.calibration",
    "cross_validate_path": "search.path_cv",
    "Contributions": "models.contributions",
    "contributions": "models.contributions",
    "export_python": "models.python_source",
    "export_sql": "models.sql",
    "load_model": "models.model_file",
    "ColumnDrift": "monitoring.drift",
    "Drift": "monitoring.drift",
    "Period": "monitoring.drift",
    "Stability": "monitoring.stability",
    "monitor": "monitoring.watch",
    "population_stability": "monitoring.reference",
    "open_rows": "rows.file",
    "save_model": "models.model_file",
    "AUCComparison": "metrics",
    "AUCInterval": "metrics",
    "compare_auc": "metrics",
    "pairwise_loss": "losses.evaluation",
    "roc_auc": "metrics",
    "roc_auc_ci": "metrics",
    "support_f1": "metrics",
    "support_jaccard": "metrics",
    "write_report": "report.model_report",
    **{name: method.module.removeprefix("aucmax.") for name, method in ALGORITHMS.items() if method.maker == name},
}

_SUBMODULES = ("compare", "datasets", "files", "losses", "metrics", "papers", "report", "rows", "search")

__all__ = [*sorted(_HOME), "__version__"]

if TYPE_CHECKING:
    from ._compat import ProgressBar as ProgressBar
    from .classifier import AUCClassifier as AUCClassifier
    from .losses.evaluation import pairwise_loss as pairwise_loss
    from .metrics import AUCComparison as AUCComparison
    from .metrics import AUCInterval as AUCInterval
    from .metrics import compare_auc as compare_auc
    from .metrics import roc_auc as roc_auc
    from .metrics import roc_auc_ci as roc_auc_ci
    from .metrics import support_f1 as support_f1
    from .metrics import support_jaccard as support_jaccard
    from .models.contributions import Contributions as Contributions
    from .models.contributions import contributions as contributions
    from .models.model_file import load_model as load_model
    from .models.model_file import save_model as save_model
    from .models.python_source import export_python as export_python
    from .models.sql import export_sql as export_sql
    from .monitoring.drift import ColumnDrift as ColumnDrift
    from .monitoring.drift import Drift as Drift
    from .monitoring.drift import Period as Period
    from .monitoring.reference import population_stability as population_stability
    from .monitoring.stability import Stability as Stability
    from .monitoring.watch import monitor as monitor
    from .papers.nystroem import KMeansNystroem as KMeansNystroem
    from .report.displays.blend import BlendDisplay as BlendDisplay
    from .report.displays.blend import CandidatesDisplay as CandidatesDisplay
    from .report.displays.curves import CurvesDisplay as CurvesDisplay
    from .report.displays.importance import ImportanceDisplay as ImportanceDisplay
    from .report.displays.path import PathDisplay as PathDisplay
    from .report.displays.roc import ROCDisplay as ROCDisplay
    from .report.displays.scores import ScoresDisplay as ScoresDisplay
    from .report.displays.weights import WeightsDisplay as WeightsDisplay
    from .report.model_report import write_report as write_report
    from .rows.file import open_rows as open_rows
    from .rows.summaries.moments import ClassMoments as ClassMoments
    from .search.calibration import adjust_base_rate as adjust_base_rate
    from .search.path_cv import PathCV as PathCV
    from .search.path_cv import cross_validate_path as cross_validate_path
    from .tables.classifier import TableClassifier as TableClassifier
    from .tables.encoder import TableEncoder as TableEncoder
    from .tables.scorecard import Scorecard as Scorecard


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
