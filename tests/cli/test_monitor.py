"""`aucmax monitor`: what Python finds, by blocks, with an exit status for pipelines, as text, JSON and a page."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from aucmax import AUCClassifier, TableClassifier, TableEncoder, load_model, monitor, save_model
from aucmax.cli.commands import monitor as command
from aucmax.files.columns import TableSource

RNG = np.random.default_rng(0)
N = 600


def draw(shift=0.0, plan="plus"):
    frame = pd.DataFrame({"age": RNG.normal(40 + shift, 9, N).round(2), "plan": RNG.choice(["basic", plan], N)})
    y = np.where(RNG.random(N) < 1 / (1 + np.exp((45 - frame["age"]) / 5)), "yes", "no")
    return frame, y, (np.datetime64("2024-01-05") + RNG.integers(0, 80, N)).astype(str)


TRAIN, SAME, MOVED = draw(), draw(), draw(9.0, "<b>gold & 'x'\n</b>")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitor")
    for name, (frame, y, day) in {"train": TRAIN, "same": SAME, "moved": MOVED}.items():
        frame.assign(day=day, y=y).to_csv(folder / f"{name}.csv", index=False)
    SAME[0].to_csv(folder / "unlabelled.csv", index=False)
    TableClassifier("curves").fit(*TRAIN[:2]).save(folder / "model")
    encoder = TableEncoder()
    linear = AUCClassifier("squared").fit(encoder.fit_transform(TRAIN[0]), TRAIN[1])
    save_model(make_pipeline(encoder, linear), folder / "linear")
    X = TRAIN[0][["age"]].to_numpy()
    AUCClassifier("squared").fit(X, TRAIN[1] == "yes").save(folder / "numbers")
    np.savez(folder / "numbers.npz", X=X, y=(TRAIN[1] == "yes").astype(int))
    return folder


def flat(value):
    """Yield the keys and the values of what JSON holds."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield str(key)
            yield from flat(inner)
    else:
        yield value


@pytest.mark.parametrize("which", ["model", "linear"])
@pytest.mark.parametrize("name", ["same", "moved"])
@pytest.mark.parametrize("small", [False, True])
def test_the_command_finds_what_python_finds(run, folder, monkeypatch, which, name, small):
    frame, y, day = {"same": SAME, "moved": MOVED}[name]
    if small:
        blocks = TableSource.blocks
        monkeypatch.setattr(TableSource, "blocks", lambda self, n_bytes=1, start=0: blocks(self, 3000, start))
    status, out, _ = run("monitor", folder / which, folder / f"{name}.csv", "--time", "day", "--json")
    assert status == 3 * (name == "moved")
    told = json.loads(out)
    expected = monitor(load_model(folder / which), frame, y, time=day).to_dict()
    assert told.pop("model") == str(folder / which)
    assert told.pop("data") == str(folder / f"{name}.csv")
    assert told.pop("report") is None
    assert list(flat(told)) == [each if isinstance(each, str) else pytest.approx(each) for each in flat(expected)]
    assert len(told["periods"]) == 3
    assert told["is_stable"] == (name == "same")


def test_the_exit_status_follows_the_limit(run, folder):
    arguments = ["monitor", folder / "model", folder / "moved.csv"]
    assert run(*arguments)[0] == 3
    assert run(*arguments, "--limit", "99")[0] == 0


def test_labels_are_used_if_they_are_there(run, folder):
    told = json.loads(run("monitor", folder / "model", folder / "unlabelled.csv", "--json")[1])
    assert told["auc"] is None
    status, out, err = run("monitor", folder / "model", folder / "same.csv")
    assert (status, err) == (0, "")
    assert re.search(r"^AUC 0\.\d{4} \(0\.\d{4} to 0\.\d{4}\); cross-validated in training 0\.", out, re.MULTILINE)
    assert "stable (an index of more than 0.25 beyond chance, its interval above 0.1, is drift)" in " ".join(
        out.split()
    )


def test_an_auc_below_the_promised_one_is_drift_everywhere(run, folder, tmp_path):
    frame, y, _ = SAME
    frame.assign(y=RNG.permutation(y)).to_csv(tmp_path / "new.csv", index=False)
    page = tmp_path / "drift.html"
    status, out, _ = run("monitor", folder / "model", tmp_path / "new.csv", "--report", page)
    assert status == 3
    words = r"the AUC of 0\.\d{4} \(0\.\d{4} to 0\.\d{4}\) is below 0\.\d{4}, the lower end of the cross-validated one"
    assert re.search(rf"drift: AUC; {words} \(an index", " ".join(out.split()))
    assert re.search(words[1:], page.read_text(encoding="utf-8"))
    told = json.loads(run("monitor", folder / "model", tmp_path / "new.csv", "--json")[1])
    assert (told["is_stable"], told["drifted"]) == (False, ["AUC"])
    assert re.search(words, told["verdict"])


def test_time_without_labels_is_noted(run, folder, tmp_path):
    SAME[0].assign(day=SAME[2]).to_csv(tmp_path / "new.csv", index=False)
    status, _, err = run("monitor", folder / "model", tmp_path / "new.csv", "--time", "day")
    assert status == 0
    assert "--time is for the AUC by month, and there are no labels" in err


def test_the_terminal_names_what_has_changed(run, folder):
    status, out, _ = run("monitor", folder / "model", folder / "moved.csv", "--time", "day")
    assert status == 3
    lines = [" ".join(line.split()) for line in out.splitlines()]
    (plan,) = (line for line in lines if line.startswith("plan category"))
    assert re.search(r"new: <b>gold & 'x' </b> \(\d+\): \d\d\.\d% of rows, 0\.0% expected; gone: plus drift$", plan)
    assert any(re.match(r"2024-01 \d+ \d+ 0\.\d{4} \(", line) for line in lines)
    assert lines[-1].startswith("drift: score, age, plan (")


def test_weights_and_rows_without_a_date(run, folder, tmp_path):
    frame, y, day = MOVED
    weight = RNG.integers(1, 4, N)
    weight[frame["plan"] != "basic"] = 0
    days = np.where(np.arange(N) % 50, day, "")
    frame.assign(day=days, y=y, w=weight / 100).to_csv(tmp_path / "w.csv", index=False)
    _, out, _ = run("monitor", folder / "model", tmp_path / "w.csv", "--time", "day", "--weight", "w", "--json")
    told, model = json.loads(out), load_model(folder / "model")
    expected = monitor(model, frame, y, sample_weight=weight, time=pd.to_datetime(pd.Series(days))).to_dict()
    assert list(flat({**told, "model": 0, "data": 0, "report": 0})) == [
        *["model", 0, "data", 0, "report", 0],
        *(each if isinstance(each, str) else pytest.approx(each) for each in flat(expected)),
    ]
    assert told["periods"][-1]["month"] == "no date"
    assert told["periods"][-1]["n_samples"] == N // 50
    assert told["drift"][1]["new_share"] == 0


def test_the_score_says_what_it_is_compared_with(run, folder, tmp_path):
    AUCClassifier("squared", alpha=0.1).fit(TRAIN[0][["age"]], TRAIN[1]).save(tmp_path / "plain")
    page = tmp_path / "drift.html"
    _, out, _ = run("monitor", tmp_path / "plain", folder / "same.csv", "--report", page)
    words = "the score is compared with scores of the training rows themselves"
    assert words in " ".join(out.split())
    assert words[1:] in page.read_text(encoding="utf-8")
    told = json.loads(run("monitor", tmp_path / "plain", folder / "same.csv", "--json")[1])
    assert not told["has_held_out"]
    assert "against held-out scores" in run("monitor", folder / "model", folder / "same.csv")[1]


def test_a_matrix_has_a_score_alone(run, folder):
    status, out, err = run("monitor", folder / "numbers", folder / "numbers.npz", "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert told["drift"] == []
    assert told["score"]["psi"] < 0.01
    assert told["auc"] > 0.5


def test_the_page_shows_the_same_and_escapes_levels(run, folder, tmp_path):
    page = tmp_path / "drift.html"
    assert run("monitor", folder / "model", folder / "moved.csv", "--time", "day", "--report", page)[0] == 3
    text = page.read_text(encoding="utf-8")
    for part in ("AUC by month", "Where the rows are", "default-src 'none'", "new levels", "2024-02", "gone: plus"):
        assert part in text, part
    tables = re.findall(r"(<div class=\"wide\">\s*)?<table class=\"(\w+)\"", text)
    assert {name for box, name in tables} == {"months", "indices", "bars"}
    assert all(box for box, name in tables if name != "bars"), "bars fit by their layout, others scroll in a box"
    assert "<b>gold" not in text
    assert "&lt;b&gt;gold" in text
    again = tmp_path / "again.html"
    run("monitor", folder / "model", folder / "moved.csv", "--time", "day", "--report", again)
    assert again.read_text(encoding="utf-8") == text
    plain = tmp_path / "plain.html"
    assert run("monitor", folder / "numbers", folder / "numbers.npz", "--report", plain)[0] == 0
    assert "stable</strong>" in plain.read_text(encoding="utf-8")


def test_a_file_without_rows_is_refused(refused, folder, tmp_path):
    MOVED[0][:0].assign(y=[], day=[]).to_csv(tmp_path / "none.csv", index=False)
    line = f"{tmp_path / 'none.csv'} has no rows."
    assert refused("monitor", folder / "model", tmp_path / "none.csv") == line


def test_wide_tables_are_cut_on_the_terminal(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "SHOWN", 1)
    out = run("monitor", folder / "model", folder / "same.csv")[1]
    assert "and 1 more columns, which --json and --report list" in out


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--time", "when"], "{0} has no column 'when' for --time; its columns are age, plan, day, y."),
        (["--time", "plan"], "{0}: --time needs dates or numbers, and 'plan' is not such a column (2 levels)."),
        (["--time", "age"], "{0}: time must hold a date for each row: numbers are not dates."),
        (["--target", "label"], "{0} has no column 'label' to be the target; its columns are age, plan, day, y."),
    ],
)
def test_columns_that_cannot_be_used_are_refused(refused, folder, options, line):
    told = refused("monitor", folder / "model", folder / "same.csv", *options)
    assert told == line.format(folder / "same.csv")
