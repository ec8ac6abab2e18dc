"""Markdown of the pages: numbers, tables and text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ..study import Value

NONE = "\N{EN DASH}"
LONG = 12  # a text of more lines than this is folded away


def number_text(value: float, metric: str) -> str:
    """Return a number with four decimals, as in the papers; a time with fewer, a gap as a power of ten."""
    if metric == "gap":
        return f"{value:.1e}"
    if metric != "seconds":
        return f"{value:.4f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def value_text(value: Value | None, metric: str, number: Callable[[float, str], str] = number_text) -> str:
    """Return mean, standard deviation and mark; a dash for None."""
    if value is None:
        return NONE
    std = "" if value.std is None else f" ± {number(value.std, metric)}"
    return f"{number(value.mean, metric)}{std}{value.mark}"


def share_text(share: float | None) -> str:
    """Return a share in percent; a dash for None."""
    return NONE if share is None else f"{100 * share:.0f}%"


def exact_text(value: float, metric: str) -> str:
    """Return a published number with all of its digits."""
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return text if metric == "seconds" or len(text.partition(".")[2]) > 4 else f"{value:.4f}"


def parameter_text(x: float) -> str:
    """Return a value of the parameter of a curve."""
    return f"{x:,.0f}" if x == round(x) else f"{x:.3g}"


def short_text(value: float) -> str:
    """Return a time or a ratio of times with two digits, or all before the point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; line breaks in its cells become spaces."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(one_line(cell) for cell in line)} |" for line in lines)


def fold(title: str, *parts: str) -> str:
    """Return parts under their title; long ones can be unfolded by a click."""
    text = "\n\n".join(parts)
    if text.count("\n") <= LONG:
        return f"*{title}:*\n\n{text}"
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def escape(text: str) -> str:
    """Return text that Markdown shows as it is, even in a table."""
    return re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", text)


def one_line(text: str) -> str:
    """Return text without line breaks."""
    return " ".join(text.split())


def join_parts(parts: Iterable[str]) -> str:
    """Return a page of paragraphs."""
    return "\n\n".join(parts) + "\n"
