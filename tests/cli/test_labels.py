"""Labels of every type that a model can have, found again in files of the same labels."""

import numpy as np
import pandas
import pytest

from aucmax import AUCClassifier, save_model

X = np.random.RandomState(0).standard_normal((30, 2))
Y = np.arange(30) % 2
X[Y == 1] += 1
LABELS = {
    "days": (np.array(["2020-02-29", "2021-01-01"], "M8[D]"), ["2020-02-29", "2021-01-01"]),
    "seconds": (np.array(["2020-01-01", "2021-01-01T10:30"], "M8[s]"), ["2020-01-01", "2021-01-01T10:30:00"]),
    "micro": (np.array(["2020-01-01", "2021-01-01T00:00:00.5"], "M8[us]"), ["2020-01-01", "2021-01-01T00:00:00.5"]),
    "nano": (np.array(["2020-01-01", "2021-01-01"], "M8[ns]"), ["2020-01-01", "2021-01-01"]),
    "years": (np.array(["2020", "2021"], "M8[Y]"), ["2020", "2021"]),
    "half": (np.array([1, 3], np.float16), ["1.0", "3.0"]),
    "single": (np.array([-1, 3], np.float32), ["-1.0", "3.0"]),
    "truth": (np.array([False, True]), ["False", "True"]),
    "text": (np.array(["no", "yes"]), ["no", "yes"]),
}
# What pandas or Parquet cannot hold, as its nearest type.
HELD = {"years": "M8[s]"}


@pytest.fixture(params=LABELS)
def case(request, tmp_path):
    """Return the name of a kind of labels, the labels, their texts, and the file of a model with them."""
    labels, texts = LABELS[request.param]
    AUCClassifier("squared", alpha=1).fit(X, labels[Y]).save(tmp_path / "m")
    return request.param, labels, texts, tmp_path / "m"


@pytest.mark.parametrize("kind", ["csv", "texts", "parquet"])
def test_evaluate_finds_labels_of_the_model_in_a_file(run, case, tmp_path, kind):
    name, labels, texts, model = case
    rows, own = tmp_path / f"rows.{'parquet' if kind == 'parquet' else 'csv'}", labels
    if kind == "texts":
        own = np.array(texts)
    elif name in HELD:
        own = labels.astype(HELD[name])
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": own[Y]})
    (frame.to_parquet if kind == "parquet" else frame.to_csv)(rows, index=False)
    status, _, err = run("evaluate", model, rows)
    assert status == 0, err
    shown = run("inspect", model)[1]
    assert f"{texts[1]} (positive) against {texts[0]}" in shown
    written = run("predict", model, rows, "--labels")[1].splitlines()
    assert written[0] == f"score_{texts[1]},label"
    assert {line.partition(",")[2] for line in written[1:]} == {*texts}


def test_evaluate_refuses_labels_that_are_not_classes(refused, case, tmp_path):
    name, _, texts, model = case
    np.savez(tmp_path / "rows.npz", X=X, y=Y + 7)
    told = refused("evaluate", model, tmp_path / "rows.npz")
    quote = "" if name in ("half", "single", "truth") else "'"
    expected = (
        f"the label 7 is neither {quote}{texts[0]}{quote} nor {quote}{texts[1]}{quote}, the classes of the model."
    )
    assert told.endswith(expected)


@pytest.mark.parametrize("name", ["days", "nano", "years", "half"])
def test_export_writes_labels_as_texts(run, tmp_path, name):
    onnx = pytest.importorskip("onnx")
    labels, texts = LABELS[name]
    AUCClassifier("squared", alpha=1).fit(X, labels[Y]).save(tmp_path / "m")
    run("export", tmp_path / "m", "--onnx", tmp_path / "m.onnx")
    found = [onnx.numpy_helper.to_array(each) for each in onnx.load(tmp_path / "m.onnx").graph.initializer]
    texts_there = [each.tolist() for each in found if each.dtype == object]
    assert texts_there == ([] if name == "half" else [texts])


def test_evaluate_refuses_classes_of_the_same_number(refused, tmp_path):
    model = AUCClassifier("squared", alpha=1).fit(X, Y)
    save_model(model, tmp_path / "m", classes={"negative": 1, "positive": 1.0})
    np.savez(tmp_path / "rows.npz", X=X, y=np.ones(30))
    told = refused("evaluate", tmp_path / "m", tmp_path / "rows.npz")
    assert "the label 1 may be 1 or 1.0, the classes of the model" in told


@pytest.mark.parametrize(("labels", "text"), [(np.array([0.1, 0.3], np.float16), "0.1"), (np.array([b"a", b"b"]), "a")])
def test_labels_that_no_fit_finds_are_known_by_their_texts(run, tmp_path, labels, text):
    model = AUCClassifier("squared", alpha=1).fit(X, Y)
    model.classes_ = model.moments_.classes = labels
    model.save(tmp_path / "m")
    other = {"0.1": "0.3", "a": "b"}[text]
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.array([text, other])[Y]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    status, out, err = run("evaluate", tmp_path / "m", tmp_path / "rows.csv")
    assert status == 0, err
    assert f"predicted {other}" in out


@pytest.mark.parametrize("label", [None, 10**400, np.inf, "x"], ids=["none", "huge", "inf", "text"])
def test_classes_in_notes_that_are_no_numbers_end_in_a_sentence(refused, tmp_path, label):
    model = AUCClassifier("squared", alpha=1).fit(X, Y)
    save_model(model, tmp_path / "m", classes={"negative": 0, "positive": label})
    np.savez(tmp_path / "rows.npz", X=X, y=Y)
    told = refused("evaluate", tmp_path / "m", tmp_path / "rows.npz")
    assert "the label 1 is neither 0 nor" in told or "cannot be used here" in told


@pytest.mark.parametrize("command", ["predict", "evaluate", "inspect"])
@pytest.mark.parametrize("where", ["classes_", "notes"])
def test_labels_that_cannot_be_written_are_refused_with_the_name_of_the_model(refused, tmp_path, command, where):
    odd = np.array(["no", "yes\udc80"], object)
    notes = {"classes": {"negative": "no", "positive": odd[1]}} if where == "notes" else {}
    model = AUCClassifier("squared", alpha=1).fit(X, (odd if where == "classes_" else np.array(["no", "yes"]))[Y])
    save_model(model, tmp_path / "m", **notes)
    np.savez(tmp_path / "rows.npz", X=X, y=Y)
    arguments = [] if command == "inspect" else [tmp_path / "rows.npz"]
    arguments += ["--labels", "-o", tmp_path / "out"] if command == "predict" else []
    told = refused(command, tmp_path / "m", *arguments)
    assert told == f"{tmp_path / 'm'} cannot be used here: the label 'yes\\udc80' cannot be written as text."
    assert not (tmp_path / "out").exists()
