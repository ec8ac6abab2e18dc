"""What every class behind the protocol of rows must do, checked against plain NumPy.

A class joins the suite by one line in `FACTORIES`.
"""

import functools
import operator
import tempfile
from pathlib import Path

import array_api_strict as xp
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from conftest import SYSTEMS
from numpy.testing import assert_allclose, assert_array_equal
from odd_rows import OddRows
from scipy import sparse
from slow import slow_except

from aucmax import ClassMoments, open_rows
from aucmax.rows.blocks.rows import SlicedRows
from aucmax.rows.memory import MemoryRows
from aucmax.rows.summaries.scores import ScoreMoments

CLASSES = np.array(["no", "yes"])
D = 4


def in_memory(form, X, y, sample_weight=None, groups=None):
    return MemoryRows(form(X), y, CLASSES, sample_weight, groups)


def in_slices(form, X, y, sample_weight=None, groups=None):
    return SlicedRows(in_memory(form, X, y, sample_weight, groups), step=20)


def in_a_file(form, X, y, sample_weight=None, groups=None):
    """Write the rows to a file of blocks of some 20 rows, and open it."""
    folder = tempfile.mkdtemp()
    path = Path(folder) / "rows.npz"
    columns = {"weight": sample_weight, "group": groups}
    given = {name: values for name, values in columns.items() if values is not None}
    if form is sparse.csr_array:
        matrix = sparse.csr_array(X)
        parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
        np.savez(path, format="csr", y=y, **parts, **given)
    else:
        np.savez(path, X=X, y=y, **given)
    rows = open_rows(path, **{name: name for name in given})
    rows.passes.n_bytes = 20 * X.shape[1] * 8
    return rows


def in_dask(form, X, y, sample_weight=None, groups=None, dataframe=False):
    """Cut the rows into partitions, some of them empty and some of one row."""
    chunks = (0, 1, 40, 0, len(y) - 41)

    def lazy(values):
        return None if values is None else da.from_array(values, chunks=(chunks, *values.shape[1:]))

    features = lazy(X).map_blocks(form)
    if dataframe:
        features = dd.from_dask_array(features, columns=list("abcd"))
    from aucmax.rows.dask.rows import DaskRows

    return DaskRows(features, lazy(y), lazy(sample_weight), lazy(groups))


def on_a_device(dtype, X, y, sample_weight=None, groups=None):
    """Hand the rows over as arrays of the strictest implementation of the array API standard."""
    from aucmax.rows.device.rows import DeviceRows

    return DeviceRows.of(xp.asarray(X, dtype=dtype), y, sample_weight, groups)


# Each makes rows of X, y, weights and groups.
FACTORIES = {
    "memory": functools.partial(in_memory, np.asarray),
    "memory, float32": functools.partial(in_memory, np.float32),
    "memory, CSR": functools.partial(in_memory, sparse.csr_array),
    "slices": functools.partial(in_slices, np.asarray),
    "slices, CSR": functools.partial(in_slices, sparse.csr_array),
    "file": functools.partial(in_a_file, np.asarray),
    "dask": functools.partial(in_dask, np.asarray),
    "dask, CSR": functools.partial(in_dask, sparse.csr_array),
    "dask, float32 dataframe": functools.partial(in_dask, np.float32, dataframe=True),
    "device": functools.partial(on_a_device, xp.float64),
    "device, float32": functools.partial(on_a_device, xp.float32),
    "odd": OddRows.of,
    "odd, CSR": lambda X, *rest: OddRows.of(sparse.csr_array(X), *rest),
}
FACTORIES = {name: make for name, make in FACTORIES.items() if SYSTEMS.get(name.partition(",")[0], True)}
FAST = ("memory", "memory, CSR", "slices", "file", "dask", "device", "odd")  # one of each class


class Problem:
    """Arrays, and what can be computed from them by hand."""

    def __init__(self, weighted, n=150, seed=0):
        rng = np.random.default_rng(seed)
        positive = rng.random(n) < 0.3
        # Whole numbers of eighths: exact in float32, and scores tie.
        X = rng.integers(-16, 17, (n, D)) / 8 + positive[:, None]
        X[rng.random((n, D)) < 0.4] = 0
        self.X, self.positive, self.y = X, positive, CLASSES[positive.astype(int)]
        self.sample_weight = rng.integers(0, 4, n).astype(float) if weighted else None
        self.groups = rng.integers(0, 20, n) if weighted else None
        self.weights = self.sample_weight if weighted else np.ones(n)
        self.n, self.rng = n, rng

    def arrays(self):
        return self.X, self.y, self.sample_weight, self.groups

    def take(self, chosen):
        """Return the problem of some rows."""
        part = object.__new__(Problem)
        part.X, part.positive, part.y, part.weights = (
            values[chosen] for values in (self.X, self.positive, self.y, self.weights)
        )
        part.sample_weight, part.groups = (
            None if values is None else values[chosen] for values in (self.sample_weight, self.groups)
        )
        part.n = len(part.y)
        return part

    def totals(self):
        return np.array([self.weights[~self.positive].sum(), self.weights[self.positive].sum()])

    def moments(self):
        """Return weight, mean and scatter of the classes."""
        mean, scatter = np.zeros((2, D)), np.zeros((2, D, D))
        for c, side in enumerate((~self.positive, self.positive)):
            if self.weights[side].sum() > 0:
                mean[c] = np.average(self.X[side], axis=0, weights=self.weights[side])
                Z = self.X[side] - mean[c]
                scatter[c] = (Z.T * self.weights[side]) @ Z
        return self.totals(), mean, scatter


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def problem(request):
    return Problem(request.param)


@pytest.fixture(params=slow_except(FAST, FACTORIES))
def make(request):
    with dask.config.set(scheduler="synchronous"):
        yield FACTORIES[request.param]


@pytest.fixture
def rows(make, problem):
    return make(*problem.arrays())


def entries(rows, vector):
    """Return the entries of a vector in the order of the rows."""
    return rows.reduce(lambda targets, v: v, vector, merge=np.append)


def vector_of(rows, values):
    """Return an array as a vector."""
    return rows.as_vector(values)


def skip_without_numpy(rows):
    """Skip a test whose functions of a block are those of NumPy."""
    if type(rows).__name__ == "DeviceRows":
        pytest.skip("the blocks are arrays of another namespace")


def assert_same_moments(found, expected):
    weight, mean, scatter = expected
    assert isinstance(found, ClassMoments)
    assert_array_equal(found.classes, CLASSES)
    assert_allclose(found.weight, weight, rtol=1e-12)
    assert_allclose(found.mean, mean, rtol=1e-12, atol=1e-12)
    assert_allclose(found.scatter, scatter, rtol=1e-12, atol=1e-12 * np.abs(scatter).max())


def assert_same_rows(found, expected):
    """The same rows in the same order."""
    assert found.n_rows == expected.n
    assert_array_equal(found.classes, CLASSES)
    for name, column in zip(range(found.n_features), expected.X.T, strict=True):
        assert_allclose(entries(found, found.scores(np.eye(found.n_features)[name])), column)
    assert_array_equal(found.reduce(lambda targets: targets.positive, merge=np.append), expected.positive)
    assert_allclose(found.totals, expected.totals())
    for name in ("sample_weight", "groups"):
        if getattr(expected, name) is None:
            assert found.reduce(lambda targets, name=name: getattr(targets, name) is None, merge=operator.and_)
        else:
            values = found.reduce(lambda targets, name=name: getattr(targets, name), merge=np.append)
            assert_array_equal(values, getattr(expected, name))


def assert_same_histogram(found, expected):
    assert_allclose(found.grid, expected.grid, rtol=1e-12, atol=1e-12)
    assert_allclose(found.means, expected.means, rtol=1e-12, atol=1e-12)
    assert_allclose(found.variances, expected.variances, rtol=1e-10)
    assert_allclose(found.mass, expected.mass, rtol=0, atol=1e-9 * expected.mass.sum())


# Sizes


def test_sizes_and_classes(rows, problem):
    used = problem.weights > 0
    assert rows.n_rows == problem.n
    assert rows.n_features == D
    assert_array_equal(rows.counts, [np.sum(used & ~problem.positive), np.sum(used & problem.positive)])
    assert_allclose(rows.totals, problem.totals())
    assert_array_equal(rows.classes, CLASSES)
    assert rows.row_length == pytest.approx(np.count_nonzero(problem.X) / problem.n if rows.is_sparse else D)
    assert rows.feature_names is None or len(rows.feature_names) == D
    assert rows.in_memory in (True, False)


def test_the_targets_of_the_blocks_are_those_of_the_rows(rows, problem):
    assert_same_rows(rows, problem)
    shares = problem.weights / problem.totals()[problem.positive.astype(int)]
    for name, expected in (
        ("pair_weights", shares),
        ("signed_weights", np.where(problem.positive, shares, -shares)),
        ("usable", problem.weights > 0),
    ):
        found = rows.reduce(lambda targets, name=name: getattr(targets, name), merge=np.append)
        assert_allclose(found, expected, rtol=1e-12)
    # Every block knows the weight of the classes over all rows.
    assert rows.reduce(lambda targets: np.allclose(targets.totals, problem.totals()), merge=operator.and_)


def test_a_class_without_weight_is_refused_in_a_sentence(make, problem):
    with pytest.raises(
        ValueError, match=r"^AUC needs two classes, but class 'yes' has no row with a weight above 0\.$"
    ):
        _ = make(problem.X, problem.y, np.where(problem.positive, 0.0, 1.0), None).totals


# Vectors


def test_vectors_have_the_arithmetic_of_arrays(rows, problem):
    a, b = problem.rng.standard_normal((2, problem.n))
    u, v = vector_of(rows, a), vector_of(rows, b)
    for found, expected in (
        (u + v, a + b),
        (u - v, a - b),
        (-u, -a),
        (2 * u, 2 * a),
        (np.float64(0.5) * u, a / 2),
        (0 * u, np.zeros(problem.n)),
        (u + 2 * (v - u), 2 * b - a),
    ):
        assert_allclose(entries(rows, found), expected, rtol=1e-14, atol=1e-15)
    assert isinstance(u @ v, float)
    assert u @ v == pytest.approx(a @ b, rel=1e-12)
    assert_array_equal(entries(rows, u), a)  # nothing was changed in place


def test_accumulate_adds_every_block_once(rows, problem):
    skip_without_numpy(rows)
    numbers = vector_of(rows, np.arange(problem.n))

    def add(counts, targets, numbers):
        counts[numbers] += 1 + targets.positive

    found = rows.accumulate(lambda: np.zeros(problem.n), add, numbers)
    assert_array_equal(found, 1 + problem.positive)
    found[:] = 0  # nobody minds
    assert_array_equal(rows.accumulate(lambda: np.zeros(problem.n), add, numbers), 1 + problem.positive)


def test_reduce_merges_in_the_order_of_the_rows(rows, problem):
    numbers = rows.as_vector(np.arange(problem.n))
    assert_array_equal(entries(rows, numbers), np.arange(problem.n))
    skip_without_numpy(rows)
    assert rows.reduce(lambda targets, i: list(i), numbers, merge=operator.add) == list(range(problem.n))
    assert rows.reduce(lambda targets, i: i.sum(), numbers) == problem.n * (problem.n - 1) // 2  # by default they add
    both = rows.reduce(lambda targets, i, j: i @ j, numbers, numbers)
    assert both == np.sum(np.arange(problem.n) ** 2)
    counted = rows.reduce(lambda targets: np.array([len(targets.positive), targets.positive.sum()]))
    assert_array_equal(counted, [problem.n, problem.positive.sum()])


def test_map_makes_vectors_and_other_things_of_a_block(rows, problem):
    skip_without_numpy(rows)
    a, b = problem.rng.standard_normal((2, problem.n))
    u, v = vector_of(rows, a), vector_of(rows, b)
    mixed = rows.map(lambda targets, x, y: np.where(targets.positive, x, y), u, v)
    assert_allclose(entries(rows, mixed), np.where(problem.positive, a, b))
    ones = rows.map(lambda targets: targets.positive.astype(float))
    assert_array_equal(entries(rows, ones), problem.positive)
    # An object for each block, which later functions take
    sorted_blocks = rows.map(lambda targets, x: {"sorted": np.sort(x)}, u)
    assert rows.reduce(lambda targets, block, x: block["sorted"].sum() - x.sum(), sorted_blocks, u) == pytest.approx(
        0, abs=1e-12
    )
    largest = rows.reduce(lambda targets, block: block["sorted"][-1:].sum(), sorted_blocks, merge=max)
    assert largest == a.max()


# From columns to scores and back


def test_scores_and_pullback(rows, problem):
    w, a = problem.rng.standard_normal(D), problem.rng.standard_normal(problem.n)
    assert_allclose(entries(rows, rows.scores(w)), problem.X @ w, rtol=1e-12, atol=1e-13)
    g, center = vector_of(rows, a), np.array([1.0, -2.0, 0.0, 1e3])
    for found, expected in (
        (rows.rmatvec(g), problem.X.T @ a),
        (rows.rmatvec(g, center), (problem.X - center).T @ a),
        (rows.rmatvec(rows.scores(w)), problem.X.T @ (problem.X @ w)),
    ):
        assert isinstance(found, np.ndarray)
        assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    # The adjoint of each other
    assert rows.scores(w) @ g == pytest.approx(w @ rows.rmatvec(g), rel=1e-12)


def test_scores_on_a_grid(rows, problem):
    w = np.array([1.0, -0.5, 0.25, 0.1])
    scores, weights = problem.X @ w, problem.weights
    memory = in_memory(np.asarray, *problem.arrays())
    for found in (rows.score_histogram(w), rows.score_histogram(w, ScoreMoments.projected(rows.moments(), w))):
        assert_same_histogram(found, memory.score_histogram(w))
        points = np.linspace(*found.grid, found.mass.shape[1])
        for c, side in enumerate((~problem.positive, problem.positive)):
            mean = np.average(scores[side], weights=weights[side])
            assert found.means[c] == pytest.approx(mean)
            assert found.variances[c] == pytest.approx(np.average((scores[side] - mean) ** 2, weights=weights[side]))
            assert found.mass[c].sum() == pytest.approx(weights[side].sum())
            assert points @ found.mass[c] == pytest.approx(weights[side] @ scores[side])


# Summaries of the columns


def test_moments(rows, problem):
    assert_same_moments(rows.moments(), problem.moments())


def test_column_statistics(rows, problem):
    means, variances = rows.column_statistics()
    weight, mean, scatter = problem.moments()
    assert_allclose(means, mean, rtol=1e-12, atol=1e-12)
    assert_allclose(variances, np.diagonal(scatter, axis1=1, axis2=2) / weight[:, None], rtol=1e-11)


def test_inner_products_of_the_rows(rows, problem):
    scale = np.array([1.0, 2.0, 0.5, np.inf])  # infinite for a constant column
    gram = rows.gram(scale)
    # A shift changes no difference of two rows.
    a = np.where(problem.positive, 1 / problem.positive.sum(), -1 / (~problem.positive).sum())
    difference = a @ (problem.X / scale)
    assert a @ gram @ a == pytest.approx(difference @ difference)
    distances = np.add.outer(np.diagonal(gram), np.diagonal(gram)) - 2 * gram
    Z = problem.X / scale
    assert_allclose(distances, ((Z[:, None] - Z) ** 2).sum(axis=2), rtol=1e-9, atol=1e-9)


# Other views of the same rows


def test_rows_subset_of_a_sample(rows, problem):
    """The sample of all rows is in memory, wherever these are."""
    parts = problem.rng.integers(0, 4, problem.n)
    for chosen in ((0,), (1, 3), (0, 1, 2, 3)):
        expected = problem.take(np.flatnonzero(np.isin(parts, chosen)))
        subset = rows.sample(problem.n).subset(parts, chosen)
        assert_same_rows(subset, expected)
        assert_same_moments(subset.moments(), expected.moments())
        used = expected.weights > 0
        assert_array_equal(subset.counts, [np.sum(used & ~expected.positive), np.sum(used & expected.positive)])


def test_rows_sample(rows, problem):
    few = rows.sample(10)
    assert few.in_memory
    assert_array_equal(few.counts, [10, 10])
    numbers = np.flatnonzero(np.isin(np.arange(problem.n), sample_numbers(problem, 10)))
    assert_same_rows(few, problem.take(numbers))
    assert_same_rows(rows.sample(problem.n), problem)  # rows without weight too: folds by group depend on them
    # One class may be smaller than the sample.
    n = int(rows.counts.min())
    assert_array_equal(rows.sample(n + 1).counts, [n + 1, n])


def sample_numbers(problem, n_each):
    """Return the rows that memory samples, found by a column that numbers them."""
    X = np.column_stack([np.arange(problem.n), np.ones(problem.n)])
    sample = in_memory(np.asarray, X, *problem.arrays()[1:]).sample(n_each)
    return sample.scores(np.array([1.0, 0.0]))


def test_rows_with_some_of_the_columns(rows, problem):
    part = rows.columns(np.array([0, 2]))
    assert part.n_features == 2
    w, a = np.array([1.0, -2.0]), problem.rng.standard_normal(problem.n)
    assert_allclose(entries(part, part.scores(w)), problem.X[:, [0, 2]] @ w, atol=1e-13)
    assert_allclose(part.rmatvec(vector_of(part, a)), problem.X[:, [0, 2]].T @ a, rtol=1e-11, atol=1e-11)
    _, mean, scatter = problem.moments()
    assert_allclose(part.moments().mean, mean[:, [0, 2]], atol=1e-12)
    assert_allclose(part.moments().scatter, scatter[:, [0, 2]][:, :, [0, 2]], rtol=1e-11, atol=1e-11)
    assert_allclose(part.totals, problem.totals())


def test_rows_reweighted(rows, problem):
    weights = problem.rng.integers(0, 3, problem.n).astype(float)
    other = rows.reweighted(vector_of(rows, weights))
    expected = problem.take(np.arange(problem.n))
    expected.weights = expected.sample_weight = weights
    assert_same_rows(other, expected)
    assert_same_moments(other.moments(), expected.moments())
    assert_allclose(other.column_statistics()[0], expected.moments()[1], atol=1e-12)
    assert_same_rows(rows, problem)  # which are as they were


def test_rows_with_a_shifted_column(make, problem):
    """It has no zeros, as sparse rows require."""
    X, shift = problem.X.copy(), np.zeros(D)
    X[:, 1] += 1024
    shift[1] = 1023.5
    rows, g = make(X, *problem.arrays()[1:]), problem.rng.standard_normal(problem.n)
    other, w = rows.shifted(shift), problem.rng.standard_normal(D)
    assert_allclose(entries(other, other.scores(w)), (X - shift) @ w, rtol=1e-12, atol=1e-12)
    assert_allclose(other.rmatvec(vector_of(other, g)), (X - shift).T @ g, rtol=1e-12, atol=1e-12)
    assert_allclose(other.moments().mean, rows.moments().mean - shift, atol=1e-12)
    assert_allclose(entries(rows, rows.scores(w)), X @ w, rtol=1e-12)  # which are as they were


def test_all_weights_may_be_small_or_zero_in_one_class(rows, problem):
    """A preconditioner weighs rows by their curvature, which may vanish; their moments say so."""
    moments = rows.reweighted(vector_of(rows, np.where(problem.positive, 0.0, 1e-30))).moments()
    assert moments.weight[1] == 0
    assert moments.weight[0] == pytest.approx(1e-30 * np.sum(~problem.positive))


# The stochastic algorithms


def test_iterate_takes_all_blocks_in_order_again_and_again(rows, problem):
    calls = []

    def prepare(X, targets):
        assert X.shape == (len(targets.positive), D)
        return (X.toarray() if sparse.issparse(X) else X), targets

    def step(state, block):
        X, targets = block
        state["X"].append(X.copy())
        state["positive"].append(targets.positive.copy())
        state["weights"].append(targets.pair_weights.copy())

    def again(state):
        calls.append(sum(map(len, state["X"])))
        return len(calls) < 3

    if type(rows).__name__ in ("DaskRows", "DeviceRows"):
        with pytest.raises(
            ValueError, match=r"^The stochastic algorithms and partial_fit take one row after the other"
        ):
            rows.iterate("epochs", {}, prepare, step, again)
        return
    state = rows.iterate("epochs", {"X": [], "positive": [], "weights": []}, prepare, step, again)
    assert calls == [problem.n, 2 * problem.n, 3 * problem.n]
    assert_allclose(np.vstack(state["X"]), np.tile(problem.X, (3, 1)))
    assert_array_equal(np.concatenate(state["positive"]), np.tile(problem.positive, 3))
    shares = problem.weights / problem.totals()[problem.positive.astype(int)]
    assert_allclose(np.concatenate(state["weights"]), np.tile(shares, 3))


# The odd class itself


def test_odd_rows_have_odd_chunks():
    rows = OddRows.of(*Problem(True).arrays())
    sizes = [len(positive) for positive in rows.positive]
    assert 0 in sizes
    assert any(size and len(np.unique(positive)) == 1 for size, positive in zip(sizes, rows.positive, strict=True))
    assert max(sizes) < rows.n_rows / 2
    assert not np.array_equal(rows.stored, np.arange(len(sizes)))
    assert not hasattr(rows, "X")


def test_vectors_of_the_odd_class_are_no_arrays():
    rows = OddRows.of(*Problem(False).arrays())
    v = rows.scores(np.ones(D))
    ones = np.ones(rows.n_rows)
    for forbidden in (
        np.sum,
        np.abs,
        len,
        lambda v: v[0],
        lambda v: v * 2,
        lambda v: v + 1,
        lambda v: v / 2,
        lambda v: v @ ones,
        lambda v: ones @ v,
        lambda v: v + ones,
        lambda v: v.sum(),
    ):
        with pytest.raises((TypeError, AttributeError)):
            forbidden(v)
