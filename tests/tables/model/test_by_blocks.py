"""Additive models of files and Dask collections: the curves are those of rows in memory."""

import dask
import dask.array as da
import numpy as np
import pytest
from additive_data import CATEGORICAL, mixed_rows
from numpy.testing import assert_allclose

from aucmax import AdditiveAUCClassifier, TableEncoder, open_rows
from aucmax.rows.blocks.rows import SlicedRows
from aucmax.rows.memory import MemoryRows
from aucmax.tables import bins as value_counts
from aucmax.tables.rows import cell_mass, code_rows

pandas = pytest.importorskip("pandas")
X, Y = mixed_rows(300, seed=3)
NAMES = ["curve", "lumpy", "kind", "noise"]
WEIGHTS = np.random.default_rng(0).integers(0, 3, 300).astype(float)
MODELS = {
    "blend with a pair": {"pairs": [(0, 2)]},
    "square": {"loss": "squared"},
    "pairs to find": {"pairs": 2, "loss": "balanced_logistic", "alpha": 1e-3},
    "shape": {"monotonic_cst": [0, 1, 0, 0]},
    "shape of the square loss": {"monotonic_cst": [0, 1, 0, 0], "loss": "squared", "alpha": 1e-2},
    "more cells than rows, square": {"max_bins": 120, "loss": "squared", "cv": 2},
    "more cells than rows, logistic": {"max_bins": 120, "loss": "logistic", "alpha": 1e-2},
    "more cells than rows, blend": {"max_bins": 120, "cv": 2},
}


def sliced(weights=None):
    return SlicedRows(MemoryRows(X, Y, np.array([0, 1]), weights), step=37)


@pytest.mark.parametrize("weights", [pytest.param(None, marks=pytest.mark.slow), WEIGHTS], ids=["rows", "weights"])
@pytest.mark.parametrize("parameters", MODELS.values(), ids=MODELS)
def test_the_curves_are_those_of_rows_in_memory(parameters, weights):
    parameters = {"max_bins": 16, "categorical_features": [2], "tol": 1e-9, **parameters}
    memory = AdditiveAUCClassifier(**parameters).fit(X, Y, weights)
    blocks = AdditiveAUCClassifier(**parameters).fit_rows(sliced(weights))
    assert [term.columns for term in blocks.terms_] == [term.columns for term in memory.terms_]
    for name in ("coef_", "intercept_", "errors_", "mass_", "strengths_", "calibration_"):
        assert_allclose(getattr(blocks, name), getattr(memory, name), rtol=1e-8, atol=1e-8, err_msg=name)


def test_additive_classifier_of_a_table_in_a_file(tmp_path):
    kinds = np.array(["a", "b", "c"])[X[:, 2].astype(int)]
    frame = pandas.DataFrame(X, columns=NAMES).assign(kind=kinds)
    frame.assign(y=Y).to_csv(tmp_path / "t.csv", index=False)
    encoder = TableEncoder("codes")
    codes = encoder.fit_transform(frame)
    memory = AdditiveAUCClassifier(categorical_features=encoder.categorical_features_, tol=1e-9).fit(codes, Y)
    rows = open_rows(tmp_path / "t.csv", output="codes", memory=400 << 20)
    rows.passes.n_bytes = 1 << 12
    blocks = AdditiveAUCClassifier(tol=1e-9).fit_rows(rows)
    assert blocks.feature_names_in_.tolist() == NAMES
    assert blocks.is_categorical_.tolist() == CATEGORICAL.tolist()
    assert_allclose(blocks.coef_, memory.coef_, atol=1e-8)
    assert_allclose(blocks.cv_auc_, memory.cv_auc_, atol=1e-12)


@pytest.mark.dask
def test_additive_classifier_of_dask_arrays():
    model = AdditiveAUCClassifier(max_bins=16, categorical_features=[2], tol=1e-9)
    memory = model.fit(X, Y).coef_
    lazy = [da.from_array(values, chunks=((0, 120, 1, 179), *values.shape[1:])) for values in (X, Y)]
    with dask.config.set(scheduler="synchronous"):
        assert_allclose(model.fit(*lazy).coef_, memory, atol=1e-8)
        assert_allclose(model.decision_function(lazy[0]).compute(), model.decision_function(X), rtol=1e-12)
        with pytest.raises(ValueError, match=r"^y is a Dask collection, but X is not: compute\(\) y first\.$"):
            model.fit(X, lazy[1])


def test_with_more_values_than_fit_the_curves_are_close(monkeypatch):
    rng = np.random.default_rng(5)
    many = rng.standard_normal((4000, 2))
    y = (many[:, 0] ** 2 + rng.standard_normal(4000) > 1).astype(int)
    memory = AdditiveAUCClassifier("squared", alpha=1e-3, max_bins=16).fit(many, y)
    monkeypatch.setattr(value_counts, "LEAST", 256)
    monkeypatch.setattr(value_counts, "MOST", 256)
    rows = SlicedRows(MemoryRows(many, y, np.array([0, 1])), step=500)
    blocks = AdditiveAUCClassifier("squared", alpha=1e-3, max_bins=16).fit_rows(rows)
    assert not np.array_equal(blocks.columns_[0].cuts, memory.columns_[0].cuts)
    assert abs(blocks.score(many, y) - memory.score(many, y)) < 0.005
    assert np.abs(blocks.columns_[0].mass - 4000 / 16).max() < 0.05 * 4000


def test_blocks_of_codes_answer_as_rows_in_memory():
    model = AdditiveAUCClassifier("squared", alpha=1.0, max_bins=8, categorical_features=[2]).fit(X, Y)
    from aucmax.tables.terms import Basis

    basis = Basis(model.terms_, model.columns_, model.strengths_)
    known = MemoryRows(X, Y, np.array([0, 1]), WEIGHTS)
    memory, blocks = (code_rows(rows, model.columns_, model.terms_, basis) for rows in (known, sliced(WEIGHTS)))
    rng = np.random.default_rng(0)
    w, W = rng.standard_normal(basis.n_cells), rng.standard_normal((basis.n_cells, 2))
    ours, theirs = blocks.scores(w), memory.scores(w)
    assert_allclose(blocks.reduce(lambda targets, t: t, ours, merge=np.append), theirs)
    assert_allclose(blocks.rmatvec(ours, w), memory.rmatvec(theirs, w))
    assert_allclose(cell_mass(blocks), cell_mass(memory))
    assert (blocks.n_rows, blocks.row_length) == (300, 4.0)
    assert_allclose(blocks.moments().scatter, memory.moments().scatter, atol=1e-9)
    weighted = [rows.reweighted(rows.map(lambda targets, t: t**2, s)) for rows, s in ((blocks, ours), (memory, theirs))]
    assert_allclose(weighted[0].moments().mean, weighted[1].moments().mean, atol=1e-9)
    taken = blocks.sample(20)
    assert_allclose(taken.scores(W), memory.sample(20).scores(W))
