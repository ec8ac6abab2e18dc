"""Checks of values that were read from a file, to be put together into schemas.

A check is a function of a value, of the words that name it in an error, and of the sizes that are known so far. It
raises a ValueError that says what was found and what is expected. A size is a number with a letter, such as the number
of columns d: the first array that has it decides, and all others must agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .names import name_of

Sizes = dict[str, int]
Check = Callable[[Any, str, Sizes], None]
MOST_DIMENSIONS, LONGEST_EMPTY = 8, 1_000_000
ALIKE = {"u": "i", "S": "U"}
KINDS = {
    "f": "floats",
    "d": "doubles",
    "e": "half floats",
    "b": "booleans",
    "i": "integers",
    "U": "text",
    "O": "objects",
    "M": "dates",
    "m": "times",
}


def refuse(where: str, found: Any, expected: str) -> None:
    """Raise the ValueError about a value."""
    shown = f"an array of {found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else repr(found)
    raise ValueError(f"{where} is {shown:.60}, where {expected} is expected")


def check_shape(shape: Any) -> tuple[int, ...]:
    """Return the shape of an array as a tuple; refuse one that no array here has, as a loop over it would never end."""
    numbers = tuple(shape)
    is_plain = all(type(n) is int and n >= 0 for n in numbers) and len(numbers) <= MOST_DIMENSIONS
    if not is_plain or (0 in numbers and max(numbers) > LONGEST_EMPTY):
        raise ValueError(f"{numbers!r:.60} is no shape of an array that files hold")
    return numbers


def array(kinds: str, *shape: int | str | None, finite: bool = True) -> Check:
    """Return the check of an array.

    Parameters
    ----------
    kinds : str
        Letters of the kinds of dtypes that it may have, in the byte order of this machine; u counts as i, and S as U.
        Floats have 4 or 8 bytes; d stands for those of 8 bytes, one after the other, as compiled loops take them, and e
        for those of 2 bytes, which nothing computes with.
    *shape : int, str or None
        Its sizes: a number, a letter, or None for any size.
    finite : bool, default=True
        Whether all floats must be finite.
    """
    named = " or ".join(KINDS[kind] for kind in kinds)
    letters = ", ".join("any" if n is None else str(n) for n in shape)
    expected = f"an array of {'finite ' if finite and {*kinds} & {*'fd'} else ''}{named} of shape ({letters})"

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) or not is_of_kind(value, kinds):
            refuse(where, value, expected)
        known = tuple(sizes.get(n, n) if isinstance(n, str) else n for n in shape)
        told = expected + (f" with {', '.join(f'{k}={n}' for k, n in sizes.items())}" if sizes else "")
        if len(known) != value.ndim:
            refuse(where, value, told)
        for size, n in zip(known, value.shape, strict=True):
            if isinstance(size, str):
                sizes[size] = n
            elif size is not None and size != n:
                refuse(where, value, told)
        if finite and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"{where} holds values that are not finite")
        if value.dtype.kind == "O" and not all(type(item) is str for item in value.ravel()):
            raise ValueError(f"{where} holds objects that are not text")

    return check


def is_of_kind(value: np.ndarray, kinds: str) -> bool:
    """Return whether an array has one of these kinds, see `array`."""
    kind = ALIKE.get(value.dtype.kind, value.dtype.kind)
    if value.dtype == np.float16:
        return value.dtype.isnative and "e" in kinds
    if not value.dtype.isnative or (kind == "f" and value.itemsize not in (4, 8)):
        return False
    return kind in kinds or ("d" in kinds and value.dtype == np.float64 and value.flags.c_contiguous)


def number(*types: type, low: float = -math.inf, finite: bool = True) -> Check:
    """Return the check of one number of these types, or a NumPy scalar of such a type."""
    expected = f"a{' finite' if finite else ''} number" + (f" of at least {low:g}" if low > -math.inf else "")

    def check(value: Any, where: str, sizes: Sizes) -> None:
        plain = value.item() if isinstance(value, np.generic) else value
        if type(plain) not in types or plain < low or (finite and not math.isfinite(plain)):
            refuse(where, value, expected)

    return check


def size(letter: str) -> Check:
    """Return the check of an integer that is the size of this letter."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if type(value) is not int or sizes.setdefault(letter, value) != value:
            refuse(where, value, f"{letter}={sizes.get(letter, 'a number')}")

    return check


def instance(*types: type) -> Check:
    """Return the check that a value has one of these types."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if type(value) not in types:
            refuse(where, value, " or ".join(kind.__name__ for kind in types))

    return check


def either(*checks: Check) -> Check:
    """Return the check that one of several passes; the error is that of the last."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        for each in checks[:-1]:
            try:
                each(value, where, dict(sizes))
            except ValueError:
                continue
            each(value, where, sizes)
            return
        checks[-1](value, where, sizes)

    return check


def fields(checks: Mapping[str, Check], required: tuple[str, ...] = (), others: Check | None = None) -> Check:
    """Return the check of a dict or named tuple, entry by entry.

    Parameters
    ----------
    checks : mapping of str to check
        The checks of the entries. Sizes are found in their order.
    required : tuple of str, default=()
        The entries that must be there.
    others : check, default=None
        That of further entries; None refuses them.
    """

    def check(value: Any, where: str, sizes: Sizes) -> None:
        entries = value._asdict() if hasattr(value, "_asdict") else value
        if type(entries) is not dict:
            refuse(where, value, "a dict")
        if missing := [name for name in required if name not in entries]:
            raise ValueError(f"{where} lacks {missing[0]}")
        known = [name for name in checks if name in entries]
        for name in known + [name for name in entries if name not in checks]:
            test = checks.get(name, others)
            if test is None:
                raise ValueError(f"{where} has {name!r:.60}, which no such model has")
            test(entries[name], f"{name:.60} of {where}", sizes)

    return check


def named_tuple(name: str, checks: Mapping[str, Check]) -> Check:
    """Return the check of a named tuple with this name in the table of `names`, field by field."""
    check_fields = fields(checks, required=tuple(checks))

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if name_of(type(value), "named_tuple") != name:
            refuse(where, value, f"a {name}")
        check_fields(value, where, sizes)

    return check


def items(check_item: Check, size: str | None = None) -> Check:
    """Return the check of a list whose length is a size, item by item."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if type(value) is not list or (size is not None and sizes.setdefault(size, len(value)) != len(value)):
            refuse(where, value, "a list" if size is None else f"a list of {sizes.get(size)} items")
        for item in value:
            check_item(item, f"an item of {where}", sizes)

    return check
