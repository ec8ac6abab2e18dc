"""What a fit will need is known before it starts."""

import importlib
import json
import os
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from aucmax import NASAM, NBAM, NPSAM, NSOLAM, SOLAM, AUCClassifier, KMeansNystroem, OPAUCf
from aucmax.cli.options import FITTED
from aucmax.papers import kernel_pipelines, nystroem, opauc_pipelines
from aucmax.papers.kernel_pipelines import ColumnScaler
from aucmax.papers.opauc_pipelines import LimitedPCA, LimitedProjection, LimitedSVD
from aucmax.rows import machine as machine_memory
from aucmax.rows.machine import LEAST_VECTORS, NEWTON_VECTORS, SEARCH_VECTORS, check_columns, usable_memory
from aucmax.search import pool

TOLD = r"A fit to 1,000,000 columns takes 0\.1 GB or more, but this process may use 0\.0 GB: leave out columns\."


@pytest.fixture
def little(monkeypatch):
    importlib.import_module("aucmax.cli.fit")  # which takes the function over when it is first imported
    monkeypatch.setattr(machine_memory, "usable_memory", lambda: 10**7)


@pytest.mark.linux
def test_usable_memory_counts_a_limit_of_the_process():
    code = """
import resource
from aucmax.rows.machine import usable_memory
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, resource.RLIM_INFINITY))
print(usable_memory())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 3 << 30
    assert usable_memory() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_memory_limit_counts_the_vectors(monkeypatch):
    monkeypatch.setattr(machine_memory, "usable_memory", lambda: 10**8)
    check_columns(10**8 // (8 * LEAST_VECTORS))
    with pytest.raises(MemoryError, match="A fit to 781,251 columns"):
        check_columns(10**8 // (8 * LEAST_VECTORS) + 1)


@pytest.mark.parametrize("clf", [AUCClassifier(), AUCClassifier(alpha=1), SOLAM()], ids=str)
def test_memory_check_refuses_wide_rows_before_the_fit(clf, little):
    X = sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 1, 2, 10**6 - 1])), shape=(4, 10**6))
    with pytest.raises(MemoryError, match=f"^{TOLD}$"):
        clf.fit(X, [0, 1, 0, 1])


STEPS = {
    ColumnScaler(with_mean=False): "A fit to 100,000,000 columns takes 12.8 GB or more, {}: leave out columns.",
    KMeansNystroem(3): "KMeansNystroem with 3 landmarks on 100,000,000 columns takes 9.6 GB or more, {}: take fewer "
    "landmarks, or leave out columns.",
    OPAUCf(9)["select"]: "SelectKBest with k=9 on 100,000,000 columns takes 2.4 GB or more, {}: leave out columns.",
    LimitedProjection(9): "GaussianRandomProjection with n_components=9 on 100,000,000 columns takes 14.4 GB or more, "
    "{}: take fewer components, or leave out columns.",
    LimitedPCA(9): "PCA with n_components=3 on 100,000,000 columns takes 8.8 GB or more, {}: take fewer components, or "
    "leave out columns.",
    LimitedSVD(30): "TruncatedSVD with n_components=30 on 100,000,000 columns takes 72.0 GB or more, {}: take fewer "
    "components, or leave out columns.",
}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_the_steps_of_pipelines_are_refused_before_they_allocate(step, little):
    X = sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 1, 2, 10**8 - 1])), shape=(4, 10**8))
    told = STEPS[step].format("but this process may use 0.0 GB")
    with pytest.raises(MemoryError, match=f"^{re.escape(told)}$"):
        step.fit_transform(X, [0, 1, 0, 1])


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_the_steps_of_pipelines_take_lists_and_refuse_vectors(step):
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        clone(step).fit(np.arange(4.0), [0, 1, 0, 1])
    few = {"k": 1, "n_components": 1}
    step = clone(step).set_params(**{name: n for name, n in few.items() if name in step.get_params()})
    assert len(step.fit_transform([[1.0, 2], [2, 1], [3, 5], [4, 4]], [0, 1, 0, 1])) == 4


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_the_steps_of_pipelines_take_no_less_than_they_say(step, monkeypatch):
    X = sparse.random_array((20, 50_000), density=1e-3, format="csr", rng=np.random.default_rng(0))
    asked = []
    for module in (nystroem, opauc_pipelines):
        monkeypatch.setattr(module, "check_columns", lambda d, n_vectors, *said: asked.append(8 * d * n_vectors))
    monkeypatch.setattr(kernel_pipelines, "check_columns", lambda d: None)  # what all fits take, not the scaler alone
    tracemalloc.start()
    try:
        clone(step).fit_transform(X, np.arange(20) % 2)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert all(0.6 * taken < need < taken for need in asked)


def test_a_blend_and_newtons_method_ask_for_more_than_the_leanest_fit(monkeypatch):
    monkeypatch.setattr(machine_memory, "ALWAYS_AVAILABLE", 0)
    X = sparse.random_array((60, 4000), density=0.01, format="csr", rng=np.random.default_rng(0))
    y, advice = np.arange(60) % 2, "give loss= and alpha=, or leave out columns"
    monkeypatch.setattr(machine_memory, "usable_memory", lambda: 8 * 4000 * NEWTON_VECTORS - 1)
    AUCClassifier("squared", alpha=0.1).fit(X, y)
    with pytest.raises(MemoryError, match=r"^The loss hinge on 4,000 columns takes .*: leave out columns\.$"):
        AUCClassifier("hinge", alpha=0.1).fit(X, y)
    AUCClassifier().fit(X, y)  # few rows are rotated
    monkeypatch.setattr(machine_memory, "usable_memory", lambda: 8 * 4000 * SEARCH_VECTORS - 1)
    monkeypatch.setattr(pool, "MAX_ROTATED", 50)
    with pytest.raises(MemoryError, match=rf"^A search on 4,000 columns takes .*: {advice}\.$"):
        AUCClassifier().fit(X, y)


@pytest.mark.linux
def test_usable_memory_counts_address_space_that_is_taken():
    code = """
import resource
from aucmax.rows.machine import address_space, usable_memory
resource.setrlimit(resource.RLIMIT_AS, (address_space() + (1 << 30), resource.RLIM_INFINITY))
print(usable_memory())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) <= 1 << 30


@pytest.mark.linux
def test_blas_takes_its_buffers_while_there_is_room_or_says_that_there_is_none():
    """Without them it would try for ever, and end with no signal but SIGKILL."""
    code = """
import resource, sys
import numpy as np, scipy.linalg
from aucmax.rows.machine import address_space, reserve_blas
room = lambda megabytes: resource.setrlimit(resource.RLIMIT_AS, (address_space() + (megabytes << 20), hard))
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
A = np.eye(100)
room(20)
try:
    reserve_blas()
except MemoryError as error:
    print(error)
room(3000)
reserve_blas()
room(4)
print((A @ A).sum(), scipy.linalg.solve(A, A).sum())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    refused, products = done.stdout.splitlines()
    assert re.match(r"The limit on the address space leaves \d+ MB, and the buffers of BLAS take", refused)
    assert products == "100.0 100.0"


def test_a_limit_on_the_address_space_has_blas_take_its_buffers(refused, monkeypatch):
    monkeypatch.setattr("aucmax.cli.app.has_limit", lambda: True)
    monkeypatch.setattr(machine_memory, "usable_memory", lambda: 10 << 20)
    assert refused("fit", "nothing.csv").startswith("The limit on the address space leaves 10 MB, and the buffers of")


@pytest.mark.parametrize("options", [[], ["--checkpoint", "c"], ["--algorithm", "SOLAM"]], ids=str)
def test_fit_names_the_largest_index_and_its_line(refused, little, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.libsvm").write_text("1 1:1\n0 2:1\n# 1000000:1\n1 3:1 1000000:1\n0 1000000:1\n", encoding="utf-8")
    told = refused("fit", "rows.libsvm", "-o", "m", "-q", *options)
    expected = TOLD.replace("\\", "")
    assert told == f"rows.libsvm: {expected} The largest index, 1000000, is in line 4 of rows.libsvm."


@pytest.mark.parametrize("name", ["NSOLAM", "NBAM", "OPAUCf", "OPAUCrp", "OPAUCpca"])
def test_few_rows_are_read_at_once_however_little_memory_is_left(refused, little, tmp_path, monkeypatch, name):
    """The interpreter is there already: the rows are not too many, but too wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("aucmax.cli.commands.fit.default_memory", lambda: 10**8)
    (tmp_path / "rows.libsvm").write_text("1 1:1\n0 2:1\n1 3:1 30000000:1\n0 1:1\n", encoding="utf-8")
    told = refused("fit", "rows.libsvm", "-o", "m", "-q", "--algorithm", name)
    assert " 30,000,000 columns " in told
    assert told.endswith("The largest index, 30000000, is in line 3 of rows.libsvm.")


def test_a_state_that_is_too_wide_for_the_memory_that_is_named_names_the_index(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.libsvm").write_text("1 1:1\n0 2:1\n1 3:1 100000:1\n0 1:1\n", encoding="utf-8")
    told = refused("fit", "rows.libsvm", "-o", "m", "-q", "--memory", "300MB", "--algorithm", "OPAUCr")
    assert "100,000 columns" in told
    assert "raise --memory" in told
    assert told.endswith("The largest index, 100000, is in line 3 of rows.libsvm.")


def test_rows_that_do_not_fit_into_the_default_memory_tell_what_they_take(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("aucmax.cli.commands.fit.default_memory", lambda: 10**3)
    (tmp_path / "rows.libsvm").write_text("1 1:1\n0 2:1\n1 3:1\n0 1:1\n", encoding="utf-8")
    told = refused("fit", "rows.libsvm", "-o", "m", "-q", "--algorithm", "NSOLAM")
    assert told.startswith("rows.libsvm: NSOLAM needs all rows in memory, about ")
    assert "but by default a fit takes no more than 1 kB: take AUCClassifier or an online algorithm, or raise" in told


LITTLE_ADDRESS_SPACE = """
import contextlib, io, json, resource, sys
from aucmax.cli.app import main
from aucmax.cli.options import FITTED
from aucmax.cli.fit import make_estimator
from aucmax.rows.machine import address_space

for name in FITTED:
    make_estimator(name, 0, is_table=False, by_blocks=False)  # imports its module
names, paths, more = json.loads(sys.argv[1])
limit = address_space() + more
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in paths:
    for name in names:
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                main(["fit", path, "--algorithm", name, "--memory", "9GB", "-o", "m", "--force", "-q"])
        except SystemExit as leaving:
            print(json.dumps([path, name, leaving.code, said.getvalue()]))
"""


# Algorithms that hold no more for each column than the leanest fit: only the widest rows are refused.
LEAN = {
    *("AUCClassifier", "OPAUCf", "SOLAM", "RegSOLAM", "SPAM", "SPAMl1", "SPAMl1l2", "FSAUC", "SPDAM", "SHTAUC"),
    *("StoIHT", "HSGHT", "ASAM", "PSAM", "UniSqu", "UniExp", "UniLog", "OAM", "OAMgra", "CBRdiag", "BAM", "SVMPerf"),
    *("SVMOR", "LSSVM", "PairwiseDescent", "PairwiseDescentLog", "LogisticDescent"),
}
OF_INDICES = [name for name in FITTED if name != "TableClassifier"]  # which takes tables alone


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "indices", "memory"),
    [
        (OF_INDICES, [3 * 10**7, 10**8], 1 << 29),
        ([name for name in OF_INDICES if name not in LEAN], [10**6], 2 << 30),  # own state too large
    ],
    ids=["all", "own state"],
)
def test_algorithms_refuse_an_enormous_index(tmp_path, names, indices, memory):
    for index in indices:
        others = "".join(f"{i % 2} 1:1 {i + 2}:1\n" for i in range(500))  # more than there are landmarks
        (tmp_path / str(index)).write_text(f"1 1:1 3:2\n0 2:1 {index}:1\n{others}")
    asked = json.dumps([names, [str(index) for index in indices], memory])
    command = [sys.executable, "-c", LITTLE_ADDRESS_SPACE, asked]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=900)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for _, name, _, _ in found] == len(indices) * names
    for index, name, status, said in found:
        assert status == 2, (index, name, said)
        assert "Unable to allocate" not in said
        assert said.endswith(f" The largest index, {index}, is in line 2 of {index}.\n"), (name, said)


@pytest.mark.parametrize("make", [NSOLAM, NASAM, NPSAM, NBAM])
def test_kernel_pipelines_refuse_rows_too_wide_for_their_landmarks(make, monkeypatch):
    monkeypatch.setattr(machine_memory, "usable_memory", lambda: 2 * 10**8)  # the scaler takes less
    X = sparse.csr_array((np.ones(10), (range(10), [*range(9), 10**6 - 1])), shape=(10, 10**6))
    told = "KMeansNystroem with 9 landmarks on 1,000,000 columns takes 0.3 GB or more"
    with pytest.raises(MemoryError, match=f"^{told}"):
        make(9).fit(X, np.arange(10) % 2)
