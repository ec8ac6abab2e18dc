"""Model files: exact, whole, and read without running code from them."""

import functools
import hashlib
import json
import math
import os
import pickle
import random
import re
import signal
import struct
import subprocess
import sys
import time
import traceback
import warnings

import numpy as np
import pytest
import safetensors.numpy
import slow
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils import get_tags
from slow import slow_except
from small_models import EVERY_MODEL, SPARSE, D, N, X, Y, assert_same, fit, make, outputs

import aucmax
from aucmax import AUCClassifier, ClassMoments, ProgressBar, load_model, save_model
from aucmax.models.model_file import (
    BEGINNING,
    DIGEST,
    NO_DIGEST,
    read_model,
    read_values,
    tensor_bytes,
    write_values,
)
from aucmax.papers.engine.epochs import Scaling, Stream


def round_trip(value, path):
    write_values(path, "checkpoint", {"value": value})
    return read_values(path, "checkpoint")["value"]


# Values

VALUES = {
    "nothing": None,
    "numbers": [True, False, 0, -1, 2**62, 2**63, -(2**200), 10**5000, 0.1, -0.0, 5e-324, 1.7976931348623157e308],
    "not finite": [math.inf, -math.inf, math.nan],
    "text": ["", 'é\x00\ud800\n"\\', {"": 1, "int": 2, "a.b": {"array": "0"}, "{}": 3}],
    "containers": ([], (), {}, [[()]], ({"a": (1, [2])},)),
    "scalars": [np.float64(0.1), np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("é"), np.uint64(2**64 - 1)],
    "dates": [np.datetime64("2020-01-01", "D"), np.array(["2020-01-01", "NaT"], "M8[ns]"), np.timedelta64(3, "s")],
    "types": [np.arange(3).astype(code) for code in "?bBhHiIlLqQefdgFDG"],
    "byte orders": [np.arange(3, dtype=">f8"), np.arange(3, dtype=">u4")],
    "not numbers": np.array([np.nan, -np.inf, -0.0, np.float64.fromhex("0x1p-1074")]),
    "zero-size": [np.zeros((0, 3)), np.zeros((2, 0), np.float32), np.array([], "U"), np.array([], object)],
    "no dimensions": [np.array(3.0), np.array("text"), np.array(None), np.array(1 + 2j)],
    "orders": [np.asfortranarray(X), X[::2, ::-3], np.asfortranarray(X)[:, 1:], X[None, :, None, :].T, X.T],
    "strings": [np.array(["a", "bcd", ""]), np.array([b"a", b"bc"]), np.asfortranarray([["a", "b"], ["c", "d"]])],
    "objects": np.array([["a", None], [3, 2.5], [True, 2**70]], object),
    "objects in objects": np.fromiter([[1, 2], (3, 4), np.arange(2), np.float32(1)], object, 4),
    "objects in Fortran order": np.asfortranarray(np.array([["a", None], [3, math.inf]], object)).T,
    "sparse array": SPARSE,
    "sparse matrix": sparse.csr_matrix(SPARSE).astype(np.float32),
    "empty rows": sparse.csr_array((3, 5)),
    "random state": np.random.RandomState(3),
    "class moments": ClassMoments(D, ("n", "p")).update(X, np.array(["n", "p"])[Y]),
    "named tuples": Stream.begin(Scaling.none(3), np.random.RandomState(1)),
    "estimator": AUCClassifier(alphas=np.array([1.0, 2.0]), n_nonzero=[1, 2]),
}


@pytest.mark.parametrize("name", VALUES)
def test_read_values_restores_values(name, tmp_path):
    assert_same(round_trip(VALUES[name], tmp_path / "file"), VALUES[name])


def test_a_random_state_continues_with_the_same_numbers(tmp_path):
    rng = np.random.RandomState(7)
    rng.standard_normal(5)  # an odd number leaves one for later
    loaded = round_trip(rng, tmp_path / "file")
    assert (loaded.standard_normal(1000) == rng.standard_normal(1000)).all()


def test_64_bit_indices_stay_64_bit(tmp_path):
    wide = SPARSE.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert_same(round_trip(wide, tmp_path / "file"), wide)


def test_read_values_returns_arrays_that_own_their_memory(tmp_path):
    loaded = round_trip([np.zeros(3), np.array(["a", "b"]), np.array(["a", None], object)], tmp_path / "file")
    assert all(array.flags.owndata and array.flags.writeable for array in loaded[:2])
    loaded[2][0] = "c"


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
nested = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner), max_leaves=10
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(value=nested)
def test_read_values_restores_any_nested_value(value, tmp_path_factory):
    loaded = round_trip(value, tmp_path_factory.getbasetemp() / "file")
    assert repr(loaded) == repr(value)  # as text, nan equals nan


@st.composite
def any_array(draw):
    """Return an array of any type and shape, some of which are too much for a file, in any order in memory."""
    dtype = draw(
        st.sampled_from([*"?bhilefdgFDO", "U3", "U0", "S2", "V2", ">f4", ">U2", "M8[ns]", "m8[D]", "M8", "i4,f8"])
    )
    n_dimensions = draw(st.integers(0, 10))
    shape = draw(st.lists(st.sampled_from([0, 1, 1, 2]), min_size=n_dimensions, max_size=n_dimensions))
    if 0 in shape[:-1]:
        shape[-1] = draw(st.sampled_from([2, 1_000_000, 1_000_001]))
    array = np.zeros(shape, dtype, order=draw(st.sampled_from("CF")))
    return np.flip(array) if shape and draw(st.booleans()) else array


@settings(derandomize=True, deadline=None, max_examples=300)
@given(array=any_array())
def test_an_array_that_is_written_can_be_read(array, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "array"
    try:
        write_values(path, "checkpoint", {"value": array})
    except ValueError:
        return
    loaded = read_values(path, "checkpoint")["value"]
    assert (loaded.dtype, loaded.shape, loaded.tolist()) == (array.dtype, array.shape, array.tolist())


@pytest.mark.parametrize("shape", [(1,) * 9, (0, 2_000_000)])
@pytest.mark.parametrize("dtype", [float, str, object])
def test_a_note_of_a_shape_that_no_file_holds_is_refused_when_it_is_saved(shape, dtype, tmp_path):
    model = AUCClassifier("squared", alpha=1).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"The entry 'note' cannot be stored in a file: \(.*\) is no shape of an array"
    ):
        save_model(model, tmp_path / "m", note=np.zeros(shape, dtype))
    assert os.listdir(tmp_path) == []


def nest(depth):
    return functools.reduce(lambda inner, _: (inner,), range(depth), {"bottom": np.zeros(2)})


def test_nesting_that_is_accepted_is_read(tmp_path):
    assert_same(round_trip(nest(45), tmp_path / "file"), nest(45))


circle: list = []
circle.append(circle)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (AUCClassifier(cv=StratifiedKFold(3)), "The parameter 'cv' of AUCClassifier .* of the type StratifiedKFold, "),
        (Pipeline([("a", MinMaxScaler())]), "The parameter 'steps' of Pipeline .* of the type MinMaxScaler, "),
        ({"here": {"deep": [print]}}, "The entry 'deep' .* of the type builtin_function_or_method, "),
        ({1: 2}, "The entry 'value' .* of the type dict, and only .* dicts with text keys"),
        (np.zeros(2, [("a", float)]), "of the type ndarray, "),
        (np.array([print], object), "of the type builtin_function_or_method, "),
        (np.random.RandomState(np.random.PCG64(0)), "of the type RandomState, "),
        (functools.partial(print, sep=""), "of the type partial, "),
        (np.ma.masked_array([1.0, 2.0]), "of the type MaskedArray, "),
        (sparse.csc_array(SPARSE), "of the type csc_array, "),
        (nest(60), "it is nested too deeply, or holds itself"),
        (circle, "it is nested too deeply, or holds itself"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_write_values_names_what_cannot_be_stored(value, message, tmp_path):
    with pytest.raises(ValueError, match=r"^[^:]* cannot be stored in a file: ") as caught:
        round_trip(value, tmp_path / "file")
    caught.match(message)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


# Models


@pytest.mark.parametrize("rows", [X, pytest.param(SPARSE, marks=pytest.mark.slow)], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", slow_except(slow.MODELS, EVERY_MODEL))
def test_load_model_restores_every_algorithm_and_continues(name, rows, tmp_path):
    model = make(name)
    if name == "TableEncoder":
        rows = X  # tables are not sparse
    if name == "OPAUCpca" and sparse.issparse(rows):
        model.set_params(pca__svd_solver="arpack")
    if sparse.issparse(rows) and not get_tags(model).input_tags.sparse:
        pytest.skip("it takes dense rows only")
    model.set_params(**{key: True for key in model.get_params() if key.endswith("warm_start")})
    fit(model, rows)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_same(loaded, model)
    assert_same(loaded.get_params(deep=False), model.get_params(deep=False))
    assert_same(outputs(loaded, rows), outputs(model, rows))
    assert_same(fit(loaded, rows), fit(model, rows))
    if hasattr(model, "partial_fit") and name != "AUCClassifier":  # a blend keeps no moments to continue from
        assert_same(loaded.partial_fit(rows[:40], Y[:40]), model.partial_fit(rows[:40], Y[:40]))


@pytest.mark.parametrize(
    "classes", [["neg", "pos"], [False, True], [-1.0, 1.0], np.array(["n", "p"], object), np.float16([-1, 2])], ids=str
)
def test_classes_of_every_kind_and_names_of_features(classes, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"column é{j}" for j in range(D)])
    model = AUCClassifier("squared").fit(frame, np.asarray(classes)[Y])
    model.save(tmp_path / "model")
    loaded = load_model(str(tmp_path / "model"))
    assert_same(loaded, model)
    assert_same(loaded.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[frame.columns[::-1]])


@pytest.mark.parametrize("labels", [np.array([3, 7], ">i4"), np.array(["n", "p"], ">U3")], ids=str)
@pytest.mark.parametrize("model", [AUCClassifier("squared", alpha=1), aucmax.SOLAM(random_state=0)], ids=str)
def test_labels_in_another_byte_order_are_saved_in_that_of_this_machine(labels, model, tmp_path):
    model.fit(X, labels[Y]).save(tmp_path / "m")
    classes = load_model(tmp_path / "m").classes_
    assert classes.dtype.isnative
    assert classes.tolist() == labels.tolist()


LABELS = {
    "days": np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
    "moments": np.array([1, 2], "M8[ns]"),
    "half": np.array([0, 1], np.float16),
    "objects": np.array(["n", "positive"], object),
    "NumPy's text": np.array([np.str_("n"), "positive"], object),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("model", [AUCClassifier("squared", alpha=1), aucmax.SOLAM(random_state=0)], ids=str)
def test_labels_that_fit_accepts_are_saved_exactly(labels, model, tmp_path):
    """A long fit is not lost when it is saved."""
    model.fit(X, labels[Y]).save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.classes_, labels, strict=True)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X), strict=True)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([b"n", b"p"], "V1"),
        np.array([(0,), (1,)], "i4,"),
        np.array([-1, 2], "m8[s]"),
        np.array([0, 1], np.longdouble),
    ],
    ids=str,
)
@pytest.mark.parametrize("model", [AUCClassifier("squared", alpha=1), aucmax.SOLAM(random_state=0)], ids=str)
def test_labels_that_cannot_be_saved_are_refused_before_the_fit(labels, model):
    with pytest.raises(ValueError, match=r"^y holds labels of the type .*: make them integers, doubles or text\.$"):
        model.fit(X, labels[Y])


@pytest.mark.parametrize("labels", [np.array(["2020", "NaT"], "M8[D]"), np.array([1, np.inf])], ids=str)
def test_labels_that_no_fit_accepts_are_refused(labels, tmp_path):
    model = AUCClassifier("squared", alpha=1).fit(X, Y)
    model.classes_ = labels
    with pytest.raises(ValueError, match=r"^classes_ of AUCClassifier holds (a date|values that are not finite)"):
        model.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("rows", [X, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("selection", ["blend", "best"])
def test_load_model_restores_the_members_of_a_blend(selection, rows, tmp_path):
    model = AUCClassifier(selection=selection).fit(rows, Y)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    blend, n_members = loaded.blend_, len(loaded.blend_["share"])
    assert (n_members > 1) == (selection == "blend")
    assert_same(blend, model.blend_)
    assert_same([loaded.cv_auc_, *loaded.cv_auc_ci_], [model.cv_auc_, *model.cv_auc_ci_])
    assert loaded.loss_ == ("blend" if n_members > 1 else blend["loss"][0])
    assert hasattr(loaded, "alpha_") == (n_members == 1)
    spread = blend["spread"] if n_members > 1 else np.ones(1)
    np.testing.assert_allclose(loaded.coef_[0], (blend["share"] / spread) @ blend["coef"], rtol=1e-12)
    assert_same(outputs(loaded, rows), outputs(model, rows))
    tensors = safetensors.numpy.load_file(tmp_path / "model").values()
    shapes = {tensor.shape for tensor in tensors if tensor.ndim > 1}
    bins = model.score_bins_.shape
    assert bins[1] <= 10
    assert shapes == {(1, D), (n_members, D), (2, D), (2, D, D), bins}  # weights and class moments, no rows, no scores


@pytest.mark.parametrize("name", ["AUCClassifier with moments", "GaussianAUC", "OPAUC", "OAM", "SPDAM", "OPAUCf"])
def test_without_moments_a_file_predicts_and_holds_nothing_else_of_the_rows(name, tmp_path):
    model = fit(make(name))
    save_model(model, tmp_path / "model", moments=False)
    loaded = load_model(tmp_path / "model")
    assert_same(outputs(loaded, X), outputs(model, X))
    tensors = safetensors.numpy.load_file(tmp_path / "model").values()
    largest = max(tensor.size for tensor in tensors if tensor.dtype != np.uint8)  # which the names of losses are
    assert largest <= max(D, len(getattr(model, "alphas_", ())), np.size(getattr(model, "score_bins_", ())))
    last = loaded[-1] if name == "OPAUCf" else loaded
    if hasattr(last, "partial_fit"):
        with pytest.raises(ValueError, match=r"^partial_fit continues from (class moments|the state of the last call)"):
            last.partial_fit(X[:, : last.n_features_in_], Y)
    assert hasattr(model[-1] if name == "OPAUCf" else model, "state_") or hasattr(model, "moments_")


@pytest.mark.slow
def test_online_fits_continue_in_another_process(tmp_path):
    models = {name: make(name).partial_fit(SPARSE[:30], Y[:30]) for name in ("CBR", "GaussianAUC", "OPAUCr")}
    for name, model in models.items():
        save_model(model, tmp_path / name)
    write_values(tmp_path / "rows", "checkpoint", {"rows": SPARSE[30:], "labels": Y[30:]})
    code = """
import sys, aucmax
from aucmax.models.model_file import read_values
data = read_values("rows", "checkpoint")
for name in sys.argv[1:]:
    aucmax.load_model(name).partial_fit(data["rows"], data["labels"]).save(name)
"""
    subprocess.run([sys.executable, "-c", code, *models], check=True, cwd=tmp_path)
    for name, model in models.items():
        assert_same(load_model(tmp_path / name), model.partial_fit(SPARSE[30:], Y[30:]))


def test_notes_and_versions(tmp_path):
    model = make_pipeline(StandardScaler(), AUCClassifier(alpha=0.1)).fit(X, Y)
    notes = {"rows": N, "target": "y", "levels": {"colour": ["red", "green"]}, "path": np.arange(3.0)}
    save_model(model, tmp_path / "model", **notes)
    file = read_model(tmp_path / "model")
    assert_same(file.model.predict(X), model.predict(X))
    assert_same(file.notes, notes)
    assert file.versions["aucmax"] == aucmax.__version__
    assert file.versions["numpy"] == np.__version__
    assert list(file.versions) == ["aucmax", "scikit-learn", "numpy"]


def test_save_model_leaves_callbacks_out(tmp_path):
    model = AUCClassifier(alpha=0.1).fit(X, Y).set_callbacks(ProgressBar())
    save_model(model, tmp_path / "model")
    del model._skl_callbacks
    assert_same(load_model(tmp_path / "model"), model)


def test_models_that_are_not_fitted_or_not_ours_are_refused(tmp_path):
    with pytest.raises(NotFittedError, match="not fitted"):
        save_model(AUCClassifier(), tmp_path / "model")
    with pytest.raises(
        ValueError, match=r"^The entry 'model' cannot be stored in a file: .* the type LogisticRegression"
    ):
        save_model(LogisticRegression().fit(X, Y), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_save_model_writes_weights_that_safetensors_reads(tmp_path):
    model = AUCClassifier(alpha=0.1).fit(X, Y)
    model.save(tmp_path / "model.safetensors")
    tensors = safetensors.numpy.load_file(tmp_path / "model.safetensors")
    assert any(tensor.tobytes() == model.coef_.tobytes() for tensor in tensors.values())


# Files that are something else


def seal(content):
    """Return a file with the digest that it should have."""
    blank = content[: DIGEST.start] + NO_DIGEST + content[DIGEST.stop :]
    return content[: DIGEST.start] + hashlib.sha256(blank).hexdigest().encode() + content[DIGEST.stop :]


def forge(values, tensors=None, **changes):
    """Return a file with a description made by hand, and the digest it should have."""
    versions = {"aucmax": "9.9", "scikit-learn": "9.9", "numpy": "9.9"}
    about = {"sha256": "0" * 64, "format": 3, "kind": "model", **versions, "values": values} | changes
    text = json.dumps(about, separators=(",", ":"))
    return seal(safetensors.numpy.save(tensors or {}, metadata={"aucmax": text}))


def estimator(name="AUCClassifier", parameters=None, **attributes):
    return {"estimator": name, "parameters": parameters or {}, "attributes": attributes}


def model_of(item):
    return forge({"dict": {"model": item, "notes": {"dict": {}}}})


SAVED = forge({"dict": {"model": estimator(), "notes": {"dict": {}}}})
NESTED = json.loads('{"tuple": [' * 350 + "]}" * 350)  # JSON goes that deep, Python's calls do not
STATE = {
    "bit_generator": "MT19937",
    "state": {"dict": {"key": {"array": "0"}, "pos": 10**9}},
    "has_gauss": 0,
    "gauss": 0,
}
CSR = {"csr": "csr_array", "n_columns": 2, "parts": [{"array": name} for name in "012"]}
OUTSIDE = {"0": np.ones(1), "1": np.array([5], np.int32), "2": np.array([0, 1], np.int32)}

FOREIGN = {
    "empty": b"",
    "text": b"1 1:0.5 2:0.25\n" * 100,
    "junk": random.Random(0).randbytes(5000),
    "pickle": pickle.dumps(AUCClassifier()),
    "other tensors": safetensors.numpy.save({"weight": np.zeros(3)}),
    "other metadata": safetensors.numpy.save({"weight": np.zeros(3)}, metadata={"format": "pt"}),
    "zip": b"PK\x03\x04" + bytes(100),
    "a huge header": struct.pack("<Q", 2**63) + b"{}",
}
DAMAGED = {
    "cut in the header": SAVED[:200],
    "cut at the end": SAVED[:-1],
    "longer": SAVED + b" ",
    "another digest": SAVED[: DIGEST.start] + b"f" * 64 + SAVED[DIGEST.stop :],
    "a digest and nothing else": seal(struct.pack("<Q", 500) + BEGINNING + NO_DIGEST),
    "nested JSON": seal(struct.pack("<Q", 10**6) + BEGINNING + NO_DIGEST + b'\\"' + b"[" * 10**6),
}
UNREADABLE = {
    "another class": (model_of(estimator("Popen")), "'Popen' is unknown"),
    "a class with its module": (model_of(estimator("subprocess.Popen")), "'subprocess.Popen' is unknown"),
    "another function": (model_of({"partial": "system", "keywords": {}}), "'system' is unknown"),
    "another named tuple": (model_of({"named_tuple": "os:stat_result", "fields": {}}), "'os:stat_result' is unknown"),
    "no named tuple": (model_of({"named_tuple": "AUCClassifier", "fields": {}}), "'AUCClassifier' is unknown"),
    "no class moments": (model_of({"moments": "SOLAM", "attributes": {"classes": [0, 1]}}), "'SOLAM' is unknown"),
    "no estimator": (model_of(estimator("random_scores", {"X": 1})), "'random_scores' is unknown"),
    "a name that is no text": (model_of(estimator(["SOLAM"])), "unhashable"),
    "another tag": (model_of({"pickle": "0"}), "'pickle' is unknown"),
    "no tag": (model_of({}), "'' is unknown"),
    "another parameter": (model_of(estimator(parameters={"beta": 1})), "unexpected keyword argument 'beta'"),
    "no such tensor": (model_of({"array": "7"}), "'7'"),
    "an enormous array": (
        forge({"bytes": "0", "dtype": "<f8", "shape": [10**9]}, {"0": np.zeros(8, "u1")}),
        "buffer is",
    ),
    "objects as bytes": (
        forge({"bytes": "0", "dtype": "O", "shape": [1]}, {"0": np.zeros(8, "u1")}),
        "'O' is not an array type",
    ),
    "a random state": (forge({"random_state": STATE}, {"0": np.zeros(624, np.uint32)}), "out of range"),
    "a column too far": (forge({"dict": {"model": CSR}}, OUTSIDE), "indices must be from 0 to 1, but"),
    "no values": (forge(3), "not iterable"),
    "a header longer than the file": (struct.pack("<Q", 2**40) + SAVED[8:], "(?i:header ?too ?large)"),
    "nested": (model_of(NESTED), "recursion"),
    "no versions": (forge({"dict": {}}).replace(b'\\"numpy', b'\\"dumpy'), "'numpy'"),
}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((content, "is not an aucmax model file") for content in FOREIGN.values()),
        *(
            (content, "is cut short or was altered: copy it again, or remove it and fit again")
            for content in DAMAGED.values()
        ),
        *((seal(content), f"cannot be read by aucmax .*: .*{reason}") for content, reason in UNREADABLE.values()),
        (forge(3, format=1), "has format 1, this version reads 3: fit it again, or update aucmax"),
        (forge(3, kind="checkpoint"), "is a 'checkpoint', not a 'model'"),
        (forge({"dict": {"model": 1}}), "holds no model"),
    ],
    ids=[*FOREIGN, *DAMAGED, *UNREADABLE, "newer", "checkpoint", "no model"],
)
def test_a_file_that_is_something_else_is_one_sentence(content, message, tmp_path):
    path = tmp_path / "the file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}.* {message}.*[.]$") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        model_of(estimator(parameters={"c\x1b[2J": 1})),
        model_of(estimator("a\x1b[2J")),
        forge(3, format="\x1b[2J"),
        forge(3, kind="\x1b[2J"),
    ],
)
def test_no_text_of_a_forged_file_controls_a_terminal(content, tmp_path):
    path = tmp_path / "forged"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="x1b") as caught:
        load_model(path)
    assert "\x1b" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.slow
@pytest.mark.linux
def test_a_file_is_written_without_copies_of_its_arrays(tmp_path):
    """A fit that just had enough memory is not lost when its model is written."""
    code = f"""
import resource
import numpy as np
from aucmax.rows.machine import address_space
from aucmax.models.model_file import write_values
write_values({str(tmp_path / "m")!r}, "checkpoint", {{"mean": np.zeros(1)}})  # imports what it needs
values = {{"mean": np.arange(1e7), "transposed": np.arange(1e7).reshape(10, -1).T}}
resource.setrlimit(resource.RLIMIT_AS, (address_space() + 20_000_000, resource.RLIM_INFINITY))
write_values({str(tmp_path / "m")!r}, "checkpoint", values)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    assert read_values(tmp_path / "m", "checkpoint")["mean"][-1] == 1e7 - 1


@pytest.mark.parametrize("code", "?bBhHiIlLqQefd")
def test_tensors_are_laid_out_as_safetensors_does(code):
    tensors = {"a": np.arange(3).astype(code), "b": np.zeros((2, 0), code), "c": np.array(1, code), "d": np.ones(5)}
    content = b"".join(tensor_bytes(tensors, {"about": "e"}))
    assert content == save(tensors, {"about": "e"})
    found = load(content)
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        np.testing.assert_array_equal(found[name], tensor, strict=True)
    begin = 8 + int.from_bytes(content[:8], "little")
    assert begin % 8 == 0


def test_load_model_passes_errors_of_the_system_on(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_model(tmp_path / "nowhere")
    with pytest.raises((IsADirectoryError, PermissionError)):  # which is said on Windows
        load_model(tmp_path)
    with pytest.raises((IsADirectoryError, PermissionError)):
        write_values(tmp_path, "model", {})
    with pytest.raises(FileNotFoundError, match=r"no folder.*model'$"):
        write_values(tmp_path / "no folder" / "model", "model", {})


def test_lists_longer_than_a_header_may_be_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("aucmax.models.model_file.LONGEST_HEADER", 1000)
    write_values(tmp_path / "file", "model", {"list": np.arange(1000)})
    with pytest.raises(ValueError, match="its lists are too long, use arrays instead"):
        write_values(tmp_path / "file", "model", {"list": list(range(1000))})


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "the file"
    values = ("numbers", "not finite", "text", "dates", "strings", "objects", "sparse array", "named tuples")
    write_values(path, "model", {"model": fit(make("OPAUCf")), "notes": {name: VALUES[name] for name in values}})
    return path, path.read_bytes()


places = st.floats(0, 1, exclude_max=True)
edits = st.tuples(
    st.sampled_from(["cut", "flip", "insert", "replace", "drop"]), places, st.binary(min_size=1, max_size=9)
)


def edit(content, how, place, patch):
    at = int(place * len(content))
    flipped = bytes([content[at] ^ (1 << patch[0] % 8)])
    ends = {"cut": (b"", len(content)), "flip": (flipped, at + 1), "insert": (patch, at)}
    ends |= {"replace": (patch, at + len(patch)), "drop": (b"", at + len(patch))}
    middle, stop = ends[how]
    return content[:at] + middle + content[stop:]


def read_or_sentence(path):
    """Return whether a file can be read; if not, assert that the error is one sentence that names the file."""
    try:
        read_model(path)
    except ValueError as error:
        message = str(error)
    else:
        return True
    assert message.startswith(str(path))
    assert len(message.splitlines()) == 1
    return False


@settings(derandomize=True, deadline=None, max_examples=200)
@given(changes=st.lists(edits, min_size=1, max_size=3))
@example(changes=[("cut", 0.0, b"0")])
def test_load_model_notices_every_change_of_a_file(changes, valid):
    path, original = valid
    content = original
    for change in changes:
        content = edit(content, *change) if content else content
    path.write_bytes(content)
    assert read_or_sentence(path) == (content == original)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(change=edits, in_header=st.booleans())
def test_load_model_reads_or_refuses_a_changed_file_of_right_digest(change, in_header, valid):
    path, original = valid
    length = 8 + int.from_bytes(original[:8], "little")
    if in_header:  # of the same length, so that most of it can be read
        _, place, patch = change
        header = edit(original[8:length], "replace", place, patch)[: length - 8]
        content = original[:8] + header + original[length:]
    else:
        content = edit(original, *change)
    path.write_bytes(seal(content))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_or_sentence(path)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(content=st.binary(max_size=300))
def test_random_bytes_are_not_a_model(content, valid):
    path, _ = valid
    path.write_bytes(content)
    assert not read_or_sentence(path)
    path.write_bytes(struct.pack("<Q", 300) + BEGINNING + content)
    assert not read_or_sentence(path)


# Whole or not at all


@pytest.mark.slow
@pytest.mark.posix
def test_a_limit_on_the_size_of_files_leaves_the_old_model(tmp_path):
    path = tmp_path / "model"
    write_values(path, "model", {"array": np.zeros(1000)})
    code = """
import resource, signal, numpy as np
from aucmax.models.model_file import write_values
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    write_values("model", "model", {"array": np.ones(100_000)})
except OSError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert result.stdout == "[Errno 27] File too large: 'model'\n"
    assert list(tmp_path.iterdir()) == [path]
    assert read_values(path, "model")["array"].sum() == 0


KILLED = """
import os, signal, sys
import numpy as np
from aucmax.models.model_file import write_values
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
contents = [{"value": np.full(300_000, value)} for value in (0.0, 1.0)]
write_values("model", "model", contents[0])
for line in sys.stdin:
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        while True:
            for values in contents:
                write_values("model", "model", values)
"""


@pytest.mark.slow
@pytest.mark.posix
def test_save_model_killed_leaves_no_partial_file(tmp_path):
    rng = random.Random(0)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        for _ in range(25):
            process.stdin.write("write\n")
            process.stdin.flush()
            child = int(process.stdout.readline())
            time.sleep(rng.uniform(0, 0.06))
            os.kill(child, signal.SIGKILL)
            (value,) = set(read_values(tmp_path / "model", "model")["value"])
            assert value in (0.0, 1.0)
        process.stdin.close()
