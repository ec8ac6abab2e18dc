"""A short fixed run of the study `fuzz`."""

import itertools
import math
import random

import pytest

from aucmax_studies.fuzz import fuzz as run_fuzz
from aucmax_studies.fuzz import isolation
from aucmax_studies.fuzz.fuzz import fuzz
from aucmax_studies.fuzz.isolation import Outcome, run_cases

pytest.importorskip("pandas")


@pytest.mark.parametrize(("kind", "n_cases"), [("readers", 200), ("models", 40)])
def test_nothing_is_found_in_the_first_cases(kind, n_cases):
    kept = {"next seed": 0, "counts": {}, "wrong": [], "mended": []}
    assert len(list(fuzz(kind, kept, seconds=math.inf, most=n_cases))) == kept["next seed"] == n_cases
    assert kept["wrong"] == []
    assert kept["counts"]["read"] > 5
    assert kept["counts"]["refused"] > 5


def test_rows_with_an_enormous_index_are_compared_as_they_are():
    found = run_cases(run_fuzz.KINDS["readers"], 677945, seconds=math.inf, most=1)  # 10^9 columns
    assert list(found) == [Outcome(677945, "read")]


def test_some_cases_are_read_in_several_threads(monkeypatch):
    import pyarrow.csv

    from aucmax_studies.fuzz import reader_cases

    make, threaded = pyarrow.csv.ReadOptions, []
    monkeypatch.setattr(
        pyarrow.csv, "ReadOptions", lambda **options: threaded.append(options["use_threads"]) or make(**options)
    )
    monkeypatch.setattr(reader_cases, "LONG_SHARE", 1)
    seed = next(seed for seed in itertools.count() if random.Random(seed).choice(reader_cases.FORMATS) == "csv")
    assert reader_cases.run_case(seed) in ("read", "refused")
    assert any(threaded)


BAD_CASES = """
import os, time
def run_case(seed):
    if seed == 1:
        os.abort()
    if seed == 3:
        time.sleep(60)
    if seed == 5:
        bytearray(1 << 40)
    return "read"
"""


def test_a_case_that_dies_hangs_or_takes_too_much_memory_is_found(tmp_path, monkeypatch):
    (tmp_path / "bad_cases.py").write_text(BAD_CASES, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(isolation, "PATIENCE", 1)
    found = list(run_cases("bad_cases", 0, seconds=math.inf, most=7))
    assert [outcome.seed for outcome in found] == list(range(7))
    assert [outcome.seed for outcome in found if outcome.is_wrong] == [1, 3, 5]
    assert found[1].verdict.startswith("wrong: ended with status -6")
    assert found[3] == Outcome(3, "wrong: hung for 1 s")
    assert found[5].verdict.startswith("wrong: MemoryError")


def test_cases_that_were_mended_go_to_another_list(monkeypatch):
    begun = []

    def run_fake(kind, first, seconds, most):
        begun.append((first, most))
        return [Outcome(seed, "wrong: still" if seed == 7 else "read") for seed in range(first, first + most)]

    monkeypatch.setattr(run_fuzz, "run_cases", run_fake)
    wrong = [[9, "a"], [5, "b"], [6, "c"], [7, "d"]]
    kept = {"next seed": 100, "counts": {"read": 96, "wrong": 4}, "wrong": wrong, "mended": [[2, "e"]]}
    run_fuzz.run_again("readers", kept)
    mended = [[2, "e"], [5, "b"], [6, "c"], [9, "a"]]
    assert kept == {
        "next seed": 100,
        "counts": {"read": 99, "wrong": 1},
        "wrong": [[7, "wrong: still"]],
        "mended": mended,
    }
    assert begun == [(5, 3), (9, 1)]
