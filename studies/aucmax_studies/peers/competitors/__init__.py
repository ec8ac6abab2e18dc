"""The competitors of the study `peers`, one file each: to add a competitor, add a file.

A file of this folder has a `COMPETITOR`, a `Method` as in the registries of aucmax. A method of another library has the
family "linear" or "trees", and its library is imported when the estimator is made, so that a competitor that is not
installed can still be listed.
"""

from __future__ import annotations

import importlib
import pkgutil

from aucmax.papers.registry import Method

# Trees are not ranked: they show what is left to gain beyond linear classifiers.
GROUPS = ("aucmax", "linear", "trees")


def find_competitors() -> list[Method]:
    """Return the competitors of this folder: ours, other linear ones, trees; by name in each group."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    found = [importlib.import_module(f"{__name__}.{name}").COMPETITOR for name in names]
    return sorted(found, key=lambda competitor: (GROUPS.index(group(competitor)), competitor.name))


def group(competitor: Method) -> str:
    """Return whether a competitor is one of ours, another linear one, or made of trees."""
    return competitor.family if competitor.family in GROUPS else "aucmax"
