"""Model files made by hand, with a right digest: nothing in them gets past the schema of the estimator."""

import forging
import numpy as np
import pytest
import slow
from scipy.sparse import csr_array
from slow import slow_except
from small_models import EVERY_MODEL, SPARSE, D, X, Y, fit, make

from aucmax import CBR, OAM, AUCClassifier, load_model, save_model
from aucmax.models.checks import schema_of
from aucmax.models.names import NAMES, find

# Their values need not be finite: they are told, and nothing is computed from them.
MAY_BE_INFINITE = ("convergence_", "cv_results_", "ladder_", "cards_", "cv_auc_", "cv_auc_ci_", "dual_gap_")
BOUNDS = ("cuts", "low", "high", "center")  # of bins of a table model: infinite where training rows are


def test_every_estimator_that_a_file_may_hold_has_a_schema():
    for name in NAMES["estimator"]:
        schema, required = schema_of(find(name, "estimator"))
        assert "Pipeline" in name or schema
        assert set(required) <= set(schema)


@pytest.fixture(scope="module", params=slow_except(slow.MODELS, EVERY_MODEL))
def saved(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("forged") / "model"
    save_model(fit(make(request.param), SPARSE if request.param in ("OAM", "CBRdiag") else X), path)
    return path, path.read_bytes()


def tensors_of(value, path=()):
    """Yield the names of the tensors of a description, each with the keys that lead to it."""
    if isinstance(value, dict) and isinstance(value.get("array"), str):
        yield value["array"], path
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from tensors_of(item, (*path, key))


def refused(path, about, tensors):
    path.write_bytes(forging.put_together(about, tensors))
    with pytest.raises(ValueError, match=r"cannot be read by aucmax .*\.$") as caught:
        load_model(path)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@pytest.mark.slow
def test_load_model_refuses_tensors_of_another_shape(saved):
    path, content = saved
    about, tensors = forging.open_up(content)
    for name, keys in tensors_of(about["values"]):
        if set(keys) & {"convergence_", "alphas_", "beta"}:
            continue  # of any length
        for changed in (
            tensors[name][None],
            np.concatenate([tensors[name]] * 2) if tensors[name].shape not in ((), (0,)) else None,
        ):
            if changed is not None:
                refused(path, about, tensors | {name: changed})


def test_load_model_refuses_infinite_floats(saved):
    path, content = saved
    about, tensors = forging.open_up(content)
    for name, keys in tensors_of(about["values"]):
        if tensors[name].dtype.kind != "f" or not tensors[name].size or set(keys) & set(MAY_BE_INFINITE):
            continue
        for value in [np.nan] if set(keys) & set(BOUNDS) else [np.nan, np.inf]:
            changed = tensors[name].copy()
            changed.flat[-1] = value
            refused(path, about, tensors | {name: changed})


def test_load_model_refuses_added_and_mistyped_attributes(saved):
    path, content = saved
    about, tensors = forging.open_up(content)
    model = about["values"]["dict"]["model"]
    if "Pipeline" in model["estimator"]:
        model = model["parameters"]["steps"][-1]["tuple"][1]
    assert "which no such model has" in (model["attributes"].update(other_=1) or refused(path, about, tensors))
    del model["attributes"]["other_"]
    for name in list(model["attributes"]):
        before, model["attributes"][name] = model["attributes"][name], {"dict": {"x": "y"}}
        refused(path, about, tensors)
        model["attributes"][name] = before
    for name in list(model["parameters"]):
        before, model["parameters"][name] = model["parameters"][name], {"dict": {"x": "y"}}
        refused(path, about, tensors)
        model["parameters"][name] = before


@pytest.mark.parametrize("make_model", [lambda: OAM(buffer_size=5), lambda: CBR(buffer_size=5)], ids=["OAM", "CBR"])
@pytest.mark.parametrize(
    ("field", "value"),
    [("columns", D), ("columns", 2**63), ("lengths", D + 1), ("lengths", -1), ("counts", -(2**40))],
)
def test_save_model_refuses_buffers_with_indices_out_of_range(make_model, field, value, tmp_path):
    model = make_model().fit(SPARSE, Y)
    getattr(model.state_.buffers, field).flat[0] = value
    with pytest.raises(ValueError, match=r"^buffers of state_ of \w+ holds columns, lengths or counts that are out of"):
        save_model(model, tmp_path / "model")


def test_save_model_refuses_the_state_of_other_parameters(tmp_path):
    model = CBR(buffer_size=5).fit(X, Y)
    model.buffer_size = 50
    with pytest.raises(ValueError, match=r"^buffers of state_ of CBR has arrays of other shapes or types than 50 rows"):
        save_model(model, tmp_path / "model")


def test_commands_escape_texts_of_a_model_file(run, tmp_path):
    model = AUCClassifier(alpha=1).fit(X, np.where(Y, "sick" + forging.ESCAPE, "well" + forging.ESCAPE))
    model.feature_names_in_ = np.array([f"x{j}{forging.ESCAPE}" for j in range(D)], dtype=object)
    training = {"data": "train" + forging.ESCAPE, "n_samples": 90, "n_positive": 40}
    save_model(model, tmp_path / "model", training=training)
    np.savez(tmp_path / "rows.npz", X=X, y=np.where(Y, "sick" + forging.ESCAPE, "well" + forging.ESCAPE))
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    for arguments in (["inspect"], ["evaluate", tmp_path / "rows.npz"], ["predict", tmp_path / "rows.csv"]):
        command, *data = arguments
        status, out, err = run(command, tmp_path / "model", *data)
        assert status == (2 if command == "predict" else 0), err
        assert "owned" in out + err
        assert all(c.isprintable() or c == "\n" for c in out + err)


NOTES = {
    "training": {"n_samples": "many", "n_positive": 1},
    "test": {"data": "a", "n_samples": 1, "n_positive": 1, "auc": 0.5},
    "classes": {"negative": [1], "positive": 2},
    "spreads": np.ones(D + 1),
    "target": 5,
}


@pytest.mark.parametrize("name", NOTES)
def test_inspect_refuses_forged_notes(run, tmp_path, name):
    save_model(AUCClassifier(alpha=1).fit(X, Y), tmp_path / "model", **{name: NOTES[name]})
    status, _, err = run("inspect", tmp_path / "model")
    assert status == 2
    assert err.startswith(f"aucmax: {tmp_path / 'model'} cannot be used here: ")
    assert f"{name} of the notes" in err


def test_an_empty_array_of_enormous_shape_is_refused(tmp_path):
    save_model(AUCClassifier(alpha=1).fit(X, Y), tmp_path / "model")
    about, tensors = forging.open_up((tmp_path / "model").read_bytes())
    about["values"]["dict"]["notes"] = {"bytes": "new", "dtype": "<U1", "shape": [10**9, 0]}
    told = refused(tmp_path / "model", about, tensors | {"new": np.zeros(0, np.uint8)})
    assert "(1000000000, 0) is no shape of an array" in told


@pytest.mark.parametrize("indptr", [[0, 2**20, 0], [0, 1, -1], [1, 1, 2]])
def test_no_index_of_sparse_rows_is_followed_out_of_bounds(tmp_path, indptr):
    save_model(AUCClassifier(alpha=1).fit(X, Y), tmp_path / "model", rows=csr_array(np.eye(2)))
    about, tensors = forging.open_up((tmp_path / "model").read_bytes())
    name = about["values"]["dict"]["notes"]["dict"]["rows"]["parts"][2]["array"]
    told = refused(tmp_path / "model", about, tensors | {name: np.array(indptr, tensors[name].dtype)})
    assert "indptr must begin with 0, must not decrease, and must end with at most 2, the number of indices." in told


def test_load_model_refuses_a_classifier_inside_a_pipeline(tmp_path):
    save_model(fit(make("NPSAM")), tmp_path / "model")
    about, tensors = forging.open_up((tmp_path / "model").read_bytes())
    about["values"]["dict"]["model"]["parameters"]["steps"].reverse()
    told = refused(tmp_path / "model", about, tensors)
    assert "a step of a pipeline is PSAM, which transforms no rows for the next." in told


@pytest.mark.parametrize("missing", ["mean_test_score", "param_alpha", "params"])
def test_load_model_refuses_incomplete_cv_results(tmp_path, missing):
    save_model(AUCClassifier("squared").fit(X, Y), tmp_path / "model")
    about, tensors = forging.open_up((tmp_path / "model").read_bytes())
    del about["values"]["dict"]["model"]["attributes"]["cv_results_"]["dict"][missing]
    assert f"cv_results_ of AUCClassifier lacks {missing}." in refused(tmp_path / "model", about, tensors)


@pytest.mark.parametrize(
    ("loss", "missing"),
    [
        ("auto", "cv_auc_"),
        ("squared", "cv_auc_ci_"),
        ("auto", "cv_results_"),
        ("auto", "alphas_"),
        ("squared", "alpha_"),
        ("squared", "loss_"),
    ],
)
def test_load_model_refuses_incomplete_attributes_of_cross_validation(tmp_path, loss, missing):
    save_model(AUCClassifier(loss, cv=2).fit(X, Y), tmp_path / "model")
    about, tensors = forging.open_up((tmp_path / "model").read_bytes())
    del about["values"]["dict"]["model"]["attributes"][missing]
    assert f"AUCClassifier lacks {missing}." in refused(tmp_path / "model", about, tensors)


def test_commands_refuse_a_model_that_cannot_predict_yet(run, tmp_path):
    model = AUCClassifier("squared", solver="moments").partial_fit(X[:5], np.ones(5), classes=[0, 1])
    save_model(model, tmp_path / "model")  # `partial_fit` may go on from it
    np.savez(tmp_path / "rows.npz", X=X, y=Y)
    for command, *rows in (["inspect"], ["predict", tmp_path / "rows.npz"], ["evaluate", tmp_path / "rows.npz"]):
        status, _, err = run(command, tmp_path / "model", *rows)
        assert (status, err) == (2, f"aucmax: {tmp_path / 'model'} cannot be used here: AUCClassifier lacks coef_.\n")
