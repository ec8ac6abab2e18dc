"""What the file of each estimator may hold: the names, types, shapes and values of its attributes.

Every model is checked before it is written and before it is returned from a file. So a file with a right digest that
somebody made by hand cannot bring weights that are not finite, arrays of other shapes, or attributes that no fit sets.
Parameters are checked by scikit-learn's own rules (`_parameter_constraints`). The states of stochastic algorithms,
which compiled loops index, have the types and shapes of the state that the algorithm starts from: `check_state` of
the algorithm compares them.

Letters stand for sizes: d columns, m members of a blend, c candidates, k components.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .additive_schemas import ADDITIVE, check_additive
from .checks import Check, Sizes, array, either, fields, instance, is_of_kind, items, number, refuse, size
from .names import name_of
from .table_schemas import TABLE_ENCODER, check_names

count = number(int, low=0)
real = number(float)
measured = number(float, finite=False)
plain = either(number(int, float, finite=False), instance(bool, str, type(None)))
absent = instance(type(None))


def anything(value: Any, where: str, sizes: Sizes) -> None:
    """Check nothing."""


LABELS = "bifeUOM"  # the kinds of arrays that hold labels


def classes(value: Any, where: str, sizes: Sizes) -> None:
    """Check two different labels."""
    if not isinstance(value, np.ndarray) or not is_of_kind(value, LABELS):
        refuse(where, value, "an array of two numbers, truth values, texts or dates")
    array(LABELS, 2)(value, where, sizes)
    if value.dtype.kind == "M" and np.isnat(value).any():
        raise ValueError(f"{where} holds a date that is missing")
    if value.dtype.kind == "M" and np.datetime_data(value.dtype)[0] == "generic":
        raise ValueError(f"{where} holds dates without a unit")
    if value[0] == value[1]:
        raise ValueError(f"{where} holds the same label twice")


def check_moments(value: Any, where: str, sizes: Sizes) -> None:
    """Check class moments."""
    if name_of(type(value), "moments") is None:
        raise ValueError(f"{where} is no class moments")
    attributes = value.__getstate__()
    fields(
        {
            "classes": classes,
            "mean": array("f", 2, "d"),
            "weight": array("f", 2),
            "scatter": array("f", 2, "d", "d"),
        },
        required=("classes", "mean", "weight", "scatter"),
    )(attributes, where, sizes)
    if (attributes["weight"] < 0).any() or (np.diagonal(attributes["scatter"], axis1=1, axis2=2) < 0).any():
        raise ValueError(f"{where} holds negative weights or variances")


FIRST: dict[str, Check] = {"n_features_in_": count, "feature_names_in_": array("O", "d")}
CLASSIFIER = FIRST | {
    "classes_": classes,
    "coef_": array("f", 1, "d"),
    "intercept_": array("f", 1),
    "calibration_": array("f", 2),
    "n_iter_": count,
}
STREAM = fields(
    {
        "scaling": fields({"shift": array("d", "d"), "unit": array("d", "d")}, required=("shift", "unit")),
        "rng": instance(np.random.RandomState),
        "carry": real,
        "moments": array("d", 2, 3, 2),
    },
    required=("scaling", "rng", "carry", "moments"),
)
CROSS_VALIDATED = {
    "alphas_": array("f", None),
    "alpha_": real,
    "cv_results_": fields(
        {
            "params": items(fields({}, others=plain), "c"),
            "param_alpha": array("f", "c"),
            "mean_test_score": array("f", "c", finite=False),
            "std_test_score": array("f", "c", finite=False),
            "rank_test_score": array("i", "c"),
        },
        required=("params", "param_alpha", "mean_test_score", "std_test_score", "rank_test_score"),
        others=array("fbiU", "c", finite=False),
    ),
}


def blended(n_weights: str) -> dict[str, Check]:
    """Return the checks of what a blend of losses sets; each member has a number of weights that is this size."""
    members = {name: array("f", "m") for name in ("share", "spread", "alpha", "auc")}
    members |= {"loss": array("U", "m"), "standardize": array("b", "m"), "coef": array("f", "m", n_weights)}
    return CROSS_VALIDATED | {
        "blend_": fields(members, required=tuple(members)),
        "blend_auc_": real,
        "loss_": instance(str),
        "dual_gap_": measured,
    }


AUC_CLASSIFIER = CLASSIFIER | blended("d") | {"moments_": check_moments, "n_nonzero_": count}
COMPONENTS = FIRST | {"components_": array("f", "k", "d"), "n_components_": size("k"), "_n_features_out": size("k")}
SPECTRUM = {name: array("f", "k") for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_")}
SELECTION = FIRST | {"scores_": array("f", "d"), "pvalues_": either(absent, array("f", "d"))}
PCA = (
    COMPONENTS
    | SPECTRUM
    | {
        "mean_": array("f", "d"),
        "noise_variance_": real,
        "n_samples_": count,
        "_fit_svd_solver": instance(str),
    }
)
COLUMN = either(absent, array("f", "d"))
SCALER = FIRST | {
    "mean_": COLUMN,
    "var_": COLUMN,
    "scale_": COLUMN,
    "n_samples_seen_": either(number(int, float, low=0), array("i", "d")),
}

# What a published algorithm sets beside CLASSIFIER; its class has a tuple `_in_file` of these names.
ALGORITHM: dict[str, Check] = CROSS_VALIDATED | {
    "convergence_": array("f", None, finite=False),
    "_stream": STREAM,
    "state_": anything,  # compared by `_check_state` of the algorithm
    "dual_gap_": measured,
    "moments_": check_moments,
    "priors_": array("f", 2),
    "shrinkage_": array("f", 2),
    "expected_auc_": real,
    "expected_error_": real,
}

SCHEMAS: dict[str, dict[str, Check]] = {
    "AUCClassifier": AUC_CLASSIFIER,
    "AdditiveAUCClassifier": CLASSIFIER | ADDITIVE | blended("K") | {"optimism_": number(float, low=0)},
    "TableEncoder": TABLE_ENCODER,
    "KMeansNystroem": FIRST
    | {"gamma_": number(float, low=0), "components_": array("f", "k", "d"), "normalization_": array("f", "k", None)},
    **dict.fromkeys(("PCA", "LimitedPCA"), PCA),
    **dict.fromkeys(("TruncatedSVD", "LimitedSVD"), COMPONENTS | SPECTRUM),
    **dict.fromkeys(("GaussianRandomProjection", "LimitedProjection"), COMPONENTS),
    **dict.fromkeys(("SelectKBest", "LimitedSelection"), SELECTION),
    **dict.fromkeys(("StandardScaler", "ColumnScaler"), SCALER),
    "Pipeline": {},
}
# What predictions need; a stream of one class has none of these yet.
TOGETHER = ("coef_", "intercept_", "calibration_", "classes_", "n_features_in_")
# What must be there with an attribute: code that uses the one uses the others.
COMPLETED_BY = {
    "state_": ("_stream", "n_iter_"),
    "blend_": ("blend_auc_", "cv_results_"),
    "cv_results_": ("alphas_", "loss_"),
}
# What transformers and additive models need.
NEEDED = {
    "AdditiveAUCClassifier": (*TOGETHER, *ADDITIVE),
    "TableEncoder": ("reading_", "categorical_features_"),
    "KMeansNystroem": ("gamma_", "components_", "normalization_"),
    **dict.fromkeys(("PCA", "LimitedPCA"), ("components_", "mean_", "explained_variance_")),
    **dict.fromkeys(("TruncatedSVD", "LimitedSVD", "GaussianRandomProjection", "LimitedProjection"), ("components_",)),
    **dict.fromkeys(("SelectKBest", "LimitedSelection"), ("scores_",)),
    **dict.fromkeys(("StandardScaler", "ColumnScaler"), ("mean_", "scale_")),
}


def check_estimator(estimator: Any, attributes: dict[str, Any]) -> None:
    """Raise a ValueError if an estimator has parameters or attributes that no fit of it sets.

    Parameters
    ----------
    estimator : estimator
        One with a name in the table of `names`, with its parameters; the steps of a pipeline were checked before.
    attributes : dict
        Its fitted attributes, which it need not have yet.

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
    schema = schema_of(estimator)
    sizes: Sizes = {}
    if "n_features_in_" in attributes:
        count(attributes["n_features_in_"], f"n_features_in_ of {name}", sizes)
        sizes["d"] = int(attributes["n_features_in_"])
    required: tuple[str, ...] = TOGETHER if attributes.keys() & {"coef_", "state_"} else ()
    if attributes and name in NEEDED:
        required = ("n_features_in_", *NEEDED[name])
    fields(schema, required)(attributes, name, sizes)
    needed = [other for first, others in COMPLETED_BY.items() if first in attributes for other in others]
    needed += ["alpha_"] if attributes.get("loss_", "blend") != "blend" else []  # members of a blend have their own
    fields({}, tuple(needed), others=anything)(attributes, name, sizes)
    if "state_" in attributes:
        estimator._check_state(attributes["state_"], sizes["d"])
    if "terms_" in attributes:
        check_additive(attributes, name)
    if "reading_" in attributes:
        check_names(attributes, name)


def schema_of(estimator: Any) -> dict[str, Check]:
    """Return the checks of the attributes of an estimator, by their names."""
    if hasattr(estimator, "_in_file"):
        return CLASSIFIER | {name: ALGORITHM[name] for name in estimator._in_file}
    return SCHEMAS[name_of(type(estimator), "estimator") or type(estimator).__name__]


def check_dicts(estimator: Any) -> None:
    """Raise a ValueError if a parameter is a dict, which scikit-learn takes for an array, unless of signs by column."""
    for name, value in estimator.get_params(deep=False).items():
        if type(value) is dict:
            where = f"{name} of {type(estimator).__name__}"
            if dict not in estimator._parameter_constraints.get(name, ()):
                raise ValueError(f"{where} is a dict")
            fields({}, others=number(int, low=-1))(value, where, {})


def check_steps(steps: Any) -> None:
    """Raise a ValueError if the steps of a pipeline are no list of names and transformers, an estimator at its end."""
    is_list = type(steps) is list and bool(steps) and all(type(step) is tuple and len(step) == 2 for step in steps)
    if not is_list or not all(type(name) is str for name, _ in steps):
        raise ValueError("the steps of a pipeline are no list of names and estimators")
    for _, step in steps:
        if step is not None and step != "passthrough" and name_of(type(step), "estimator") is None:
            raise ValueError(f"a step of a pipeline is {type(step).__name__}, which is no estimator")
    for _, step in steps[:-1]:
        if step is not None and step != "passthrough" and not hasattr(step, "transform"):
            raise ValueError(f"a step of a pipeline is {type(step).__name__}, which transforms no rows for the next")
