"""No index of CSR rows leads out of their arrays: broken rows are refused before a loop follows them."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from aucmax import OPAUC, PSAM, AdditiveAUCClassifier, AUCClassifier, KMeansNystroem
from aucmax.csr_indices import check_csr

RNG = np.random.default_rng(0)
D = 6
ROWS = sparse.csr_array(np.where(RNG.random((40, D)) < 0.5, RNG.standard_normal((40, D)), 0))
Y = np.arange(40) % 2
BROKEN = {
    "indices must be from 0 to 5, but 0 to 100000000 were found.": ("indices", 3, 10**8),
    "indices must be from 0 to 5, but -100000000 to 5 were found.": ("indices", 3, -(10**8)),
    "indptr must begin with 0, must not decrease": ("indptr", 7, 10**8),
}
MODELS = [AUCClassifier, AdditiveAUCClassifier, OPAUC, PSAM]


def stays_inside(data, indices, indptr, n_rows, n_columns):
    """Return whether a loop over the values of each row stays in the arrays, and begins where the last one ended."""
    if len(indptr) != n_rows + 1 or len(indices) != len(data) or indptr[0] != 0:
        return False
    if any(stop < start for start, stop in itertools.pairwise(indptr)):
        return False
    spans = [range(*pair) for pair in itertools.pairwise(indptr)]
    return all(0 <= k < len(data) and 0 <= indices[k] < n_columns for span in spans for k in span)


def test_what_is_accepted_is_what_loops_can_follow():
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


def break_rows(part, place, value):
    rows = ROWS.copy()
    getattr(rows, part)[place] = value
    return rows


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("message", BROKEN)
def test_estimators_refuse_rows_that_are_broken(model, message):
    rows = break_rows(*BROKEN[message])
    fitted = model().fit(ROWS, Y)
    methods = [model().fit, getattr(model(), "partial_fit", model().fit)]
    for call in (*[lambda method=method: method(rows, Y) for method in methods], lambda: fitted.predict_proba(rows)):
        with pytest.raises(ValueError, match="X is not a valid CSR matrix: " + message):
            call()


def test_kernel_features_refuse_rows_that_are_broken():
    message, broken = next(iter(BROKEN.items()))
    features = KMeansNystroem(3, random_state=0).fit(ROWS)
    for method in (features.fit, features.transform):
        with pytest.raises(ValueError, match="X is not a valid CSR matrix: " + message):
            method(break_rows(*broken))
