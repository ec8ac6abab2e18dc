"""The same weights to the last bit, however many threads and processes there are."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy import sparse

from aucmax import ALGORITHMS, AUCClassifier, TableClassifier

RNG = np.random.default_rng(0)


def draw(n_rows, n_columns):
    y = RNG.random(n_rows) < 0.3
    return RNG.standard_normal((n_rows, n_columns)) + 0.4 * y[:, None] / n_columns**0.5, y


# BLAS uses threads from about ten thousand values on. Moments of tall rows are gathered in spans, and rows with more
# columns than rows are rotated. Tiles of more than 512 columns have a test among those of moments.
SMALL, TALL, WIDE, FEW = draw(600, 9), draw(20_000, 6), draw(500, 300), draw(60, 900)
SPARSE = sparse.csr_array(np.where(RNG.random(WIDE[0].shape) < 0.1, WIDE[0], 0)), WIDE[1]
MODELS = {
    "blend": (AUCClassifier, SMALL),
    "blend of wide rows": (AUCClassifier, WIDE),
    "blend of few rows": (AUCClassifier, FEW),
    "square loss, cross-validated": (lambda: AUCClassifier("squared"), TALL),
    "logistic loss of tall rows": (lambda: AUCClassifier("logistic", alpha=0.1), TALL),
    "logistic loss of sparse rows": (lambda: AUCClassifier("logistic", alpha=0.1), SPARSE),
    "conjugate gradients": (lambda: AUCClassifier("squared", alpha=0.1, solver="cg"), WIDE),
    "table": (lambda: TableClassifier("pairs", pairs=2, cv=2), TALL),
    "OPAUC": (lambda: ALGORITHMS["OPAUC"](max_iter=1, random_state=0), SMALL),
    "OPAUCrp": (lambda: ALGORITHMS["OPAUCrp"](n_components=200, max_iter=1, random_state=0), WIDE),
    "OPAUCpca": (lambda: ALGORITHMS["OPAUCpca"](n_components=50, max_iter=1, random_state=0), WIDE),
    "NPSAM": (lambda: ALGORITHMS["NPSAM"](n_components=20, random_state=0), SMALL),
}


def weights(name):
    """Return the bytes of the weights of a fit."""
    make, rows = MODELS[name]
    model = make().fit(*rows)
    return (model[-1] if hasattr(model, "steps") else model).coef_.tobytes()


@pytest.fixture(scope="module")
def expected():
    return {name: weights(name) for name in MODELS}


def test_fits_are_bitwise_equal_in_eight_threads(expected):
    names = [*MODELS] * 2
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(weights, names)) == [expected[name] for name in names]


@pytest.mark.parametrize("backend", [pytest.param("loky", marks=pytest.mark.slow), "threading"])
def test_fits_are_bitwise_equal_under_joblib(expected, backend):
    found = Parallel(n_jobs=2, backend=backend)(delayed(weights)(name) for name in MODELS)
    assert found == list(expected.values())


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize(
    "method", [pytest.param("fork", marks=pytest.mark.linux), pytest.param("spawn", marks=pytest.mark.slow)]
)
def test_fits_are_bitwise_equal_in_forked_and_spawned_processes(expected, method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map_async(weights, MODELS).get(timeout=300) == list(expected.values())


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 2])
def test_fits_are_bitwise_equal_with_one_and_two_threads(expected, n_threads):
    code = """
import sys
from test_determinism import MODELS, weights
for name in MODELS:
    print(weights(name).hex())
"""
    limits = {f"{library}_NUM_THREADS": str(n_threads) for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    environment = {**os.environ, **limits, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == [value.hex() for value in expected.values()]
