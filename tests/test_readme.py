"""The code of the README, of the site and of the guide to the command line runs."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

from aucmax.cli.app import main

ROOT = Path(__file__).parents[1]
README, GUIDE = ((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/command_line.md"))
PAGES = [
    "README.md",
    pytest.param("docs/command_line.md", marks=[pytest.mark.slow, pytest.mark.dask]),
    pytest.param("docs/index.md", marks=pytest.mark.slow),
    pytest.param("docs/start.md", marks=pytest.mark.slow),
]
BLOCKS = re.findall(r"```python\n(.*?)```", README + GUIDE, re.DOTALL)


def write_files():
    """Write the files that pages name into the current folder: the rows of breast cancer."""
    frame = load_breast_cancer(as_frame=True)
    rows = frame.data.assign(diagnosis=frame.target.map({0: "malignant", 1: "benign"}))
    rows[:400].to_csv("train.csv", index=False)
    rows[400:].to_csv("test.csv", index=False)
    frame.data[400:].to_csv("new.csv", index=False)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_readme_python_block_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files()
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.slow
@pytest.mark.parametrize(
    "place",
    [
        pytest.param("memory, files and Dask", marks=pytest.mark.dask),
        pytest.param("a device", marks=pytest.mark.device),
    ],
)
def test_guide_examples_of_each_place_of_rows_give_the_same_weights(place, tmp_path):
    """The first blocks of the page are one script, the last one, on a device, another."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "where.md").read_text(encoding="utf-8"), re.DOTALL)
    if place == "a device":
        pytest.importorskip("torch")
        script = blocks[-1]
    else:
        script = "\n".join(blocks[:-1])
        assert "import torch" not in script
        assert script.count("assert") == 2
    plain = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}
    run = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", script], cwd=tmp_path, env=plain, capture_output=True
    )
    assert run.returncode == 0, run.stderr.decode()


@pytest.mark.parametrize("page", PAGES)
def test_readme_shell_commands_run(page, tmp_path, monkeypatch):
    """All commands of a page, one after the other, on the rows of breast cancer."""
    page = (ROOT / page).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    write_files()
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines() if re.search(r"\baucmax [a-z]", line)]
    assert commands
    for command in commands:
        if "|" in command and os.name != "posix":
            continue  # there is no shell that we know of
        if "|" in command:
            script = f'set -euo pipefail; aucmax() {{ "{sys.executable}" -m aucmax "$@"; }}; {command}'
            assert subprocess.run(["bash", "-c", script]).returncode == 0, command
        else:
            with pytest.raises(SystemExit) as leaving:
                main(shlex.split(command, comments=True)[1:])
            assert leaving.value.code == 0, command
    assert Path("report.html").exists()
    assert "predict" not in page or Path("scores.csv").read_text(encoding="utf-8").startswith(
        "score_malignant,probability_malignant"
    )


def test_readme_commands_are_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert len(BLOCKS) >= 2
    assert {"demo", "docs", "test"} <= set(re.findall(r"make ([a-z-]+)", README)) <= targets
    assert (
        set(re.findall(r"^make ([a-z-]+)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE))
        <= targets
    )
