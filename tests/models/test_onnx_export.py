"""ONNX files give what the models give."""

import inspect
import itertools
import json
import sys
import warnings

import numpy as np
import pytest
import slow
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from slow import slow_except

import aucmax
from aucmax import ALGORITHMS, AUCClassifier
from aucmax.models import onnx_export as export_module
from aucmax.models.onnx_export import compare_scores, export_onnx, measure_difference

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :12].astype(np.float32)


def make(name):
    algorithm = ALGORITHMS[name]
    small = {"n_nonzero": 3, "rank": 3} if not algorithm.module.endswith("pipelines") else {"n_components": 7}
    known = inspect.signature(algorithm.make).parameters
    return algorithm(**{key: value for key, value in small.items() if key in known and name != "OPAUC"})


def fitted(model, labels=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X.astype(np.float64), labels)


def outputs(path, rows=X):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [(each.name, each.type, each.shape[1]) for each in session.get_inputs()] == [("X", "tensor(double)", 12)]
    names = ["score", "probabilities", "label"]
    assert [each.name for each in session.get_outputs()] == names
    return session.run(names, {"X": rows.astype(np.float64)})


def assert_equal(model, path):
    score, probabilities, label = outputs(path)
    rows = X.astype(np.float64)
    ours = model.decision_function(rows)
    assert score.dtype == np.float64
    np.testing.assert_allclose(score, ours, rtol=1e-9, atol=1e-9 * np.abs(ours).max())
    assert probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities, model.predict_proba(rows), rtol=1e-9, atol=1e-12)
    sure = np.abs(ours) > 1e-9 * np.abs(ours).max()
    assert (label == model.predict(rows))[sure].all()
    assert len(set(label)) == 2
    return label


@pytest.mark.parametrize("name", ALGORITHMS)
def test_export_onnx_of_every_algorithm_gives_the_same_outputs(name, tmp_path):
    model = fitted(make(name))
    export_onnx(model, path := tmp_path / "model.onnx")
    assert_equal(model, path)


def test_a_blend_is_one_linear_model(tmp_path):
    model = fitted(AUCClassifier())
    blend = model.blend_
    assert len(blend["share"]) > 1
    export_onnx(model, path := tmp_path / "model.onnx")
    assert_equal(model, path)
    members = X.astype(np.float64) @ blend["coef"].T
    expected = members @ (blend["share"] / blend["spread"]) + model.intercept_
    np.testing.assert_allclose(outputs(path)[0], expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert [node.op_type for node in onnx.load(path).graph.node].count("MatMul") == 1


@pytest.mark.parametrize(
    "transformers",
    [
        [StandardScaler()],
        [StandardScaler(with_std=False), PCA(5, whiten=True)],
        [TruncatedSVD(5)],
        ["passthrough", StandardScaler(with_mean=False, with_std=False)],
    ],
    ids=str,
)
def test_export_onnx_of_other_pipelines_of_the_same_parts(transformers, tmp_path):
    model = fitted(make_pipeline(*transformers, AUCClassifier(alpha=0.1)))
    export_onnx(model, path := tmp_path / "model.onnx")
    assert_equal(model, path)


@pytest.mark.parametrize(
    ("classes", "type_of_label"),
    [
        ((-1, 1), np.int64),
        (np.array([3, 250], np.uint8), np.int64),
        ((False, True), np.int64),
        ((-1.0, 2.0), np.int64),
        ((0.5, 1.5), None),
        ((1, 2**63), None),
        (("benign", "malignant"), object),
        (np.array(["é", "ü"], object), object),
    ],
    ids=str,
)
def test_export_onnx_of_labels_of_every_kind(classes, type_of_label, tmp_path):
    if type_of_label is None:
        model = fitted(AUCClassifier(alpha=0.1))
        model.classes_ = np.array(classes)  # continuous or enormous values are no classes to fit, but to export
        type_of_label = np.float64
    else:
        model = fitted(AUCClassifier(alpha=0.1), np.asarray(classes)[Y])
    export_onnx(model, path := tmp_path / "model.onnx")
    assert assert_equal(model, path).dtype == type_of_label


def test_float32_landmarks_are_used_in_double(tmp_path):
    model = aucmax.NPSAM(7, random_state=0).fit(X, Y)
    export_onnx(model, path := tmp_path / "model.onnx")
    assert_equal(model, path)


def unix_times(seconds):
    """Return rows with a column of times within so many seconds, and labels that depend on it."""
    rng = np.random.default_rng(0)
    times = 1_700_000_000.5 + rng.integers(0, seconds, 200)
    rows = np.column_stack([times, *rng.standard_normal((11, 200))])
    return rows, times + 0.3 * seconds * rows[:, 1] > np.median(times)


def test_a_column_of_unix_times_keeps_its_digits(tmp_path):
    rows, y = unix_times(100)
    model = AUCClassifier(alpha=0.1).fit(rows, y)
    export_onnx(model, path := tmp_path / "model.onnx")
    scores = model.decision_function(rows)
    np.testing.assert_allclose(outputs(path, rows)[0], scores, rtol=0, atol=1e-6 * np.ptp(scores))
    in_float32 = model.decision_function(rows.astype(np.float32).astype(np.float64))
    assert np.abs(in_float32 - scores).max() > 0.01 * np.ptp(scores)  # what an input in float32 would have lost


@pytest.mark.parametrize("name", slow_except(slow.MODELS, ["AUCClassifier", "TableClassifier", "kernel", *ALGORITHMS]))
def test_scores_of_training_rows_with_unix_times_differ_by_rounding_only(name, tmp_path):
    rows, y = unix_times(86_400)
    squared = AUCClassifier("squared", alpha=0.1)
    others = {"AUCClassifier": squared, "TableClassifier": aucmax.TableClassifier("curves")}
    others["kernel"] = make_pipeline(aucmax.KMeansNystroem(random_state=0), AUCClassifier("squared", alpha=1e-6))
    model = make(name) if name in ALGORITHMS else others[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, y)
    export_onnx(model, path := tmp_path / "model.onnx")
    scores = model.decision_function(rows)
    found = compare_scores(model, path, rows)
    assert found == (200, np.abs(outputs(path, rows)[0] - scores).max(), scores.min(), scores.max())
    assert found.largest < 1e-9 * np.ptp(scores)


def test_the_largest_difference_is_that_of_all_rows(tmp_path, monkeypatch):
    """By blocks, and for sparse rows."""
    model = fitted(AUCClassifier(alpha=0.1))
    export_onnx(model, path := tmp_path / "model.onnx")
    shifted = model.decision_function(X) + np.linspace(-0.5, 0.25, len(X))
    for step, rows in itertools.product((10**9, 12 * 100), (X, sparse.csc_array(X))):
        monkeypatch.setattr(export_module, "BLOCK", step)
        found = measure_difference(path, rows, shifted)
        assert found.n_rows == len(X)
        assert found.largest == pytest.approx(0.5)
        assert (found.low, found.high) == (shifted.min(), shifted.max())
    shifted[9] = np.nan
    with pytest.raises(ValueError, match=r"^Row 9 has the scores .* in .*model.onnx and nan of the model"):
        measure_difference(path, X, shifted)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"^Scores of ONNX files need the package onnxruntime: pip install onnxrun"):
        compare_scores(model, path, X)


def test_the_scores_of_tables_and_frames_are_compared(tmp_path):
    pandas = pytest.importorskip("pandas")
    colours = np.array(["red", "green", "blue"])[np.arange(len(X)) % 3]
    frame = pandas.DataFrame({"size": X[:, 0], "colour": pandas.Categorical(colours)})
    frame.loc[::7, "size"] = np.nan
    for model in (
        make_pipeline(aucmax.TableEncoder(), AUCClassifier("squared")),
        aucmax.TableClassifier("pairs"),
    ):
        export_onnx(model.fit(frame, Y), path := tmp_path / "model.onnx")
        assert np.ptp(model.decision_function(frame)) > 0
        assert compare_scores(model, path, frame).largest < 1e-12 * np.ptp(model.decision_function(frame))


def test_export_onnx_scores_no_rows_and_rows_far_away(tmp_path):
    model = fitted(make("NSOLAM"))
    export_onnx(model, path := tmp_path / "model.onnx")
    assert [len(output) for output in outputs(path, X[:0])] == [0, 0, 0]
    far = np.full((1, 12), 3e38, np.float32)
    np.testing.assert_allclose(outputs(path, far)[0], model.decision_function(far.astype(np.float64)))


def properties(path):
    return {each.key: each.value for each in onnx.load(path).metadata_props}


def test_export_onnx_metadata(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "model.onnx"
    export_onnx(fitted(make("NSOLAM")), path)
    steps = "StandardScaler + KMeansNystroem + StandardScaler + SOLAM"
    assert properties(path) == {"aucmax": aucmax.__version__, "algorithm": steps}
    frame = pandas.DataFrame(X, columns=[f"column {j}" for j in range(12)])
    export_onnx(AUCClassifier(alpha=0.1).fit(frame, Y), path)
    assert json.loads(properties(path)["feature_names"]) == list(frame.columns)
    export_onnx(fitted(AUCClassifier(alpha=0.1)), path, feature_names=np.array(list("abcdefghijkl")))
    assert json.loads(properties(path)["feature_names"]) == list("abcdefghijkl")


def test_export_onnx_refuses_other_models_and_writes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    for model, error, message in [
        (
            fitted(make_pipeline(MinMaxScaler(), AUCClassifier())),
            ValueError,
            "^MinMaxScaler cannot be exported to ONNX, only Tab",
        ),
        (
            fitted(LogisticRegression()),
            ValueError,
            "^LogisticRegression cannot be exported to ONNX, only the classifiers of auc",
        ),
        (AUCClassifier(), NotFittedError, "not fitted"),
        (AUCClassifier().partial_fit(X[Y == 0], Y[Y == 0], classes=[0, 1]), NotFittedError, "not fitted"),
    ]:
        with pytest.raises(error, match=message):
            export_onnx(model, path)
    model = fitted(AUCClassifier(alpha=0.1))
    with pytest.raises(ValueError, match=r"^feature_names holds 2 names, but the model has 12 features"):
        export_onnx(model, path, "ab")
    monkeypatch.setattr(export_module, "LARGEST", 100)
    with pytest.raises(ValueError, match=r"^An ONNX file holds up to 2 GB, but the arrays of this model take 0.0 GB"):
        export_onnx(model, path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'aucmax\[onnx\]'"):
        export_onnx(model, path)
    assert list(tmp_path.iterdir()) == []
