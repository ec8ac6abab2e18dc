"""Docstrings that inherit the parameters and attributes which many classes share.

A base class documents what its subclasses have in common, once. `inherit_entries` puts these entries into the docstring
of a subclass that does not write them itself, so that a reader of ``help(PSAM)`` or of the reference sees all of them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

SECTIONS = ("Parameters", "Attributes")
F = TypeVar("F", bound=Callable[..., Any])


def inherit_entries(cls: type) -> None:
    r"""Complete the sections "Parameters" and "Attributes" of the docstring of a class by entries of its base classes.

    Parameters are in the order of the signature, with its defaults. Attributes are in the order of the base classes,
    those of the class itself after them. An entry of the class replaces the entry of the same name of a base.

    Parameters
    ----------
    cls : type
        The class. One without a docstring of its own stays without, as all do with ``python -OO``.

    Examples
    --------
    >>> from aucmax._docs import inherit_entries
    >>> class Base:
    ...     "Base.\n\nAttributes\n----------\ncoef_ : ndarray\n    The weights."
    >>> class Fast(Base):
    ...     "Fast."
    >>> inherit_entries(Fast)
    >>> Fast.__doc__
    'Fast.\n\nAttributes\n----------\ncoef_ : ndarray\n    The weights.\n'
    """
    own = vars(cls).get("__doc__")
    if not own:
        return
    sections = _split(own)
    shared: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for base in reversed(cls.__mro__[1:-1]):
        inherited = _split(vars(base).get("__doc__") or "")
        for section in SECTIONS:
            shared[section] |= dict(_entries(inherited.get(section, "")))
    written = {section: dict(_entries(sections.pop(section, ""))) for section in SECTIONS}
    parameters = shared["Parameters"] | written["Parameters"]
    signature = inspect.signature(cls).parameters
    ordered = {
        name: _with_default(parameters[name], signature[name].default) for name in signature if name in parameters
    }
    entries = {
        "Parameters": ordered | written["Parameters"] | ordered,
        "Attributes": shared["Attributes"] | written["Attributes"],
    }
    before = sections.pop("")
    texts = {title: "\n\n".join(entries[title].values()) for title in SECTIONS if entries[title]} | sections
    parts = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in texts.items()]
    cls.__doc__ = "\n\n".join([before, *parts]) + "\n"


def _split(docstring: str) -> dict[str, str]:
    """Return the sections of a docstring by their titles, with "" for what stands before the first one."""
    before, *rest = re.split(r"^(\w[\w ]*)\n-{3,}$", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return {"": before.strip()} | {title: text.strip("\n") for title, text in zip(rest[::2], rest[1::2], strict=True)}


def _entries(section: str) -> Iterator[tuple[str, str]]:
    """Yield the names of the entries of a section, and their texts."""
    for entry in re.split(r"^(?=\S)", section, flags=re.MULTILINE):
        if entry.strip():
            yield entry.partition(":")[0].strip(), entry.rstrip()


def _with_default(entry: str, default: object) -> str:
    """Return the entry of a parameter with the default of the signature."""
    head, line, text = entry.partition("\n")
    value = f'"{default}"' if isinstance(default, str) else repr(default)
    written = re.search(r"default=(.+)$", head)
    if written is None or _is_same(written[1], default):
        return entry
    return head[: written.start(1)] + value + line + text


def _is_same(text: str, default: object) -> bool:
    """Return whether a default is written already, perhaps otherwise than `repr` does, as 1e-3 for 0.001."""
    try:
        return text == str(default) or float(text) == default
    except ValueError:
        return text == f'"{default}"'


def add_sections(template: str, **values: str) -> Callable[[F], F]:
    """Decorate a function: its docstring goes on with a template that several functions share, and these values."""

    def decorate(function: F) -> F:
        if function.__doc__:
            function.__doc__ += "\n\n" + template.format(**values)
        return function

    return decorate
