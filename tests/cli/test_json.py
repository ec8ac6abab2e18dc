"""The keys of `--json` are words of one kind, the same in all commands, and the guide lists them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

GUIDE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
LISTED = set(re.findall(r"`(\w+)`", GUIDE.partition("## JSON")[2].partition("\n## ")[0]))
NAMES = {"parameters", "versions", "weights", "win_tie_loss"}  # their keys are names: of columns, say


def keys(value, parent=""):
    """Yield the keys of objects, also of those inside; not those that name things of the user."""
    if isinstance(value, dict) and parent not in NAMES:
        yield from value
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else ((parent, each) for each in value):
            yield from keys(inner, key)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal() + k % 2:.3f},{'red' if rng.random() < 0.5 else 'blue'},{k % 2}\n" for k in range(60)]
    path = tmp_path_factory.mktemp("rows") / "table.csv"
    path.write_text("size,colour,y\n" + "".join(lines), encoding="utf-8")
    return path


def test_keys_are_words_that_the_guide_lists(run, table, tmp_path):
    linear, additive = tmp_path / "linear", tmp_path / "additive"
    of_target = ("--target", "y", "--positive", "1")
    commands = [
        ("fit", table, *of_target, "--test", table, "-o", linear),
        ("fit", table, *of_target, "--algorithm", "AdditiveAUCClassifier", "-o", additive),
        ("evaluate", linear, table),
        ("inspect", linear),
        ("inspect", additive),
        ("inspect", table, "--target", "y"),
        ("compare", table, *of_target, "--methods", "GaussianAUC, GaussianError", "--folds", "2", "--repeats", "1"),
        ("scorecard", additive),
        ("algorithms",),
        ("reproduce", "--list"),
        ("demo", "-o", tmp_path / "demo.html"),
    ]
    found = set()
    for command in commands:
        status, out, err = run(*command, "--json")
        assert status == 0, err
        found |= set(keys(json.loads(out)))
    assert {key for key in found if not re.fullmatch(r"[a-z][a-z0-9_]*", key)} == set()
    assert found - LISTED == set()
