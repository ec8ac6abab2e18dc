"""Docstrings that inherit the entries which many classes and methods share.

A base class documents what its subclasses have in common, once. `inherit_entries` puts these entries into the docstring
of a subclass that does not write them itself, so that a reader of ``help(PSAM)`` or of the reference sees all of them.
Docstrings of methods inherit in the same way.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

SECTIONS = ("Parameters", "Attributes", "Returns")
F = TypeVar("F", bound=Callable[..., Any])


def inherit_entries(cls: type, methods: str = "") -> None:
    r"""Complete the docstrings of a class and of its public methods with entries of its base classes.

    Parameters are in the order of the signature, with its defaults. Attributes are in the order of the base classes,
    then the class's own. What the class writes replaces the inherited entry of the same name. ``python -OO`` leaves
    docstrings out, and there is nothing to complete.

    Parameters
    ----------
    cls : type
        The class.
    methods : str, default=""
        A docstring whose sections "Parameters" and "Returns" are for all methods; the type "Self" is the class. A
        method also inherits from the methods of the same name and from the parameters of the class.

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
    bases = cls.__mro__[-2:0:-1]
    own = vars(cls).get("__doc__")
    if own:
        cls.__doc__ = own = _complete(own, [vars(base).get("__doc__") for base in bases], cls)
    for name, member in vars(cls).items():
        method = getattr(member, "__func__", member)
        method = method if inspect.isfunction(method) else getattr(member, "__wrapped__", method)  # of `available_if`
        if inspect.isfunction(method) and method.__doc__ and not name.startswith("_"):
            inherited = [own, methods, *(getattr(vars(base).get(name), "__doc__", None) for base in bases)]
            text = _complete(method.__doc__, inherited, method)
            method.__doc__ = re.sub(r"^(\w+) : Self$", rf"\1 : {cls.__name__}", text, flags=re.MULTILINE)


def _complete(docstring: str, inherited: Iterable[str | None], called: Callable[..., Any]) -> str:
    """Return a docstring with the entries that it lacks, from docstrings of which later ones come first."""
    sections = _split(docstring)
    written = {section: dict(_entries(sections.pop(section, ""))) for section in SECTIONS}
    shared: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for text in inherited:
        for section, entries in _split(text or "").items():
            if section == "Returns":
                shared[section] = dict(_entries(entries))
            elif section in SECTIONS:
                shared[section] |= dict(_entries(entries))
    parameters = shared["Parameters"] | written["Parameters"]
    signature = inspect.signature(called)
    ordered = {
        name: _with_default(parameters[name], parameter.default)
        for name, parameter in signature.parameters.items()
        if name in parameters
    }
    is_class, is_none = isinstance(called, type), signature.return_annotation in (None, "None")
    complete = {
        "Parameters": ordered | written["Parameters"] | ordered,
        "Attributes": shared["Attributes"] | written["Attributes"] if is_class else {},
        "Returns": written["Returns"] or ({} if is_class or is_none else shared["Returns"]),
    }
    before = sections.pop("")
    texts = {title: "\n\n".join(complete[title].values()) for title in SECTIONS if complete[title]} | sections
    parts = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in texts.items()]
    return "\n\n".join([before, *parts]) + "\n"


def _split(docstring: str) -> dict[str, str]:
    """Return the sections of a docstring by their titles, with "" for what stands before the first one."""
    before, *rest = re.split(r"^(\w[\w ]*)\n-{3,}$", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return {"": before.strip()} | {title: text.strip("\n") for title, text in zip(rest[::2], rest[1::2], strict=True)}


def _entries(section: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each entry of a section, the first name of several, and its text."""
    for entry in re.split(r"^(?=\S)", section, flags=re.MULTILINE):
        if entry.strip():
            yield re.split("[:,]", entry)[0].strip(), entry.rstrip()


def _with_default(entry: str, default: object) -> str:
    """Return the entry of a parameter with the default of the signature; one in words, such as 2 GiB, stays."""
    head, line, text = entry.partition("\n")
    written = re.search(r"default=(.+)$", head)
    try:
        if written is None or ast.literal_eval(written[1]) == default:
            return entry
    except (SyntaxError, ValueError):
        return entry
    value = f'"{default}"' if isinstance(default, str) else repr(default)
    return head[: written.start(1)] + value + line + text


def inherit_parameters(source: Callable[..., Any]) -> Callable[[F], F]:
    """Decorate a function: it has the entries of parameters that it does not write from another function."""

    def decorate(function: F) -> F:
        if function.__doc__:
            function.__doc__ = _complete(function.__doc__, [source.__doc__], function)
        return function

    return decorate


def add_sections(template: str, **values: str) -> Callable[[F], F]:
    """Decorate a function or a class: its docstring goes on with a template that several share, and these values."""

    def decorate(function: F) -> F:
        if function.__doc__:
            function.__doc__ = function.__doc__.rstrip() + "\n\n" + template.format(**values)
        return function

    return decorate
