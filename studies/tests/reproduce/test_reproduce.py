"""`aucmax reproduce`: what it measures, keeps, writes and prints."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer

from aucmax_studies.reproduce.judging.counts import measure_agreement
from aucmax_studies.reproduce.judging.tables import tabulate
from aucmax_studies.reproduce.pages import plots
from aucmax_studies.reproduce.pages.pages import write_pages
from aucmax_studies.reproduce.running.store import gather_results
from aucmax_studies.reproduce.study_file import list_studies, read_study

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "studies" / "results" / "papers"

STUDY = """
paper = "OPAUC"
label = "Table 9"
title = "A study"
claim = "One is better."
[protocol]
folds = 3
[methods.ours]
method = "GaussianAUC"
[methods.theirs]
method = "UniSqu(max_iter=1)"
[data.diabetes]
[data.epsilon]
[published]
runs = 25
auc = '''
data     | ours     | theirs
diabetes | .99±.05  | .20±.02•
epsilon  | .5       | .5
'''
"""


@pytest.fixture
def study(tmp_path):
    """Return the path of a study, beside a folder of data that has another set under the name of diabetes."""
    X, y = load_breast_cancer(return_X_y=True)
    (tmp_path / "data").mkdir()
    dump_svmlight_file(X[:, :8], y, str(tmp_path / "data" / "diabetes"), zero_based=False)
    path = tmp_path / "own.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_it_lists_every_study(run):
    status, out, _ = run("reproduce", "--list")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == list_studies()
    status, out, _ = run("reproduce", "--list", "--json")
    assert [row["study"] for row in json.loads(out)["studies"]] == list_studies()


def test_the_readme_lists_the_keys_of_json(run, study, tmp_path):
    """The keys that other commands have too are listed in the guide to the command line."""
    pages = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("studies/README.md", "docs/command_line.md"))
    listed = {key for keys in re.findall(r"^\| (`.*?) \|", pages, re.MULTILINE) for key in re.findall(r"`(\w+)`", keys)}
    measured = (
        "reproduce",
        study,
        "--data-dir",
        tmp_path / "data",
        "--no-download",
        "--quick",
        "-o",
        tmp_path / "kept",
    )
    for command in (("reproduce", "--list"), measured):
        status, out, err = run(*command, "--json")
        assert status == 0, err
        found = json.loads(out)
        assert set(found) | {key for row in found["studies"] for key in row} <= listed


def test_the_names_of_studies_are_completed():
    words = "aucmax reproduce opauc-table"
    asked = {"_AUCMAX_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "2"}
    command = [sys.executable, "-c", "from aucmax.__main__ import run; run()"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["opauc-table-2", "opauc-table-3", "opauc-table-5"]


def test_it_measures_saves_writes_pages_and_does_nothing_twice(run, study, tmp_path):
    arguments = ["reproduce", study, "--data-dir", tmp_path / "data", "--no-download", "-o", tmp_path / "kept"]
    status, out, err = run(*arguments)
    assert status == 0
    assert err.startswith("own: epsilon is not in ")
    assert err.count("\n") == 1
    counts = ["4", "2", "1", "1", "0", "0", "2", "0", "0"]  # as the header names them
    *found, median, near = out.splitlines()[1].split()
    assert found == ["own", *counts]
    assert float(median) > 0.1
    assert near in ("0%", "50%")
    assert f"wrote {tmp_path / 'kept' / 'pages'}" in out
    assert "quick" not in out
    page = (tmp_path / "kept" / "pages" / "opauc.md").read_text(encoding="utf-8")
    assert ".20" in page
    assert "epsilon is not in" in page
    kept = (tmp_path / "kept" / "own.jsonl").read_bytes()
    assert kept.count(b'"auc"') == 6
    status, again, _ = run(*arguments, "--json")
    own, whole = json.loads(again)["studies"]
    assert own["counts"] == {"agrees": 1, "better": 1, "no_data": 2}
    assert (whole["study"], whole["distance"]["figures"]) == ("all", 2)
    assert (tmp_path / "kept" / "own.jsonl").read_bytes() == kept, "there was nothing left to do"


def test_a_run_that_measured_nothing_ends_with_an_error(run, study, tmp_path):
    (tmp_path / "data" / "diabetes").unlink()
    status, out, err = run(
        "reproduce", study, "--data-dir", tmp_path / "data", "--no-download", "-o", tmp_path / "kept", "--quick"
    )
    assert status == 2
    assert out.splitlines()[1].split()[:3] == ["own", "4", "0"]
    assert err.splitlines()[-1] == ("aucmax: none of the requested data sets was found; --data-dir names their folder.")


def test_pages_are_written_without_measuring(run, refused, study, tmp_path):
    options = ["--data-dir", tmp_path / "data", "--no-download", "-o", tmp_path / "kept"]
    assert "holds no results: measure them first." in refused("reproduce", study, *options, "--no-run")
    run("reproduce", study, *options, "--pages", tmp_path / "a")
    (tmp_path / "data" / "diabetes").unlink()
    status, _, _ = run("reproduce", study, *options, "--no-run", "--pages", tmp_path / "b")
    assert status == 0
    for name in ("README.md", "opauc.md", "figures/own.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_quick_run_says_so_and_is_kept_apart(run, refused, study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--data-dir", tmp_path / "data", "--no-download"]
    status, out, _ = run("reproduce", study, *options, "--quick")
    assert status == 0
    assert "A quick run: rows, runs and candidates were capped" in out
    assert (tmp_path / "aucmax-results" / "quick" / "own.jsonl").exists()
    assert "quick run" in (tmp_path / "aucmax-results" / "quick" / "pages" / "opauc.md").read_text(encoding="utf-8")
    message = refused("reproduce", study, *options, "-o", tmp_path / "aucmax-results" / "quick")
    assert "holds results of a quick run: a standard one needs another folder" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name what to reproduce, or say --all; --list lists it."),
        (["opauc-table-2", "--all"], "name what to reproduce, or say --all; --list lists it."),
        (["opauc-table-2", "--quick", "--full"], "--quick and --full exclude each other."),
        (["opauc-table-7"], "There is no study 'opauc-table-7'; there are spdam-table-3, "),
        (["none.toml"], "none.toml: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(refused, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refused("reproduce", *arguments).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_a_study_of_ones_own_does_not_take_the_name_of_another(refused, study, tmp_path):
    taken = study.rename(study.with_name("opauc-table-2.toml"))
    options = ["--data-dir", tmp_path / "data", "--no-download", "-o", tmp_path / "kept"]
    message = f"opauc-table-2 is a published study, and results are kept by name: rename {taken}."
    assert refused("reproduce", taken, *options) == message
    own = taken.rename(taken.with_name("own.toml"))
    assert "own is named twice" in refused("reproduce", own, own, *options)
    assert not (tmp_path / "kept").exists()


def test_where_pages_cannot_be_written_nothing_is_measured(refused, study, tmp_path):
    options = ["--data-dir", tmp_path / "data", "--no-download", "-o", tmp_path / "kept"]
    assert "own.toml" in refused("reproduce", study, *options, "--pages", study)
    assert not (tmp_path / "kept").exists()


# The results that are kept in the repository


@pytest.fixture(scope="module")
def tables():
    """Return what is kept of every study."""
    return [tabulate(study, gather_results(RESULTS, study)) for study in map(read_study, list_studies())]


def test_every_reason_of_a_study_is_of_a_figure_and_shown_by_its_run(tables):
    """Its run goes half of the way to the published figure or beyond, or falls short of its own by as much."""
    used = set()
    for table in tables:
        for cell in table.cells.values():
            if cell.reason:
                run = cell.reason.run.format(data=cell.data)
                key = (cell.data, run) if run in table.study.methods else (run, cell.method)
                shown = table.cells[*key, cell.metric]
                target = shown.published or cell.published
                left = (shown.measured.mean - target.mean) / cell.difference
                assert -1 <= left <= 0.5 or left >= 0.75, (table.study.name, *cell[:3], left)
                used.add((table.study.name, cell.reason.text))
    given = {(table.study.name, reason.text) for table in tables for reason in table.study.reasons}
    assert given == used


def test_the_criterion_tells_right_from_wrong(tables):
    agreement = measure_agreement(tables)
    assert agreement.substituted < agreement.true


def test_every_published_figure_of_data_that_can_be_had_is_measured(tables):
    cells = [(table.study.name, cell) for table in tables for cell in table.cells.values()]
    assert [(name, *cell[:3]) for name, cell in cells if cell.verdict == "not run"] == []
    failed = {cell[:2]: cell.absence for _, cell in cells if cell.verdict == "failed"}
    assert list(failed) == [("mnist", "online Uni-Exp")], (
        "explicit steps on the exponential loss, too long even at 2^-12"
    )
    assert "diverged" in failed["mnist", "online Uni-Exp"]
    for table in tables:
        subjects = [label for label, subject in table.study.subjects.items() if not subject.missing]
        curves = {key[0] for key, line in table.curves.items() if line.points}
        assert table.study.curve is None or curves == set(subjects), table.study.name


def test_the_pages_are_those_of_the_results(tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "render_svg", lambda *_: b"<svg/>")  # drawing takes most of the time
    for path in write_pages(tmp_path, RESULTS, [read_study(name) for name in list_studies()]):
        if path.suffix == ".md":
            kept = ROOT / "docs" / "measured" / "papers" / path.relative_to(tmp_path)
            assert kept.read_text(encoding="utf-8") == path.read_text(encoding="utf-8"), (
                f"make study NAME=papers writes {path.name}"
            )
