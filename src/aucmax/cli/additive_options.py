"""The options of additive models, as the estimator takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from ..files import Source
from ..papers.registry import Method

SHAPES = {"increasing": 1, "decreasing": -1}


def parse_pairs(text: str | None) -> str | int | None:
    """Return the parameter `pairs`, given its option."""
    if text is None or text == "auto":
        return text
    if not text.isdecimal():
        raise ValueError(f"--pairs {text} is not understood: give auto or a number.")
    return int(text)


def parse_shapes(given: Sequence[str] | None) -> dict[str, int] | None:
    """Return the parameter `monotonic_cst`, given its option: COLUMN=increasing or COLUMN=decreasing, any number."""
    shapes: dict[str, int] = {}
    for text in given or ():
        column, _, shape = text.rpartition("=")
        if shape not in SHAPES or not column:
            raise ValueError(f"--monotonic {text} is not understood: give COLUMN=increasing or COLUMN=decreasing.")
        if column in shapes:
            raise ValueError(f"--monotonic gives two shapes for the column {column!r}.")
        shapes[column] = SHAPES[shape]
    return shapes or None


def name_columns(estimator: Any, source: Source) -> None:
    """Tell an additive model which columns of a file are categories, and where those are that its parameters name.

    It is fitted to an array, which has no names. Other estimators are left as they are.
    """
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if "categorical_features" not in model.get_params():
        return
    shapes, pairs = model.monotonic_cst, model.pairs
    if isinstance(shapes, dict):
        places = {find_place(source, column, "monotonic_cst"): sign for column, sign in shapes.items()}
        n_columns = source.n_features or max(places, default=-1) + 1
        model.set_params(monotonic_cst=[places.get(j, 0) for j in range(n_columns)])
    if isinstance(pairs, list):
        model.set_params(pairs=[[find_place(source, column, "pairs") for column in pair] for pair in pairs])
    if source.categorical is not None:
        model.set_params(categorical_features=source.categorical)


def for_table(method: Method, source: Source) -> Method:
    """Return a method that is fitted to the codes of a table; one that is not is left as it is."""
    if not method.takes_codes:
        return method
    estimator = method()
    name_columns(estimator, source)
    told = {name: getattr(estimator, name) for name in ("categorical_features", "monotonic_cst", "pairs")}
    return method._replace(parameters={**method.parameters, **told})


def find_place(source: Source, column: Any, option: str) -> int:
    """Return the position of a column of a file."""
    if not isinstance(column, str):
        return int(column)
    names = source.feature_names
    if names is None:
        raise ValueError(f"{source.name} has no names of columns, so {option}= cannot name {column!r}.")
    if column not in names:
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise ValueError(f"{source.name} has no column {column!r} for {option}=; those that are fitted are {shown}.")
    return names.index(column)
