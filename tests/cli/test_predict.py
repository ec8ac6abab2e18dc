"""What `aucmax predict` can write: labels at a threshold, the top, reasons, another base rate, Parquet."""

import csv
import gzip
import os
from collections import Counter

import numpy as np
import pytest
from scipy.special import expit, logit

from aucmax import AUCClassifier, TableClassifier, adjust_base_rate, contributions, load_model
from aucmax.files.columns import TableSource

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
N = 240
Y = np.where(np.arange(N) % 3 == 0, "yes", "no")
FRAME = pandas.DataFrame(
    {
        "age": np.round(40 + 10 * RNG.standard_normal(N) + 8 * (Y == "yes")),
        "plan": RNG.choice(["basic", "plus", None], N),
        "owner": RNG.choice(["Yes", "No"], N),
        "since": np.datetime64("2024-01-01") + RNG.integers(0, 500, N).astype("timedelta64[D]"),
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    FRAME.assign(number=np.arange(N), y=Y).to_csv(folder / "rows.csv", index=False)
    TableClassifier("pairs", pairs=1, cv=0).fit(FRAME, Y).save(folder / "model")
    X = np.repeat(np.arange(4.0), 10)[:, None]
    AUCClassifier(alpha=1).fit(X, np.arange(40) % 4 > 1).save(folder / "ties")
    np.savez(folder / "ties.npz", X=X)
    return folder


@pytest.fixture
def scored(run, folder):
    """Return a function that predicts the rows with options, as a list of dicts, and the notes."""

    def scored(*given):
        status, out, err = run("predict", folder / "model", folder / "rows.csv", "--keep", "number", *given)
        assert status == 0, err
        return list(csv.DictReader(out.splitlines())), err

    return scored


def use_small_blocks(monkeypatch):
    blocks = TableSource.blocks
    monkeypatch.setattr(TableSource, "blocks", lambda self, n_bytes=1000, start=0: blocks(self, 1000, start))


def test_labels_at_a_threshold_of_the_score_or_of_the_probability(scored, folder):
    model = load_model(folder / "model")
    scores, proba = model.decision_function(FRAME), model.predict_proba(FRAME)[:, 1]
    threshold = float(np.sort(scores)[-30])
    found = [row["label"] for row in scored("--threshold", repr(threshold))[0]]
    assert found == np.where(scores > threshold, "yes", "no").tolist()
    assert Counter(found)["yes"] == 29
    found = [row["label"] for row in scored("--proba", "--threshold", "0.6")[0]]
    assert found == np.where(proba > 0.6, "yes", "no").tolist()
    own = [row["label"] for row in scored("--proba", "--labels")[0]]
    assert own == model.predict(FRAME).tolist()
    moved = [row["label"] for row in scored("--proba", "--base-rate", "0.02", "--threshold", "0.6")[0]]
    assert moved == np.where(adjust_base_rate(proba, 0.02, expit(model.calibration_[1])) > 0.6, "yes", "no").tolist()
    assert moved != found


def test_another_base_rate_shifts_the_log_odds_and_keeps_the_labels(scored, folder):
    model = load_model(folder / "model")
    rows, _ = scored("--proba", "--base-rate", "0.02", "--labels")
    found = np.array([float(row["probability_yes"]) for row in rows])
    expected = model.calibration_[0] * model.decision_function(FRAME) + logit(0.02)
    np.testing.assert_allclose(logit(found), expected, rtol=1e-9)
    assert [row["label"] for row in rows] == model.predict(FRAME).tolist()


def test_base_rate_by_bayes_theorem():
    """Of scores with densities f and g in the classes, the posterior is pi g / (pi g + (1 - pi) f)."""
    f, g = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6])
    before, after = (rate * g / (rate * g + (1 - rate) * f) for rate in (0.4, 0.03))
    np.testing.assert_allclose(adjust_base_rate(before, 0.03, 0.4), after, rtol=1e-12)
    both = adjust_base_rate(np.column_stack([1 - before, before]), 0.03, 0.4)
    np.testing.assert_allclose(both, np.column_stack([1 - after, after]), rtol=1e-12)
    np.testing.assert_allclose(adjust_base_rate(after, 0.4, 0.03), before, rtol=1e-12)
    assert adjust_base_rate([0.0, 1.0], 0.1, 0.5).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([0.5], 0, 0.5), "base_rate must be above 0 and below 1, got 0."),
        (([0.5], 0.5, 1.5), "training_base_rate must be above 0 and below 1, got 1.5."),
        (([0.5, 2.0], 0.5, 0.5), "probabilities must be between 0 and 1."),
        (([[0.1, 0.2, 0.7]], 0.5, 0.5), r"probabilities must have one column or two, got an array of shape \(1, 3\)."),
    ],
)
def test_adjust_base_rate_refuses(arguments, text):
    with pytest.raises(ValueError, match=text):
        adjust_base_rate(*arguments)


@pytest.mark.parametrize(("top", "n"), [("7", 7), ("5%", 12), ("29%", 69), ("0.1%", 1), ("100%", N), ("1000", N)])
def test_top_is_the_rows_with_the_largest_scores_largest_first(scored, folder, top, n):
    rows, err = scored("--top", top)
    scores = load_model(folder / "model").decision_function(FRAME)
    order = np.argsort(-scores, kind="stable")[:n]
    assert [int(row["number"]) for row in rows] == order.tolist()
    assert [int(row["row"]) for row in rows] == (order + 1).tolist()
    np.testing.assert_allclose([float(row["score_yes"]) for row in rows], scores[order], rtol=1e-12)
    assert f"rows.csv: {n} of 240 rows, with scores of {scores[order[-1]]:.6g} and more" in err


def test_top_by_small_blocks_is_the_same(scored, monkeypatch):
    whole = scored("--top", "15", "--proba")
    use_small_blocks(monkeypatch)
    assert scored("--top", "15", "--proba") == whole


def test_ties_at_the_cut_are_said(run, folder):
    status, out, err = run("predict", folder / "ties", folder / "ties.npz", "--top", "13")
    assert status == 0
    assert [int(line.split(",")[0]) for line in out.split()[1:]] == [*range(31, 41), 21, 22, 23]
    assert "; 10 rows have this score, and 3 of them, the first in the data, are written" in err
    assert "rows have this score" not in run("predict", folder / "ties", folder / "ties.npz", "--top", "20")[2]


def test_reasons_are_the_largest_contributions_in_words(scored, folder):
    model = load_model(folder / "model")
    rows, _ = scored("--reasons", "2")
    found = model.reasons(FRAME, 2)
    assert [[row["reason_1"], row["reason_2"]] for row in rows] == [[*map(str, each)] for each in found]
    added = model.calibration_[0] * model.contributions(FRAME)
    for each, values in zip(found, added, strict=True):
        largest = values[np.argsort(-np.abs(values), kind="stable")[:2]]
        np.testing.assert_allclose([reason.log_odds for reason in each], largest)
        assert str(each[0]).endswith(f"({each[0].log_odds:+.2f})")


def test_all_reasons_add_up_to_the_log_odds_and_name_the_values(folder):
    model = load_model(folder / "model")
    rows = model.reasons(FRAME, 99)
    base = model.calibration_[1] + model.calibration_[0] * model.intercept_[0]
    np.testing.assert_allclose([base + sum(each.log_odds for each in row) for row in rows], model._logits(FRAME))
    for k in (0, 5, 77):
        words = {reason.term: reason.value for reason in rows[k]}
        assert words["age"] == f"{FRAME['age'][k]:g}"
        assert words["plan"] == FRAME["plan"].fillna("missing")[k]
        assert words.get("owner", "No").lower() in ("yes", "no")
        assert words["since"] == f"{FRAME['since'][k]:%Y-%m-%d}"
        pair = next(name for name in words if " x " in name)
        assert words[pair] == ", ".join(words[name] for name in pair.split(" x "))


@pytest.mark.filterwarnings("ignore:X has")
def test_reasons_of_values_that_training_did_not_have(folder):
    model = load_model(folder / "model")
    row = FRAME[:1].assign(plan="gold", age=np.nan)
    words = {reason.term: reason.value for reason in model.reasons(row, 99)[0]}
    assert words.get("plan", "other") == "other"
    assert "age" not in words  # it counts as average, and adds nothing
    with pytest.raises(ValueError, match="n_reasons must be at least 1, got 0"):
        model.reasons(row, 0)


def test_reasons_of_a_linear_model_are_its_columns(run, folder, tmp_path):
    assert run("fit", folder / "rows.csv", "--alpha", "0.1", "--drop", "number", "-o", tmp_path / "m")[0] == 0
    status, out, _ = run("predict", tmp_path / "m", folder / "rows.csv", "--reasons", "2")
    assert status == 0
    model = load_model(tmp_path / "m")
    found, rows = contributions(model, FRAME), list(csv.DictReader(out.splitlines()))
    assert [float(row["score_yes"]) for row in rows] == pytest.approx(model.decision_function(FRAME))
    added = model[-1].calibration_[0] * found.values
    for row, values, age in zip(rows, added, FRAME["age"], strict=True):
        largest = np.argsort(-np.abs(values), kind="stable")[:2]
        for k, j in enumerate(largest, 1):
            assert row[f"reason_{k}"].startswith(f"{found.names[j]} = ")
            assert row[f"reason_{k}"].endswith(f"({values[j]:+.2f})")
            assert found.names[j] != "age" or row[f"reason_{k}"].startswith(f"age = {age:g} ")


@pytest.mark.parametrize("ending", ["parquet", "PQ"])
def test_parquet_has_the_rows_of_csv(run, folder, tmp_path, ending):
    import pyarrow.parquet

    given = ["--keep", "plan", "--proba", "--labels", "--reasons", "1"]
    path = tmp_path / f"scores.{ending}"
    assert run("predict", folder / "model", folder / "rows.csv", *given, "-o", path)[0] == 0
    assert run("predict", folder / "model", folder / "rows.csv", *given, "-o", tmp_path / "scores.csv")[0] == 0
    found = pyarrow.parquet.read_table(path)
    rows = [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in found.to_pylist()]
    assert rows == list(csv.DictReader((tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()))
    assert str(found.schema.field("score_yes").type) == "double"


def test_parquet_has_a_group_of_rows_for_each_block(run, folder, tmp_path, monkeypatch):
    import pyarrow.parquet

    use_small_blocks(monkeypatch)
    assert run("predict", folder / "model", folder / "rows.csv", "-o", tmp_path / "s.parquet")[0] == 0
    found = pyarrow.parquet.ParquetFile(tmp_path / "s.parquet")
    assert found.num_row_groups > 2
    assert found.metadata.num_rows == N


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--top", "0"], "--top 0 is not understood: give a number of rows, or a share such as 5%."),
        (["--top", "2.5"], "--top 2.5 is not understood: give a number of rows, or a share such as 5%."),
        (["--top", "101%"], "--top 101% is not understood: give a number of rows, or a share such as 5%."),
        (["--top", "nan%"], "--top nan% is not understood: give a number of rows, or a share such as 5%."),
        (["--threshold", "nan"], "--threshold must be a finite number."),
        (["--proba", "--threshold", "7"], "--threshold 7 is of a probability with --proba: give 0 to 1."),
        (
            ["--threshold", "1", "--top", "5"],
            "--threshold and --top are two ways to choose rows: leave one of them out.",
        ),
        (["--base-rate", "0.1"], "--base-rate is used only with --proba: scores and their order do not change."),
        (["--proba", "--base-rate", "1"], "--base-rate must be above 0 and below 1, got 1."),
        (
            ["-o", "{0}/scores.xlsx"],
            "--output {0}/scores.xlsx ends with none of .csv, .txt, .csv.gz, .txt.gz, .parquet, .pq, "
            "which say what to write.",
        ),
    ],
)
def test_options_of_predict_that_cannot_be_used_are_refused(refused, folder, tmp_path, options, line):
    given = [option.format(tmp_path) for option in options]
    assert refused("predict", folder / "model", folder / "rows.csv", *given) == line.format(tmp_path)
    assert os.listdir(tmp_path) == []


def test_compressed_csv_is_the_csv_and_always_the_same(run, folder, tmp_path):
    for name in ("a.csv", "b.csv.gz", "c.TXT.GZ"):
        assert run("predict", folder / "model", folder / "rows.csv", "--proba", "-o", tmp_path / name)[0] == 0
    plain, *packed = ((tmp_path / name).read_bytes() for name in ("a.csv", "b.csv.gz", "c.TXT.GZ"))
    assert gzip.decompress(packed[0]) == plain
    assert packed[0] == packed[1]


def test_a_file_without_rows(run, refused, folder, tmp_path):
    header = (folder / "rows.csv").read_text(encoding="utf-8").partition("\n")[0]
    (tmp_path / "none.csv").write_text(f"{header}\n", encoding="utf-8")
    assert run("predict", folder / "model", tmp_path / "none.csv")[:2] == (0, "score_yes\n")
    given = "predict", folder / "model", tmp_path / "none.csv"
    assert refused(*given, "--top", "3") == f"{tmp_path}/none.csv has no rows, so --top has nothing to choose from."
    line = refused(*given, "-o", tmp_path / "none.parquet")
    assert line == "there are no rows, and so no types of columns to write as Parquet: write .csv."
    assert os.listdir(tmp_path) == ["none.csv"]


def test_parquet_needs_different_names(refused, folder, tmp_path):
    pandas.read_csv(folder / "rows.csv").assign(row="a").to_csv(tmp_path / "named.csv", index=False)
    options = ["--keep", "row", "--top", "3", "-o", tmp_path / "s.parquet"]
    line = refused("predict", folder / "model", tmp_path / "named.csv", *options)
    assert line == f"--output {tmp_path}/s.parquet would have two columns of one name: row, row, score_yes."
    assert os.listdir(tmp_path) == ["named.csv"]


def test_reasons_need_a_model_of_a_table(refused, folder):
    line = refused("predict", folder / "ties", folder / "ties.npz", "--reasons", "2")
    assert line == "--reasons is for models of tables, and this is a AUCClassifier: leave it out."
