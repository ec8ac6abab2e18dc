"""The columns of a file are found by name wherever the model knows names, also those of a model saved in Python."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import OPAUCpca, save_model
from aucmax.classifier import AUCClassifier

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 80)
FRAME = pandas.DataFrame({"age": 40 + 9 * RNG.random(80) + Y, "dose": 1e3 * RNG.random(80), "height": RNG.random(80)})
MODELS = {
    "classifier": lambda: AUCClassifier(alpha=0.1),
    "pipeline": lambda: make_pipeline(StandardScaler(), AUCClassifier(alpha=0.1)),
    "components": lambda: OPAUCpca(2, random_state=0),
}


@pytest.fixture(params=MODELS)
def model(request, tmp_path):
    model = MODELS[request.param]().fit(FRAME, Y)
    save_model(model, tmp_path / "model")
    return model


def test_predict_finds_columns_in_another_order(run, model, tmp_path):
    shuffled = FRAME.assign(id=range(80), label=Y)[["height", "id", "label", "age", "dose"]]
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    status, out, err = run("predict", tmp_path / "model", tmp_path / "new.csv")
    assert (status, err) == (0, "")
    np.testing.assert_allclose([float(line) for line in out.split()[1:]], model.decision_function(FRAME), rtol=1e-9)
    status, out, err = run("evaluate", tmp_path / "model", tmp_path / "new.csv")
    assert (status, err) == (0, "")
    assert f"AUC                {model.score(FRAME, Y):.4f}" in out


def test_predict_names_a_missing_column(refused, model, tmp_path):
    FRAME.rename(columns={"dose": "Dose"}).to_csv(tmp_path / "new.csv", index=False)
    line = refused("predict", tmp_path / "model", tmp_path / "new.csv")
    assert line.endswith("has no column 'dose', which the model needs; its columns are age, Dose, height.")


def test_predict_without_column_names_notes_their_order(run, model, tmp_path):
    np.savez(tmp_path / "new.npz", X=FRAME.to_numpy())
    status, out, err = run("predict", tmp_path / "model", tmp_path / "new.npz")
    assert status == 0
    path = tmp_path / "new.npz"
    assert err == f"{path}: columns are taken in their order, since {path} has no column names\n"
    np.testing.assert_allclose([float(line) for line in out.split()[1:]], model.decision_function(FRAME), rtol=1e-9)
