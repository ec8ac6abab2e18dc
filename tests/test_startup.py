"""What a process pays before its first result: imports, compilation, threads."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numba
import numpy as np
import pytest
import threadpoolctl

import aucmax
from aucmax import _compat as jit
from aucmax.rows.machine import map_spans, map_threads, one_blas_thread

FITS = """
import sys
import numpy as np
from numba.core.registry import CPUDispatcher
from scipy import sparse
from aucmax import SOLAM, AUCClassifier, roc_auc
rng = np.random.default_rng(0)
y = np.arange(40_000) % 2
roc_auc(y, rng.random(40_000))
roc_auc(y, rng.random(40_000), rng.random(40_000))
for dtype in (np.float32, np.float64):
    AUCClassifier().fit(sparse.random_array((500, 60), density=0.05, format="csr", rng=rng, dtype=dtype), y[:500])
for rows in (rng.random((50, 3)), sparse.random_array((50, 3), density=0.5, format="csr", rng=rng)):
    SOLAM().fit(rows, y[:50])
ours = [module for name, module in sys.modules.items() if name.startswith("aucmax.")]
kernels = {kernel for module in ours for kernel in vars(module).values() if isinstance(kernel, CPUDispatcher)}
assert len(kernels) > 5
print(sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels))
"""


def run(code, **environment):
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return result.stdout.split()


def test_import_loads_nothing_and_fit_in_memory_no_other_place():
    libraries = ("numpy", "scipy", "sklearn", "numba", "dask", "torch", "cupy")
    heavy = f"[name for name in {libraries} if name in sys.modules]"
    assert run(f"import sys, aucmax; print({heavy})") == ["[]"]
    fit = "AUCClassifier('squared').fit([[0.0], [1], [2], [3]] * 5, [0, 0, 1, 1] * 5).predict_proba([[1.0]])"
    loaded = run(f"import sys; from aucmax import AUCClassifier; {fit}; print({heavy})")
    assert " ".join(loaded) == "['numpy', 'scipy', 'sklearn', 'numba']"


def test_cli_import_loads_nothing_heavy():
    heavy = "[name for name in ('numpy', 'scipy', 'sklearn', 'numba', 'pyarrow', 'jinja2') if name in sys.modules]"
    assert run(f"import sys, aucmax.cli.app; print({heavy})") == ["[]"]


@pytest.mark.slow
def test_kernels_are_cached_for_a_second_process(tmp_path):
    first, second = (int(run(FITS, NUMBA_CACHE_DIR=str(tmp_path))[0]) for _ in range(2))
    assert first > 0
    assert second == 0


def test_without_a_folder_for_the_cache_kernels_are_compiled_in_memory(monkeypatch):
    def njit(**options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return numba.njit(**options)

    monkeypatch.setattr(jit, "numba", SimpleNamespace(njit=njit))
    assert jit.jit(lambda x: x + 1)(1) == 2


def test_public_names_are_found_in_the_package():
    for name in aucmax.__all__:
        assert getattr(aucmax, name) is not None
    assert set(aucmax.__all__) == set(dir(aucmax))
    assert run("import aucmax; print(aucmax.metrics.roc_auc([0, 1], [0, 1]))") == ["1.0"]
    with pytest.raises(AttributeError, match=r"^module 'aucmax' has no attribute 'AUCClasifier'$"):
        aucmax.AUCClasifier  # noqa: B018


def blas_threads():
    return {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}


def test_one_blas_thread_gives_threads_back_when_holders_overlap():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            1 / 0  # noqa: B018
        assert blas_threads() == before


def test_fits_in_several_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 10))
    y = (X[:, 0] + rng.standard_normal(20_000) > 1).astype(int)
    before = blas_threads()
    alone = aucmax.AUCClassifier().fit(X, y).coef_
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: aucmax.AUCClassifier().fit(X, y).coef_, range(8)))
    for coef in together:
        np.testing.assert_allclose(coef, alone, rtol=1e-12)
    assert blas_threads() == before


def test_map_threads_keeps_order_and_map_spans_covers_the_rows():
    with threadpoolctl.threadpool_limits(4, user_api="blas"):
        assert list(map_threads(lambda x: x * x, range(20))) == [x * x for x in range(20)]
        for n_rows in (1, 7, 100, 12_345):
            spans = list(map_spans(lambda span: span, n_rows, 10, 5))
            np.testing.assert_array_equal(np.concatenate([np.arange(n_rows)[s] for s in spans]), np.arange(n_rows))
    with pytest.raises(ZeroDivisionError):
        list(map_threads(lambda x: 1 // x, [1, 0]))


def test_cli_without_typer_names_the_extra():
    code = "import sys; sys.modules['typer'] = None; from aucmax.__main__ import run; run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    told = "aucmax: the command line needs typer and rich: pip install 'aucmax[cli]'\n"
    assert (done.returncode, done.stderr) == (2, told)


def test_a_fit_without_array_api_compat():
    code = "import sys; sys.modules['array_api_compat'] = None; from aucmax import AUCClassifier, roc_auc_ci; "
    code += "import numpy as np; X = np.arange(20.0)[:, None]; clf = AUCClassifier().fit(X, X[:, 0] > 9); "
    code += "print(roc_auc_ci(X[:, 0] > 9, clf.decision_function(X)).auc)"
    assert run(code) == ["1.0"]
