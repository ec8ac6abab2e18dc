"""Linear classifiers that maximise the area under the ROC curve.

Names are loaded when they are first used: importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

_HOME = {
    "AUCClassifier": "classifier",
    "ClassMoments": "moments",
    "PathCV": "model_selection",
    "cross_validate_path": "model_selection",
    "AUCComparison": "metrics",
    "AUCInterval": "metrics",
    "compare_auc": "metrics",
    "roc_auc": "metrics",
    "roc_auc_ci": "metrics",
}

_SUBMODULES = ("metrics", "model_selection")

__all__ = [*sorted(_HOME), "__version__"]

if TYPE_CHECKING:
    from .classifier import AUCClassifier as AUCClassifier
    from .metrics import AUCComparison as AUCComparison
    from .metrics import AUCInterval as AUCInterval
    from .metrics import compare_auc as compare_auc
    from .metrics import roc_auc as roc_auc
    from .metrics import roc_auc_ci as roc_auc_ci
    from .model_selection import PathCV as PathCV
    from .model_selection import cross_validate_path as cross_validate_path
    from .moments import ClassMoments as ClassMoments


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
