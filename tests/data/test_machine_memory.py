"""What a fit will need is known before it starts."""

import importlib
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from aucmax import SOLAM, AUCClassifier
from aucmax.data import machine_memory
from aucmax.data.machine_memory import BLEND_VECTORS, LEAST_VECTORS, NEWTON_VECTORS, check_columns, usable_memory
from aucmax.selection import candidates, cross_validation

TOLD = r"A fit to 1,000,000 columns takes 0\.1 GB or more, but this process may use 0\.0 GB: leave out columns\."


@pytest.fixture
def little(monkeypatch):
    importlib.import_module("aucmax.cli.fit_file")  # which takes the function over when it is first imported
    monkeypatch.setattr(machine_memory, "usable_memory", lambda: 10**7)


@pytest.mark.linux
def test_a_lower_limit_of_the_process_counts():
    code = """
import resource
from aucmax.data.machine_memory import usable_memory
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, resource.RLIM_INFINITY))
print(usable_memory())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 3 << 30
    assert usable_memory() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_the_limit_is_that_of_the_vectors(monkeypatch):
    monkeypatch.setattr(machine_memory, "usable_memory", lambda: 10**8)
    check_columns(10**8 // (8 * LEAST_VECTORS))
    with pytest.raises(MemoryError, match="A fit to 781,251 columns"):
        check_columns(10**8 // (8 * LEAST_VECTORS) + 1)


@pytest.mark.parametrize("clf", [AUCClassifier(), AUCClassifier(alpha=1), SOLAM()], ids=str)
def test_wide_rows_are_refused_before_the_fit(clf, little):
    X = sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 1, 2, 10**6 - 1])), shape=(4, 10**6))
    with pytest.raises(MemoryError, match=f"^{TOLD}$"):
        clf.fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_a_cross_validation_that_keeps_too_many_models_is_refused_before_it_trains(loss, monkeypatch):
    """Ten rounds of five folds and 21 alphas are 1,050 models."""
    X = sparse.random_array((50, 10_000), density=0.01, format="csr", rng=np.random.default_rng(0))
    monkeypatch.setattr(machine_memory, "usable_memory", lambda: 8 * 1050 * 10_000 - 1)
    monkeypatch.setattr(cross_validation, "map_threads", None)
    told = "The cross-validation of 21 alphas on 50 training sets with 10,000 columns takes 0.1 GB or more, but this "
    told += "process may use 0.1 GB: give alpha=, or leave loss= out."
    with pytest.raises(MemoryError, match=f"^{re.escape(told)}$"):
        AUCClassifier(loss).fit(X, np.arange(50) % 2)


def test_a_blend_and_newtons_method_ask_for_more_than_the_leanest_fit(monkeypatch):
    monkeypatch.setattr(machine_memory, "SURE", 0)
    X = sparse.random_array((60, 4000), density=0.01, format="csr", rng=np.random.default_rng(0))
    y, advice = np.arange(60) % 2, "give loss= and alpha=, or leave out columns"
    monkeypatch.setattr(machine_memory, "usable_memory", lambda: 8 * 4000 * NEWTON_VECTORS - 1)
    AUCClassifier("squared", alpha=0.1).fit(X, y)
    with pytest.raises(MemoryError, match=r"^The loss hinge on 4,000 columns takes .*: leave out columns\.$"):
        AUCClassifier("hinge", alpha=0.1).fit(X, y)
    AUCClassifier().fit(X, y)  # few rows are rotated
    monkeypatch.setattr(machine_memory, "usable_memory", lambda: 8 * 4000 * BLEND_VECTORS - 1)
    monkeypatch.setattr(candidates, "MAX_ROTATED", 50)
    with pytest.raises(MemoryError, match=rf"^A blend on 4,000 columns takes .*: {advice}\.$"):
        AUCClassifier().fit(X, y)


@pytest.mark.linux
def test_address_space_that_is_taken_counts():
    code = """
import resource
from aucmax.data.machine_memory import address_space, usable_memory
resource.setrlimit(resource.RLIMIT_AS, (address_space() + (1 << 30), resource.RLIM_INFINITY))
print(usable_memory())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) <= 1 << 30


@pytest.mark.parametrize("options", [[], ["--checkpoint", "c"], ["--algorithm", "SOLAM"]], ids=str)
def test_the_command_names_the_index_and_its_line(refused, little, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.libsvm").write_text("1 1:1\n0 2:1\n# 1000000:1\n1 3:1 1000000:1\n0 1000000:1\n", encoding="utf-8")
    told = refused("fit", "rows.libsvm", "-o", "m", "-q", *options)
    expected = TOLD.replace("\\", "")
    assert told == f"rows.libsvm: {expected} The largest index, 1000000, is in line 4 of rows.libsvm."
