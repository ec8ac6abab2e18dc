"""What the Tab key offers, and the help."""

import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from aucmax.cli.app import COMMANDS, list_commands, load_command, make_group
from aucmax.cli.options import FITTED
from aucmax.compare.methods import METHODS


@pytest.mark.slow
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
    command = [sys.executable, "-c", "from aucmax.__main__ import run; run()"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == offered


def test_fitted_algorithms_are_methods_of_the_registry():
    assert list(FITTED) == [name for name in METHODS if name in FITTED]
    assert len(FITTED) == len(METHODS) - 8  # other libraries are for comparison


@pytest.mark.parametrize("command", ["", *list_commands()])
def test_the_help_names_values_in_words_and_shows_no_types(run, command):
    status, out, _ = run(*command.split(), "--help")
    assert status == 0
    assert "--help" in out
    assert re.findall(r"<[a-z]\w*|\w+\[\w+\]|\b(?:TEXT|INTEGER|FLOAT|PATH|BOOLEAN)\b|\{[A-Z]", out) == []


def test_every_option_that_takes_a_value_names_it():
    unnamed = {
        (name, option.name)
        for name in list_commands()
        for option in load_command(name).params
        if not (getattr(option, "is_flag", False) or option.metavar)
    }
    assert unnamed == set()


def test_commands_are_listed_with_the_first_line_of_their_own_help():
    assert {name: load_command(name).help for name in COMMANDS} == {name: info.help for name, info in COMMANDS.items()}


def test_commands_of_other_packages_are_listed_and_loaded(run, monkeypatch):
    def greet(name: str = "all") -> None:
        """Greet somebody."""
        print(f"hello {name}")

    monkeypatch.setattr("aucmax.compare.greet", greet, raising=False)
    entry = EntryPoint("greet", "aucmax.compare:greet", "aucmax.commands")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry] if group == entry.group else [])
    make_group.cache_clear()
    try:
        assert run("greet", "--name", "you") == (0, "hello you\n", "")
        assert "greet" in run("--help")[1]
    finally:
        make_group.cache_clear()
