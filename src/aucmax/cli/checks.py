"""Checks before a command begins: no option is ignored, nothing is lost, and no long fit is in vain.

An option that was given but would not be used is an error, since the user meant something by it; `USES` says when each
is used. The files to be written are checked after the input and the options: a name that is taken is easily changed,
and an error about it would hide what is wrong with the rest of the command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import typer

from .._text import ArgumentError
from ..compare.methods import last_step
from ..files import FORMATS, list_files
from ..files.open_source import TABLES, USED_BY, refuse_unused
from .errors import describe_error


class Facts(NamedTuple):
    """What decides whether an option is used."""

    formats: Collection[str]  # of the files that are read; "model" for a command that shows a model
    estimator: Any  # what is fitted
    options: dict[str, Any]  # all options of the command, by the names of its arguments

    def parameter(self, name: str) -> Any:
        """Return a parameter of the classifier; None if it has no such parameter."""
        return None if self.estimator is None else last_step(self.estimator).get_params(deep=False).get(name)


class Use(NamedTuple):
    """When an option is used: `when` is the end of the sentence "... is used only ..."."""

    holds: Callable[[Facts], bool]
    when: str


def reads(*formats: str) -> Callable[[Facts], bool]:
    """Return whether a file of one of these formats is read."""
    return lambda facts: any(format in facts.formats for format in formats)


def is_random(facts: Facts) -> bool:
    """Return whether anything in the estimator is random; a comparison always draws its folds."""
    names = () if facts.estimator is None else facts.estimator.get_params()
    return facts.estimator is None or any(name.rpartition("__")[2] == "random_state" for name in names)


def chooses_alpha(facts: Facts) -> bool:
    """Return whether something is left to cross-validation."""
    return facts.parameter("alpha") is None or isinstance(facts.parameter("n_nonzero"), list)


def blends(facts: Facts) -> bool:
    """Return whether several losses are tried."""
    named = ("alpha", "n_nonzero")
    return (
        facts.parameter("loss") == "auto"
        and facts.parameter("penalty") == "l2"
        and all(facts.parameter(name) is None for name in named)
    )


USES = {
    "top": Use(reads("model"), "for models"),
    **dict.fromkeys(("time", "by"), Use(reads(*TABLES), "for CSV and Parquet")),
    "format": Use(reads(*FORMATS), "for files of rows"),
    **{name: Use(reads(*formats), when) for name, (formats, when) in USED_BY.items()},
    "l1_ratio": Use(lambda facts: facts.parameter("penalty") == "elasticnet", "with {penalty='elasticnet'}"),
    "selection": Use(blends, "with {loss='auto'} and {penalty='l2'}, and without {alpha=} and {n_nonzero=}"),
    "cv": Use(chooses_alpha, "without {alpha=} or with several {n_nonzero=}"),
    "group": Use(chooses_alpha, "without {alpha=} or with several {n_nonzero=}, for cross-validation"),
    "random_state": Use(is_random, "by algorithms that draw random numbers"),
    "checkpoint_every": Use(lambda facts: facts.options["checkpoint"] is not None, "with {checkpoint=}"),
}


def check_used(context: typer.Context, formats: Collection[str], estimator: Any = None) -> None:
    """Raise a ValueError if a command was given an option that it would not use.

    `formats` are the formats of the files that are read, or "model"; `estimator` is what is fitted, if anything is.
    """
    facts = Facts(formats, estimator, context.params)
    for name, use in USES.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and not use.holds(facts):
            refuse_unused(name, context.params[name], use.when)


def check_inputs(inputs: Sequence[str | Path | None]) -> None:
    """Raise a ValueError if standard input would be read twice."""
    if sum(path is not None and str(path) == "-" for path in inputs) > 1:
        raise ValueError("standard input (-) can be read only once.")


def check_outputs(
    outputs: dict[str, Path | None], force: bool, inputs: Sequence[str | Path | None], checkpoint: Path | None = None
) -> None:
    """Raise a ValueError if a file would be lost or cannot be written.

    `outputs` are the files to write, by the options that name them. `inputs` are the files to read, or patterns that
    stand for them. The checkpoint may exist.
    """
    check_inputs(inputs)
    read = [name for path in inputs if path is not None for name in list_files(path)]
    taken = {os.path.realpath(name): f"{name} is read by this command" for name in read}
    for name, path in {"--checkpoint": checkpoint, **outputs}.items():
        if path is None:
            continue
        if path.is_dir():
            raise ValueError(f"{path} is a directory.")
        if path.is_file() and not force and path is not checkpoint:
            raise ValueError(f"{path} exists: give another name, or --force to replace it.")
        place = os.path.realpath(path)
        if place in taken:
            raise ValueError(f"{taken[place]}, so {name} needs another name.")
        taken[place] = f"{path} is written as {name}"
        folder = Path(place).parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            what = "cannot be written to" if folder.is_dir() else "is not a directory"
            raise ValueError(f"{folder} {what}, so {path.name} cannot be written there.")


@contextmanager
def after_writing(path: Path) -> Iterator[None]:
    """If the block fails, add to its error that the model was written."""
    try:
        yield
    except (ValueError, OSError) as error:
        sentence = error if isinstance(error, ValueError) else describe_error(error)
        raise ArgumentError("{} (The model was written to {}.)", sentence, path) from error
