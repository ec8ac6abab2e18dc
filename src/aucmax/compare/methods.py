"""What can be fitted by name and compared: AUCClassifier, the published algorithms and scikit-learn's classifiers."""

from __future__ import annotations

import ast
import difflib
import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ..algorithms import ALGORITHMS, PAPERS


class Method(NamedTuple):
    """Something to compare.

    Attributes
    ----------
    name : str
        What it is called in tables.
    make : callable
        Makes the estimator, which must have a `decision_function`; takes its parameters by name, and `random_state` if
        anything in the estimator has one.
    grid : mapping of str to list
        The values to choose the parameters from, named as the estimator's `set_params` has them.
    description : str
        What it is, in one line.
    """

    name: str
    make: Callable[..., Any]
    grid: Mapping[str, Sequence[Any]] = {}
    description: str = ""

    def seeded(self, seed: int) -> Any:
        """Return the estimator, its randomness drawn from the seed."""
        estimator = self.make()
        if any(leaf(name) == "random_state" for name in estimator.get_params()):
            estimator = self.make(random_state=seed)
        return estimator


class Description(NamedTuple):
    """A row of the list of methods: what can be compared, what it optimises, where it was published."""

    name: str
    family: str
    paper: str
    online: bool
    grid: str
    summary: str


def _auc_classifier(**parameters: Any) -> Any:
    from ..classifier import AUCClassifier

    return AUCClassifier(**parameters)


def _standardized(module: str, name: str, **parameters: Any) -> Pipeline:
    """Return a classifier of scikit-learn's behind the standardisation that ours do by themselves."""
    classifier = getattr(importlib.import_module(f"sklearn.{module}"), name)(**parameters)
    return Pipeline([("scale", StandardScaler()), ("classifier", classifier)])


def _of_scikit_learn(module: str, name: str, grid: Mapping[str, Sequence[Any]], description: str) -> Method:
    of_step = {f"classifier__{parameter}": values for parameter, values in grid.items()}
    return Method(name, partial(_standardized, module, name), of_step, f"{description} (scikit-learn)")


def _decades(low: int, high: int) -> list[float]:
    return [10.0**k for k in range(low, high + 1)]


_SGD: dict[str, list[Any]] = {"alpha": _decades(-6, 0), "loss": ["hinge", "log_loss"]}

METHODS = {
    method.name: method
    for method in (
        Method("AUCClassifier", _auc_classifier, {}, "Exact minimiser of a pairwise loss, which tunes itself"),
        *(Method(name, made.__call__, made.grid, PAPERS[made.paper]) for name, made in ALGORITHMS.items()),
        _of_scikit_learn("linear_model", "LogisticRegression", {"C": _decades(-4, 4)}, "Logistic regression"),
        _of_scikit_learn("svm", "LinearSVC", {"C": _decades(-4, 2)}, "Linear support vector machine"),
        _of_scikit_learn("linear_model", "RidgeClassifier", {"alpha": _decades(-3, 5)}, "Least squares on the labels"),
        _of_scikit_learn("linear_model", "SGDClassifier", _SGD, "Stochastic gradient descent"),
        _of_scikit_learn("discriminant_analysis", "LinearDiscriminantAnalysis", {}, "Fisher's discriminant"),
    )
}


def find_method(text: str) -> Method:
    """Return a method by its name, with parameters in brackets if some should not be tuned.

    Parameters
    ----------
    text : str
        A key of `METHODS`, or a call of it with literal keyword arguments. These leave the grid; nothing is executed.

    Returns
    -------
    method : Method
        The method.

    Examples
    --------
    >>> from aucmax.compare.methods import find_method
    >>> sorted(find_method("OPAUC").grid)
    ['alpha', 'eta0']
    >>> method = find_method("OPAUC(alpha=0.1)")
    >>> method.name, list(method.grid), method.make()
    ('OPAUC(alpha=0.1)', ['eta0'], OPAUC(alpha=0.1))
    """
    name = text.partition("(")[0].strip()
    lower = {known.lower(): known for known in METHODS}
    if name.lower() not in lower:
        close = [lower[match] for match in difflib.get_close_matches(name.lower(), lower)]
        closest = f" (closest: {', '.join(close)})" if close else ""
        raise ValueError(f"There is no method {name!r}{closest}; `aucmax algorithms` lists them all.")
    name = lower[name.lower()]
    method, parameters = METHODS[name], _read_parameters(text)
    if not parameters:
        return method
    _check_parameters(method, parameters)
    return Method(
        f"{name}({', '.join(f'{key}={value!r}' for key, value in parameters.items())})",
        partial(method.make, **parameters),
        {key: values for key, values in method.grid.items() if leaf(key) not in parameters},
        method.description,
    )


def _read_parameters(text: str) -> dict[str, Any]:
    """Return the keyword arguments of a call, literals all."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Name):
            return {}
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args:
            parameters = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
            if None not in parameters and len(parameters) == len(call.keywords):
                return parameters  # type: ignore[return-value]
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        pass
    raise ValueError(
        f"{text!r} is no method: write its name, or NAME(parameter=value, ...) with numbers, strings, True, False, "
        "None or lists of them as values."
    )


def _check_parameters(method: Method, parameters: Mapping[str, Any]) -> None:
    """Raise a ValueError for parameters that the method does not have, or not with these values."""
    try:
        estimator = method.make(**parameters)
    except TypeError:
        estimator = None
    if estimator is None or "random_state" in parameters:
        known = sorted({*_classifier(method.make()).get_params(deep=False)} - {"random_state"})
        raise ValueError(
            f"{method.name} cannot be given {', '.join(parameters)} here; its parameters are {', '.join(known)}."
        )
    _classifier(estimator)._validate_params()


def _classifier(estimator: Any) -> Any:
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def leaf(parameter: str) -> str:
    """Return the name of a parameter without that of the step it belongs to."""
    return parameter.rpartition("__")[2]


def full_name(parameter: str, estimator: Any) -> str | None:
    """Return the name of a parameter with that of the step that has it; None where the estimator has no such one."""
    names = list(estimator.get_params())
    return parameter if parameter in names else next((name for name in names if leaf(name) == parameter), None)


def describe_methods() -> list[Description]:
    """Return what is known of each method, without importing any of them.

    Returns
    -------
    rows : list of Description
        In the order of `METHODS`.

    Examples
    --------
    >>> from aucmax.compare.methods import describe_methods
    >>> row = describe_methods()[1]
    >>> row.name, row.family, row.online
    ('OPAUC', 'pairwise square', True)
    >>> row.grid
    'eta0: 2^-12 to 1024 (23), alpha: 2^-10 to 4 (13)'
    """
    return [_describe(method) for method in METHODS.values()]


def _describe(method: Method) -> Description:
    grid = ", ".join(f"{leaf(name)}: {_values_as_text(values)}" for name, values in method.grid.items())
    if method.name not in ALGORITHMS:
        family = "pairwise" if method.name == "AUCClassifier" else "scikit-learn"
        return Description(method.name, family, "", method.name == "AUCClassifier", grid, method.description)
    algorithm = ALGORITHMS[method.name]
    if algorithm.maker:
        changes = ", ".join(f"{key}={value!r}" for key, value in algorithm.parameters.items())
        summary = f"{algorithm.maker}({changes})"
    else:
        summary = _first_line(algorithm.module, algorithm.name)
    return Description(method.name, algorithm.family, PAPERS[algorithm.paper], algorithm.online, grid, summary)


def _values_as_text(values: Sequence[Any]) -> str:
    if len(values) > 3 and not isinstance(values[0], str):
        return f"{_short(values[0])} to {_short(values[-1])} ({len(values)})"
    return "/".join(str(value) for value in values)


def _short(value: float) -> str:
    """Return a number of a grid as text; the papers' numbers of many digits are powers of 2."""
    text = f"{value:g}"
    return text if len(text) <= 6 else f"2^{math.log2(value):g}"


def _first_line(module: str, name: str) -> str:
    """Return the first line of the documentation, from the source: importing it would import Numba."""
    source = resources.files("aucmax.algorithms").joinpath(f"{module}.py").read_text(encoding="utf-8")
    nodes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef))
    documentation = next(ast.get_docstring(node) or "" for node in nodes if node.name == name)
    return documentation.partition("\n")[0].rstrip(".")
