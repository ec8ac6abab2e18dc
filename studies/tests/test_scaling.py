"""The benchmark of scaling: slopes, kept results and the page made from them. No time is asserted."""

import json
import math
import os
import re

import numpy as np
import pytest

from aucmax import AUCClassifier
from aucmax_studies.speed import growth as scaling
from aucmax_studies.speed.growth import SERIES, Results, run, slope, write_page


def keep_power_laws(path):
    results = Results(path)
    results.kept["cells"] = [
        {"series": name, "method": method, "size": size, "seconds": [size**1.5 / 1e6], "bytes": 10**6 * size}
        for name, series in SERIES.items()
        for method in series.methods
        for size in series.sizes
    ]
    path.write_text(json.dumps(results.kept), encoding="utf-8")
    return Results(path)


@pytest.fixture
def measured(monkeypatch):
    """Count the fits instead of measuring them; those of OPAUC take too long from 30,000 rows on."""
    done = []

    def measure(folder, method, limit):
        n_rows = len(scaling.load(folder)[1])
        done.append((method, n_rows))
        if method == "OPAUC" and n_rows >= 30_000:
            return {"seconds": None, "ended": f"> {limit:g}"}
        return {"seconds": [3.0, 1.0, 2.0], "bytes": 5 * 10**6}

    monkeypatch.setattr(scaling, "measure_apart", measure)
    return done


# Slopes


@pytest.mark.parametrize("exponent", [0, 0.5, 1, 2, -1])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_slope_of_a_power_law_is_its_exponent(exponent, n):
    sizes = [10 * 3**k for k in range(n)]
    assert slope(sizes, [7.0 * size**exponent for size in sizes]) == pytest.approx(exponent, abs=1e-12)


def test_slope_is_of_the_upper_half():
    sizes = [1, 10, 100, 1000, 10_000]
    assert slope(sizes, [5, 3, 1, 10, 100]) == pytest.approx(1)
    assert slope(sizes, [5, 1, 1, 20, 1000]) == pytest.approx(1.5)


def test_values_that_lie_on_no_line_have_no_slope():
    assert slope([1, 10, 100], [1, 1.7, 1]) == pytest.approx(math.log10(1 / 1.7))  # two points are always on a line
    assert math.isnan(slope([1, 10, 100, 1000, 10_000], [1, 1, 1, 30, 1]))


def test_one_point_has_no_slope():
    assert math.isnan(slope([10], [1.0]))
    assert math.isnan(slope([], []))


# The data


def test_dense_rows_are_what_the_page_says(tmp_path):
    scaling.write_dense(tmp_path, 150_000, 6)  # more than a block
    X, y = scaling.load(tmp_path)
    assert X.dtype == np.float64
    assert y.mean() == pytest.approx(scaling.POSITIVE, abs=0.003)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(X.std(axis=0), 1, atol=0.02)
    assert np.abs(np.corrcoef(X.T) - np.eye(6)).max() > 0.4
    assert AUCClassifier("squared", alpha=0).fit(X, y).score(X, y) == pytest.approx(scaling.BEST_AUC, abs=0.005)


def test_sparse_rows_are_what_the_page_says(tmp_path):
    scaling.write_sparse(tmp_path, 4000, 1000)
    X, y = scaling.load(tmp_path)
    assert X.shape == (4000, 1000)
    assert X.has_canonical_format
    assert X.indices.dtype == np.int32
    assert 40 < X.nnz / 4000 < 60
    np.testing.assert_allclose((X * X).sum(axis=1), 1)
    by_rank = np.diff(X.tocsc().indptr)
    assert by_rank[:10].sum() > 5 * by_rank[100:110].sum() > 0
    half = AUCClassifier("squared", alpha=1).fit(X[:2000], y[:2000])
    assert 0.6 < half.score(X[2000:], y[2000:]) < 0.99


# A run


def test_a_stopped_run_resumes(tmp_path, measured, monkeypatch):
    path = tmp_path / "results" / "scaling.json"
    sizes = {"rows": [100, 200]}
    run(Results(path), {"rows": [100]})
    first = len(measured)
    assert first == len(SERIES["rows"].methods)
    run(Results(path), sizes)
    assert [n_rows for _, n_rows in measured[first:]] == [200] * first
    assert len(json.loads(path.read_text(encoding="utf-8"))["cells"]) == 2 * first
    run(Results(path), sizes)
    assert len(measured) == 2 * first
    run(Results(path, fresh=True), sizes)
    assert len(measured) == 4 * first


def test_each_cell_is_kept_before_the_next(tmp_path, measured, monkeypatch):
    path = tmp_path / "scaling.json"
    measure = scaling.measure_apart

    def stopped(folder, method, limit):
        if method == "PSAM":
            raise KeyboardInterrupt
        return measure(folder, method, limit)

    monkeypatch.setattr(scaling, "measure_apart", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(Results(path), {"rows": [100]})
    assert [cell["method"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]] == [
        "exact fit",
        "squared hinge",
    ]
    monkeypatch.setattr(scaling, "measure_apart", measure)
    run(Results(path), {"rows": [100]})
    assert [method for method, _ in measured] == list(SERIES["rows"].methods)


def test_series_stops_after_a_fit_that_took_too_long(tmp_path, measured):
    path = tmp_path / "scaling.json"
    sizes = {"rows": [100, 30_000, 40_000]}
    run(Results(path), sizes)
    assert [n_rows for method, n_rows in measured if method == "OPAUC"] == [100, 30_000]
    assert [n_rows for method, n_rows in measured if method == "PSAM"] == sizes["rows"]
    measured.clear()
    run(Results(path), sizes)
    assert measured == []
    write_page(Results(path), tmp_path / "page.md")
    columns = [
        row.split(" | ")[4]
        for row in (tmp_path / "page.md").read_text(encoding="utf-8").splitlines()
        if row.startswith("| ")
    ]
    assert columns == ["OPAUC", "2.00", "> 60", "", "none", "OPAUC", "5", "", "", "none"]


def test_results_of_another_machine_are_not_continued(tmp_path, measured, monkeypatch):
    path = tmp_path / "scaling.json"
    run(Results(path), {"rows": [100]})
    monkeypatch.setattr(scaling, "environment", lambda: {"versions": "Python 4", "machine": "another"})
    measured.clear()
    run(Results(path), {"rows": [100]})  # nothing is left to measure
    with pytest.raises(ValueError, match=r"scaling.json was measured with aucmax .* again with --fresh\.$"):
        run(Results(path), {"rows": [100, 200]})
    assert measured == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": []}'])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"other\.json holds no results of this benchmark"):
        Results(path)
    assert path.read_text(encoding="utf-8") == text


def test_failure_of_a_fit_is_told(tmp_path):
    with pytest.raises(RuntimeError, match=r"^exact fit failed: KeyError: 'data'$"):
        scaling.measure_apart(tmp_path, "exact fit", 60)  # there are no rows in the folder


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the system cannot lower the mark")
def test_memory_is_that_since_the_mark_was_lowered():
    held = np.ones(10**7)
    del held
    scaling.lower_water()
    before = scaling.high_water()
    held = np.ones(4 * 10**6)
    del held
    assert scaling.high_water() - before == pytest.approx(32e6, rel=0.1)


# The page


def test_page_from_a_kept_file(tmp_path):
    results = keep_power_laws(tmp_path / "scaling.json")
    write_page(results, tmp_path / "scaling.md")
    page = (tmp_path / "scaling.md").read_text(encoding="utf-8")
    kept = results.kept
    assert f"Measured on {kept['date']}: {kept['machine']}; {kept['versions']}." in page
    slopes = [set(row.split(" | ")[1:]) for row in page.splitlines() if row.startswith("| slope")]
    assert slopes == [{"1.50", "1.50 |"}, {"1.00", "1.00 |"}] * len(SERIES)
    assert "| 10,000 | 1.00 | 1.00 |" in page
    assert "| 10,000 | 10,000 | 10,000 |" in page
    figures = re.findall(r"\]\((.*)\)", page)
    assert figures == [f"scaling-{name}.svg" for name in SERIES]
    for figure in figures:
        svg = (tmp_path / figure).read_text(encoding="utf-8")
        assert [svg.count(f">{method}<") for method in SERIES[figure[8:-4]].methods] == [1] * 5


@pytest.mark.parametrize(("exponent", "text"), [(-0.75, "\N{MINUS SIGN}0.75"), (-0.001, "0.00"), (2, "2.00")])
def test_slopes_as_text(exponent, text):
    assert scaling.slope_text([1, 10, 100], [1.0, 10.0**exponent, 100.0**exponent]) == text


def test_median_counts_and_small_memory_is_a_megabyte():
    cell = {"seconds": [3.0, 1.0, 2.0], "bytes": 1000}
    assert [quantity.text(cell) for quantity in scaling.QUANTITIES] == ["2.00", "< 1"]
    assert [quantity.value(cell) for quantity in scaling.QUANTITIES] == [2, 1]
