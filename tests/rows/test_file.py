"""Rows in a file, read in blocks of a few dozen, give what the same rows give in memory."""

import copy
import os
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, ShuffleSplit
from slow import slow_except

from aucmax import BAM, SOLAM, AUCClassifier, ClassMoments, TableClassifier, open_rows
from aucmax.cli.fit import can_read_blocks
from aucmax.losses import LOSSES
from aucmax.papers import ALGORITHMS
from aucmax.papers.engine.epochs import OnlineClassifier
from aucmax.rows import file

N_FEATURES = 5
ONLINE = [name for name, method in ALGORITHMS.items() if isinstance(method(), OnlineClassifier) and method.online]
OF_BLOCKS = [name for name, make in ALGORITHMS.items() if name not in ONLINE and can_read_blocks(make())]
ALPHAS = {"alphas": [1.0, 0.1, 0.01], "cv": 2}

# Every batch estimator, loss, penalty and path. The tolerance is relative to the largest weight.
BATCH = {
    **{f"{loss}, alpha given": (lambda loss=loss: AUCClassifier(loss, alpha=0.1)) for loss in LOSSES},
    **{f"{loss}, cross-validated": (lambda loss=loss: AUCClassifier(loss, **ALPHAS)) for loss in LOSSES},
    "auto": lambda: AUCClassifier(**ALPHAS),
    "default alphas": lambda: AUCClassifier("squared", cv=3),
    "l1": lambda: AUCClassifier(penalty="l1", cv=3),
    "l1, alpha given": lambda: AUCClassifier(penalty="l1", alpha=0.05),
    "elasticnet": lambda: AUCClassifier(penalty="elasticnet", l1_ratio=0.7, alphas=[0.3, 0.05], cv=3),
    "n_nonzero": lambda: AUCClassifier(n_nonzero=3, alpha=0.1),
    "several n_nonzero": lambda: AUCClassifier(n_nonzero=[2, 4], cv=3),
    "cg": lambda: AUCClassifier("squared", solver="cg", **ALPHAS),
    "cg, l1": lambda: AUCClassifier(solver="cg", penalty="l1", alphas=[0.3, 0.05], cv=2),
    "cg, n_nonzero": lambda: AUCClassifier(solver="cg", n_nonzero=2, alpha=0.1),
    "cg, logistic": lambda: AUCClassifier("logistic", solver="cg", **ALPHAS),
    "columns as they are": lambda: AUCClassifier("squared_hinge", alpha=1e-4, standardize=False),
    "random splits": lambda: AUCClassifier("squared", cv=ShuffleSplit(3, random_state=0)),
    "random splits, logistic": lambda: AUCClassifier(
        "logistic", alphas=[0.1, 0.01], cv=ShuffleSplit(2, random_state=0)
    ),
    "BAM": lambda: ALGORITHMS["BAM"](),
    "SVMPerf": lambda: ALGORITHMS["SVMPerf"](C=1e-3, tol=0.1),
    "SVMOR": lambda: ALGORITHMS["SVMOR"](C=1e-2, tol=0.1),
    "LSSVM": lambda: ALGORITHMS["LSSVM"](),
    "descent on rows": lambda: ALGORITHMS["LogisticDescent"](alpha=0.3, tol=1e-2),
    "descent on the hinge": lambda: ALGORITHMS["PairwiseDescent"](max_iter=8),
    "descent on the logistic loss": lambda: ALGORITHMS["PairwiseDescent"](loss="logistic", alpha=0.1),
    **{name: (lambda name=name: ALGORITHMS[name]()) for name in ("GaussianAUC", "GaussianError")},
}


def make_rows(n=300, positives=0.3, density=None, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < positives).astype(int)
    scale = np.logspace(-1, 1.5, N_FEATURES)
    X = (rng.standard_normal((n, N_FEATURES)) + 0.9 * y[:, None] * rng.standard_normal(N_FEATURES) + 2) * scale
    if density is not None:
        X = sparse.csr_array(np.where(rng.random(X.shape) < density, X, 0))
    return X, y


def write(path, X, y, **columns):
    """Write rows in the format that the name of the file says, with further columns; return the path."""
    if path.suffix == ".npz":
        matrix = {"X": X}
        if sparse.issparse(X):
            names = ("data", "indices", "indptr", "shape")
            matrix = {"format": b"csr", **{name: getattr(X, name) for name in names}}
        np.savez(path, **matrix, y=y, **columns)
    elif path.suffix == ".libsvm":
        dump_svmlight_file(X, y, str(path), zero_based=False)
    elif path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet

        table = {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y} | columns
        pa.parquet.write_table(pa.table(table), path, row_group_size=70)
    else:
        names = [*(f"x{j}" for j in range(X.shape[1])), "y", *columns]
        lines = [",".join(names)]
        lines += [",".join(map(str, [*x.tolist(), *more])) for x, *more in zip(X, y, *columns.values(), strict=True)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def tiny(path, n_rows=60, memory=None, **options):
    """Open a file whose blocks are so small that there are several; `memory` is what is left for answers."""
    rows = open_rows(path, **options)
    rows.passes.n_bytes = n_rows * 8 * N_FEATURES
    if memory is not None:
        rows.memory = memory
    return rows


def assert_same(by_blocks, in_memory, tolerance=1e-8):
    bound = tolerance * np.abs(in_memory.coef_).max()
    np.testing.assert_allclose(by_blocks.coef_, in_memory.coef_, rtol=0, atol=bound)
    for name in ("intercept_", "calibration_"):
        found, expected = getattr(by_blocks, name), getattr(in_memory, name)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(), err_msg=name)
    assert by_blocks.classes_.tolist() == in_memory.classes_.tolist()
    assert by_blocks.n_features_in_ == in_memory.n_features_in_
    if hasattr(in_memory, "alpha_"):
        assert by_blocks.alpha_ == pytest.approx(in_memory.alpha_, rel=1e-9)
    assert getattr(by_blocks, "loss_", None) == getattr(in_memory, "loss_", None)
    if hasattr(in_memory, "cv_results_"):
        np.testing.assert_allclose(by_blocks.cv_auc_, in_memory.cv_auc_, rtol=0, atol=1e-9)
        for split in (name for name in in_memory.cv_results_ if name.startswith("split")):
            expected = in_memory.cv_results_[split]
            np.testing.assert_allclose(by_blocks.cv_results_[split], expected, atol=1e-9, err_msg=split)


# The weights of memory


FAST = ["squared, alpha given", "l1", "n_nonzero", "cg, logistic", "GaussianAUC", "BAM"]


@pytest.mark.parametrize("name", slow_except(FAST, BATCH))
def test_fit_rows_of_a_file_has_the_weights_of_memory(name, tmp_path, monkeypatch):
    """Dense rows with weights, of which some are 0; and sparse rows without."""
    monkeypatch.setattr("aucmax.search.rounds.count_rounds", lambda rarer: 1)
    make = BATCH[name]
    X, y = make_rows()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    rows = tiny(write(tmp_path / "rows.csv", X, y, w=weights), weight="w")
    by_blocks = make().fit_rows(rows)
    assert_same(by_blocks, make().fit(X, y, sample_weight=weights))
    assert by_blocks.feature_names_in_.tolist() == [f"x{j}" for j in range(N_FEATURES)]
    X, y = make_rows(density=0.4, seed=1)
    by_blocks = make().fit_rows(tiny(write(tmp_path / "rows.libsvm", X, y)))
    assert_same(by_blocks, make().fit(X, y))
    assert not hasattr(by_blocks, "feature_names_in_")


@pytest.mark.parametrize("suffix", ["csv", "libsvm", "parquet", "npz", "csr.npz"])
@pytest.mark.parametrize("loss", slow_except(["squared"], ["squared", "logistic"]))
def test_file_rows_of_every_format_have_the_weights_of_memory(suffix, loss, tmp_path):
    X, y = make_rows(density=0.5)
    stored = X if suffix in ("libsvm", "csr.npz") else X.toarray()
    rows = tiny(write(tmp_path / f"rows.{suffix}", stored, y))
    assert rows.is_sparse == sparse.issparse(stored)
    by_blocks, in_memory = (AUCClassifier(loss, **ALPHAS) for _ in range(2))
    assert_same(by_blocks.fit_rows(rows), in_memory.fit(stored, y))
    assert rows.n_rows == len(y)
    assert rows.counts.tolist() == rows.totals.tolist() == np.bincount(y).tolist()
    assert rows.row_length == pytest.approx(X.nnz / len(y) if rows.is_sparse else N_FEATURES)


@pytest.mark.parametrize(("suffix", "cv"), [("csv", 3), ("parquet", GroupKFold(3)), ("npz", 3)], ids=str)
@pytest.mark.parametrize("loss", slow_except(["squared"], ["squared", "logistic"]))
def test_file_rows_keep_groups_of_a_column_whole(suffix, cv, loss, tmp_path):
    """Rows of a group are copies: a model that has seen one of them ranks the others too well."""
    X, y = make_rows(n=100)
    X, y, groups = np.repeat(X, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(100), 3)
    order = np.random.default_rng(0).permutation(300)
    X, y, groups = X[order], y[order], groups[order]
    path = write(tmp_path / f"rows.{suffix}", X, y, group=groups)
    make = lambda: AUCClassifier(loss, alphas=[0.1, 0.01], cv=cv)  # noqa: E731
    by_blocks = make().fit_rows(tiny(path, group="group"))
    labels = groups if suffix == "npz" else groups.astype(str)  # in their order, folds differ
    assert_same(by_blocks, make().fit(X, y, groups=labels))
    without = make().set_params(cv=3).fit(X, y)
    assert without.cv_results_["mean_test_score"].max() != by_blocks.cv_results_["mean_test_score"].max()


def test_cv_may_be_a_list_or_a_generator(tmp_path):
    X, y = make_rows()
    path = write(tmp_path / "rows.npz", X, y)
    splits = list(ShuffleSplit(2, random_state=0).split(X))
    in_memory = AUCClassifier("squared", cv=splits).fit(X, y)
    assert_same(AUCClassifier("squared", cv=splits).fit_rows(tiny(path)), in_memory)
    assert_same(AUCClassifier("squared", cv=(pair for pair in splits)).fit_rows(tiny(path)), in_memory)


@pytest.mark.parametrize(("n", "positives"), [(1200, 0.1), (3000, 0.4)])
def test_file_rows_take_two_passes_for_a_search(n, positives, tmp_path):
    """One gathers the class moments, and one the sample, whatever the number of rounds."""
    X, y = make_rows(n=n, positives=positives)
    rows = tiny(write(tmp_path / "rows.npz", X, y), 400)
    by_blocks = AUCClassifier("squared").fit_rows(rows)
    assert rows.passes.n_passes == 2
    assert_same(by_blocks, AUCClassifier("squared").fit(X, y))
    assert isinstance(by_blocks.moments_, ClassMoments)


@pytest.mark.slow
def test_file_rows_of_fewer_positives_than_folds(tmp_path):
    X, y = make_rows()
    y[:] = 0
    y[[3, 150, 299]] = 1
    with pytest.warns(UserWarning, match="only 3 rows"):
        by_blocks = AUCClassifier("squared").fit_rows(tiny(write(tmp_path / "rows.npz", X, y)))
    with pytest.warns(UserWarning, match="only 3 rows"):
        assert_same(by_blocks, AUCClassifier("squared").fit(X, y))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(
    "make",
    [
        lambda: AUCClassifier("squared_hinge", alpha=0.1),
        pytest.param(lambda: AUCClassifier("squared"), marks=pytest.mark.slow),
    ],
)
def test_file_rows_sorted_by_class(make, first, tmp_path):
    X, y = make_rows()
    order = np.argsort(y != first, kind="stable")
    rows = tiny(write(tmp_path / "rows.npz", X[order], y[order]))
    assert_same(make().fit_rows(rows), make().fit(X[order], y[order]))
    assert rows.labels == (0, 1, False)


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 1])
def test_file_rows_of_classes_of_the_same_size(first, tmp_path):
    X, _ = make_rows(n=600)
    y = (np.arange(600) + first) % 2
    X[y == 1] += 0.5
    for make in (lambda: AUCClassifier("squared"), lambda: AUCClassifier("squared_hinge", alpha=0.1)):
        assert_same(make().fit_rows(tiny(write(tmp_path / "rows.npz", X, y), 97)), make().fit(X, y))


@pytest.mark.slow
def test_file_rows_with_columns_that_come_late(tmp_path):
    X, y = make_rows(density=0.5)
    X = X.tolil()
    X[:280, 3:] = 0
    X = sparse.csr_array(X)
    rows = tiny(write(tmp_path / "rows.libsvm", X, y), 50)
    assert next(iter(rows.passes.source.blocks(rows.passes.n_bytes))).features.shape[1] == 3
    for make in (lambda: AUCClassifier("squared"), lambda: AUCClassifier("logistic", alpha=0.1, solver="cg")):
        assert_same(make().fit_rows(tiny(tmp_path / "rows.libsvm", 50)), make().fit(X, y))


# Labels


@pytest.mark.parametrize(
    ("labels", "positive", "classes"),
    [
        (["b", "a"], None, ["a", "b"]),  # the larger is positive, whichever comes first
        pytest.param([-1, 1], None, [-1, 1], marks=pytest.mark.slow),
        pytest.param([0.5, 2.0], None, [0.5, 2.0], marks=pytest.mark.slow),
        (["b", "a"], "a", ["b", "a"]),
        (["a", "b", "c"], "b", ["other", "b"]),
        pytest.param(["a", "other", "c"], "other", ["rest", "other"], marks=pytest.mark.slow),
        pytest.param([1, 2, 3], "2", ["other", "2"], marks=pytest.mark.slow),
    ],
)
def test_file_rows_labels_of_any_kind(labels, positive, classes, tmp_path):
    X, y = make_rows()
    named = np.array(labels, dtype=object)[np.where((y == 0) & (X[:, 0] > 0.2) & (len(labels) > 2), 2, y)]
    rows = tiny(write(tmp_path / "rows.csv", X, named), positive=positive)
    clf = AUCClassifier("squared_hinge", alpha=0.1).fit_rows(rows)
    assert clf.classes_.tolist() == classes
    is_positive = y == 1 if labels[1] == (positive or classes[1]) or positive == "2" else y == 0
    expected = AUCClassifier("squared_hinge", alpha=0.1).fit(X, is_positive)
    np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=0, atol=1e-8 * np.abs(expected.coef_).max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the names of the columns
        assert ((clf.predict(X) == clf.classes_[1]) == expected.predict(X)).all()


# Rows that are refused


def unchanged_by_refusal(clf, rows, match):
    """Check that a fit fails with this sentence and leaves the estimator as it was."""
    before = copy.copy(vars(clf))
    with pytest.raises(ValueError, match=match):
        clf.fit_rows(rows)
    assert vars(clf) == before


def test_fit_rows_refuses_files_that_cannot_be_fitted(tmp_path):
    X, y = make_rows()
    path = write(tmp_path / "rows.npz", X, y)
    clf = AUCClassifier("squared").fit(X, y)
    unchanged_by_refusal(clf, tiny(write(tmp_path / "one.npz", X, np.ones(300))), "every row has the label 1")
    zero = write(tmp_path / "zero.npz", X, y, w=1.0 - y)
    unchanged_by_refusal(clf, tiny(zero, weight="w"), "[Ww]eight")
    known = AUCClassifier("squared", alpha=1.0)
    unchanged_by_refusal(known, tiny(path, memory=1000), r"of 5 columns take .*: raise memory=, or take an online")
    chance = (
        r"^Not enough memory to compare candidates: at least 50 rows of each class must fit: .*, or raise memory=\.$"
    )
    for searching in (clf, AUCClassifier("logistic").fit(X, y), AUCClassifier()):
        unchanged_by_refusal(searching, tiny(path, 400, memory=1000), chance)
    few = r"The inner products of all rows need these in memory.* raise memory=, or use solver='cg'"
    unchanged_by_refusal(AUCClassifier("squared", alpha=1.0, solver="dual"), tiny(path, memory=40_000), few)
    many = r"A hinge on \d+ rows of the rarer class takes .* raise memory=, or use loss='logistic'"
    unchanged_by_refusal(AUCClassifier("squared_hinge", alpha=1.0, solver="cg"), tiny(path, memory=10_000), many)
    unchanged_by_refusal(AUCClassifier("squared", cv=[(np.arange(9), np.arange(1))] * 2), tiny(path), "two classes")


@pytest.mark.parametrize("clf", [AUCClassifier("squared", standardize=False), AUCClassifier("logistic", alpha=1)])
def test_fit_rows_warns_of_columns_too_small_to_be_fitted(clf, tmp_path):
    X, y = make_rows()
    rows = tiny(write(tmp_path / "rows.npz", X * 1e-160, y))
    with pytest.warns(UserWarning, match=r"^The squares of the values of X underflow in 5 columns"):
        assert not clf.fit_rows(rows).coef_.any()


# Checkpoints


class Killed(BaseException):
    pass


def fit_in_lives(make, path, checkpoint, life, growth=1.0, **options):
    """Fit by processes of which each takes in so many blocks and dies; return the model and how many there were."""
    n_blocks = 0

    def die(name, block):
        nonlocal n_blocks
        n_blocks += 1
        if n_blocks >= life:
            raise Killed

    for n_lives in range(1, 200):
        n_blocks, clf = 0, make()
        rows = tiny(path, checkpoint=checkpoint, checkpoint_every=0, **options)
        rows.passes.on_block = die
        try:
            with rows:
                return clf.fit_rows(rows), n_lives
        except Killed:
            assert not hasattr(clf, "coef_")
            assert checkpoint.exists() or life < 2
        life *= growth
    pytest.fail("it never ended")


RESUMED = {
    "alpha given": lambda: AUCClassifier("squared", alpha=0.1),
    "cross-validated": lambda: AUCClassifier("squared"),
    "groups": lambda: AUCClassifier("squared", cv=GroupKFold(3)),
    "l1": lambda: AUCClassifier(alpha=0.1, penalty="l1"),
    "auto": lambda: AUCClassifier(alphas=[0.1, 0.01], cv=2),
    "logistic": lambda: AUCClassifier("logistic", alpha=0.1),
    "squared_hinge": lambda: AUCClassifier("squared_hinge", alphas=[0.1, 0.01], cv=2),
    "folds by cg": lambda: AUCClassifier("squared", solver="cg", alphas=[1.0, 0.1], cv=2),
    "folds by Newton": lambda: AUCClassifier("squared_hinge", alphas=[1.0], cv=GroupKFold(2)),
    "table": lambda: TableClassifier("curves", cv=2),
    **{name: ALGORITHMS[name] for name in OF_BLOCKS},
    "SVMPerf": lambda: ALGORITHMS["SVMPerf"](C=1e-3, tol=0.1),
    "SVMOR": lambda: ALGORITHMS["SVMOR"](C=1e-2, tol=0.1),
    "PairwiseDescent": lambda: ALGORITHMS["PairwiseDescent"](max_iter=5),
    "PairwiseDescentLog": lambda: ALGORITHMS["PairwiseDescentLog"](max_iter=5),
    "LogisticDescent": lambda: ALGORITHMS["LogisticDescent"](max_iter=5),
    "LSSVM": lambda: ALGORITHMS["LSSVM"](),
}


@pytest.mark.filterwarnings("ignore:Gradient descent stopped")
@pytest.mark.parametrize("name", slow_except(["alpha given", "cross-validated", "l1", "PairwiseDescentLog"], RESUMED))
@pytest.mark.parametrize("kept", [file.KEPT_BYTES, 0], ids=["results kept", "passes made again"])
def test_checkpoint_resumes_bitwise_after_any_block(name, kept, tmp_path, monkeypatch):
    monkeypatch.setattr(file, "KEPT_BYTES", kept)
    monkeypatch.setattr("aucmax.search.rounds.count_rounds", lambda rarer: 2)
    X, y = make_rows(n=240)
    rng = np.random.default_rng(0)
    columns = {"w": rng.integers(1, 3, 240), "group": rng.integers(0, 30, 240)}
    path, checkpoint = write(tmp_path / "rows.npz", X, y, **columns), tmp_path / "checkpoint"
    options = {"weight": "w", "group": "group"} if name not in OF_BLOCKS else {}
    make = RESUMED[name]
    rows, n_blocks = tiny(path, **options), 0

    def count(name, block):
        nonlocal n_blocks
        n_blocks += 1

    rows.passes.on_block = count
    whole = make().fit_rows(rows)
    # Where passes are made again, a process must live longer than those before it to get any further.
    life, growth = (2 + n_blocks // 20, 1.0) if kept else (2, 2.0)
    clf, n_lives = fit_in_lives(make, path, checkpoint, life, growth, **options)
    assert n_lives >= (n_blocks // life if kept else 2)
    for attribute in ("coef_", "intercept_", "calibration_"):
        assert np.array_equal(getattr(clf, attribute), getattr(whole, attribute)), attribute
    assert os.listdir(tmp_path) == ["rows.npz"]


def test_the_checkpoint_of_another_fit_is_refused_and_kept(tmp_path):
    X, y = make_rows()
    columns = {"w": np.ones(300), "v": np.ones(300), "g": np.arange(300)}
    path, checkpoint = write(tmp_path / "rows.npz", X, y, **columns), tmp_path / "checkpoint"
    options = {"checkpoint": checkpoint, "checkpoint_every": 0}
    clf = AUCClassifier(alpha=0.1)
    clf.fit_rows(open_rows(path, weight="w", **options))
    before = checkpoint.read_bytes()
    clf.fit_rows(open_rows(path, weight="w", **(options | {"checkpoint_every": 1e9})))
    for changed in ({"weight": "v"}, {}, {"group": "g"}, {"positive": "1"}, {"memory": 1 << 30}):
        with pytest.raises(ValueError, match="is the checkpoint of another fit"):
            clf.fit_rows(open_rows(path, **options, **{"weight": "w", **changed} if changed else {}))
    with pytest.raises(ValueError, match=r"another fit: its options differ: alpha 0.1, now 0.2;"):
        AUCClassifier(alpha=0.2).fit_rows(open_rows(path, weight="w", **options))
    with pytest.raises(ValueError, match=r"another fit: its options differ: the estimator AUCClassifier, now BAM;"):
        BAM().fit_rows(open_rows(path, weight="w", **options))
    assert checkpoint.read_bytes() == before


OTHER_ROWS = r"is the checkpoint of another fit: its rows differ; remove"


@pytest.mark.slow
def test_checkpoint_knows_rows_by_their_bytes(tmp_path):
    paths, checkpoint = [tmp_path / "a.libsvm", tmp_path / "b.libsvm"], tmp_path / "checkpoint"
    for path, label in zip(paths, "12", strict=True):
        path.write_text("".join(f"{(-1) ** k} 1:{label}{k} 2:{k * k}\n" for k in range(20)), encoding="utf-8")

    def fit():
        return SOLAM(shuffle=False).fit_rows(open_rows(paths, checkpoint=checkpoint, checkpoint_every=0))

    first, times = fit(), [path.stat().st_mtime_ns for path in paths]
    assert checkpoint.exists()
    for path in paths:  # the same rows, copied at another time
        os.utime(path, (1, 1))
    np.testing.assert_array_equal(fit().coef_, first.coef_)
    paths.reverse()
    with pytest.raises(ValueError, match=OTHER_ROWS):
        fit()
    paths.reverse()
    kept = [path.read_bytes() for path in paths]
    for path, text, time in zip(paths, kept, times, strict=True):
        path.write_bytes(text.replace(b"1:13", b"1:14"))
        os.utime(path, ns=(time, time))
    with pytest.raises(ValueError, match=OTHER_ROWS):
        fit()
    for path, text in zip(paths, reversed(kept), strict=True):  # exchanged
        path.write_bytes(text)
    with pytest.raises(ValueError, match=OTHER_ROWS):
        fit()


# The algorithms that learn from streams


@pytest.mark.parametrize("name", slow_except(["SOLAM"], ONLINE))
def test_online_algorithms_by_blocks_are_those_in_memory(name, tmp_path):
    parameters = {"max_iter": 3, "shuffle": False, "random_state": 0}
    if name == "OPAUCr":
        parameters["rank"] = 3
    make = lambda: ALGORITHMS[name](**parameters)  # noqa: E731
    for density, suffix in ((None, "npz"), (0.4, "libsvm")):
        X, y = make_rows(density=density)
        by_blocks = make().fit_rows(tiny(write(tmp_path / f"rows.{suffix}", X, y)))
        in_memory = make().fit(X, y)
        assert_same(by_blocks, in_memory)
        assert by_blocks.n_iter_ == 3
        for clf in (by_blocks, in_memory):
            clf.partial_fit(X[:50], y[:50])
        assert_same(by_blocks, in_memory)


@pytest.mark.parametrize("name", slow_except(["SOLAM"], ONLINE))
def test_checkpoint_resumes_online_algorithms_bitwise(name, tmp_path):
    X, y = make_rows(n=240, density=0.4)
    path, checkpoint = write(tmp_path / "rows.libsvm", X, y), tmp_path / "checkpoint"
    make = lambda: ALGORITHMS[name](shuffle=False, max_iter=2, random_state=0)  # noqa: E731
    whole = make().fit_rows(tiny(path))
    clf, n_lives = fit_in_lives(make, path, checkpoint, life=2)
    assert n_lives > 8
    for attribute in ("coef_", "intercept_", "calibration_"):
        assert np.array_equal(getattr(clf, attribute), getattr(whole, attribute)), attribute


def test_what_online_algorithms_cannot_do_with_a_file_is_refused(tmp_path):
    X, y = make_rows()
    path = write(tmp_path / "rows.npz", X, y)
    unchanged_by_refusal(ALGORITHMS["PSAM"](), tiny(path), "PSAM needs all rows in memory")
    for parameter in ("shuffle", "warm_start"):
        clf = ALGORITHMS["SOLAM"](**{"shuffle": False, parameter: True})
        unchanged_by_refusal(clf, tiny(path), f"set {parameter}=False")
    opauc = ALGORITHMS["OPAUC"](shuffle=False)
    unchanged_by_refusal(opauc, tiny(path, memory=1000), r"The state of OPAUC for 5 columns takes .* or .* SOLAM")


def test_epochs_that_do_not_converge_warn_as_in_memory(tmp_path):
    X, y = make_rows()
    path = write(tmp_path / "rows.npz", X, y)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2"):
        ALGORITHMS["SOLAM"](shuffle=False, max_iter=2, tol=1e-12).fit_rows(tiny(path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ALGORITHMS["SOLAM"](shuffle=False, max_iter=50, tol=0.5).fit_rows(tiny(path))


@pytest.mark.parametrize("constant", [0.0, 0.1])
def test_calibration_with_a_first_block_of_equal_rows(constant, tmp_path):
    X, y = make_rows()
    X[:60] = constant
    make = lambda: ALGORITHMS["SOLAM"](shuffle=False, max_iter=2)  # noqa: E731
    assert_same(make().fit_rows(tiny(write(tmp_path / "rows.npz", X, y))), make().fit(X, y))
