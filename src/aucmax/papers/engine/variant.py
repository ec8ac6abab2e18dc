"""The two variants of a published algorithm: steps that suit data of any scale, and the paper's own.

A file of its own, since algorithms without kernels need it too: importing `epochs` imports Numba.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections import ChainMap
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, dataclass_transform

from ..._compat import Interval, StrOptions

ADAPTIVE, PAPER = "adaptive", "paper"
# Constraints of parameters.
POSITIVE, NOT_NEGATIVE = Interval(Real, 0, None, closed="neither"), Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")
# The example in the docstring of an algorithm.
EXAMPLE = """Examples
--------
>>> from sklearn.datasets import load_breast_cancer
>>> from aucmax import {name}
>>> X, y = load_breast_cancer(return_X_y=True)
>>> clf = {name}({parameters}random_state=0).fit(X, y)
>>> bool(clf.score(X, y) > 0.99)
True
"""


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
class VariantMixin:
    """An estimator with the parameter `variant`: "adaptive", the default, or "paper".

    With "paper" an algorithm does what its paper says, step for step: columns as they are, the paper's steps, sampling,
    projections, estimates and averages. Where the text of a paper is wrong, it does what the text must mean.

    A parameter that is None has a value for each variant. A class lists its own in `_by_variant`, which then also holds
    what its base classes list. A name there that begins with an underscore is a choice without a parameter. So the
    table holds what can be chosen one by one, and `studies/aucmax_studies/choices/variants.py` measures each choice by
    giving it the value of the paper alone.

    The parameters of a class are its public annotations with a default, as in a dataclass, before the ones of its base
    classes: `__init__` is made of them, unless the class has its own. `_parameter_constraints` also holds what its base
    classes list of its parameters.

    Parameters
    ----------
    standardize : bool, default=None
        Whether the algorithm works on columns divided by their standard deviations. None is True, and False with
        variant="paper". The data are neither changed nor copied, and `coef_` is for the columns as they are.
    """

    _parameters: ClassVar[dict[str, tuple[str, Any, Any]]] = {}  # name, annotation and default of each
    _parameter_constraints: ClassVar[dict[str, Any]]
    _constraints: ClassVar[dict[str, Any]] = {  # of what a class or one of its base classes lists
        "variant": [StrOptions({ADAPTIVE, PAPER})],
        "standardize": ["boolean", None],
        "max_iter": [COUNT],
    }
    _by_variant: ClassVar[Mapping[str, tuple[Any, Any]]] = {"standardize": (True, False)}  # adaptive, paper

    variant: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        members = vars(cls)
        public = {name: kind for name, kind in inspect.get_annotations(cls).items() if not name.startswith("_")}
        own = {name: (name, kind, members[name]) for name, kind in public.items() if name in members}
        cls._parameters = own | cls._parameters | own
        if "__init__" not in members:
            made = dataclasses.make_dataclass(cls.__name__, cls._parameters.values(), kw_only=True)
            cls.__init__ = made.__init__  # type: ignore[method-assign,misc]
        cls._constraints = cls._constraints | members.get("_parameter_constraints", {})
        cls._parameter_constraints = {
            name: kinds for name, kinds in cls._constraints.items() if name in cls._parameters
        }
        cls._by_variant = dict(ChainMap(*(vars(base).get("_by_variant", {}) for base in cls.__mro__)))
        super().__init_subclass__(**kwargs)  # completes the docstring by the signature

    @property
    def _is_paper(self) -> bool:
        """Whether the variant is the paper's."""
        return self.variant == PAPER

    def _chosen(self, name: str) -> Any:
        """Return a parameter or a choice without one, or what it is in this variant if it is None or not set."""
        value = getattr(self, name, None)
        if value is not None or name not in self._by_variant:
            return value
        return self._by_variant[name][self._is_paper]
