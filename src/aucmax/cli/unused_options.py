"""Options that a command was given but would not use: an error, since the user meant something by them.

`USES` says for each option that is not always used when it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import typer
from sklearn.pipeline import Pipeline

from ..files import FORMATS
from ..files.format_options import USED_BY, refuse_unused


class Facts(NamedTuple):
    """What decides whether an option is used.

    Attributes
    ----------
    formats : collection of str
        The formats of the files that are read: those of files of rows, or "model" where a command shows a model.
    estimator : estimator or None
        What is fitted.
    options : dict
        All options of the command, by the names of its arguments.
    """

    formats: Collection[str]
    estimator: Any
    options: dict[str, Any]

    def parameter(self, name: str) -> Any:
        """Return a parameter of the classifier; None if it has no such parameter."""
        estimator = self.estimator
        classifier = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        return None if classifier is None else classifier.get_params(deep=False).get(name)


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
    "format": Use(reads(*FORMATS), "for files of rows"),
    **{name: Use(reads(*formats), when) for name, (formats, when) in USED_BY.items()},
    "l1_ratio": Use(lambda facts: facts.parameter("penalty") == "elasticnet", "with penalty='elasticnet'"),
    "selection": Use(blends, "with loss='auto' and penalty='l2', and without alpha= and n_nonzero="),
    "cv": Use(chooses_alpha, "without alpha= or with several n_nonzero="),
    "group": Use(chooses_alpha, "without alpha= or with several n_nonzero=, for cross-validation"),
    "random_state": Use(is_random, "by algorithms that draw random numbers"),
    "checkpoint_every": Use(lambda facts: facts.options["checkpoint"] is not None, "with checkpoint="),
}


def check_used(context: typer.Context, formats: Collection[str], estimator: Any = None) -> None:
    """Raise a ValueError if a command was given an option that it would not use.

    Parameters
    ----------
    context : typer.Context
        The running command.
    formats : collection of str
        The formats of the files that are read, or "model".
    estimator : estimator, default=None
        What is fitted, if anything is.
    """
    facts = Facts(formats, estimator, context.params)
    for name, use in USES.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and not use.holds(facts):
            refuse_unused(name, context.params[name], use.when)
