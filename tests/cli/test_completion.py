"""What the Tab key offers, and the help."""

import os
import re
import subprocess
import sys

import pytest

from aucmax.cli.app import make_group
from aucmax.cli.completion import FITTED
from aucmax.compare.methods import METHODS


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("f", ["fit"]),
        ("fit --los", ["--loss"]),
        ("fit --loss lo", ["logistic"]),
        ("fit --algorithm HS", ["HSGHT"]),
    ],
)
def test_commands_options_and_values_are_completed(typed, offered):
    words = f"aucmax {typed}"
    asked = {"_AUCMAX_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, "-c", "from aucmax.cli.process import run; run()"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == offered


def test_the_algorithms_offered_are_those_of_the_registry():
    assert list(FITTED) == [name for name in METHODS if name in FITTED]
    assert len(FITTED) == len(METHODS) - 5  # those of scikit-learn are for comparison


@pytest.mark.parametrize("command", ["", *make_group().commands])
def test_the_help_names_values_in_words_and_shows_no_types(run, command):
    status, out, _ = run(*command.split(), "--help")
    assert status == 0
    assert "--help" in out
    assert re.findall(r"<[a-z]\w*|\w+\[\w+\]|\b(?:TEXT|INTEGER|FLOAT|PATH|BOOLEAN)\b|\{[A-Z]", out) == []


def test_every_option_that_takes_a_value_names_it():
    unnamed = {
        (name, option.name)
        for name, command in make_group().commands.items()
        for option in command.params
        if not (getattr(option, "is_flag", False) or option.metavar)
    }
    assert unnamed == set()
