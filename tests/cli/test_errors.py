"""The library speaks Python and the command line speaks flags, translated in one place."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import aucmax
from aucmax.cli.app import list_commands, load_command
from aucmax.cli.errors import name_flags

COMMANDS = {name: load_command(name) for name in list_commands()}
PACKAGE = Path(aucmax.__file__).parent
FLAG = r"(?<![\w-])--[a-z]"


@pytest.mark.parametrize(
    ("command", "sentence", "translated"),
    [
        (
            "fit",
            "more than memory= leaves: raise memory=, or give alpha=.",
            "more than --memory leaves: raise --memory, or give --alpha.",
        ),
        ("fit", "say header=False.", "say --no-header."),
        ("fit", "say zero_based=True.", "say --zero-based."),
        ("fit", "standardize=False or standardize=True", "--no-standardize or --standardize"),
        ("fit", "loss='hinge' needs penalty='l2'.", "--loss hinge needs --penalty l2."),
        ("fit", "positive='a b', cv=3 and l1_ratio=-0.5.", "--positive 'a b', --cv 3 and --l1-ratio -0.5."),
        ("fit", "n_nonzero=[3, 5]; alpha=None", "--n-nonzero [3, 5]; no --alpha"),
        ("fit", "random_state=7 and checkpoint_every=", "--seed 7 and --checkpoint-every"),
        ("fit", "The 'alpha' parameter of AUCClassifier must be a float.", "--alpha must be a float."),
        ("fit", "rows.csv: n_nonzero must be between 1 and 8.", "rows.csv: --n-nonzero must be between 1 and 8."),
        ("compare", "n_splits=5 cannot be greater; n_jobs=2", "--folds 5 cannot be greater; --jobs 2"),
        ("reproduce", "give data_dir= a folder, download=False", "give --data-dir a folder, --no-download"),
    ],
)
def test_arguments_become_the_flags_of_the_command(command, sentence, translated):
    assert name_flags(sentence, COMMANDS[command]) == translated


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("fit", "set max_iter=100 or solver='moments'."),  # no options
        ("fit", "header=True, zero_based=False"),  # no flag says this
        ("fit", "train=, output"),  # an argument without a flag
        ("fit", "take OPAUC(rank=3, alpha=0.1)"),  # as --algorithm takes it
        ("fit", "column 'alpha=1': found the text 'loss=x'"),  # words of the file
        ("fit", "weight = 1, group == 2, x.alpha=1"),
        (
            "fit",
            "The 'solver' parameter of OPAUC; the alpha must be positive; rank must be 3",
        ),  # none is an option
        ("evaluate", "raise memory= or give positive="),  # options of other commands
        ("algorithms", "format= and target="),
    ],
)
def test_what_is_no_option_of_the_command_stays(command, sentence):
    assert name_flags(sentence, COMMANDS[command]) == sentence
    assert name_flags(sentence, None) == sentence


def test_what_the_user_wrote_stays():
    sentence = "alpha=1.csv: raise memory=; cv=2.st and cv=2.0"
    arguments = ["fit", "alpha=1.csv", "--output=cv=2.st"]
    assert name_flags(sentence, COMMANDS["fit"], arguments) == "alpha=1.csv: raise --memory; cv=2.st and --cv 2.0"


@pytest.mark.parametrize(
    ("content", "arguments", "told"),
    [
        ("a,b,c\n1,2,0\n", [], "name the target with --target; its columns are a, b, c."),
        ("a,y\n1,0\n3,1\n2,2\n", [], "are more than two: name the positive one with --positive, and all others"),
        ("a,y\n1,0\n3,1\n", ["--positive", "7"], "no row has the label '7' that --positive names; there are 0 and 1."),
        (
            "a,y\n" + "1,0\n" * 9 + "z,1\n",
            [],
            "correct it, name it in --na-values, or the column in --categorical or --drop.",
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


def test_warnings_name_flags(tmp_path):
    rows = "".join(f"{k},{int(k < 3)}\n" for k in range(30))
    (tmp_path / "rows.csv").write_text("a,y\n" + rows, encoding="utf-8")
    arguments = ["fit", tmp_path / "rows.csv", "--cv", "4", "--loss", "squared", "-o", tmp_path / "m", "-q"]
    done = subprocess.run([sys.executable, "-m", "aucmax", *arguments], capture_output=True, text=True)
    assert done.returncode == 0
    expected = "aucmax: warning: The rarer class has only 3 rows, fewer than --cv 4: 3 folds are used.\n"
    assert done.stderr == expected


def test_a_warning_is_said_once(tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"{a:.17g},{b:.17g},{int(a > 0)}\n" for a, b in rng.standard_normal((60, 2)) * 1e-300)
    (tmp_path / "rows.csv").write_text("a,b,y\n" + rows, encoding="utf-8")
    arguments = ["fit", tmp_path / "rows.csv", "-o", tmp_path / "m", "-q"]
    done = subprocess.run([sys.executable, "-m", "aucmax", *arguments], capture_output=True, text=True)
    assert done.returncode == 0
    assert re.fullmatch(r"aucmax: warning: The squares of the values of X underflow in 2 columns, .*\n", done.stderr)


def test_no_sentence_below_the_command_line_names_a_flag():
    files = [path for path in PACKAGE.rglob("*.py") if (PACKAGE / "cli") not in path.parents]
    assert len(files) > 50
    found = []
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(FLAG, node.value):
                found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value}")
    assert found == []


def test_a_flag_is_seen():
    for text in ("raise --memory", "--na-values", "(--list)", "`aucmax reproduce --list`"):
        assert re.search(FLAG, text)
    assert not re.search(FLAG, "a -- b, ---, x--y, -q")


@pytest.mark.parametrize(
    ("algorithm", "text", "told"),
    [
        ("OPAUCr", "The state of OPAUC for 9 columns: take OPAUC.", "The state of OPAUCr for 9 columns: take OPAUCr."),
        ("opaucr(rank=9)", "OPAUC diverged in OPAUC.csv", "OPAUCr diverged in OPAUC.csv"),
        ("OPAUC", "The state of OPAUC, or OPAUC(rank=50)", "The state of OPAUC, or OPAUC(rank=50)"),
        ("SPAMl1", "SPAM stopped at --max-iter", "SPAMl1 stopped at --max-iter"),
        ("NPSAM", "KMeansNystroem with 9 landmarks", "KMeansNystroem of NPSAM with 9 landmarks"),
        ("CBR", "Class moments for 9 columns", "Class moments of CBR for 9 columns"),
        ("unknown", "A fit to 9 columns", "A fit to 9 columns"),
    ],
)
def test_an_algorithm_is_named_as_the_user_wrote_it(algorithm, text, told):
    assert name_flags(text, None, ["fit", "rows", "--algorithm", algorithm]) == told
    assert name_flags(text, None, ["fit", f"--algorithm={algorithm}", "rows"]) == told
    assert name_flags(text, None, ["fit", "rows"]) == text
