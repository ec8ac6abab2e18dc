"""No index of CSR rows leads out of their arrays: broken rows are refused before a loop follows them."""

import itertools
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from slow import slow_except

from aucmax import ALGORITHMS, AUCClassifier, KMeansNystroem, TableClassifier, roc_auc
from aucmax.rows.validate import check_csr

RNG = np.random.default_rng(0)
D = 6
ROWS = sparse.csr_array(np.where(RNG.random((40, D)) < 0.5, RNG.standard_normal((40, D)), 0))
Y = np.arange(40) % 2
RANGE = r"{} must be from 0 to {}, but \S+ to \S+ were found\.$"
BROKEN = {
    ("csr", "indices", 3, 10**8): RANGE.format("indices", D - 1),
    ("csr", "indices", 3, -(10**8)): RANGE.format("indices", D - 1),
    ("csr", "indptr", 7, 10**8): "indptr must begin with 0, must not decrease",
    ("csr", "indptr", -1, 10**8): "indptr must begin with 0, must not decrease",
    ("csc", "indices", 3, 10**8): RANGE.format("indices", 39),
    ("csc", "indptr", 2, 10**8): "indptr must begin with 0, must not decrease",
    ("bsr", "indices", 3, 10**8): RANGE.format("indices", D - 1),
    ("bsr", "indptr", 2, 10**8): "indptr must begin with 0, must not decrease",
    ("coo", "row", 3, 10**8): RANGE.format("row and col", 39),
    ("coo", "col", 3, 10**8): RANGE.format("row and col", D - 1),
}
FAST = ("AUCClassifier", "SOLAM", "KMeansNystroem", "NSOLAM", "OPAUCpca")
ESTIMATORS = {
    "AUCClassifier": lambda: AUCClassifier("squared"),
    "KMeansNystroem": lambda: KMeansNystroem(3, random_state=0),
    **ALGORITHMS,
}


def stays_inside(data, indices, indptr, n_rows, n_columns):
    """Return whether a loop over the values of each row stays in the arrays, and begins where the last one ended."""
    if len(indptr) != n_rows + 1 or len(indices) != len(data) or indptr[0] != 0:
        return False
    if any(stop < start for start, stop in itertools.pairwise(indptr)):
        return False
    spans = [range(*pair) for pair in itertools.pairwise(indptr)]
    return all(0 <= k < len(data) and 0 <= indices[k] < n_columns for span in spans for k in span)


def test_check_csr_accepts_only_indices_that_loops_can_follow():
    rng, accepted = np.random.default_rng(1), 0
    for _ in range(3000):
        n, d, nnz = rng.integers(1, 4), rng.integers(1, 4), rng.integers(0, 5)
        data, indices = np.ones(nnz), rng.integers(0, d, nnz)
        indptr = np.sort(np.append(rng.integers(0, nnz + 1, n), 0))
        for array in (indices, indptr):
            if array.size and rng.random() < 0.3:
                array[rng.integers(array.size)] = rng.integers(-2, 7)
        expected = stays_inside(data, indices.tolist(), indptr.tolist(), n, d)
        accepted += expected
        try:
            check_csr(data, indices, indptr, (n, d))
        except ValueError:
            assert not expected
        else:
            assert expected
    assert 500 < accepted < 2500


def break_rows(layout, part, place, value):
    rows = ROWS.asformat(layout, copy=True)
    getattr(rows, part)[place] = value
    return rows


@pytest.mark.parametrize("name", slow_except(FAST, ESTIMATORS))
def test_every_estimator_refuses_rows_that_are_broken(name):
    """Pipelines, too: scikit-learn's transformers, which they begin with, would follow the indices of these rows."""
    make = ESTIMATORS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = make().fit(ROWS, Y)
    takes = [make().fit, getattr(make(), "partial_fit", make().fit)]
    calls = [lambda rows, method=method: method(rows, Y) for method in takes]
    calls.append(fitted.transform if name == "KMeansNystroem" else fitted.predict_proba)
    for (layout, *change), message in BROKEN.items():
        rows = break_rows(layout, *change)
        for call in calls:
            with pytest.raises(ValueError, match=f"^X is not a valid {layout.upper()} matrix: {message}"):
                call(rows)


def test_rows_of_every_layout_are_taken():
    expected = AUCClassifier(alpha=0.1).fit(ROWS, Y).coef_
    for layout in ("csr", "csc", "bsr", "coo", "lil", "dok", "dia"):
        np.testing.assert_allclose(AUCClassifier(alpha=0.1).fit(ROWS.asformat(layout), Y).coef_, expected, rtol=1e-9)


def test_fit_refuses_lil_rows_with_an_index_out_of_range():
    rows = ROWS.tolil()
    rows.rows[3] = [10**8] * len(rows.rows[3])
    with pytest.raises(ValueError, match=r"^X is not a valid CSR matrix: indices must be from 0 to 5, but 0 to 1000"):
        AUCClassifier().fit(rows, Y)


@pytest.mark.parametrize("name", slow_except(FAST, ESTIMATORS))
def test_every_estimator_sums_duplicates_whatever_the_flags_of_the_rows_say(name):
    """A matrix keeps what it once found out about its indices, and arrays can be changed after that."""
    doubled = sparse.csr_array(
        (np.repeat(ROWS.data / 2, 2), np.repeat(ROWS.indices, 2), 2 * ROWS.indptr), shape=ROWS.shape
    )
    doubled.has_sorted_indices = doubled.has_canonical_format = True
    assert doubled.has_canonical_format
    make = ESTIMATORS[name] if name not in ALGORITHMS else partial(ALGORITHMS[name].seeded, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain, stale = make().fit(ROWS, Y), make().fit(doubled, Y)
    score = "transform" if name == "KMeansNystroem" else "decision_function"
    expected = getattr(plain, score)(ROWS)
    for model, rows in ((stale, ROWS), (plain, doubled)):
        np.testing.assert_allclose(getattr(model, score)(rows), expected, rtol=0, atol=1e-9 * np.ptp(expected))


def test_masked_cells_are_refused():
    X, weights = ROWS.toarray(), np.ones(len(Y))
    scores = X[:, 0]
    mask = np.arange(len(Y)) == 3
    hidden = np.ma.masked_array
    for name, call in {
        "X": lambda: AUCClassifier().fit(hidden(X, np.outer(mask, np.ones(X.shape[1]))), Y),
        "y": lambda: AUCClassifier().fit(X, hidden(Y, mask)),
        "sample_weight": lambda: AUCClassifier().fit(X, Y, hidden(weights, mask)),
        "scores": lambda: roc_auc(Y, hidden(scores, mask)),
    }.items():
        with pytest.raises(ValueError, match=f"^{name} has masked cells, and the values under the mask are not data"):
            call()
    with pytest.raises(ValueError, match=r"^X has masked cells"):
        AUCClassifier("squared", alpha=0.1).fit(X, Y).predict(hidden(X, X > 0))
    assert roc_auc(Y, hidden(scores, np.zeros(len(Y)))) == roc_auc(Y, scores)


def test_masked_cells_of_a_table_are_missing_values():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (200, 2))
    y, mask = (X[:, 0] + rng.random(200) > 2.5).astype(int), rng.random(X.shape) < 0.2
    gaps = np.where(mask, np.nan, X.astype(float))
    model = TableClassifier("curves", cv=0).fit(gaps, y)
    masked = TableClassifier("curves", cv=0).fit(np.ma.masked_array(X, mask), y)
    np.testing.assert_allclose(masked.decision_function(gaps), model.decision_function(gaps))


def test_refusals_say_what_to_do():
    X = np.random.default_rng(0).standard_normal((40, 3))
    gaps, groups = np.where(X > 2, np.nan, X), np.array([None, "a"] * 20, dtype=object)
    frame = pd.DataFrame(X, columns=["age", "income", "debt"])
    fit, named = AUCClassifier().fit, TableClassifier(drop=["incom"]).fit
    calls = {
        "^cv has no splits: it is empty, or a generator that": [
            lambda: AUCClassifier(cv=[]).fit(X, Y),
            lambda: TableClassifier(cv=iter(())).fit(X, Y),
        ],
        "^groups has missing values: give each row a group": [lambda: fit(X, Y, groups=groups)],
        r"^The largest of sample_weight is 4.94e-324, below": [lambda: fit(X, Y, np.full(40, 5e-324))],
        "^X has 2 columns called 'a': rename": [lambda: fit(frame.set_axis(["a", "b", "a"], axis=1), Y)],
        r"^Input X contains NaN\. Fit a TableClassifier, which": [
            lambda: fit(gaps, Y),
            lambda: ALGORITHMS["SOLAM"]().fit(gaps, Y),
            lambda: AUCClassifier("squared", alpha=0.1).fit(X, Y).predict(gaps),
        ],
        r"y holds 25 classes\. It looks like a regression target": [
            lambda: fit(np.tile(X, (3, 1))[:100], np.arange(100) % 25)
        ],
        "has no column 'incom' for drop=; the nearest is 'income'": [lambda: named(frame, Y)],
        "^X: Complex data not supported: make the real": [lambda: TableClassifier().fit(X + 1j, Y)],
    }
    for message, failing in calls.items():
        for call in failing:
            with pytest.raises(ValueError, match=message):
                call()
    assert TableClassifier("lines", cv=0).fit(X.astype(np.longdouble), Y).n_features_in_ == 3
