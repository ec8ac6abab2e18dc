"""The competitors of benchmarks/peers.py, one file each: to add one is to add a file.

A file of this folder has a `COMPETITOR` and imports the library it needs only where the estimator is made, so that a
competitor that is not installed can still be named.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

FAMILIES = ("aucmax", "linear", "trees")


class Competitor(NamedTuple):
    """Something to measure.

    Attributes
    ----------
    name : str
        What it is called in tables.
    make : callable
        `make(seed, n_features, **parameters)` returns an estimator with `fit`, and `decision_function` or
        `predict_proba`, that uses one thread.
    candidates : sequence of mappings
        The parameters to choose from by cross-validation; a single one is not chosen, but taken.
    family : str
        "aucmax", "linear" or "trees"; trees are not ranked, they say what is left to gain beyond linear ones.
    requires : tuple of str
        The modules it needs, named as pip names them.
    standardize : bool
        Whether columns are standardised for it: those that do so themselves, and trees, need no help.
    takes_sparse : bool
        Whether it takes sparse rows; if not, they are made dense where memory allows.
    note : str
        What the page says of it.
    """

    name: str
    make: Callable[..., Any]
    candidates: Sequence[Mapping[str, Any]] = ({},)
    family: str = "linear"
    requires: tuple[str, ...] = ()
    standardize: bool = True
    takes_sparse: bool = True
    note: str = ""

    @property
    def missing(self) -> list[str]:
        """The modules it needs that are not installed."""
        return [module for module in self.requires if find_spec(module) is None]


def find_competitors() -> list[Competitor]:
    """Return the competitors of this folder: ours, other linear ones, trees; by name in each."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    found = [importlib.import_module(f"{__name__}.{name}").COMPETITOR for name in names]
    return sorted(found, key=lambda competitor: (FAMILIES.index(competitor.family), competitor.name))


def grid(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return all combinations of the values of parameters."""
    from sklearn.model_selection import ParameterGrid

    return list(ParameterGrid(values))


def decades(low: int, high: int, step: int = 1) -> list[float]:
    """Return powers of ten."""
    return [10.0**k for k in range(low, high + 1, step)]
