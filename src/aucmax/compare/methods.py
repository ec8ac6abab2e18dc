"""The registry of what can be named: our classifiers, the published algorithms and scikit-learn's classifiers."""

from __future__ import annotations

import ast
import difflib
import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

from ..papers import ALGORITHMS, PAPERS
from ..papers.registry import Method, of_step, plain_name, powers, standardized


class Description(NamedTuple):
    """A method as a row of text in a list of methods."""

    method: str
    family: str
    paper: str | None  # authors, year and title
    online: bool  # whether it learns from a stream
    grid: str  # the ranges its parameters are chosen from
    summary: str  # what it is, in one line


def _of_scikit_learn(module: str, name: str, grid: Mapping[str, Sequence[Any]], note: str, **fields: Any) -> Method:
    """Return a classifier of scikit-learn behind the standardisation that ours do themselves."""
    source = f"sklearn.{module}:{name}"
    return standardized(name, source, grid, family="scikit-learn", note=f"{note} (scikit-learn)", **fields)


def _of_trees(name: str, maker: str, grid: Mapping[str, Sequence[Any]], note: str, **fields: Any) -> Method:
    """Return trees, which take the levels of a table."""
    source = f"aucmax.compare.trees:{maker}"
    more: dict[str, Any] = {"family": "trees", "takes_tables": True, "takes_sparse": False, "note": note}
    return Method(name, source, of_step("classifier", grid), **more, **fields)


IMPORTED = "imported"  # the family of estimators that a user imports by their names
_RIDGE = {"alpha": powers(10, -3, 5)}
_SGD: dict[str, list[Any]] = {"alpha": powers(10, -6, 0), "loss": ["hinge", "log_loss"]}

METHODS = {
    method.name: method
    for method in (
        Method(
            "AUCClassifier",
            "aucmax.classifier:AUCClassifier",
            family="pairwise",
            online=True,
            note="Exact minimiser of a pairwise loss, which tunes itself",
        ),
        Method(
            "TableClassifier",
            "aucmax.tables.classifier:TableClassifier",
            family="additive",
            takes_tables=True,
            takes_sparse=False,
            note="A sum of lines, curves, levels and surfaces of a table, which tunes itself",
        ),
        *ALGORITHMS.values(),
        _of_scikit_learn("linear_model", "LogisticRegression", {"C": powers(10, -4, 4)}, "Logistic regression"),
        _of_scikit_learn("svm", "LinearSVC", {"C": powers(10, -4, 2)}, "Linear support vector machine"),
        _of_scikit_learn("linear_model", "RidgeClassifier", _RIDGE, "Least squares on the labels"),
        _of_scikit_learn("linear_model", "SGDClassifier", _SGD, "Stochastic gradient descent"),
        _of_scikit_learn(
            "discriminant_analysis", "LinearDiscriminantAnalysis", {}, "Fisher's discriminant", takes_sparse=False
        ),
        _of_trees(
            "HistGradientBoosting",
            "hist_gradient_boosting",
            {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [4, 8, 31]},
            "Gradient boosting of trees (scikit-learn)",
        ),
        _of_trees(
            "LightGBM",
            "light_gbm",
            {"learning_rate": [0.03, 0.1], "num_leaves": [4, 8, 31]},
            "Gradient boosting of trees",
            requires=("lightgbm",),
        ),
        _of_trees("EBM", "ebm", {}, "Explainable boosting machine", requires=("interpret",)),
    )
}


def find_method(text: str, *, imports: bool = False) -> Method:
    """Return a method by its name, with values in brackets for parameters that should not be tuned.

    `text` is a key of `METHODS`, in any case, or a call of it with literal keyword arguments, which leave the grid.
    Nothing is executed. With `imports`, a name with dots is that of a class to import, which runs its module.

    Examples
    --------
    >>> from aucmax.compare.methods import find_method
    >>> sorted(find_method("OPAUC").grid)
    ['alpha', 'eta0']
    >>> method = find_method("OPAUC(alpha=0.1)")
    >>> method.name, list(method.grid), method()
    ('OPAUC(alpha=0.1)', ['eta0'], OPAUC(alpha=0.1))
    """
    name = text.partition("(")[0].strip()
    if imports and "." in name:
        return _import_method(name, _read_parameters(text))
    lower = {known.lower(): known for known in METHODS}
    if name.lower() not in lower:
        close = [lower[match] for match in difflib.get_close_matches(name.lower(), lower)]
        closest = f" (closest: {', '.join(close)})" if close else ""
        raise ValueError(f"{name!r} is not a known method{closest}; `aucmax algorithms` lists them all.")
    method, parameters = METHODS[lower[name.lower()]], _read_parameters(text)
    if method.missing:
        raise ValueError(f"{method.name} needs {', '.join(method.missing)}, which is not installed.")
    if not parameters:
        return method
    _check_parameters(method, parameters)
    return method.fix(**parameters)


def _import_method(name: str, parameters: Mapping[str, Any]) -> Method:
    """Return the method of an estimator that can be imported by its full name."""
    module, _, maker = name.rpartition(".")
    try:
        make = getattr(importlib.import_module(module), maker)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{name!r} cannot be imported: {error}.") from error
    if not (isinstance(make, type) and hasattr(make, "fit") and hasattr(make, "get_params")):
        raise ValueError(f"{name!r} is not a class of estimators, with fit and get_params.")
    if not (hasattr(make, "decision_function") or hasattr(make, "predict_proba")):
        raise ValueError(f"{name!r} has neither decision_function nor predict_proba, so its rows have no scores.")
    method = Method(name, make, family=IMPORTED, note=f"{maker} of {module}")
    if not parameters:
        return method
    if strange := _not_taken(method, parameters):
        raise ValueError(f"{name} cannot be given {', '.join(strange)} here.")
    return method.fix(**parameters)


def _read_parameters(text: str) -> dict[str, Any]:
    """Return the keyword arguments of a call, all of them literals."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Name | ast.Attribute):
            return {}
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute) and not call.args:
            parameters = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
            if None not in parameters and len(parameters) == len(call.keywords):
                return parameters  # type: ignore[return-value]
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        pass
    raise ValueError(
        f"{text!r} is not a known method: write its name, or NAME(parameter=value, ...) with numbers, strings, True, "
        "False, None or lists of them as values."
    )


def _not_taken(method: Method, parameters: Mapping[str, Any]) -> list[str]:
    """Return the parameters that a method does not have, and its seed."""

    def is_taken(name: str) -> bool:
        try:
            method(**{name: parameters[name]})
        except TypeError:
            return False
        return True

    return [name for name in parameters if name == "random_state" or not is_taken(name)]


def _check_parameters(method: Method, parameters: Mapping[str, Any]) -> None:
    """Raise a ValueError for parameters that the method does not have, or not with these values."""
    try:
        estimator = method(**parameters)
    except TypeError:
        estimator = None
    if estimator is None or "random_state" in parameters:
        strange = _not_taken(method, parameters)
        known = sorted({*last_step(method()).get_params(deep=False)} - {"random_state"})
        raise ValueError(
            f"{method.name} cannot be given {', '.join(strange or parameters)} here; its parameters are "
            f"{', '.join(known)}."
        )
    if hasattr(last := last_step(estimator), "_parameter_constraints"):
        last._validate_params()


def last_step(estimator: Any) -> Any:
    """Return the classifier of a pipeline, or another estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def describe_methods() -> list[Description]:
    """Return all methods as rows of text."""
    found = []
    for method in METHODS.values():
        grid = ", ".join(f"{plain_name(name)}: {_values_as_text(values)}" for name, values in method.grid.items())
        summary = method.note
        if not summary and method.parameters:
            summary = f"{method.maker}({', '.join(f'{name}={value!r}' for name, value in method.parameters.items())})"
        elif not summary:
            summary = (method.make.__doc__ or "").partition("\n")[0].rstrip(".")
        paper = PAPERS.get(method.paper)
        found.append(Description(method.name, method.family, paper, method.online, grid, summary))
    return found


def _values_as_text(values: Sequence[Any]) -> str:
    if len(values) > 3 and not isinstance(values[0], str):
        return f"{_short(values[0])} to {_short(values[-1])} ({len(values)})"
    return "/".join(str(value) for value in values)


def _short(value: float) -> str:
    """Return a number of a grid as text; the papers' numbers of many digits are powers of 2."""
    text = f"{value:g}"
    return text if len(text) <= 6 else f"2^{math.log2(value):g}"
