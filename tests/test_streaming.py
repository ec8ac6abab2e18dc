"""A file read by blocks gives the weights that the same rows give in memory."""

import copy
import os
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from aucmax import OPAUC, PSAM, SOLAM, AUCClassifier, ClassMoments, roc_auc
from aucmax.algorithms import ALGORITHMS
from aucmax.files import Block, Source, open_source
from aucmax.streaming import can_stream, fit_blocks, fit_stream
from aucmax.streaming.block_rows import BlockRows
from aucmax.streaming.block_selection import scores_of
from aucmax.streaming.cells import Cells
from aucmax.streaming.passes import Passes

ONLINE = [name for name, algorithm in ALGORITHMS.items() if algorithm.online]


class ArraySource(Source):
    """Rows in memory, given out in blocks of so many rows; wide sparse ones only as wide as they need to be."""

    name, format, size, target, encoding, feature_names = "rows", "npz", 1, None, None, None

    def __init__(self, X, y, step, n_features=None):
        self.X, self.y, self.step, self.n_features = X, y, step, n_features
        self.sparse = sparse.issparse(X)
        self.n_blocks = 0

    def blocks(self, n_bytes=0, start=0):
        for begin in range(start, len(self.y), self.step):
            rows = slice(begin, begin + self.step)
            X = self.X[rows]
            if self.sparse:
                X = sparse.csr_array(X)
                X = X[:, : X.indices.max(initial=0) + 1]
            self.n_blocks += 1
            yield Block(X, self.y[rows], min(begin + self.step, len(self.y)), 0)


def make_rows(n=400, d=6, positives=0.3, seed=0, density=None):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < positives).astype(float)
    X = rng.standard_normal((n, d)) * np.logspace(-1, 2, d) + 0.7 * y[:, None] * rng.standard_normal(d) + 5
    if density is not None:
        X = sparse.csr_array(np.where(rng.random((n, d)) < density, X, 0))
    return X, 2 * y - 1


def stream(clf, source, memory=2 << 30, **options):
    rows = BlockRows(Passes(source, **options), memory=memory)
    fit_blocks(clf, rows)
    return clf, rows


def assert_same(streamed, fitted, rtol=1e-9):
    np.testing.assert_allclose(streamed.coef_, fitted.coef_, rtol=rtol, atol=rtol * np.abs(fitted.coef_).max())
    assert streamed.classes_.tolist() == fitted.classes_.tolist()
    assert streamed.n_features_in_ == fitted.n_features_in_


@pytest.mark.parametrize("density", [None, 0.3])
@pytest.mark.parametrize(
    "parameters",
    [{"alpha": 0.01}, {}, {"penalty": "l1"}, {"n_nonzero": [2, 4]}, {"alpha": 0.1, "n_nonzero": 3}, {"cv": 3}],
    ids=str,
)
def test_the_square_loss_by_blocks_is_the_one_in_memory(parameters, density):
    X, y = make_rows(n=3000, density=density)
    clf = AUCClassifier("squared", **parameters)
    streamed, rows = stream(copy.copy(clf), ArraySource(X, y, 97))
    fitted = clf.fit(X, y)
    assert_same(streamed, fitted)
    assert streamed.alpha_ == pytest.approx(fitted.alpha_, rel=1e-9)
    assert rows.counts.tolist() == [np.sum(y < 0), np.sum(y > 0)]
    np.testing.assert_allclose(streamed.intercept_, fitted.intercept_, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(streamed.calibration_, fitted.calibration_, rtol=2e-3)
    if hasattr(fitted, "cv_results_"):
        tolerance = 1e-5 if "penalty" in parameters else 1e-12  # coordinate descent stops at another place
        aucs = [clf.cv_results_["mean_test_score"] for clf in (streamed, fitted)]
        np.testing.assert_allclose(*aucs, atol=tolerance)
    assert isinstance(streamed.moments_, ClassMoments)


def test_few_positives_are_dealt_again_in_as_many_rounds():
    X, y = make_rows(n=2000, positives=0.06)
    streamed, _ = stream(AUCClassifier("squared"), source := ArraySource(X, y, 500))
    fitted = AUCClassifier("squared").fit(X, y)
    n_rounds = sum(name.startswith("split") for name in fitted.cv_results_) // 5
    assert n_rounds > 3
    assert source.n_blocks == 4 * (n_rounds + 2)
    assert_same(streamed, fitted)
    for name, auc in fitted.cv_results_.items():
        if name.startswith("split"):
            np.testing.assert_allclose(streamed.cv_results_[name], auc, atol=1e-12)
    np.testing.assert_allclose(streamed.intercept_, fitted.intercept_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(streamed.calibration_, fitted.calibration_, rtol=1e-3)


def test_fewer_positives_than_folds():
    X, y = make_rows(n=300)
    y[:] = -1
    y[[3, 150, 299]] = 1
    with pytest.warns(UserWarning, match="only 3 rows"):
        streamed, _ = stream(AUCClassifier("squared"), ArraySource(X, y, 64))
    with pytest.warns(UserWarning, match="only 3 rows"):
        assert_same(streamed, AUCClassifier("squared").fit(X, y))


@pytest.mark.parametrize("density", [None, 0.4])
@pytest.mark.parametrize("name", ONLINE)
def test_online_algorithms_by_blocks_are_those_in_memory(name, density):
    X, y = make_rows(n=500, density=density)
    algorithm, parameters = ALGORITHMS[name], {}
    if not name.startswith("Gaussian"):
        parameters = {"max_iter": 3, "shuffle": False, "random_state": 0}
    if name == "OPAUCr":
        parameters["rank"] = 3
    streamed, _ = stream(algorithm(**parameters), ArraySource(X, y, 77))
    fitted = algorithm(**parameters).fit(X, y)
    assert_same(streamed, fitted, rtol=1e-7)
    np.testing.assert_allclose(streamed.calibration_, fitted.calibration_, rtol=2e-3)
    np.testing.assert_allclose(streamed.intercept_, fitted.intercept_, rtol=2e-3)
    if hasattr(fitted, "convergence_"):
        np.testing.assert_allclose(streamed.convergence_, fitted.convergence_, rtol=1e-5)
        assert streamed.n_iter_ == 3
        for clf in (streamed, fitted):
            clf.partial_fit(X[:50], y[:50])
        assert_same(streamed, fitted, rtol=1e-7)
        np.testing.assert_allclose(streamed.calibration_, fitted.calibration_, rtol=1e-5)


@pytest.mark.parametrize("make", [lambda: AUCClassifier("squared"), lambda: SOLAM(shuffle=False, max_iter=2)])
@pytest.mark.parametrize("first", [-1, 1])
def test_a_sorted_file_is_the_same_whichever_class_comes_first(make, first):
    X, y = make_rows()
    order = np.argsort(first * y, kind="stable")[::-1]
    streamed, rows = stream(make(), ArraySource(X[order], y[order], 50))
    assert_same(streamed, make().fit(X[order], y[order]), rtol=1e-8)
    assert rows.classes == (-1, 1, False)


def test_a_named_label_is_positive_and_the_others_are_not():
    X, y = make_rows()
    labels = np.where(y > 0, "b", np.where(X[:, 0] > 5, "a", "c")).astype(object)
    clf = AUCClassifier(alpha=0.1)
    fit_blocks(clf, rows := BlockRows(Passes(ArraySource(X, labels, 90)), positive="b"))
    np.testing.assert_allclose(clf.coef_, AUCClassifier(alpha=0.1).fit(X, y).coef_, rtol=1e-9)
    assert rows.classes == ("other", "b", True)
    assert clf.predict(X[:1]).tolist()[0] in ("other", "b")


class Killed(BaseException):
    pass


@pytest.mark.parametrize(
    "make",
    [
        lambda: AUCClassifier("squared"),
        lambda: AUCClassifier("squared", alpha=0.1, penalty="l1"),
        lambda: OPAUC(shuffle=False, max_iter=2, random_state=0),
        lambda: ALGORITHMS["OAM"](shuffle=False, max_iter=2, random_state=0, buffer_size=7),
        lambda: ALGORITHMS["GaussianAUC"](),
    ],
)
@pytest.mark.parametrize("density", [None, 0.4])
def test_killed_after_any_block_and_resumed_it_ends_bitwise_the_same(make, density, tmp_path):
    X, y = make_rows(n=240, density=density)
    whole, _ = stream(make(), ArraySource(X, y, 60), memory=1 << 22)
    checkpoint, n_blocks = tmp_path / "checkpoint", 0
    clf = make()
    for _ in range(100):  # each process takes in one block more, and dies

        def die(name, block):
            nonlocal n_blocks
            n_blocks += 1
            if n_blocks % 2 == 0:
                raise Killed

        try:
            stream(clf, ArraySource(X, y, 60), memory=1 << 22, checkpoint=checkpoint, every=0, on_block=die)
            break
        except Killed:
            assert not hasattr(clf, "coef_")
    else:
        pytest.fail("it never ended")
    assert n_blocks > 4
    for name in ("coef_", "intercept_", "calibration_"):
        assert np.array_equal(getattr(clf, name), getattr(whole, name)), name


def test_the_checkpoint_of_another_fit_is_refused_and_kept(tmp_path):
    X, y = make_rows()
    checkpoint = tmp_path / "checkpoint"

    def die(name, block):
        if block.position > 200:
            raise Killed

    with pytest.raises(Killed):
        stream(
            AUCClassifier(alpha=1.0),
            ArraySource(X, y, 100),
            checkpoint=checkpoint,
            every=0,
            on_block=die,
            command={"alpha": 1.0},
        )
    before = checkpoint.read_bytes()
    with pytest.raises(ValueError, match=r"checkpoint of another fit: alpha was 1.0 there and is 2.0 here"):
        Passes(ArraySource(X, y, 100), checkpoint=checkpoint, command={"alpha": 2.0})
    assert checkpoint.read_bytes() == before


def test_what_needs_all_rows_is_refused():
    X, y = make_rows()
    for clf in (PSAM(), AUCClassifier("logistic"), AUCClassifier("squared", solver="cg")):
        assert not can_stream(clf)
        with pytest.raises(ValueError, match="needs all rows in memory"):
            stream(clf, ArraySource(X, y, 100))
    for parameter in ("shuffle", "warm_start"):
        with pytest.raises(ValueError, match=f"set {parameter}=False"):
            stream(SOLAM(shuffle=False).set_params(**{parameter: True}), ArraySource(X, y, 100))
    with pytest.raises(ValueError, match=r"OPAUC takes .* for 6 columns.* such as SOLAM"):
        fit_blocks(OPAUC(shuffle=False), BlockRows(Passes(ArraySource(X, y, 100)), memory=2000))
    with pytest.raises(ValueError, match="in a number of folds"):
        stream(AUCClassifier(cv=[(np.arange(200), np.arange(200, 400))]), ArraySource(X, y, 100))
    with pytest.raises(ValueError, match="every row has the label 1"):
        stream(AUCClassifier(), ArraySource(X[y > 0], y[y > 0], 100))
    with pytest.raises(ValueError, match=r"6 columns in 5 folds take .* give --alpha"):
        fit_blocks(AUCClassifier(), BlockRows(Passes(ArraySource(X, y, 100)), memory=10_000))


def test_steps_that_do_not_converge_warn_as_in_memory():
    X, y = make_rows()
    clf = SOLAM(shuffle=False, max_iter=2, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2"):
        stream(clf, ArraySource(X, y, 100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream(SOLAM(shuffle=False, max_iter=50, tol=0.5), ArraySource(X, y, 100))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e100])
def test_auc_of_cells_is_the_auc(scale):
    rng = np.random.default_rng(0)
    y = rng.random(200_000) < 0.2
    for scores in (
        rng.standard_normal(len(y)) + y,
        rng.standard_t(2, len(y)) + y,
        rng.integers(0, 4, len(y)) + 1.0 * y,
    ):
        cells = Cells.around(np.array([0.5, 0.0]) * scale, np.array([1.0, 0.0]) * scale)
        for part in np.array_split(np.arange(len(y)), 7):
            cells.add(np.column_stack([scores[part], scores[part]]) * scale, y[part])
        exact = roc_auc(y, scores)
        assert cells.auc()[0] == pytest.approx(exact, abs=2e-6)
    assert cells.counts.sum() == 2 * len(y)


def test_scores_far_out_are_counted_at_the_ends():
    cells = Cells.around(np.zeros(1), np.full(1, 1e-300), 1024)
    cells.add(np.array([[1e10], [-1e10]]), np.array([True, False]))
    assert cells.counts[0, 1, -1] == cells.counts[0, 0, 0] == 1
    with pytest.raises(ValueError, match="scores overflow"):
        cells.add(np.array([[np.nan]]), np.array([True]))


@pytest.mark.parametrize("first", [0, 1])
def test_classes_of_the_same_size(first):
    X, y = make_rows(n=1200)
    y = (np.arange(1200) + first) % 2
    X[y == 1] += 0.5
    streamed, _ = stream(AUCClassifier("squared"), ArraySource(X, y, 97))
    fitted = AUCClassifier("squared").fit(X, y)
    assert_same(streamed, fitted)
    np.testing.assert_allclose(
        streamed.cv_results_["mean_test_score"], fitted.cv_results_["mean_test_score"], atol=1e-12
    )


def test_equal_rows_tie_in_whichever_block_they_are():
    rng = np.random.default_rng(0)
    kinds = rng.standard_normal((10, 100))
    X, y = kinds[rng.integers(0, 10, 3000)], np.zeros(3000)
    y[rng.permutation(3000)[:30]] = 1
    W = rng.standard_normal((21, 100))
    whole = scores_of(X, W)
    for step in (1, 2, 3, 7, 1000):
        assert np.array_equal(np.vstack([scores_of(X[k : k + step], W) for k in range(0, 3000, step)]), whole)
    np.testing.assert_allclose(whole, X @ W.T, rtol=1e-9, atol=1e-12)


def test_columns_that_come_late():
    X, y = make_rows(n=600, density=0.5)
    X = X.tolil()
    X[:550, 4:] = 0
    X = sparse.csr_array(X)
    for make in (lambda: AUCClassifier("squared"), lambda: SOLAM(shuffle=False, max_iter=2)):
        assert_same(stream(make(), ArraySource(X, y, 50))[0], make().fit(X, y), rtol=1e-8)


@pytest.mark.parametrize("constant", [0.0, 0.1])
def test_a_first_block_of_equal_rows_does_not_spoil_the_calibration(constant):
    X, y = make_rows()
    X[:100] = constant
    make = lambda: SOLAM(shuffle=False, max_iter=2)  # noqa: E731
    streamed, fitted = stream(make(), ArraySource(X, y, 100))[0], make().fit(X, y)
    np.testing.assert_allclose(streamed.calibration_, fitted.calibration_, rtol=1e-3)
    np.testing.assert_allclose(streamed.intercept_, fitted.intercept_, rtol=1e-3)


def test_columns_too_small_to_be_fitted_are_refused():
    X, y = make_rows()
    with pytest.raises(ValueError, match="overflow"):
        stream(AUCClassifier("squared", standardize=False), ArraySource(X * 1e-160, y, 77))


def test_the_only_label_named_other():
    X, y = make_rows()
    labels = np.where(y > 0, "other", np.where(X[:, 0] > 5, "a", "c")).astype(object)
    clf = AUCClassifier(alpha=0.1)
    fit_blocks(clf, BlockRows(Passes(ArraySource(X, labels, 90)), positive="other"))
    assert clf.classes_.tolist() == ["rest", "other"]


def test_fit_stream_leaves_no_checkpoint_and_knows_its_own(tmp_path):
    X, y = make_rows(n=3000)
    path, checkpoint = tmp_path / "rows.npz", tmp_path / "checkpoint"
    np.savez(path, X=X, y=y)
    clf = fit_stream(AUCClassifier(alpha=0.1), path, checkpoint=checkpoint, checkpoint_every=0)
    assert_same(clf, AUCClassifier(alpha=0.1).fit(X, y))
    assert os.listdir(tmp_path) == ["rows.npz"]
    rows = BlockRows.open(clf, open_source(path), checkpoint=checkpoint, every=0)
    rows.gather(1)
    assert checkpoint.exists()
    alphas = {"alphas": np.linspace(0, 1, 50)}
    for changed, options in (
        (AUCClassifier(alpha=0.1 + 1e-15), {}),
        (AUCClassifier(alpha=0.1, **alphas), {}),
        (clf, {"positive": "1"}),
        (clf, {"memory": 1 << 30}),
        (clf, {"zero_based": "True"}),
    ):
        with pytest.raises(ValueError, match="is the checkpoint of another fit"):
            BlockRows.open(changed, open_source(path), checkpoint=checkpoint, **options)
    os.utime(path, (1, 1))
    with pytest.raises(ValueError, match=r"another fit: the time of the file was .* there and is 1000000000 here"):
        BlockRows.open(clf, open_source(path), checkpoint=checkpoint)


@pytest.mark.parametrize("positives", [0.3, 0.7])
def test_without_room_for_the_rarer_class_scores_are_counted_in_cells(positives):
    X, y = make_rows(n=3000, positives=positives)
    streamed, rows = stream(AUCClassifier("squared"), ArraySource(X, y, 97), memory=60_000)
    assert rows.rare is None
    fitted = AUCClassifier("squared").fit(X, y)
    for name in ("mean_test_score", "split3_test_score"):
        np.testing.assert_allclose(streamed.cv_results_[name], fitted.cv_results_[name], atol=3e-4)
    _, rows = stream(AUCClassifier("squared"), ArraySource(X, y, 97))
    assert rows.rare.shape[0] == min(np.sum(y < 0), np.sum(y > 0))
