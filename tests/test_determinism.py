"""The same weights to the last bit, however many threads and processes there are."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed

from aucmax import ALGORITHMS, AUCClassifier

RNG = np.random.default_rng(0)
Y = RNG.random(600) < 0.3
X = RNG.standard_normal((600, 9)) + 0.4 * Y[:, None]
MODELS = {
    "blend": AUCClassifier,
    "logistic": lambda: AUCClassifier("logistic", alpha=0.1),
    "OPAUC": lambda: ALGORITHMS["OPAUC"](max_iter=1, random_state=0),
    "NPSAM": lambda: ALGORITHMS["NPSAM"](n_components=20, random_state=0),
}


def weights(name):
    """Return the bytes of the weights of a fit."""
    model = MODELS[name]().fit(X, Y)
    return (model[-1] if hasattr(model, "steps") else model).coef_.tobytes()


@pytest.fixture(scope="module")
def expected():
    return {name: weights(name) for name in MODELS}


def test_in_eight_threads_at_once(expected):
    names = [*MODELS] * 2
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(weights, names)) == [expected[name] for name in names]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_under_joblib(expected, backend):
    found = Parallel(n_jobs=2, backend=backend)(delayed(weights)(name) for name in MODELS)
    assert found == list(expected.values())


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_forked_and_spawned_processes(expected, method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map_async(weights, MODELS).get(timeout=60) == list(expected.values())


@pytest.mark.parametrize("n_threads", [1, 2])
def test_with_one_and_two_threads(expected, n_threads):
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
