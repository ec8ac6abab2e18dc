"""The tables of benchmarks/variants.py, and the gains in docstrings, from the file of results alone."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from deviations import DEVIATIONS, Deviation
from markdown import replace_block
from peers_summary import bootstrap_interval

from aucmax.papers import ALGORITHMS

DEFAULT = "default"
PREPARED = ("columns as distributed", "rows of norm 1", "standardised columns")  # what the paper variant is given
LEVEL = 0.5  # the AUC of the weights 0
MARGIN = 5e-4  # differences above this count as better or worse
WIDTH = 120
# An item of a list in a docstring that ends with a gain.
ITEM = re.compile(r"^ *- (?:(?!^ *- |^$).)*?Gain:\s+((?:(?!^ *- |^$).)*)\.$", re.DOTALL | re.MULTILINE)

Cells = Mapping[str, Mapping[str, list[float | None]]]  # figures of each split, by data set and quantity


class Gain(NamedTuple):
    """What one setting gains over another, over the data sets.

    Attributes
    ----------
    gaps : ndarray of shape (n_data,)
        Differences of the mean test AUC.
    diverged : ndarray of bool, shape (n_data,)
        Whether a fit of the other setting has diverged.
    time : float
        The median of the other's time over that of the first.
    """

    gaps: np.ndarray
    diverged: np.ndarray
    time: float

    @classmethod
    def of(cls, first: Cells, other: Cells) -> Gain:
        """Return the gain from the figures of both, on the data sets of the other."""
        first = {data: first[data] for data in other}
        auc = [
            [[LEVEL if a is None else a for a in cells["auc"]] for cells in each.values()] for each in (first, other)
        ]
        gaps = np.mean(auc[0], axis=1) - np.mean(auc[1], axis=1)
        overflowed = np.array([None in cells["auc"] for cells in other.values()])
        # The least of the splits: the first one may compile a kernel.
        seconds = [[min(cells["seconds"]) for cells in each.values()] for each in (first, other)]
        return cls(gaps, overflowed | (np.min(auc[1], axis=1) < LEVEL), float(np.median(np.divide(*seconds[::-1]))))

    @property
    def without_diverged(self) -> str:
        """The mean over the other data sets."""
        return "" if self.diverged.all() else signed(self.gaps[~self.diverged].mean())

    @property
    def counts(self) -> str:
        """On how many data sets the first is better, and worse."""
        return f"{np.sum(self.gaps > MARGIN)} / {np.sum(self.gaps < -MARGIN)}"

    @property
    def divergence(self) -> str:
        """On how many data sets the other has diverged, and the mean over the others; empty where it has not."""
        return f"{self.diverged.sum()} ({self.without_diverged})" if self.diverged.any() else ""


def signed(value: float) -> str:
    """Return a difference with four digits; zero has no sign."""
    text = f"{value:+.4f}"
    return "0.0000" if float(text) == 0 else text


def base_of(deviation: Deviation) -> str:
    """Return the name of the setting that a deviation is compared with."""
    return DEFAULT if deviation.base is None else f"{deviation.name}: compared with"


def gain_of(found: Mapping[str, Any], name: str, deviation: Deviation) -> Gain:
    """Return what a deviation gains."""
    return Gain.of(found[name][base_of(deviation)], found[name][deviation.name])


# The page


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def variants_table(found: Mapping[str, Any]) -> str:
    """Return the table of the paper variants beside the defaults."""
    heads = ["", DEFAULT]
    for kind in PREPARED:
        heads += [kind, "better / worse", "diverged", "time"]
    rows = []
    for name, settings in found.items():
        auc = [np.mean(cells["auc"]) for cells in settings[DEFAULT].values()]
        row = [name, f"{np.mean(auc):.4f}"]
        for kind in PREPARED:
            gain = Gain.of(settings[DEFAULT], settings[f"paper, {kind}"])
            row += [signed(gain.gaps.mean()), gain.counts, gain.divergence, f"{gain.time:.2f}"]
        rows.append(row)
    return table(heads, rows)


def deviations_table(found: Mapping[str, Any]) -> str:
    """Return the table of the single deviations."""
    rows = []
    for name in found:
        for deviation in DEVIATIONS[name]:
            gain = gain_of(found, name, deviation)
            low, high = bootstrap_interval(gain.gaps[:, None])
            interval = f"{signed(low[0])} to {signed(high[0])}"
            if deviation.sparse:
                interval = f"on {', '.join(found[name][deviation.name])} alone"
            mark = "" if deviation.base is None else " *"
            row = [name, deviation.name + mark, signed(gain.gaps.mean()), interval, gain.counts, gain.divergence]
            rows.append([*row, f"{gain.time:.2f}"])
    heads = ["", "what the default does", "gain", "95% interval", "better / worse", "diverged", "time"]
    return table(heads, rows)


def write_page(found: Mapping[str, Any], path: Path) -> None:
    """Put both tables between their marks in the page."""
    data = list(next(iter(found.values()))[DEFAULT])
    head = f"{len(data)} data sets: {', '.join(data)}."
    replace_block(path, "make variants", f"{head}\n\n{variants_table(found)}")
    replace_block(path, "make variants, by deviation", deviations_table(found))


# The docstrings


def classes() -> dict[type, list[str]]:
    """Return the classes, with the algorithms that each is."""
    found: dict[type, list[str]] = {}
    for name in DEVIATIONS:
        found.setdefault(ALGORITHMS[name].make, []).append(name)  # type: ignore[arg-type]
    return found


def gain_texts(found: Mapping[str, Any], names: list[str]) -> list[str]:
    """Return the gains of the deviations of a class, in their order, as its docstring has them."""
    listed = {name: {deviation.name: deviation for deviation in DEVIATIONS[name]} for name in names}
    return [
        "; ".join(
            gain_text(gain_of(found, name, own[what]), own[what].for_time) + (f" ({name})" if len(names) > 1 else "")
            for name, own in listed.items()
            if what in own
        )
        for what in dict.fromkeys(what for own in listed.values() for what in own)
    ]


def gain_text(gain: Gain, for_time: bool) -> str:
    """Return the gain of one deviation, as docstrings have it."""
    text = signed(gain.gaps.mean())
    if gain.diverged.any():
        text += f", diverged without it on {gain.diverged.sum()} of {len(gain.gaps)} data sets"
    return f"{text}, {gain.time:.2g} times the time without it" if for_time else text


def docstring_gains(docstring: str) -> list[str]:
    """Return the gains that a docstring has, one at the end of each item of its list."""
    return [" ".join(item[1].split()) for item in ITEM.finditer(docstring)]


def write_docstrings(found: Mapping[str, Any]) -> None:
    """Put the gains into the docstrings of the classes."""
    for cls, names in classes().items():
        path, texts = Path(inspect.getfile(cls)), gain_texts(found, names)
        source = path.read_text(encoding="utf-8")
        old = class_docstring(source, cls.__name__)
        items = [item[0] for item in ITEM.finditer(old)]
        if len(items) != len(texts):
            raise ValueError(f"The docstring of {cls.__name__} has {len(items)} gains, but there are {len(texts)}.")
        new = old
        for item, text in zip(items, texts, strict=True):
            new = new.replace(item, refill(item, text))
        path.write_text(source.replace(old, new), encoding="utf-8")


def class_docstring(source: str, name: str) -> str:
    """Return the lines of the docstring of a class, as its file has them."""
    (node,) = (each for each in ast.parse(source).body if isinstance(each, ast.ClassDef) and each.name == name)
    lines, text = source.splitlines(keepends=True), node.body[0]
    return "".join(lines[text.lineno - 1 : text.end_lineno])


def refill(item: str, gain: str) -> str:
    """Return an item of a list with another gain at its end."""
    text = f"{item.partition('Gain:')[0]}Gain: {gain}."
    text = " ".join(text.removeprefix("    - ").split())
    return textwrap.fill(
        text, WIDTH, initial_indent="    - ", subsequent_indent="      ", break_long_words=False, break_on_hyphens=False
    )
