"""Correct optimistic held-out AUCs: something that all models share was found on all rows."""

from __future__ import annotations

from typing import Any

import numpy as np


def subtract_optimism(model: Any, optimism: float) -> None:
    """Lower all held-out AUCs of a fitted classifier: in `cv_results_`, `blend_`, `cv_auc_` and its interval."""
    names = [name for name in model.cv_results_ if name.endswith("test_score") and name[:3] not in ("std", "ran")]
    model.cv_results_ = model.cv_results_ | {name: model.cv_results_[name] - optimism for name in names}
    if hasattr(model, "blend_"):
        model.blend_ = model.blend_ | {"auc": model.blend_["auc"] - optimism}
    model.cv_auc_, model.cv_auc_ci_ = model.cv_auc_ - optimism, np.maximum(model.cv_auc_ci_ - optimism, 0.0)
