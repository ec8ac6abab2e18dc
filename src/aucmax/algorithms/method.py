"""The one entry type of all registries: published algorithms, other classifiers, and the benchmarks' competitors."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec, resolve_name
from typing import Any, NamedTuple


class Method(NamedTuple):
    """A method that can be fitted by its name. Calling it makes the estimator.

    Attributes
    ----------
    name : str
        What tables call it; of a published algorithm, the papers' spelling as far as Python allows.
    source : str or callable
        The class, or the function that makes the estimator: "module:name" to import it when it is first used, or the
        object itself. A module that begins with a dot is a file of this folder. The estimator needs a
        `decision_function` or `predict_proba`, and takes a `random_state` if anything in it is random.
    grid : mapping of str to list
        The values to choose parameters from, under the names that `set_params` of the estimator takes.
    parameters : mapping
        Fixed parameters, given to the source whenever it is called.
    family : str
        What it optimises: "pairwise square", "pairwise hinge", "pairwise squared hinge", "pairwise logistic",
        "logistic", "univariate" or "Gaussian". Methods of other libraries have "scikit-learn", "linear" or "trees".
    paper : str
        Where it was published, a key of `aucmax.algorithms.PAPERS`; "" if in none of them.
    online : bool
        Whether it learns from a stream, by `partial_fit`.
    standardize : bool
        Whether a `StandardScaler` is put before it: for estimators that do not scale columns themselves.
    takes_sparse : bool
        Whether it takes sparse rows.
    takes_codes : bool
        Whether it knows categories and missing values: it is fitted to the codes of a table, not to its features, and
        has the parameter `categorical_features`.
    requires : tuple of str
        The packages it needs that aucmax does not depend on, as pip names them.
    note : str
        What tables say about it.

    Examples
    --------
    >>> from aucmax.algorithms import ALGORITHMS
    >>> method = ALGORITHMS["OPAUCr"]
    >>> method.family, sorted(method.grid), method(alpha=0.1)
    ('pairwise square', ['alpha', 'eta0'], OPAUC(alpha=0.1, rank=50))
    """

    name: str
    source: str | Callable[..., Any]
    grid: Mapping[str, Sequence[Any]] = {}
    parameters: Mapping[str, Any] = {}
    family: str = ""
    paper: str = ""
    online: bool = False
    standardize: bool = False
    takes_sparse: bool = True
    takes_codes: bool = False
    requires: tuple[str, ...] = ()
    note: str = ""

    @property
    def module(self) -> str:
        """The full name of the module that the source lives in."""
        if callable(self.source):
            return self.source.__module__
        return resolve_name(self.source.partition(":")[0], __package__ or "")

    @property
    def maker(self) -> str:
        """The name of the class or function in its module."""
        return self.source.__name__ if callable(self.source) else self.source.partition(":")[2]

    @property
    def make(self) -> Callable[..., Any]:
        """The class, or the function that makes the estimator, without the fixed parameters."""
        return self.source if callable(self.source) else getattr(importlib.import_module(self.module), self.maker)

    @property
    def missing(self) -> list[str]:
        """The required packages that are not installed."""
        return [package for package in self.requires if find_spec(package) is None]

    def __call__(self, **parameters: Any) -> Any:
        """Return an estimator with these parameters beside the fixed ones, and the defaults for the others."""
        estimator = self.make(**{**self.parameters, **parameters})
        if not self.standardize:
            return estimator
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler

        return Pipeline([("scale", StandardScaler()), ("classifier", estimator)])

    def seeded(self, seed: int) -> Any:
        """Return an estimator that draws its random numbers from the seed."""
        estimator = self()
        is_random = any(plain_name(name) == "random_state" for name in estimator.get_params())
        return self(random_state=seed) if is_random else estimator

    def fix(self, **parameters: Any) -> Method:
        """Return the same method with some parameters fixed: they leave the grid and stand in its name."""
        listed = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        return self._replace(
            name=f"{self.name}({listed})",
            parameters={**self.parameters, **parameters},
            grid={name: values for name, values in self.grid.items() if plain_name(name) not in parameters},
        )


def standardized(
    name: str, source: str | Callable[..., Any], grid: Mapping[str, Sequence[Any]], **fields: Any
) -> Method:
    """Return a method behind a `StandardScaler`, with a grid under the classifier's own names."""
    return Method(name, source, of_step("classifier", grid), standardize=True, **fields)


def powers(base: float, low: int, high: int, step: int = 1) -> list[float]:
    """Return the powers of a base from one exponent to another.

    Examples
    --------
    >>> from aucmax.algorithms.method import powers
    >>> powers(10, -2, 2, step=2)
    [0.01, 1.0, 100.0]
    """
    return [float(base) ** k for k in range(low, high + 1, step)]


def of_step(step: str, grid: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Return the grid of a step under the names of its pipeline."""
    return {f"{step}__{name}": values for name, values in grid.items()}


def plain_name(parameter: str) -> str:
    """Return the name of a parameter without that of the step it belongs to."""
    return parameter.rpartition("__")[2]


def full_name(parameter: str, estimator: Any) -> str | None:
    """Return the name of a parameter with that of the step that has it; None if the estimator has no such parameter."""
    names = list(estimator.get_params())
    return parameter if parameter in names else next((name for name in names if plain_name(name) == parameter), None)
