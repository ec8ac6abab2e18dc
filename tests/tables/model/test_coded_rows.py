"""Rows as codes answer every question of the protocol as their matrix does."""

import numpy as np
import pytest
from additive_data import design_of, mixed_rows
from numpy.testing import assert_allclose

from aucmax import AUCClassifier
from aucmax.rows.memory import MemoryRows
from aucmax.search import pool
from aucmax.search import training as fold_training
from aucmax.tables import kernels
from aucmax.tables.rows import CodedRows, cell_mass

X, Y = mixed_rows(200)


def coded_rows(weights=None):
    return design_of(X, Y, 12, [(0, 2)], weights)[1]


WEIGHTS = np.random.default_rng(0).integers(0, 4, 200).astype(float)


@pytest.fixture(params=[None, WEIGHTS], ids=["rows", "weights"], scope="module")
def rows(request):
    return coded_rows(request.param)


def test_the_matrix_is_indicators_times_the_basis(rows):
    u = np.random.default_rng(1).standard_normal(rows.n_features)
    f, edges = rows.basis.values(u), rows.basis.edges
    expected = sum(f[np.minimum(rows.codes[:, t], len(f) - 1)] * (rows.codes[:, t] < edges[-1]) for t in range(5))
    assert_allclose(rows.dense().scores(u), expected)


def test_coded_rows_scores_and_pullback(rows):
    rng, dense = np.random.default_rng(2), rows.dense()
    for shape in ((), (3,)):
        w, g = rng.standard_normal((rows.n_features, *shape)), rng.standard_normal((rows.n_rows, *shape))
        assert_allclose(rows.scores(w), dense.scores(w), atol=1e-12)
        center = rng.standard_normal(rows.n_features)
        for each in (None, center):
            assert_allclose(rows.rmatvec(g, each), dense.rmatvec(g, each), atol=1e-10)


def test_coded_rows_moments_of_all_rows_of_parts_and_of_columns(rows):
    dense, parts = rows.dense(), np.arange(200) % 3
    subsets = [(rows, dense), *((rows.subset(parts, [k]), dense.subset(parts, [k])) for k in range(3))]
    for ours, theirs in ((ours.moments(), theirs.moments()) for ours, theirs in subsets):
        for name in ("weight", "mean", "scatter"):
            assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-9)
    for ours, theirs in zip(rows.column_statistics(), dense.column_statistics(), strict=True):
        assert_allclose(ours, theirs, atol=1e-12)


def test_the_operator_multiplies_like_the_matrix(rows):
    rng, K = np.random.default_rng(4), rows.n_features
    scale, center, some = rng.uniform(1, 2, K), rng.standard_normal(K), np.array([5, 3, 8])
    W, G = rng.standard_normal((K, 3)), rng.standard_normal((3, 200))
    for each in (None, center):
        operator, matrix = rows.as_operator(scale, each), rows.matrix(scale, each)
        assert operator.shape == matrix.shape
        assert_allclose(operator @ W, matrix @ W, atol=1e-10)
        assert_allclose(operator[some] @ W, matrix[some] @ W, atol=1e-10)
        assert_allclose(G @ operator, G @ matrix, atol=1e-10)


def test_a_blend_is_the_same_without_the_matrix(monkeypatch):
    rows = coded_rows()
    plain, spared = AUCClassifier(), AUCClassifier()
    for module, name in ((pool, "MAX_COLUMNS"), (fold_training, "MAX_MOMENTS"), (fold_training, "MAX_EIGEN")):
        monkeypatch.setattr(module, name, 10)
    spared._fit_rows(rows)
    monkeypatch.setattr(CodedRows, "as_operator", CodedRows.matrix)
    plain._fit_rows(rows)
    assert_allclose(spared.coef_, plain.coef_, rtol=1e-4)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_joint_sums_of_few_and_of_many_cells(size, monkeypatch):
    monkeypatch.setattr(kernels, "BLOCK", 64)
    rng = np.random.default_rng(size)
    codes = (rng.integers(0, size, (150, 4)) + size * np.arange(4)).astype(np.int32)
    D = np.eye(4 * size)[codes].sum(axis=1)
    for g in (rng.random(150), rng.standard_normal(150)):
        found = np.triu(kernels.joint_sums(codes, g, 4 * size))
        assert_allclose(found, np.triu(D.T @ (g[:, None] * D)), atol=1e-12)


def test_coded_rows_take_reweighted_and_subset(rows):
    dense, scale = rows.dense(), np.full(rows.n_features, 2.0)
    w = np.random.default_rng(3).standard_normal(rows.n_features)
    chosen = np.arange(0, 200, 7)
    assert_allclose(rows.take(chosen).scores(w), dense.scores(w)[chosen], atol=1e-12)
    assert_allclose(
        rows.reweighted(np.ones(200)).moments().mean, MemoryRows.moments(dense.reweighted(np.ones(200))).mean
    )
    assert_allclose(rows.gram(scale), dense.gram(scale), atol=1e-12)
    assert_allclose(rows.matrix(scale, w), dense.matrix(scale, w))
    assert_allclose(rows.columns(chosen[:3]).scores(w[:3]), dense.columns(chosen[:3]).scores(w[:3]))
    assert_allclose(rows.shifted(w).scores(w), dense.shifted(w).scores(w))
    assert_allclose(rows.score_histogram(w).mass, dense.score_histogram(w).mass)


@pytest.mark.parametrize(
    ("loss", "alpha"), [("auto", None), ("squared", None), ("logistic", 0.1), ("balanced_logistic", 0.1)]
)
def test_every_loss_has_the_weights_of_the_matrix(loss, alpha):
    rows = coded_rows()
    ours, theirs = (AUCClassifier(loss, alpha=alpha, standardize=False, tol=1e-9) for _ in range(2))
    ours._fit_rows(rows)
    theirs._fit_rows(rows.dense())
    assert_allclose(rows.scores(ours.coef_[0]), rows.scores(theirs.coef_[0]), atol=1e-5)


def test_cells_are_the_indicator_columns(rows):
    D = np.stack([(rows.codes == k).any(axis=1) for k in range(rows.n_features)], axis=1).astype(float)
    weights = np.ones(200) if rows.sample_weight is None else rows.sample_weight
    assert_allclose(cell_mass(rows), weights @ D)
    u = np.arange(rows.n_features) / 10
    assert_allclose(rows.scores(u), D @ rows.basis.values(u))
