"""An option that was given and would not be used is an error."""

import numpy as np
import pytest
import typer

from aucmax.cli.app import app
from aucmax.cli.unused_options import USES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, 2)) + y[:, None]
    rows = list(zip(X.tolist(), y.tolist(), strict=True))
    (folder / "rows.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{c}\n" for (a, b), c in rows))
    (folder / "rows.libsvm").write_text("".join(f"{c} 1:{a} 2:{b}\n" for (a, b), c in rows))
    return folder


UNUSED = {
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


@pytest.mark.parametrize("name", USES)
def test_an_option_that_is_not_used_is_refused(name, refused, folder, tmp_path):
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
]


@pytest.mark.parametrize(("file", "options"), USED, ids=str)
def test_an_option_that_is_used_is_accepted(run, folder, tmp_path, file, options):
    status, _, err = run("fit", folder / file, "-o", tmp_path / "m", *options)
    assert (status, err) == (0, "")


def test_other_commands_refuse_them_too(run, refused, folder, tmp_path):
    run("fit", folder / "rows.libsvm", "-o", tmp_path / "m", "--alpha", "1")
    for command in (["predict", tmp_path / "m"], ["evaluate", tmp_path / "m"], ["compare", "--methods", "GaussianAUC"]):
        told = refused(*command, folder / "rows.libsvm", "--target", "y")
        assert told == "--target is used only for CSV and Parquet: leave it out."


def test_the_table_names_options():
    commands = typer.main.get_command(app).commands
    assert set(USES) <= {parameter.name for parameter in commands["fit"].params}
