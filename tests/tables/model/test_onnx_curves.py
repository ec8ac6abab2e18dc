"""Additive models as ONNX graphs."""

import json

import numpy as np
import pandas as pd
import pytest
from additive_data import CATEGORICAL, mixed_rows
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

from aucmax import AdditiveAUCClassifier, TableEncoder
from aucmax.models.onnx_export import export_onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
X, Y = mixed_rows()
QUICK = {"loss": "squared", "alpha": 0.01, "max_bins": 16}


def run_graph(model, codes, path):
    export_onnx(model, path)
    session = onnxruntime.InferenceSession(path)
    return dict(zip(("score", "probabilities", "label"), session.run(None, {"X": codes}), strict=True))


@pytest.mark.parametrize("pairs", [0, [(0, 1), (0, 2)]], ids=["curves", "surfaces"])
def test_the_graph_has_the_scores_of_the_model(pairs, tmp_path):
    """Also of missing values, new levels, infinities, and numbers on borders of bins."""
    model = AdditiveAUCClassifier(**QUICK, pairs=pairs, categorical_features=CATEGORICAL).fit(X, Y)
    odd = np.repeat(X[:1], 7, axis=0)
    odd[0], odd[1, 2], odd[2, 0], odd[3, 0], odd[4, 0] = np.nan, 99.0, np.inf, -np.inf, model.columns_[0].cuts[3]
    rows = np.vstack([X, odd])
    found = run_graph(model, rows, tmp_path / "model.onnx")
    assert_allclose(found["score"], model.decision_function(rows), rtol=0, atol=1e-12)
    assert_allclose(found["probabilities"], model.predict_proba(rows), rtol=0, atol=1e-12)
    assert_array_equal(found["label"], model.predict(rows))


def test_export_onnx_of_columns_without_values_or_with_one(tmp_path):
    odd = np.column_stack([X[:, 0], np.full(len(X), np.nan), np.ones(len(X))])
    model = AdditiveAUCClassifier(**QUICK, categorical_features=[1]).fit(odd, Y)
    rows = np.vstack([odd, [[0.0, 3.0, 2.0], [np.nan, np.nan, np.nan]]])
    found = run_graph(model, rows, tmp_path / "model.onnx")
    assert_allclose(found["score"], model.decision_function(rows), rtol=0, atol=1e-12)


def test_a_model_of_a_table_takes_pooled_codes(tmp_path):
    rng = np.random.default_rng(0)
    firm = [f"firm {k}" for k in (60 * rng.random(900)).astype(int)]
    frame = pd.DataFrame({"size": rng.normal(size=900), "firm": firm, "home": rng.choice(["own", "rent"], 900)})
    model = make_pipeline(TableEncoder("codes"), AdditiveAUCClassifier(**QUICK)).fit(frame, rng.random(900) < 0.4)
    new = pd.concat([frame, pd.DataFrame({"size": [0.0, None], "firm": ["new", None], "home": ["boat", None]})])
    found = run_graph(model, model[0].transform(new), tmp_path / "model.onnx")
    assert_allclose(found["score"], model.decision_function(new), rtol=0, atol=1e-12)
    about = {each.key: each.value for each in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert json.loads(about["levels"])[2] == ["own", "rent", "(rare)"]


def test_export_onnx_keeps_the_levels_of_a_frame(tmp_path):
    frame = pd.DataFrame(
        {"age": X[:, 0], "colour": pd.Categorical(np.array(["red", "green", "blue"])[X[:, 2].astype(int)])}
    )
    model = AdditiveAUCClassifier(**QUICK).fit(frame, Y)
    codes = np.column_stack([X[:, 0], np.array([2.0, 1.0, 0.0])[X[:, 2].astype(int)]])
    found = run_graph(model, codes, tmp_path / "model.onnx")
    assert_allclose(found["score"], model.decision_function(frame), rtol=0, atol=1e-12)
    about = {each.key: each.value for each in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert json.loads(about["levels"]) == [None, ["blue", "green", "red"]]
    assert json.loads(about["feature_names"]) == ["age", "colour"]
