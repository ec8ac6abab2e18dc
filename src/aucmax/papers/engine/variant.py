"""The two variants of a published algorithm: steps that suit data of any scale, and the paper's own.

A file of its own, since algorithms without kernels need it too: importing `epochs` imports Numba.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any, ClassVar

from ..._compat import StrOptions

ADAPTIVE, PAPER = "adaptive", "paper"


class VariantMixin:
    """An estimator with the parameter `variant`: "adaptive", the default, or "paper".

    With "paper" an algorithm does what its paper says, step for step: columns as they are, the paper's steps, sampling,
    projections, estimates and averages. Where the text of a paper is wrong, it does what the text must mean.

    A parameter that is None has a value for each variant. A class lists its own in `_by_variant`, which then also holds
    what its base classes list. A name there that begins with an underscore is a choice without a parameter. So the
    table holds what can be chosen one by one, and `studies/aucmax_studies/choices/variants.py` measures each choice by
    giving it the value of the paper alone.
    """

    _variants: ClassVar[list[Any]] = [StrOptions({ADAPTIVE, PAPER})]
    _by_variant: ClassVar[Mapping[str, tuple[Any, Any]]] = {"standardize": (True, False)}  # adaptive, paper

    variant: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._by_variant = dict(ChainMap(*(vars(base).get("_by_variant", {}) for base in cls.__mro__)))

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
