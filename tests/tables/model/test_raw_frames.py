"""Table models of raw frames of any library, of arrays, and of rows that were read before."""

import pickle

import numpy as np
import pytest
from additive_data import mixed_frame
from numpy.testing import assert_array_equal

from aucmax import Scorecard, TableClassifier, TableEncoder
from aucmax.models.onnx_export import as_onnx_takes
from aucmax.tables.curves import auc_lost_without
from aucmax.tables.reading.table import Levels

FRAME, Y = mixed_frame()
QUICK = {"terms": "pairs", "pairs": [("curve", "colour")], "max_bins": 8, "cv": 0}
MODEL = TableClassifier(**QUICK).fit(FRAME, Y)


def as_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def as_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


def as_dask(frame):
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)


def as_levels(frame):
    encoder = TableEncoder().fit(frame)
    return Levels.of(encoder._read(frame), encoder.reading_)


@pytest.mark.parametrize("convert", [as_polars, as_arrow, pytest.param(as_dask, marks=pytest.mark.dask), as_levels])
def test_frames_of_all_libraries_give_the_same_model(convert):
    X = convert(FRAME)
    y = as_dask(FRAME.assign(y=Y))["y"] if convert is as_dask else Y
    model = TableClassifier(**QUICK).fit(X, y)
    assert_array_equal(model.coef_, MODEL.coef_)
    assert model.feature_names_in_.tolist() == list(FRAME)
    scores = MODEL.decision_function(FRAME)
    assert_array_equal(model.decision_function(FRAME), scores)
    assert_array_equal(np.asarray(MODEL.decision_function(X)), scores)


def test_an_array_is_a_table_without_names():
    X = FRAME.to_numpy()
    model = TableClassifier(**QUICK | {"pairs": [(0, 2)]}).fit(X, Y)
    assert_array_equal(model.decision_function(X), MODEL.decision_function(FRAME))
    assert {entry.column for entry in Scorecard(model, None).table()} == {"x0", "x1", "x2", "x3", "x0 x x2"}
    assert not hasattr(model, "feature_names_in_")


def test_rows_that_were_read_are_taken_in_place_of_the_table():
    rows, card = as_levels(FRAME), Scorecard(MODEL)
    assert_array_equal(card.contributions(rows).values, card.contributions(FRAME).values)
    assert_array_equal(auc_lost_without(MODEL, rows, Y), auc_lost_without(MODEL, FRAME, Y))
    assert_array_equal(as_onnx_takes(MODEL, rows), as_onnx_takes(MODEL, FRAME))
    assert_array_equal(as_onnx_takes(MODEL, rows)[:, 2], FRAME["colour"].map(["blue", "green", "red"].index))


def test_parts_of_rows_that_were_read_know_their_table():
    rows = pickle.loads(pickle.dumps(as_levels(FRAME)))[::2]
    assert_array_equal(MODEL.decision_function(rows), MODEL.decision_function(FRAME)[::2])
    assert TableClassifier(**QUICK).fit(rows, Y[::2]).reading_.part_names == list(FRAME)
