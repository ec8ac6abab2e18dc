"""Linear classifiers that maximise the area under the ROC curve.

Names are loaded when they are first used: importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from .algorithms import ALGORITHMS

__version__ = "0.1.0"

_HOME = {
    "AUCClassifier": "classifier",
    "AdditiveAUCClassifier": "additive.classifier",
    "BlendDisplay": "report.blend_displays",
    "CandidatesDisplay": "report.blend_displays",
    "ClassMoments": "data.moments",
    "CurvesDisplay": "report.curves_display",
    "ImportanceDisplay": "report.importance_display",
    "KMeansNystroem": "nystroem",
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
    "pairwise_loss": "losses.evaluation",
    "roc_auc": "metrics",
    "roc_auc_ci": "metrics",
    "support_f1": "metrics",
    "support_jaccard": "metrics",
    **{name: method.module.removeprefix("aucmax.") for name, method in ALGORITHMS.items() if method.maker == name},
}

_SUBMODULES = (
    "algorithms",
    "compare",
    "data",
    "datasets",
    "files",
    "losses",
    "metrics",
    "report",
    "selection",
)

__all__ = [*sorted(_HOME), "__version__"]

if TYPE_CHECKING:
    from .additive.classifier import AdditiveAUCClassifier as AdditiveAUCClassifier
    from .additive.scorecard import Scorecard as Scorecard
    from .algorithms.asam import ASAM as ASAM
    from .algorithms.cbr import CBR as CBR
    from .algorithms.fsauc import FSAUC as FSAUC
    from .algorithms.gaussian import GaussianAUC as GaussianAUC
    from .algorithms.gaussian import GaussianError as GaussianError
    from .algorithms.hsght import HSGHT as HSGHT
    from .algorithms.kernel_pipelines import NASAM as NASAM
    from .algorithms.kernel_pipelines import NBAM as NBAM
    from .algorithms.kernel_pipelines import NPSAM as NPSAM
    from .algorithms.kernel_pipelines import NSOLAM as NSOLAM
    from .algorithms.oam import OAM as OAM
    from .algorithms.opauc import OPAUC as OPAUC
    from .algorithms.pairwise_descent import PairwiseDescent as PairwiseDescent
    from .algorithms.pipelines import OPAUCf as OPAUCf
    from .algorithms.pipelines import OPAUCpca as OPAUCpca
    from .algorithms.pipelines import OPAUCrp as OPAUCrp
    from .algorithms.psam import PSAM as PSAM
    from .algorithms.ranksvm import BAM as BAM
    from .algorithms.ranksvm import SVMOR as SVMOR
    from .algorithms.ranksvm import SVMPerf as SVMPerf
    from .algorithms.sht import SHTAUC as SHTAUC
    from .algorithms.solam import SOLAM as SOLAM
    from .algorithms.solam import RegSOLAM as RegSOLAM
    from .algorithms.spam import SPAM as SPAM
    from .algorithms.spdam import SPDAM as SPDAM
    from .algorithms.stoiht import StoIHT as StoIHT
    from .algorithms.univariate import UniExp as UniExp
    from .algorithms.univariate import UniLog as UniLog
    from .algorithms.univariate import UniSqu as UniSqu
    from .classifier import AUCClassifier as AUCClassifier
    from .data.moments import ClassMoments as ClassMoments
    from .file_rows import open_rows as open_rows
    from .losses.evaluation import pairwise_loss as pairwise_loss
    from .metrics import AUCComparison as AUCComparison
    from .metrics import AUCInterval as AUCInterval
    from .metrics import compare_auc as compare_auc
    from .metrics import roc_auc as roc_auc
    from .metrics import roc_auc_ci as roc_auc_ci
    from .metrics import support_f1 as support_f1
    from .metrics import support_jaccard as support_jaccard
    from .models.model_file import load_model as load_model
    from .models.model_file import save_model as save_model
    from .nystroem import KMeansNystroem as KMeansNystroem
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
