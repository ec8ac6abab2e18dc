"""Every model is checked before it is written and before it is returned from a file.

So a file with a right digest that somebody made by hand cannot bring weights that are not finite, arrays of other
shapes, or attributes that no fit sets. Parameters are checked by scikit-learn's own rules (`_parameter_constraints`),
attributes by the schema of the estimator (see `checks`), of which the table here has scikit-learn's.
"""

from __future__ import annotations

from typing import Any

from .checks import (
    FEATURES,
    TOGETHER,
    Check,
    Sizes,
    absent,
    anything,
    array,
    count,
    either,
    fields,
    instance,
    items,
    number,
    real,
    size,
)
from .names import name_of

COMPONENTS = FEATURES | {"components_": array("f", "k", "d"), "n_components_": size("k"), "_n_features_out": size("k")}
SPECTRUM = {name: array("f", "k") for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_")}
PCA = {"mean_": array("f", "d"), "noise_variance_": real, "n_samples_": count, "_fit_svd_solver": instance(str)}
COLUMN = either(absent, array("f", "d"))
SCALER = {"n_samples_seen_": either(number(int, float, low=0), array("i", "d"))}
# scikit-learn's estimators, of which ours inherit: the checks of their attributes, and what any fit sets.
SCHEMAS: dict[str, tuple[dict[str, Check], tuple[str, ...]]] = {
    "PCA": (COMPONENTS | SPECTRUM | PCA, ("components_", "mean_", "explained_variance_")),
    "TruncatedSVD": (COMPONENTS | SPECTRUM, ("components_",)),
    "GaussianRandomProjection": (COMPONENTS, ("components_",)),
    "SelectKBest": (FEATURES | {"scores_": array("f", "d"), "pvalues_": COLUMN}, ("scores_",)),
    "StandardScaler": (FEATURES | dict.fromkeys(("mean_", "var_", "scale_"), COLUMN) | SCALER, ("mean_", "scale_")),
    "Pipeline": ({}, ()),
}
# What must be there with an attribute: code that uses the one uses the others.
COMPLETED_BY = {
    "state_": ("_stream", "n_iter_"),
    "blend_": ("cv_results_", "cv_auc_"),
    "cv_results_": ("alphas_", "loss_"),
    "cv_auc_": ("cv_auc_ci_",),
}


def check_estimator(estimator: Any, attributes: dict[str, Any]) -> None:
    """Raise a ValueError if an estimator has parameters or attributes that no fit of it sets.

    The estimator has its parameters, but need not have the fitted attributes yet; the steps of a pipeline were checked
    before.

    Examples
    --------
    >>> from aucmax import AUCClassifier
    >>> from aucmax.models.schemas import check_estimator
    >>> clf = AUCClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> check_estimator(clf, {"n_features_in_": 1, "n_iter_": "none"})
    Traceback (most recent call last):
    ...
    ValueError: n_iter_ of AUCClassifier is 'none', where a finite number of at least 0 is expected
    """
    name = type(estimator).__name__
    estimator._validate_params()
    check_dicts(estimator)
    if hasattr(estimator, "steps"):
        check_steps(estimator.steps)
    schema, needed = schema_of(type(estimator))
    sizes: Sizes = {}
    if "n_features_in_" in attributes:
        count(attributes["n_features_in_"], f"n_features_in_ of {name}", sizes)
        sizes["d"] = int(attributes["n_features_in_"])
    required: tuple[str, ...] = TOGETHER if attributes.keys() & {"coef_", "state_"} else ()
    if attributes and needed:
        required = ("n_features_in_", *needed)
    fields(schema, required)(attributes, name, sizes)
    others = [other for first, completing in COMPLETED_BY.items() if first in attributes for other in completing]
    others += ["alpha_"] if attributes.get("loss_", "blend") != "blend" else []  # members of a blend have their own
    fields({}, tuple(others), others=anything)(attributes, name, sizes)
    if attributes and hasattr(estimator, "_check_file"):
        estimator._check_file(attributes, sizes)


def schema_of(kind: Any) -> tuple[dict[str, Check], tuple[str, ...]]:
    """Return the checks of the attributes of a class of estimators by their names, and those that any fit sets."""
    if hasattr(kind, "_file_schema"):
        return kind._file_schema, getattr(kind, "_file_requires", ())
    return next(SCHEMAS[base.__name__] for base in kind.__mro__ if base.__name__ in SCHEMAS)


def check_dicts(estimator: Any) -> None:
    """Raise a ValueError if a parameter is a dict, which scikit-learn takes for an array, unless of columns."""
    for name, value in estimator.get_params(deep=False).items():
        if type(value) is dict:
            where = f"{name} of {type(estimator).__name__}"
            if dict not in estimator._parameter_constraints.get(name, ()):
                raise ValueError(f"{where} is a dict")
            cut = either(instance(str), number(int, float))  # days are text
            of_column = either(array("fi", None), items(cut)) if name == "cuts" else number(int, low=-1)
            fields({}, others=of_column)(value, where, {})


def check_steps(steps: Any) -> None:
    """Raise a ValueError if the steps of a pipeline are no list of names and transformers, an estimator at its end."""
    is_list = type(steps) is list and bool(steps) and all(type(step) is tuple and len(step) == 2 for step in steps)
    if not is_list or not all(type(name) is str for name, _ in steps):
        raise ValueError("the steps of a pipeline are no list of names and estimators")
    for _, step in steps:
        if step is not None and step != "passthrough" and name_of(type(step), "estimator") is None:
            raise ValueError(f"a step of a pipeline is {type(step).__name__}, which is not an estimator")
    for _, step in steps[:-1]:
        if step is not None and step != "passthrough" and not hasattr(step, "transform"):
            raise ValueError(f"a step of a pipeline is {type(step).__name__}, which transforms no rows for the next")
