"""The benchmark of fits on a cluster: a tiny run, and the page made of it. No time is asserted."""

import re

import pytest
from distributed import Client

from aucmax_studies.speed import dask_cluster as scale

TINY = ["--rows", "2000", "--columns", "3", "--partitions", "4", "--workers", "2"]


@pytest.mark.filterwarnings("ignore:The cross-validated AUC is highest")
def test_a_tiny_run_measures_everything_and_writes_the_page(tmp_path, monkeypatch, cluster):
    monkeypatch.setattr(scale, "cluster", lambda n_workers: Client(cluster))
    monkeypatch.setattr(scale, "REPEATS", 1)
    monkeypatch.setattr(scale, "TINY_PARTITIONS", 10)
    monkeypatch.setattr(scale, "SENT_BYTES", 1 << 20)
    page = tmp_path / "scale.md"
    page.write_text("before\n<!-- made by `make study NAME=dask` -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    scale.main([*TINY, "--write", str(page)])
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert float(re.search(r"differ from those of memory by at most (\S+)\.\n", text).group(1)) < 1e-10
    tables = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    (fit,) = (cells for cells in tables if cells[0] == "cluster of 2")
    passes, tasks = int(fit[4]), int(fit[5])
    # Each partition has one task in each pass, and a look at its labels. A pass has a merge and the job that is sent,
    # the first one a look at the columns and the list of all looks. Dask may run a task twice where workers steal work.
    least = 4 * (passes + 1) + 2 * passes + 2
    assert least <= tasks < least + 4
    assert f"makes {passes - 1} passes, and one over the labels" in text  # the rare rows are not gathered
    assert [cells[0] for cells in tables][-2:] == ["1e+09", "1e+11"]


def test_what_is_on_paper_grows_with_the_rows():
    rates = scale.Rates(passes=2, row=1e-6, partition=1e-3, summary=1e8, bandwidth=1e9)
    *_, table, even = scale.on_paper(rates)
    billion, more = (line.split("|")[2:5] for line in table.splitlines()[2:])
    assert [float(cell) for cell in billion] == [20.0, 2.0, 3.0]  # 1,000 partitions
    assert [float(cell.replace(",", "")) for cell in more] == [2000.0, 200.0, 300.0]
    assert table.endswith("reading and summing |")
    assert "from 667 workers on" in even
