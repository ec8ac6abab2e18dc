"""Errors name arguments in Python and flags on the command line."""

import ast
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import aucmax
from aucmax._text import ArgumentError
from aucmax.cli.app import list_commands, load_command
from aucmax.cli.errors import describe_error, find_flag

COMMANDS = {name: load_command(name) for name in list_commands()}
PACKAGE = Path(aucmax.__file__).parent
FLAG = r"(?<![\w-])--[a-z]"


@pytest.mark.parametrize(
    ("command", "argument", "flag"),
    [
        ("fit", "memory=", "--memory"),
        ("fit", "header=False", "--no-header"),
        ("fit", "zero_based=True", "--zero-based"),
        ("fit", "standardize=False", "--no-standardize"),
        ("fit", "loss='hinge'", "--loss hinge"),
        ("fit", "positive='a b'", "--positive 'a b'"),
        ("fit", "random_state=", "--seed"),
        ("compare", "n_splits=", "--folds"),
        ("fit", "max_iter=100", "max_iter=100"),  # not an option
        ("fit", "header=True", "header=True"),  # no flag says this
        ("fit", "train=", "train="),  # an argument without a flag
        ("evaluate", "memory=", "memory="),  # an option of another command
    ],
)
def test_find_flag_writes_arguments_as_the_command_line_does(command, argument, flag):
    assert find_flag(COMMANDS[command], argument) == flag
    assert find_flag(None, argument) == argument


def test_argument_errors_keep_braces_of_values_and_nest():
    inner = ArgumentError("{}: raise {memory=}", "a{b=}.csv")
    outer = ArgumentError("{} ({})", inner, "{}")
    assert str(outer) == "a{b=}.csv: raise memory= ({})"
    assert describe_error(outer, COMMANDS["fit"]) == "a{b=}.csv: raise --memory ({})"
    assert str(pickle.loads(pickle.dumps(outer))) == str(outer)


def test_the_sentence_of_scikit_learn_names_a_flag():
    error = ValueError("rows.csv: The 'alpha' parameter of AUCClassifier must be a float.")
    assert describe_error(error, COMMANDS["fit"]) == "rows.csv: --alpha must be a float."


@pytest.mark.parametrize(
    ("content", "arguments", "told"),
    [
        ("a,b,c\n1,2,0\n", [], "name the target with --target; its columns are a, b, c."),
        ("a,y\n1,0\n3,1\n2,2\n", [], "are more than two: name the positive one with --positive, and all others"),
        ("a,y\n1,0\n3,1\n", ["--positive", "7"], "no row has the label '7' that --positive names; there are 0 and 1."),
        (
            "a,y\n" + "1,0\n" * 9 + "z,1\n",
            [],
            "correct it, call it a missing value, or read the column as categories or drop it.",
        ),
        ("a,y\n1,0\n", ["--id", "b"], "has no column 'b' for --id; its columns are a, y."),
        ("a,y\n1,0\n", ["--drop", "a", "--date", "a"], "the column 'a' is named by --drop and --date."),
        ("1,0\n3,1\n", [], "found numbers instead of the names of the columns: say --no-header."),
        ("\0\1", [], "Parquet and .npz; say with --format which it is."),
        ("1 0:1\n0 1:2\n", ["--format", "libsvm"], "say --zero-based if this file counts from 0."),
        ("1 1:1\n0 1:2\n", ["--format", "libsvm", "--weight", "w"], "--weight names a column, but LIBSVM text has no"),
    ],
)
def test_errors_of_the_readers_name_flags(refused, tmp_path, content, arguments, told):
    path = tmp_path / "alpha=1.csv"
    path.write_text(content, encoding="utf-8")
    line = refused("fit", path, "-o", tmp_path / "m", *arguments)
    assert line.startswith(str(path))
    assert told in line


@pytest.mark.slow
def test_warning_of_fit_is_one_line(tmp_path):
    rows = "".join(f"{k},{int(k < 3)}\n" for k in range(30))
    (tmp_path / "rows.csv").write_text("a,y\n" + rows, encoding="utf-8")
    arguments = ["fit", tmp_path / "rows.csv", "--cv", "4", "--loss", "squared", "-o", tmp_path / "m", "-q"]
    done = subprocess.run([sys.executable, "-m", "aucmax", *arguments], capture_output=True, text=True)
    assert done.returncode == 0
    expected = "aucmax: warning: The rarer class has only 3 rows: 3 folds are used instead of 4.\n"
    assert done.stderr == expected


def test_warning_of_fit_is_printed_once(tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"{a:.17g},{b:.17g},{int(a > 0)}\n" for a, b in rng.standard_normal((60, 2)) * 1e-300)
    (tmp_path / "rows.csv").write_text("a,b,y\n" + rows, encoding="utf-8")
    arguments = ["fit", tmp_path / "rows.csv", "-o", tmp_path / "m", "-q", "--loss", "auto"]
    done = subprocess.run([sys.executable, "-m", "aucmax", *arguments], capture_output=True, text=True)
    assert done.returncode == 0
    assert re.fullmatch(r"aucmax: warning: The squares of the values of X underflow in 2 columns, .*\n", done.stderr)


def test_no_sentence_below_the_command_line_names_a_flag():
    explained = PACKAGE / "_text.py"  # whose documentation has both
    files = [path for path in PACKAGE.rglob("*.py") if (PACKAGE / "cli") not in path.parents and path != explained]
    assert len(files) > 50
    found = []
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(FLAG, node.value):
                found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value}")
    assert found == []


def test_flag_pattern_finds_flags():
    for text in ("raise --memory", "--na-values", "(--list)", "`aucmax fit --list`"):
        assert re.search(FLAG, text)
    assert not re.search(FLAG, "a -- b, ---, x--y, -q")
