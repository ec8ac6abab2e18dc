"""Table models as ONNX graphs: they take numbers, and places of levels."""

import json

import numpy as np
import pandas as pd
import pytest
from additive_data import mixed_frame
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import TableClassifier
from aucmax.models.onnx_export import as_onnx_takes, export_onnx
from aucmax.tables.reading.table import Levels

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
FRAME, Y = mixed_frame()
QUICK = {"cv": 0, "max_bins": 16}


def assert_same_scores(model, rows, path):
    """Assert that the graph of a model gives rows the scores of the model."""
    export_onnx(model, path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    found = onnxruntime.InferenceSession(path).run(None, {"X": as_onnx_takes(model, rows)})
    assert_allclose(found[0], model.decision_function(rows), rtol=0, atol=1e-12)
    assert_allclose(found[1], model.predict_proba(rows), rtol=0, atol=1e-12)
    assert_array_equal(found[2], model.predict(rows))
    assert np.ptp(found[0]) > 0.01
    return {each.key: json.loads(each.value) for each in onnx.load(path).metadata_props if each.key[-1] == "s"}


@pytest.mark.parametrize("terms", ["lines", "curves", [("curve", "zeros"), ("curve", "colour")]], ids=str)
def test_the_graph_has_the_scores_of_the_model(terms, tmp_path):
    """Also of missing values, places of no level, infinities, and numbers on borders of bins."""
    rung = {"terms": terms} if isinstance(terms, str) else {"terms": "pairs", "pairs": terms}
    model = TableClassifier(**rung, **QUICK).fit(FRAME, Y)
    about = assert_same_scores(model, FRAME, tmp_path / "model.onnx")
    assert about["feature_names"] == ["curve", "zeros", "colour", "noise"]
    assert about["levels"] == [None, None, ["blue", "green", "red"], None]
    odd = np.repeat(as_onnx_takes(model, FRAME[:1]), 11, axis=0)
    odd[0], odd[1, 0], odd[2, 0], odd[3, 0] = np.nan, np.inf, -np.inf, model.columns_[0].cuts[3]
    odd[4:, 2] = [3, -1, 1.5, 1e300, np.inf, -np.inf, np.nan]
    assert_same_scores(model, Levels.of(odd, model.reading_), tmp_path / "model.onnx")


def test_export_onnx_of_levels_that_training_rows_have_or_not(tmp_path):
    """Levels of rows without weight are read, but not fitted."""
    rng = np.random.default_rng(0)
    firm = np.array([f"firm {k:02}" for k in (60 * rng.random(900)).astype(int)], dtype=object)
    frame = pd.DataFrame({"size": rng.normal(size=900), "firm": firm, "home": rng.choice(["own", "rent", None], 900)})
    weights = ~np.isin(firm, ["firm 00", "firm 17", "firm 59"])
    y = (rng.random(900) < np.where(firm > "firm 30", 0.7, 0.3)).astype(int)
    model = TableClassifier("pairs", pairs=[("size", "home")], **QUICK).fit(frame, y, weights.astype(float))
    new = pd.concat([frame, pd.DataFrame({"size": [0.0, None], "firm": ["new", None], "home": ["boat", None]})])
    about = assert_same_scores(model, new, tmp_path / "model.onnx")
    assert about["levels"][1:] == [sorted(set(firm)), ["own", "rent"]]
    assert len(model.columns_[1].cuts) == 57


def test_a_table_model_after_other_steps_is_refused(tmp_path):
    X = np.random.default_rng(0).standard_normal((200, 2))
    model = make_pipeline(StandardScaler(), TableClassifier("lines", cv=0)).fit(X, X[:, 0] > np.roll(X[:, 1], 1))
    with pytest.raises(ValueError, match=r"^TableClassifier cannot be exported to ONNX after other steps: it reads ta"):
        export_onnx(model, tmp_path / "model.onnx")
