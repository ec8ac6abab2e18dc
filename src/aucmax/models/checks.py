"""Schemas of model files: every model is checked before it is written and before it is returned from a file.

So a file with a right digest that somebody made by hand cannot bring weights that are not finite, arrays of other
shapes, or attributes that no fit sets. Parameters are checked by scikit-learn's own rules (`_parameter_constraints`).

A check is a function of a value, of the words that name it in an error, and of the sizes that are known so far. It
raises a ValueError that says what was found and what is expected. A size is a number with a letter, such as the number
of columns d: the first array that has it decides, and all others must agree.

What the file of an estimator may hold stands beside the estimator, in two class attributes: `_file_schema` has the
check of each fitted attribute, and `_file_requires` the attributes that any fit sets. A method `_check_file`, if there
is one, compares attributes with each other. Letters of sizes: d columns, m members of a blend, c candidates, k
components, t terms, K cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .names import name_of

Sizes = dict[str, int]
Check = Callable[[Any, str, Sizes], None]
MOST_DIMENSIONS, LONGEST_EMPTY = 8, 1_000_000
LABELS = "bifeUOM"  # the kinds of arrays that hold labels
# What predictions of a linear model need; a stream of one class has none of these yet.
TOGETHER = ("coef_", "intercept_", "calibration_", "classes_", "n_features_in_")
ALIKE = {"u": "i", "S": "U"}
KINDS = {
    "f": "floats",
    "d": "doubles",
    "e": "half floats",
    "b": "booleans",
    "i": "integers",
    "U": "text",
    "O": "objects",
    "M": "dates",
    "m": "times",
}


def refuse(where: str, found: Any, expected: str) -> None:
    """Raise the ValueError about a value."""
    shown = f"an array of {found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else repr(found)
    raise ValueError(f"{where} is {shown:.60}, where {expected} is expected")


def check_shape(shape: Any) -> tuple[int, ...]:
    """Return the shape of an array as a tuple; refuse one that no array here has, as a loop over it would never end."""
    numbers = tuple(shape)
    is_plain = all(type(n) is int and n >= 0 for n in numbers) and len(numbers) <= MOST_DIMENSIONS
    if not is_plain or (0 in numbers and max(numbers) > LONGEST_EMPTY):
        raise ValueError(f"{numbers!r:.60} is no shape of an array that files hold")
    return numbers


def array(kinds: str, *shape: int | str | None, finite: bool = True) -> Check:
    """Return the check of an array of this shape, given by numbers, letters, and None for any size.

    `kinds` are the letters of the dtypes that it may have, in the byte order of this machine; u counts as i, and S as
    U. Floats have 4 or 8 bytes; d stands for contiguous floats of 8 bytes, as compiled loops take them, and e for
    floats of 2 bytes, which nothing computes with.
    """
    named = " or ".join(KINDS[kind] for kind in kinds)
    letters = ", ".join("any" if n is None else str(n) for n in shape)
    expected = f"an array of {'finite ' if finite and {*kinds} & {*'fd'} else ''}{named} of shape ({letters})"

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) or not is_of_kind(value, kinds):
            refuse(where, value, expected)
        known = tuple(sizes.get(n, n) if isinstance(n, str) else n for n in shape)
        with_sizes = expected + (f" with {', '.join(f'{k}={n}' for k, n in sizes.items())}" if sizes else "")
        if len(known) != value.ndim:
            refuse(where, value, with_sizes)
        for size, n in zip(known, value.shape, strict=True):
            if isinstance(size, str):
                sizes[size] = n
            elif size is not None and size != n:
                refuse(where, value, with_sizes)
        if finite and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"{where} holds values that are not finite")
        if value.dtype.kind == "O" and not all(type(item) is str for item in value.ravel()):
            raise ValueError(f"{where} holds objects that are not text")

    return check


def bins(value: Any, where: str, sizes: Sizes) -> None:
    """Check bins: their upper ends, and the weights of the rows in them."""
    array("d", 2, None)(value, where, sizes)
    if not value.shape[1] or (np.diff(value[0]) <= 0).any() or (value[1] < 0).any():
        raise ValueError(f"{where} holds bins that do not increase, or negative weights")


def is_of_kind(value: np.ndarray, kinds: str) -> bool:
    """Return whether an array has one of these kinds, see `array`."""
    kind = ALIKE.get(value.dtype.kind, value.dtype.kind)
    if value.dtype == np.float16:
        return value.dtype.isnative and "e" in kinds
    if not value.dtype.isnative or (kind == "f" and value.itemsize not in (4, 8)):
        return False
    return kind in kinds or ("d" in kinds and value.dtype == np.float64 and value.flags.c_contiguous)


def number(*types: type, low: float = -math.inf, finite: bool = True) -> Check:
    """Return the check of one number of these types, or a NumPy scalar of such a type."""
    expected = f"a{' finite' if finite else ''} number" + (f" of at least {low:g}" if low > -math.inf else "")

    def check(value: Any, where: str, sizes: Sizes) -> None:
        plain = value.item() if isinstance(value, np.generic) else value
        if type(plain) not in types or plain < low or (finite and not math.isfinite(plain)):
            refuse(where, value, expected)

    return check


def size(letter: str) -> Check:
    """Return the check of an integer that is the size of this letter."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if type(value) is not int or sizes.setdefault(letter, value) != value:
            refuse(where, value, f"{letter}={sizes.get(letter, 'a number')}")

    return check


def instance(*types: type) -> Check:
    """Return the check that a value has one of these types."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if type(value) not in types:
            refuse(where, value, " or ".join(kind.__name__ for kind in types))

    return check


def either(*checks: Check) -> Check:
    """Return the check that one of several passes; the last one raises the error."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        for each in checks[:-1]:
            try:
                each(value, where, dict(sizes))
            except ValueError:
                continue
            each(value, where, sizes)
            return
        checks[-1](value, where, sizes)

    return check


def fields(checks: Mapping[str, Check], required: tuple[str, ...] = (), others: Check | None = None) -> Check:
    """Return the check of a dict or named tuple, entry by entry; sizes are found in the order of `checks`.

    Entries that are neither in `checks` nor passed by the check `others` are refused.
    """

    def check(value: Any, where: str, sizes: Sizes) -> None:
        entries = value._asdict() if hasattr(value, "_asdict") else value
        if type(entries) is not dict:
            refuse(where, value, "a dict")
        if missing := [name for name in required if name not in entries]:
            raise ValueError(f"{where} lacks {missing[0]}")
        known = [name for name in checks if name in entries]
        for name in known + [name for name in entries if name not in checks]:
            test = checks.get(name, others)
            if test is None:
                raise ValueError(f"{where} has {name!r:.60}, which no such model has")
            test(entries[name], f"{name:.60} of {where}", sizes)

    return check


def named_tuple(kind: type, /, **checks: Check) -> Check:
    """Return the check of a named tuple, field by field."""
    check_fields = fields(checks, required=tuple(checks))

    def check(value: Any, where: str, sizes: Sizes) -> None:
        instance(kind)(value, where, sizes)
        check_fields(value, where, sizes)

    return check


def items(check_item: Check, size: str | None = None) -> Check:
    """Return the check of a list whose length is a size, item by item."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if type(value) is not list or (size is not None and sizes.setdefault(size, len(value)) != len(value)):
            refuse(where, value, "a list" if size is None else f"a list of {sizes.get(size)} items")
        for item in value:
            check_item(item, f"an item of {where}", sizes)

    return check


def anything(value: Any, where: str, sizes: Sizes) -> None:
    """Check nothing."""


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
        raise ValueError(f"{where} is not class moments")
    attributes = value.__getstate__()
    MOMENTS(attributes, where, sizes)
    if (attributes["weight"] < 0).any() or (np.diagonal(attributes["scatter"], axis1=1, axis2=2) < 0).any():
        raise ValueError(f"{where} holds negative weights or variances")


def blended(n_weights: str) -> dict[str, Check]:
    """Return the checks of what a blend of losses sets; each member has a number of weights that is this size."""
    members = {name: array("f", "m") for name in ("share", "spread", "alpha", "auc")}
    members |= {"loss": array("U", "m"), "standardize": array("b", "m"), "coef": array("f", "m", n_weights)}
    results = {
        "params": items(fields({}, others=plain), "c"),
        "param_alpha": array("f", "c"),
        "mean_test_score": array("f", "c", finite=False),
        "std_test_score": array("f", "c", finite=False),
        "rank_test_score": array("i", "c"),
    }
    return {
        "alphas_": array("f", None),
        "alpha_": real,
        "cv_results_": fields(results, tuple(results), others=array("fbiU", "c", finite=False)),
        "blend_": fields(members, tuple(members)),
        "cv_auc_": measured,
        "cv_auc_ci_": array("f", 2, finite=False),
        "loss_": text,
        "dual_gap_": measured,
    }


text, flag, absent = instance(str), instance(bool, np.bool_), instance(type(None))
count, real, measured = number(int, low=0), number(float), number(float, finite=False)
plain = either(number(int, float, finite=False), instance(bool, str, type(None)))
# What a file says of the columns of X.
FEATURES: dict[str, Check] = {"n_features_in_": count, "feature_names_in_": array("O", "d")}
PARTS = {"classes": classes, "mean": array("f", 2, "d"), "weight": array("f", 2), "scatter": array("f", 2, "d", "d")}
MOMENTS = fields(PARTS | {"feature_names": array("O", "d")}, required=tuple(PARTS))

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
