"""An option that was given and would not be used is an error."""

import os
import subprocess
import sys

import numpy as np
import pytest

from aucmax import AUCClassifier, open_rows
from aucmax.cli.app import list_commands, load_command
from aucmax.cli.checks import USES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, 2)) + y[:, None]
    rows = list(zip(X.tolist(), y.tolist(), strict=True))
    (folder / "rows.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{c}\n" for (a, b), c in rows), encoding="utf-8")
    (folder / "rows.libsvm").write_text("".join(f"{c} 1:{a} 2:{b}\n" for (a, b), c in rows), encoding="utf-8")
    AUCClassifier(alpha=1).fit(X, y).save(folder / "model")
    return folder


def of_tables(option, value="a"):
    return "rows.libsvm", [option, value], f"{option} is used only for CSV and Parquet"


UNUSED = {
    "delimiter": ("rows.libsvm", ["--delimiter", ";"], "--delimiter is used only for CSV"),
    "encoding": ("rows.libsvm", ["--encoding", "utf-8"], "--encoding is used only for CSV"),
    "drop": of_tables("--drop"),
    "identifiers": of_tables("--id"),
    "categorical": of_tables("--categorical"),
    "numeric": of_tables("--numeric"),
    "date": of_tables("--date"),
    "na_values": of_tables("--na-values", "9"),
    "thousands": of_tables("--thousands", ","),
    "zero_based": ("rows.csv", ["--zero-based"], "--zero-based is used only for LIBSVM text"),
    "header": ("rows.libsvm", ["--no-header"], "--no-header is used only for CSV"),
    "target": ("rows.libsvm", ["--target", "y"], "--target is used only for CSV and Parquet"),
    "l1_ratio": ("rows.csv", ["--l1-ratio", "0.5"], "--l1-ratio is used only with --penalty elasticnet"),
    "selection": (
        "rows.csv",
        ["--selection", "best", "--loss", "squared"],
        "--selection is used only with --loss auto and --penalty l2, and without --alpha and --n-nonzero",
    ),
    "cv": (
        "rows.csv",
        ["--cv", "3", "--alpha", "1"],
        "--cv is used only without --alpha or with several --n-nonzero",
    ),
    "group": (
        "rows.csv",
        ["--group", "b", "--alpha", "1"],
        "--group is used only without --alpha or with several --n-nonzero, for cross-validation",
    ),
    "random_state": ("rows.csv", ["--seed", "1"], "--seed is used only by algorithms that draw random numbers"),
    "checkpoint_every": ("rows.csv", ["--checkpoint-every", "1"], "--checkpoint-every is used only with --checkpoint"),
}


# Options that `aucmax fit` always uses or does not have.
ELSEWHERE = {
    "top": (["inspect", "rows.csv", "--top", "3"], "--top is used only for models"),
    "format": (["inspect", "model", "--format", "csv"], "--format is used only for files of rows"),
    "by": (["evaluate", "model", "rows.libsvm", "--by", "a"], "--by is used only for CSV and Parquet"),
    "time": (["compare", "rows.libsvm", "--time", "a"], "--time is used only for CSV and Parquet"),
    "keep": (["predict", "model", "rows.libsvm", "--keep", "a"], "--keep is used only for CSV and Parquet"),
}


def test_every_option_of_uses_is_tested():
    assert {*UNUSED, *ELSEWHERE} == set(USES)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_unused_option_of_another_command_is_refused(name, refused, folder):
    arguments, told = ELSEWHERE[name]
    files = [folder / word if (folder / word).exists() else word for word in arguments]
    assert refused(*files) == f"{told}: leave it out."


@pytest.mark.parametrize("option", ["--target", "--drop", "--id", "--na-values", "--thousands"])
def test_inspect_of_a_model_refuses_table_options(option, refused, folder):
    assert (
        refused("inspect", folder / "model", option, "a") == f"{option} is used only for CSV and Parquet: leave it out."
    )


@pytest.mark.parametrize("name", UNUSED)
def test_fit_refuses_an_unused_option(name, refused, folder, tmp_path):
    file, options, told = UNUSED[name]
    assert refused("fit", folder / file, "-o", tmp_path / "m", *options) == f"{told}: leave it out."
    assert not (tmp_path / "m").exists()


USED = [
    ("rows.libsvm", ["--zero-based"]),
    ("rows.csv", ["--target", "y"]),
    ("rows.csv", ["--penalty", "elasticnet", "--l1-ratio", "0.5", "--alpha", "0.1"]),
    ("rows.csv", ["--algorithm", "SPAM(penalty='elasticnet')", "--l1-ratio", "0.5", "--seed", "1"]),
    ("rows.csv", ["--algorithm", "OPAUCf", "--seed", "1"]),
    ("rows.csv", ["--cv", "3", "--alpha", "1", "--n-nonzero", "1", "--n-nonzero", "2"]),
    ("rows.csv", ["--selection", "best"]),
    ("rows.csv", ["--delimiter", ",", "--encoding", "utf-8", "--drop", "a", "--numeric", "b", "--na-values", "9"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "options"), USED, ids=str)
def test_fit_accepts_a_used_option(run, folder, tmp_path, file, options):
    status, _, err = run("fit", folder / file, "-o", tmp_path / "m", *options)
    assert (status, err) == (0, "")


def test_other_commands_refuse_unused_options(run, refused, folder, tmp_path):
    run("fit", folder / "rows.libsvm", "-o", tmp_path / "m", "--alpha", "1")
    for command in (["predict", tmp_path / "m"], ["evaluate", tmp_path / "m"], ["compare", "--methods", "GaussianAUC"]):
        told = refused(*command, folder / "rows.libsvm", "--target", "y")
        assert told == "--target is used only for CSV and Parquet: leave it out."


def test_the_table_names_options():
    assert set(USES) <= {parameter.name for name in list_commands() for parameter in load_command(name).params}


def test_one_file_of_several_may_use_an_option(run, folder, tmp_path):
    rows = (folder / "rows.csv").read_text(encoding="utf-8").partition("\n")[2]
    (tmp_path / "bare.csv").write_text(rows, encoding="utf-8")
    files = [tmp_path / "bare.csv", folder / "rows.libsvm"]
    options = [
        "--methods",
        "GaussianAUC, RidgeClassifier",
        "--folds",
        "2",
        "--repeats",
        "1",
        "--candidates",
        "1",
        "--inner-folds",
        "2",
    ]
    status, _, err = run("compare", *files, "--no-header", "--target", "x3", *options)
    assert status == 0, err


@pytest.mark.parametrize("name", [name for name, (file, *_) in UNUSED.items() if file == "rows.csv"])
def test_unused_option_is_refused_before_a_pass_over_the_table(name, refused, folder, tmp_path):
    file, options, told = UNUSED[name]
    path = tmp_path / file
    path.write_text(
        (folder / file).read_text(encoding="utf-8") + "not,a,row,of,it\n", encoding="utf-8"
    )  # which a pass would find
    assert refused("fit", path, "-o", tmp_path / "m", *options) == f"{told}: leave it out."


def test_inspect_and_compare_refuse_unused_options_before_a_pass(refused, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,0\n2,1\n3,0,4\n", encoding="utf-8")
    assert refused("inspect", path, "--top", "3") == "--top is used only for models: leave it out."
    told = "--zero-based is used only for LIBSVM text: leave it out."
    assert refused("compare", path, "--methods", "GaussianAUC", "--zero-based") == told


@pytest.mark.parametrize(
    ("file", "options", "told"),
    [
        ("rows.csv", {"zero_based": True}, "zero_based= is used only for LIBSVM text"),
        ("rows.libsvm", {"header": False}, "header=False is used only for CSV"),
        ("rows.libsvm", {"target": "y"}, "target= is used only for CSV and Parquet"),
        ("rows.libsvm", {"categorical": ["a"]}, "categorical= is used only for CSV and Parquet"),
        ("rows.libsvm", {"delimiter": ";", "format": "libsvm"}, "delimiter= is used only for CSV"),
    ],
)
def test_open_rows_refuses_an_unused_argument(folder, file, options, told):
    with pytest.raises(ValueError, match="is used only") as error:
        open_rows(folder / file, **options)
    assert str(error.value) == f"{told}: leave it out."


def test_open_rows_takes_defaults_and_used_arguments(folder):
    rows = open_rows(folder / "rows.libsvm", delimiter=None, header=True, drop=[], encoding="utf-8", zero_based=True)
    assert rows.n_features == 3
    assert open_rows(folder / "rows.csv", target="y", drop=["a"], zero_based=False).n_features == 1


@pytest.fixture
def pipe(folder, tmp_path):
    """A pipe with the rows of a file, which can be read once."""
    os.mkfifo(tmp_path / "pipe")
    code = f"open({str(tmp_path / 'pipe')!r}, 'wb').write(open({str(folder / 'rows.libsvm')!r}, 'rb').read())"
    writer = subprocess.Popen([sys.executable, "-c", code])
    yield tmp_path / "pipe"
    assert writer.wait(timeout=10) == 0


@pytest.mark.posix
def test_fit_reads_a_pipe_once(run, pipe, tmp_path):
    status, _, err = run("fit", pipe, "-o", tmp_path / "m", "--zero-based", "--alpha", "1")
    assert (status, err) == (0, "")


@pytest.mark.posix
def test_fit_refuses_unused_options_of_a_pipe_after_reading(refused, pipe, tmp_path):
    told = refused("fit", pipe, "-o", tmp_path / "m", "--delimiter", ";")
    assert told == "--delimiter is used only for CSV: leave it out."


@pytest.mark.posix
def test_open_rows_reads_a_pipe_once(pipe):
    with pytest.raises(ValueError, match=r"^delimiter= is used only for CSV: leave it out\.$"):
        open_rows(pipe, delimiter=";")
