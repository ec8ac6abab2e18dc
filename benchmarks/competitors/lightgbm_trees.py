"""LightGBM with trees. It has no linear booster: its `linear_tree` is a tree with linear leaves."""

from typing import Any

from competitors import Competitor, grid


def make(seed: int, n_features: int, **parameters: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=100, n_jobs=1, random_state=seed, verbose=-1, **parameters)


COMPETITOR = Competitor(
    "LightGBM trees",
    make,
    grid(num_leaves=[7, 31, 127], learning_rate=[0.1, 0.3]),
    family="trees",
    requires=("lightgbm",),
    standardize=False,
    note="100 trees; LightGBM has no linear booster",
)
