"""A key of `--json` has one meaning and one type in all commands, and the guide lists it with that type."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from aucmax import AUCClassifier
from aucmax.cli.app import COMMANDS, load_command

GUIDE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (`.*?) \| ([a-z ]+) \|", GUIDE.partition("## JSON")[2].partition("\n## ")[0], re.MULTILINE)
LISTED = [(key, set(types.split(" or "))) for keys, types in ROWS for key in re.findall(r"`(\w+)`", keys)]
NAMES = {"parameters", "versions", "weights"}  # their keys are names: of columns, say
TYPES = {str: "string", bool: "boolean", int: "number", float: "number", list: "list", dict: "object"}
# What a stranger might call what has a name already.
SYNONYMS = {
    *("n_rows", "rows", "n_columns", "columns", "features", "samples", "missing", "folds", "repeats"),
    *("name", "algorithm", "estimator", "file", "path", "dataset", "low", "high", "standard_error", "time", "times"),
}


def gather(value, parent="", found=None):
    """Return the types of all keys, also of objects inside; not those that name things of the user."""
    found = {} if found is None else found
    if isinstance(value, dict) and parent not in NAMES:
        for key, inner in value.items():
            found.setdefault(key, set()).add("null" if inner is None else TYPES[type(inner)])
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else ((parent, each) for each in value):
            gather(inner, key, found)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with two tables, and a model that was saved in Python."""
    folder = tmp_path_factory.mktemp("json")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 2)) + y[:, None]
    for name in ("table", "other"):
        lines = [f"{x:.3f},{'red' if rng.random() < 0.5 else 'blue'},{k}\n" for x, k in zip(X[:, 0], y, strict=True)]
        (folder / f"{name}.csv").write_text("size,colour,y\n" + "".join(lines), encoding="utf-8")
    days = [f"{x:.3f},{'red' if k else 'green'},2026-0{1 + k}-01,{k}\n" for x, k in zip(X[:, 0], y, strict=True)]
    (folder / "new.csv").write_text("size,colour,day,y\n" + "".join(days), encoding="utf-8")
    AUCClassifier(alpha=0.1).fit(X, y).save(folder / "python")
    return folder


@pytest.fixture
def commands(folder):
    """Return commands that together print every key."""
    names = ("table.csv", "other.csv", "new.csv", "linear", "additive")
    table, other, new, linear, additive = (folder / name for name in names)
    of_target = ("--target", "y", "--positive", "1")
    methods = ("--methods", "GaussianAUC, GaussianError", "--folds", "2", "--repeats", "1")
    return [
        ("fit", table, *of_target, "--loss", "auto", "--test", table, "-o", linear, "--report", folder / "fit.html"),
        ("fit", table, *of_target, "-o", additive),
        ("fit", table, *of_target, "--algorithm", "OPAUCrp", "-o", folder / "pipeline"),
        ("evaluate", linear, table, "--cost-fp", "1", "--cost-fn", "5"),
        ("evaluate", linear, new, "--by", "day"),
        ("monitor", additive, table, "--limit", "99"),
        ("monitor", linear, new, "--limit", "99", "--time", "day"),
        ("inspect", linear),
        ("inspect", additive),
        ("inspect", folder / "pipeline"),
        ("inspect", folder / "python"),
        ("inspect", table, "--target", "y"),
        ("compare", table, other, *of_target, *methods),
        ("scorecard", additive, "--test", table),
        ("algorithms",),
        ("demo", "-o", folder / "demo.html"),
    ]


def test_json_keys_are_listed_once_in_the_guide():
    keys = [key for key, _ in LISTED]
    assert len(keys) > 60
    assert {key for key in keys if keys.count(key) > 1} == set()


@pytest.mark.slow
def test_json_keys_have_the_types_of_the_guide(run, commands):
    with_json = {
        name for name in COMMANDS if any("--json" in parameter.opts for parameter in load_command(name).params)
    }
    assert with_json == {command[0] for command in commands}
    found, kinds = {}, dict(LISTED)
    for command in commands:
        status, out, err = run(*command, "--json")
        assert status == 0, err
        for key, types in gather(json.loads(out)).items():
            assert types <= kinds.get(key, set()), f"{key} of aucmax {command[0]} is {types}"
            found.setdefault(key, set()).update(types)
    assert {key: types for key, types in found.items() if len(types - {"null"}) > 1} == {}
    assert {key for key in found if not re.fullmatch(r"[a-z][a-z0-9_]*", key)} == set()
    assert set(found) & SYNONYMS == set()
    assert set(kinds) - set(found) == set(), "the guide lists keys that no command prints"
