"""A raw table from file to model, report and scores, in one command without options but the target."""

import csv
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from credit import HEADER, draw_credits, write_credits

from aucmax import AUCClassifier, TableClassifier, TableEncoder, load_model, open_rows
from aucmax.files import open_source

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore:X has columns that are left out")

KINDS = {
    "loan_id": "left out",
    "income": "number",
    "amount": "number",
    "rate": "number",
    "age": "number",
    "home": "category",
    "employer": "category",
    "own car": "boolean",
    "since": "date",
    "called": "date",
    "purpose": "category",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("credits")
    rows = draw_credits()
    write_credits(folder / "train.csv", rows)
    write_credits(folder / "semicolon.csv", rows, ";")
    for number, part in enumerate((rows[:300], rows[300:1999], rows[1999:])):
        write_credits(folder / f"part-{number}.csv", part)
    columns = dict(zip(HEADER, (list(cells) for cells in zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "train.parquet", row_group_size=700)
    write_credits(folder / "new.csv", draw_credits(500, seed=1))
    return folder


def as_frame(rows):
    frame = pd.DataFrame(rows, columns=HEADER)
    return frame.drop(columns="bad"), frame["bad"]


def test_fit_of_a_table_tests_and_reports(run, folder, tmp_path):
    model, report = tmp_path / "model", tmp_path / "report.html"
    options = ["--target", "bad", "--test", folder / "new.csv", "--report", report]
    status, out, err = run("fit", folder / "train.csv", *options, "-o", model, "--json")
    assert status == 0, err
    told = json.loads(out)
    assert {each["column"]: each["kind"] for each in told["table"]} == KINDS
    assert told["test"]["auc"] > 0.68
    notes = [line.removeprefix(f"{folder}/new.csv, column ") for line in err.splitlines()]
    assert re.fullmatch(r"'employer': \d+ cells with levels that no training row has, .*", notes[0])
    assert all("with a date after the last one of the training rows" in note for note in notes[1:])
    page = report.read_text(encoding="utf-8")
    assert "Columns of the table" in page
    assert "written as $1,234.5" in page
    # In Python, the model takes the raw frame.
    X, y = as_frame(draw_credits(500, seed=1))
    assert load_model(model).score(X, y) == pytest.approx(told["test"]["auc"], abs=1e-12)


def test_inspect_shows_how_columns_are_read_before_the_fit_and_after(run, folder, tmp_path):
    status, out, _ = run("inspect", folder / "train.csv", "--target", "bad", "--json")
    assert status == 0
    told = json.loads(out)
    assert {each["column"]: each["kind"] for each in told["table"]} == KINDS
    assert all(each["n_missing"] > 0 for each in told["table"][1:])
    of_parts = run("inspect", folder / "part-*.csv", "--target", "bad", "--json")[1]
    assert json.loads(of_parts)["table"] == told["table"], "a pattern stands for the files that it matches"
    status, out, _ = run("inspect", folder / "train.csv", "--target", "bad", "--categorical", "age", "--drop", "home")
    lines = {line.split("  ")[0]: re.split(r"\s{2,}", line.strip()) for line in out.splitlines()}
    assert lines["age"][1] == "category"
    assert lines["home"][1:2] + lines["home"][3:] == ["left out", "as asked"]
    assert run("fit", folder / "train.csv", "--target", "bad", "--alpha", 1, "-o", tmp_path / "m", "-q")[0] == 0
    assert json.loads(run("inspect", tmp_path / "m", "--json")[1])["table"] == told["table"]


def test_inspect_needs_no_target_and_no_two_labels(run, refused, folder, tmp_path):
    """Many levels are described without labels; a target that is not there is told."""
    told = json.loads(run("inspect", folder / "train.csv", "--json")[1])
    assert told["target"] is None
    assert {each["column"]: each["kind"] for each in told["table"]} == {**KINDS, "bad": "boolean"}
    rows = [[*row[:-1], f"grade {k % 3}"] for k, row in enumerate(draw_credits(600))]
    write_credits(tmp_path / "three.csv", rows)
    assert json.loads(run("inspect", tmp_path / "three.csv", "--target", "bad", "--json")[1])["target"] == "bad"
    line = refused("inspect", folder / "train.csv", "--target", "baad")
    assert line.startswith(f"{folder / 'train.csv'} has no column 'baad' to be the target; the nearest is 'bad'")


@pytest.mark.parametrize("option", ["--date", "--numeric"])
def test_a_column_that_holds_no_dates_or_numbers_cannot_be_said_to(refused, folder, option):
    line = refused("inspect", folder / "train.csv", "--target", "bad", option, "home")
    assert f"where a {'date' if option == '--date' else 'number'} is expected" in line


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train.csv", "semicolon.csv", "train.parquet", "part-*.csv"])
@pytest.mark.parametrize("n_bytes", [30_000, 8 << 20])
def test_reading_is_independent_of_format_files_and_blocks(folder, monkeypatch, name, n_bytes):
    X, y = as_frame(draw_credits())
    encoder = TableEncoder()
    expected = encoder.fit_transform(X, y)
    monkeypatch.setattr("aucmax.files.columns.BLOCK_BYTES", n_bytes)
    source = open_source(folder / name, target="bad", with_target=True)
    blocks = list(source.blocks(n_bytes))
    assert source.feature_names == encoder.get_feature_names_out().tolist()
    found = np.vstack([block.features for block in blocks])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.concatenate([block.y for block in blocks]).tolist() == y.tolist()
    middle = len(blocks) // 2
    again = next(source.blocks(n_bytes, blocks[middle - 1].position), None)
    if middle:
        np.testing.assert_array_equal(again.features, blocks[middle].features)


def test_a_fit_by_blocks_is_that_in_memory_and_in_python(folder):
    X, y = as_frame(draw_credits())
    clf = AUCClassifier("squared", alpha=0.1).fit(TableEncoder().fit_transform(X, y), y)
    rows = open_rows(folder / "train.csv", target="bad", memory=40_000_000)
    by_blocks = AUCClassifier("squared", alpha=0.1).fit_rows(rows)
    np.testing.assert_allclose(by_blocks.coef_, clf.coef_, rtol=0, atol=1e-8 * np.abs(clf.coef_).max())


def test_the_command_fits_the_model_of_python(run, folder, tmp_path):
    X, y = as_frame(draw_credits())
    expected = TableClassifier("lines", id=["loan_id"]).fit(X, y)
    lines = ["--algorithm", 'TableClassifier(terms="lines")']
    fit = ["fit", folder / "train.csv", "--target", "bad", "--id", "loan_id", *lines]
    for options in ([], ["--memory", "300MB"]):
        assert run(*fit, *options, "-o", tmp_path / "model", "--force", "-q")[0] == 0
        model = load_model(tmp_path / "model")
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-8)
        assert model.cv_auc_ == pytest.approx(expected.cv_auc_, abs=1e-9)
        new, truth = as_frame(draw_credits(500, seed=1))
        assert model.score(new, truth) == pytest.approx(expected.score(new, truth), abs=1e-9)


def test_predict_of_a_table_with_gaps_and_unseen_levels(run, folder, tmp_path):
    model = tmp_path / "model"
    assert (
        run("fit", folder / "train.csv", "--target", "bad", "--id", "loan_id", "--alpha", 1, "-o", model, "-q")[0] == 0
    )
    rows = [["L1", *["?"] * 10], ["L2", *[""] * 5, "Nobody & Sons", *[""] * 4]]
    text = "\n".join([",".join(HEADER[:-1]), *(",".join(row) for row in rows)])
    (tmp_path / "new.csv").write_text(text + "\n", encoding="utf-8")
    status, out, err = run("predict", model, tmp_path / "new.csv", "--keep", "employer")
    assert status == 0
    header, *lines = [line.split(",") for line in out.splitlines()]
    assert header == ["loan_id", "employer", "score_yes"]
    assert [line[:2] for line in lines] == [["L1", "?"], ["L2", "Nobody & Sons"]]
    assert (
        err
        == f"{tmp_path / 'new.csv'}, column 'employer': 1 cell with levels that no training row has, scored as rare\n"
    )


def test_fit_lists_all_problems_of_a_table_at_once(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("aucmax.files.columns.BLOCK_BYTES", 200)  # the two faults of a column are in two blocks
    lines = (folder / "train.csv").read_text(encoding="utf-8").splitlines()[:60]
    for number, cells in ((7, {4: "old", 11: ""}), (9, {4: "very old", 2: "inf", 8: "someday"})):
        row = next(iter(csv.reader([lines[number - 1]])))
        row = [cells.get(j, cell.replace(",", "") if j == 10 else cell) for j, cell in enumerate(row)]
        lines[number - 1] = ",".join(f'"{cell}"' for cell in row)
    (tmp_path / "bad.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, _, err = run("fit", tmp_path / "bad.csv", "--target", "bad", "-o", tmp_path / "m")
    assert status == 2
    advice = "correct it, call it a missing value, or read the column as categories or drop it"
    assert err.splitlines() == [
        f"aucmax: {tmp_path / 'bad.csv'} has problems in 4 columns:",
        f"  line 9, column 'amount': inf is not a finite number: {advice}",
        f"  line 7, column 'age': found 'old' where a number is expected: {advice} (2 such cells in all)",
        f"  line 9, column 'since': found 'someday' where a date is expected: {advice}",
        "  line 7, column 'bad': the cell is empty: fill it or drop the row",
    ]
    said = ["--na-values", "old", "--na-values", "very old", "--na-values", "someday", "--drop", "amount"]
    status, _, err = run("fit", tmp_path / "bad.csv", "--target", "bad", "-o", tmp_path / "m", *said)
    assert err == f"aucmax: {tmp_path / 'bad.csv'}, line 7, column 'bad': the cell is empty: fill it or drop the row.\n"


ADVICE = "correct it, call it a missing value, or read the column as categories or drop it"


def test_fit_refuses_a_date_that_does_not_exist(refused, tmp_path):
    days = [f"2021-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(60)]
    days[5], days[30] = "2021-02-30", "2021-06-31"
    path = tmp_path / "rows.csv"
    path.write_text("since,y\n" + "".join(f"{day},{k % 2}\n" for k, day in enumerate(days)), encoding="utf-8")
    line = refused("fit", path, "-o", tmp_path / "m")
    found = "found '2021-02-30' where a date is expected"
    assert line == f"{path}, line 7, column 'since': {found}: {ADVICE} (2 such cells in all)."


def test_the_problems_of_several_files_are_listed_at_once(run, tmp_path):
    for name, faults in (("a", {3: "old"}), ("b", {}), ("c", {2: "x", 9: "y"})):
        cells = [faults.get(k, f"{20 + k % 9}") for k in range(40)]
        labels = ["" if name == "c" and k == 4 else f"{k % 2}" for k in range(40)]
        rows = "".join(f"{cell},{label}\n" for cell, label in zip(cells, labels, strict=True))
        (tmp_path / f"{name}.csv").write_text("age,y\n" + rows, encoding="utf-8")
    files = [tmp_path / f"{name}.csv" for name in "abc"]
    status, _, err = run("fit", *files, "-o", tmp_path / "m")
    assert status == 2
    text = "found {!r} where a number is expected: " + ADVICE
    assert err.splitlines() == [
        f"aucmax: {files[0]} and 2 more has problems in 3 columns of 2 files:",
        f"  {files[0]}, line 5, column 'age': {text.format('old')}",
        f"  {files[2]}, line 4, column 'age': {text.format('x')} (2 such cells in all)",
        f"  {files[2]}, line 6, column 'y': the cell is empty: fill it or drop the row",
    ]


def test_names_of_files_cannot_control_a_terminal(run, tmp_path):
    path = tmp_path / "x\x1b]0;owned\x07.csv"
    path.write_text("age,size,y\n" + "1,2,0\n3,4,1\n" * 30 + "old,big,1\n", encoding="utf-8")
    status, _, err = run("fit", path, "-o", tmp_path / "m")
    assert (status, len(err.splitlines())) == (2, 3)
    assert "\x1b" not in err
    assert r"x\x1b]0;owned\x07.csv" in err


def test_thousands_option_is_one_character(refused, folder):
    line = refused("inspect", folder / "train.csv", "--thousands", ",,")
    assert line == "',,' cannot separate thousands: give one character, such as ',' or ' '."


def test_delimiter_encoding_and_thousands(run, tmp_path):
    rows = "".join(f"Z\xfcrich|{1 + k % 3}.{k:03}|{k % 2}\nK\xf6ln|{2000 + k}|{k % 2}\n" for k in range(30))
    path = tmp_path / "rows.csv"
    path.write_bytes(("town|price|y\n" + rows).encode("latin-1"))
    status, out, _ = run("inspect", path, "--delimiter", "|", "--encoding", "latin-1", "--thousands", ".", "--json")
    assert status == 0
    town, price = json.loads(out)["table"]
    assert (town["kind"], price["found"]) == ("category", "1000 to 3029, written as 1.234,5")
    assert "line 2: not UTF-8" in run("inspect", path, "--delimiter", "|")[2]


def test_a_column_without_a_name_has_its_number(run, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(",a,y\n" + "".join(f"{k},{k % 7},{k % 2}\n" for k in range(40)), encoding="utf-8")
    told = json.loads(run("inspect", path, "--json")[1])["table"]
    assert [(each["column"], each["kind"]) for each in told] == [("column 1", "left out"), ("a", "number")]


def test_fit_notes_a_positive_larger_class_and_a_mistyped_label(run, refused, folder, tmp_path):
    fit = ["fit", folder / "train.csv", "--target", "bad", "--alpha", 1, "-o", tmp_path / "m", "--force"]
    assert "the larger class" not in run(*fit)[1]
    rows = [[*row[:-1], {"yes": "a", "no": "b"}[row[-1]]] for row in draw_credits(400)]
    write_credits(tmp_path / "turned.csv", rows)
    fit[1] = tmp_path / "turned.csv"
    assert ", the larger class: --positive names another)" in run(*fit)[1]
    assert "the larger class" not in run(*fit, "--positive", "b")[1]
    assert refused(*fit, "--positive", "yes").endswith(
        "no row has the label 'yes' that --positive names; there are 'a' and 'b'."
    )


def test_columns_that_are_left_out_are_told(run, folder, tmp_path):
    fit = ["fit", folder / "train.csv", "--target", "bad", "--alpha", 1, "-o", tmp_path / "m", "--force"]
    assert "left out: loan_id (aucmax inspect says why)\n" in run(*fit)[1]
    assert "left out: " not in run(*fit, "--drop", "loan_id")[1]


def test_the_target_cannot_be_dropped(refused, folder, tmp_path):
    told = refused("fit", folder / "train.csv", "--target", "bad", "-o", tmp_path / "m", "--drop", "bad")
    assert told.endswith("the column 'bad' is not a feature, so --drop cannot name it.")


def test_an_onnx_model_takes_codes(run, folder, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    assert run("fit", folder / "train.csv", "--target", "bad", "--alpha", 1, "-o", tmp_path / "m", "-q")[0] == 0
    assert run("export", tmp_path / "m", "--onnx", tmp_path / "model.onnx")[0] == 0
    model = load_model(tmp_path / "m")
    new = pa.Table.from_pandas(as_frame(draw_credits(200, seed=3))[0])
    codes = model[0].reading_.codes(new)[0]
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (scores,) = session.run(["score"], {"X": model[0].reading_.pool(codes)})
    expected = model[-1].decision_function(model[0].reading_.features(codes))
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    about = {each.key: each.value for each in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert json.loads(about["feature_names"]) == model[0].reading_.part_names
    assert json.loads(about["levels"])[4] == ["mortgage", "own", "rent", "(rare)"]
