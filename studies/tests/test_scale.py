"""The study of fits on a cluster: what larger data would take."""

from aucmax_studies.speed import dask_cluster as scale


def test_what_is_on_paper_grows_with_the_rows():
    rates = scale.Rates(passes=2, row=1e-6, partition=1e-3, summary=1e8, bandwidth=1e9)
    *_, table, even = scale.on_paper(rates)
    billion, more = (line.split("|")[2:5] for line in table.splitlines()[2:])
    assert [float(cell) for cell in billion] == [20.0, 2.0, 3.0]  # 1,000 partitions
    assert [float(cell.replace(",", "")) for cell in more] == [2000.0, 200.0, 300.0]
    assert table.endswith("reading and summing |")
    assert "from 667 workers on" in even
