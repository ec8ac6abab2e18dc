"""Commands on a model of a table that was saved in Python: `coef_` has an entry for each cell, not for each column."""

import json

import numpy as np
import pytest

from aucmax import TableClassifier, save_model

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
Y = np.arange(80) % 2
FRAME = pandas.DataFrame({"age": RNG.integers(20, 60, 80) + 9 * Y, "dose": RNG.random(80)})
NOTES = {"training": {"data": "t.csv", "n_samples": 80, "n_positive": 40}, "spreads": np.ones(2)}


@pytest.fixture
def model(tmp_path):
    model = TableClassifier("pairs", pairs=[["age", "dose"]]).fit(FRAME, Y)
    save_model(model, tmp_path / "model", **NOTES)
    FRAME.assign(y=Y)[["dose", "y", "age"]].to_csv(tmp_path / "rows.csv", index=False)
    return model


def test_inspect_pairs_no_value_of_a_curve_with_a_column(run, model, tmp_path):
    status, out, err = run("inspect", tmp_path / "model", "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert told["weights"] is None
    assert "n_nonzero" not in told["fitted"]
    status, out, _ = run("inspect", tmp_path / "model")
    assert status == 0
    for name in FRAME.columns:  # how it is read, and its curve
        assert sum(line.strip().startswith(f"{name} ") and " x " not in line for line in out.splitlines()) == 2


def test_fit_prints_table_model_without_weights(model, tmp_path):
    from aucmax.cli.display import describe_model, fit_report, summarise
    from aucmax.models.model_file import read_model

    file = read_model(tmp_path / "model")
    assert "n_nonzero" not in describe_model(file)["fitted"]
    assert "weights" not in summarise(file, 1.0, tmp_path / "model", None, is_named=True)[0]
    assert fit_report(file, "rows.csv", None, None, "").weights is None


def test_predict_and_evaluate_find_columns_by_name(run, model, tmp_path):
    status, out, err = run("predict", tmp_path / "model", tmp_path / "rows.csv")
    assert (status, err) == (0, "")
    np.testing.assert_allclose([float(line) for line in out.split()[1:]], model.decision_function(FRAME), rtol=1e-12)
    options = ["--json", "--report", tmp_path / "report.html"]
    status, out, err = run("evaluate", tmp_path / "model", tmp_path / "rows.csv", *options)
    assert (status, err) == (0, "")
    assert json.loads(out)["auc"] == pytest.approx(model.score(FRAME, Y))


def test_predict_scores_gaps_as_table_model_does(run, model, tmp_path):
    gaps = FRAME.assign(dose=np.where(Y, FRAME["dose"], np.nan))
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    status, out, _ = run("predict", tmp_path / "model", tmp_path / "gaps.csv")
    assert status == 0
    np.testing.assert_allclose([float(line) for line in out.split()[1:]], model.decision_function(gaps), rtol=1e-12)


def test_export_writes_table_model_to_onnx(run, model, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    assert run("export", tmp_path / "model", "--onnx", tmp_path / "model.onnx")[0] == 0
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (scores,) = session.run(["score"], {"X": FRAME.to_numpy(np.float64)})
    np.testing.assert_allclose(scores, model.decision_function(FRAME), rtol=0, atol=1e-12)


def test_predict_notes_only_gaps_that_no_training_row_had(run, tmp_path):
    frame = FRAME.astype(float)
    frame.loc[::9, "dose"] = np.nan
    model = TableClassifier("curves", cv=0).fit(frame, Y)
    save_model(model, tmp_path / "model")
    frame.loc[:4, "age"] = np.nan
    frame.to_csv(tmp_path / "rows.csv", index=False)
    status, out, err = run("predict", tmp_path / "model", tmp_path / "rows.csv")
    told = "column 'age': 5 cells without a value, as no training row is, scored as average"
    assert (status, err.splitlines()) == (0, [f"{tmp_path / 'rows.csv'}, {told}"])
    np.testing.assert_allclose([float(line) for line in out.split()[1:]], model.decision_function(frame), rtol=1e-12)
