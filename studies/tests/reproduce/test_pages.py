"""Pages from results: every figure is there, flags and marks are right, counts add up, the same bytes twice."""

import math
import re

import numpy as np
import pytest
from scipy import stats

from aucmax.papers import PAPERS
from aucmax_studies.reproduce.judging.counts import count_verdicts
from aucmax_studies.reproduce.judging.criterion import OUTCOMES
from aucmax_studies.reproduce.judging.tables import ABSENT, NO_STD, tabulate
from aucmax_studies.reproduce.pages.markdown import NONE
from aucmax_studies.reproduce.pages.pages import COMMAND, write_pages
from aucmax_studies.reproduce.running.store import Grouping, Record, Results, Session, Setting, Store, read_results
from aucmax_studies.reproduce.study import Value
from aucmax_studies.reproduce.study_file import read_study

TABLE = '''
paper = "OPAUC"
label = "Table 9"
title = "A small one"
metrics = ["auc", "accuracy"]
claim = "The first is better."
[protocol]
scaling = "minmax"
folds = 5
repeats = 5
[methods.OPAUC]
method = "OPAUC"
grid = { eta0 = "2^[-12:10]", alpha = "2^[-10:2]" }
[methods."k* _rest_"]
method = "OAM"
grid = { C = "2^[-2:2]" }
[methods.AUCClassifier]
method = "AUCClassifier"
[data.diabetes]
[data.usps]
grouping = "halves"
[data.german]
[data.acoustic]
missing = "Not among the data at hand."
[published]
runs = 25
auc = """
data     | OPAUC       | k* _rest_
diabetes | .8100±.0100 | .7000±.0100•
usps     | .9000±.0100 | .9111±.0100
german   | .7654       | .7550±.0200◦
acoustic | .8192±.0032 | .7113±.0590•
"""
accuracy = """
data     | OPAUC       | k* _rest_
diabetes | .9000±.0100 | .8500
"""
seconds = """
data     | OPAUC | k* _rest_
diabetes | 1234  | 2.5
"""
doubled_error = ["OPAUC"]
[[reasons]]
data = ["german"]
methods = ["k* _rest_"]
text = "The paper's text says otherwise."
run = "diabetes"
'''

CURVE = """
paper = "SHT"
label = "Value 2"
title = "F1 by step"
metrics = ["auc", "f1"]
[methods.OPAUC]
method = "OPAUC"
grid = { eta0 = "2^[-12:10]", alpha = "2^[-10:2]" }
[methods.batch]
method = "AUCClassifier"
constant = true
[data.diabetes]
[data."german | credit"]
[curve]
parameter = "eta0"
values = [0.001, 0.01, 0.1, 1000]
label = "step size"
scale = "log"
"""
TIMES = """
paper = "OPAUC"
label = "Figure 9"
title = "Times"
metrics = ["seconds"]
[methods.OPAUC]
method = "OPAUC"
[methods.OAM]
method = "OAM"
[data.diabetes]
[data.usps]
[data.german]
[data.acoustic]
missing = "Not among the data at hand."
"""
LINES = """
paper = "SHT"
label = "Figure 8"
title = "Data sets as lines"
[protocol]
runs = 2
[methods.SHT]
method = "SHTAUC"
[data."k* = 20, r = 0.1"]
[data."k* = 20, r = 0.5"]
[data."k* = 40, r = 0.1"]
[data."k* = 40, r = 0.5"]
[curve]
parameter = "max_iter"
values = [1, 2]
label = "epochs"
"""
REST = "k* _rest_"
SESSION = Session("2026-11-14", "A processor, 2 cores", {"aucmax": "0.1.0", "numpy": "2.4.6"}, 1, "standard")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def table_study(folder):
    return write_study(folder, "opauc-table-9", TABLE)


@pytest.fixture(scope="module")
def curve_study(folder):
    return write_study(folder, "sht-figure-9", CURVE)


@pytest.fixture(scope="module")
def pages(folder, table_study, curve_study):
    return make(folder, [table_study, curve_study], [table_entries(), curve_entries()])


def write_study(folder, name, text):
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return read_study(path)


def records(data, method, values, metric="auc", **more):
    return [Record(data, method, run, metrics={metric: value, **more}) for run, value in enumerate(values)]


def spread(mean, std):
    """Two runs of this mean and standard deviation."""
    return [mean - std, mean + std]


def cells(study, found, **more):
    return tabulate(study, Results(found, more.get("settings", {}), more.get("groupings", {}), [])).cells


def save(folder, study, entries):
    with Store(folder / f"{study.name}.jsonl") as store:
        for entry in entries:
            store.add(entry)


def table_entries():
    """Results of the table with something of everything."""
    rng = np.random.default_rng(0)
    entries = [SESSION]
    for data, mean in (("diabetes", 0.81), ("usps", 0.95), ("german", 0.76)):
        entries.append(Setting(data, 4000, 8, 0.35, 5000, 5, 60, 1065))
        for k, method in enumerate(("OPAUC", REST, "AUCClassifier")):
            if (data, method) == ("german", "OPAUC"):
                entries += [Record(data, method, run, failure="The steps | diverged.") for run in range(5)]
            else:
                for run, noise in enumerate(rng.normal(0, 0.003, 5)):
                    auc = mean - 0.05 * k + noise
                    measured = {"auc": auc, "accuracy": auc - 0.1, "seconds": 0.25 * (k + 1)}
                    entries.append(Record(data, method, run, metrics=measured))
    return [*entries, Setting("acoustic", missing="Not there."), Grouping("usps", 126, 0.88, 0.93, 0.96, 0.95)]


def curve_entries(effort="standard"):
    entries = [SESSION._replace(effort=effort)]
    for data in ("diabetes", "german | credit"):
        entries.append(Setting(data, 768, 8, 0.35, 768, 5))
        for run in range(5):
            for k, x in enumerate((0.001, 0.01, 0.1)):
                values = {"auc": 0.7 + 0.03 * k + 0.001 * run, "f1": 0.2 + 0.1 * k}
                entries.append(Record(data, "OPAUC", run, x, values))
            entries.append(Record(data, "OPAUC", run, 1000, failure="The steps diverged."))
            entries.append(Record(data, "batch", run, metrics={"auc": 0.8 + 0.002 * run, "f1": 0.6}))
    return entries


def make(folder, studies, entries):
    for study, of_study in zip(studies, entries, strict=True):
        save(folder / "results", study, of_study)
    return write_pages(folder / "pages", folder / "results", studies)


# The numbers


def test_the_standard_deviation_is_that_of_numpy_and_unknown_for_one_run(table_study):
    values = [0.8, 0.83, 0.79, 0.81]
    cell = cells(table_study, records("diabetes", "OPAUC", values))["diabetes", "OPAUC", "auc"]
    assert cell.measured == Value(np.mean(values), np.std(values))
    assert cell.runs == 4
    single = cells(table_study, records("diabetes", "OPAUC", [0.9]))["diabetes", "OPAUC", "auc"]
    assert single.measured == Value(0.9)
    assert single.difference == pytest.approx(0.09)


def test_times_are_not_judged(table_study):
    cell = cells(table_study, records("diabetes", "OPAUC", [1.0, 1.1], "seconds"))["diabetes", "OPAUC", "seconds"]
    assert cell.published.mean == 1234
    assert cell.measured.mean == pytest.approx(1.05)
    assert cell.judgement is None
    assert cell.verdict == ""


def test_halved_errors_are_doubled_for_accuracies_of_the_methods_named(table_study):
    found = cells(table_study, [])
    doubled, other = (found["diabetes", method, "accuracy"] for method in ("OPAUC", REST))
    assert doubled.published == Value(0.8, 0.02)
    assert doubled.printed == Value(0.9, 0.01)
    assert other.published == Value(0.85)
    assert other.printed is None
    assert found["diabetes", "OPAUC", "auc"].published == Value(0.81, 0.01)


@pytest.mark.parametrize("shift", [-0.02, -0.004, 0.0, 0.004, 0.02])
def test_marks_are_those_of_the_paired_t_test_on_common_runs(table_study, shift):
    rng = np.random.default_rng(1)
    first = rng.normal(0.8, 0.02, 12)
    other = first + shift + rng.normal(0, 0.006, 12)
    shuffled = records("usps", REST, other)[::-1][:10]  # out of order, and without the first two runs
    cell = cells(table_study, [*records("usps", "OPAUC", first), *shuffled])["usps", REST, "auc"]
    test = stats.ttest_rel(first[2:], other[2:])
    expected = "" if test.pvalue >= 0.05 else "•" if test.statistic > 0 else "◦"
    assert cell.measured.mark == expected
    assert cell.runs == 10
    if abs(shift) == 0.02:
        assert expected == ("•" if shift < 0 else "◦")


def test_a_failed_run_leaves_no_mean_but_its_sentence(table_study):
    found = records("diabetes", "OPAUC", [0.81, 0.81, 0.81])
    found[1] = Record("diabetes", "OPAUC", 1, failure="The steps diverged.")
    cell = cells(table_study, found)["diabetes", "OPAUC", "auc"]
    assert cell.measured is None
    assert (cell.verdict, cell.absence) == ("failed", "1 of 3 runs failed: The steps diverged.")
    not_finite = cells(table_study, records("diabetes", "OPAUC", [0.81, math.nan]))["diabetes", "OPAUC", "auc"]
    assert (not_finite.verdict, not_finite.absence) == ("failed", "1 of 2 runs failed: auc is nan.")


def test_a_method_that_failed_is_not_tested_against(table_study):
    found = [*records("diabetes", "OPAUC", [0.9, 0.91, 0.9]), *records("diabetes", REST, [0.7, 0.7, 0.71, 0.7])]
    assert cells(table_study, found)["diabetes", REST, "auc"].measured.mark == "•"
    found.append(Record("diabetes", "OPAUC", 3, failure="No."))
    assert cells(table_study, found)["diabetes", REST, "auc"].measured.mark == ""


def test_the_order_of_the_records_does_not_matter(table_study):
    found = records("diabetes", "OPAUC", [0.1, 0.2, 0.3, 0.4, 0.7])
    assert cells(table_study, found) == cells(table_study, found[::-1])
    found = [Record("diabetes", "OPAUC", run, failure=f"Failure {run}.") for run in range(3)]
    assert cells(table_study, found) == cells(table_study, found[::-1])


def test_missing_data_and_what_was_not_run_are_told_apart(table_study):
    found = cells(table_study, [], settings={"diabetes": Setting("diabetes", missing="It could not be had.")})
    assert found["acoustic", "OPAUC", "auc"].absence == "Not among the data at hand."
    assert found["diabetes", "OPAUC", "auc"].absence == "It could not be had."
    assert [found[data, "OPAUC", "auc"].verdict for data in ("acoustic", "diabetes", "usps")] == [
        "no data",
        "no data",
        "not run",
    ]


def test_the_last_record_of_a_fit_counts(table_study):
    found = [*records("diabetes", "OPAUC", [0.1, 0.1]), *records("diabetes", "OPAUC", [0.81, 0.81])]
    assert cells(table_study, found)["diabetes", "OPAUC", "auc"].measured.mean == pytest.approx(0.81)


# Counts


def test_verdicts_add_up_to_the_published_figures(tmp_path, table_study):
    save(tmp_path, table_study, table_entries())
    table = tabulate(table_study, read_results(tmp_path / "opauc-table-9.jsonl"))
    counts = count_verdicts([table])
    assert counts.total() == 10  # eight AUCs, two accuracies; times are not counted
    assert set(counts) <= {*OUTCOMES, *ABSENT}
    assert (counts["no data"], counts["failed"]) == (2, 1)
    assert count_verdicts([table, table])["failed"] == 2


# The pages


def text_of(pages, name):
    return next(path for path in pages if path.name == name).read_text(encoding="utf-8")


def row_of(page, data, method):
    """Return the cells of a line of the long table."""
    (line,) = (line for line in page.splitlines() if line.startswith(f"| {data} | {method} |"))
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_pages_of_each_paper_an_index_and_figures_are_written(folder, pages):
    figures = [f"figures/{name}.svg" for name in ("opauc-table-9", "sht-figure-9", "measured-against-published")]
    names = ["README.md", "opauc.md", "sht.md", *figures]
    assert [path.relative_to(folder / "pages").as_posix() for path in pages] == names
    assert text_of(pages, "opauc.md").startswith(f"# {PAPERS['OPAUC']}\n")
    for path in pages:
        assert str(folder) not in path.read_text(encoding="utf-8")
    assert sorted(file.name for file in (folder / "pages").rglob("*.*")) == sorted(path.name for path in pages)


def test_a_page_has_every_published_and_every_measured_figure(folder, table_study, pages):
    page = text_of(pages, "opauc.md")
    table = tabulate(table_study, read_results(folder / "results" / "opauc-table-9.jsonl"))
    for (data, method, metric), cell in table.cells.items():
        if metric == "auc" and (cell.published or cell.measured):
            row = row_of(page.split("### accuracy")[0], data, method.replace("*", r"\*").replace("_", r"\_"))
            for figure, shown in ((cell.published, row[2]), (cell.measured, row[3])):
                std = "" if figure is None or figure.std is None else f" ± {figure.std:.4f}"
                assert shown == (f"{figure.mean:.4f}{std}{figure.mark}" if figure else NONE)
            interval = f" ± {cell.judgement.margin:.4f}" if cell.judgement else ""
            difference = NONE if cell.difference is None else f"{cell.difference:+.4f}".replace("-", "\N{MINUS SIGN}")
            assert row[4] == f"{difference}{interval}"
            assert row[5] == (f"{cell.judgement.spread:.4f}" if cell.judgement else NONE)
            assert row[6] == str(cell.runs or NONE)


def test_rows_say_what_is_missing_what_failed_and_how_figures_were_read(pages):
    page, accuracies = text_of(pages, "opauc.md").split("### accuracy")
    assert row_of(page, "acoustic", "OPAUC")[-1] == "Not among the data at hand."
    assert row_of(page, "german", "OPAUC")[-1] == r"5 of 5 runs failed: The steps \| diverged."
    assert row_of(page, "diabetes", "OPAUC")[7] == "0.250 (1,234)"
    assert row_of(accuracies, "diabetes", "OPAUC")[2] == "0.8000 ± 0.0200"
    assert "printed 0.9000 ± 0.0100" in row_of(accuracies, "diabetes", "OPAUC")[-1]
    assert "Measured on: A processor, 2 cores." in page


def test_cells_show_their_verdicts_and_refer_to_reasons_with_what_shows_them(pages):
    page = text_of(pages, "opauc.md").split("### accuracy")
    assert row_of(page[0], "usps", "OPAUC")[-1] == "**better**"
    assert row_of(page[0], "german", r"k\* \_rest\_")[-1] == "**worse** (1)"
    assert row_of(page[0], "diabetes", "OPAUC")[-1] == "agrees"
    assert row_of(page[1], "diabetes", r"k\* \_rest\_")[-1] == f"not decidable: {NO_STD}"
    figures = r"k\\\* \\_rest\\_ on german 0\.\d{4}, published 0\.7550 \(diabetes: 0\.\d{4}, published 0\.7000\)"
    assert re.search(rf"^1\. The paper's text says otherwise\. {figures}\.$", page[1], re.MULTILINE)
    assert (
        "which is not tuned, has 0.9500 with these, and 0.8800 to 0.9600 with 126 other choices (median 0.9300)"
        in page[0]
    )
    assert re.search(r"^\| usps \| \*\*0\.9\d{3}\*\* ▲ \| \*\*0\.\d{4}\*\*• ▼ \|", page[0], re.MULTILINE)
    assert re.search(r"^\| diabetes \| 0\.8\d{3} ✓ \|", page[0], re.MULTILINE)
    assert re.search(r"^\| diabetes \| .* \? \|", page[1], re.MULTILINE), "not decidable"
    assert re.search(r"^\| usps \| 0\.\d{4} □ \|", page[1], re.MULTILINE), "not published"
    assert "? not decidable, □ not published." in page[1]


def test_what_was_measured_otherwise_is_said(pages):
    page = text_of(pages, "opauc.md")
    expected = "4,000 of 5,000 rows, 1 x 5 folds, parameters searched by halving from 1,065 rows"
    assert f"| diabetes | 4,000 | 8 | 0.350 | {expected} |" in page
    scaling = "Columns scaled to [-1, 1] (sparse ones only divided: zeros stay zeros)"
    assert f"{scaling}; 5 x 5 stratified folds; parameters chosen by 5 inner folds." in page
    assert "1 x 5 folds" not in text_of(pages, "sht.md").replace("1 x 5 stratified", "")


def test_the_counts_of_the_index_add_up(tmp_path, folder, table_study, curve_study, pages):
    not_run = table_study._replace(name="opauc-table-10")
    written = write_pages(tmp_path, folder / "results", [table_study, curve_study, not_run])
    index = text_of(written, "README.md")
    assert f"`{COMMAND}`" in index
    assert "| 2026-11-14 | A processor, 2 cores | aucmax 0.1.0, numpy 2.4.6 | 1 |" in index
    table = index.split("## The strict criterion")[1].split("## Machines")[0]
    rows = [line.split("|")[2:-1] for line in table.splitlines() if line.startswith(("| [", "| **all"))]
    counts = np.array([[int(cell.strip() or 0) for cell in row] for row in rows])
    np.testing.assert_array_equal(counts[:-1].sum(axis=0), counts[-1])
    fits, published, verdicts = counts[:, 0], counts[:, 1], counts[:, 2:]
    assert fits.tolist() == [45, 50, 0, 95]
    np.testing.assert_array_equal(verdicts.sum(axis=1), published)
    assert published.tolist() == [10, 0, 10, 20]
    table = tabulate(table_study, read_results(folder / "results" / f"{table_study.name}.jsonl"))
    distances = [abs(cell.difference) for cell in table.counted if cell.measured]
    row = f"| **all** | {len(distances)} | {np.median(distances):.4f} | {np.mean(np.array(distances) <= 0.01):.0%} |"
    assert row in index
    assert "![Measured against published, a point for each figure](figures/measured-against-published.svg)" in index
    for target in re.findall(r"\]\((.*?)#(.*?)\)", index):
        assert f'<a id="{target[1]}"></a>' in text_of(written, target[0])


def test_curves_have_a_table_of_their_points_and_sentences_for_those_left_out(pages):
    page = text_of(pages, "sht.md")
    assert "| diabetes | 0.7020 to 0.7620 at 0.1 | 0.8040 ± 0.0028 |" in page
    assert f"| 0.01 | 0.7320 ± 0.0014 | {NONE} |" in page
    assert f"| any | {NONE} | 0.8040 ± 0.0028 |" in page
    assert "| german \\| credit | 0.2000 to 0.4000 at 0.1 | 0.6000 ± 0.0000 |" in page
    assert "- diabetes, OPAUC: at 1000, 5 of 5 runs failed: The steps diverged." in page


def time_records():
    """Times of which one is far off, a method that failed on one data set, and the first that failed on another."""
    return [
        *records("diabetes", "OPAUC", [0.5, 0.02, 0.03], "seconds"),
        *records("diabetes", "OAM", [12.0, 12.6, 900.0], "seconds"),
        *records("usps", "OPAUC", [1.5], "seconds"),
        Record("usps", "OAM", 0, failure="No memory."),
        Record("german", "OPAUC", 0, failure="No memory."),
        *records("german", "OAM", [0.125], "seconds"),
    ]


def test_times_are_medians_with_their_ratios_to_the_first_method(tmp_path):
    study = write_study(tmp_path, "opauc-figure-9", TIMES)
    pages = make(tmp_path, [study], [[SESSION, *time_records()]])
    page = text_of(pages, "opauc.md")
    assert "| data | OPAUC | OAM |\n" in page
    assert "| diabetes | 0.03 | 13 (420) |" in page
    assert "| usps | 1.5 | failed |" in page
    assert "| german | failed | 0.12 |" in page
    assert "| acoustic | no data | no data |" in page
    assert "- usps, OAM: 1 of 1 runs failed: No memory." in page
    assert "published" not in page.split("<a id=")[1]
    assert "![Figure 9: median seconds of a fit](figures/opauc-figure-9.svg)" in page


def test_studies_that_were_not_run_show_what_was_published(tmp_path, table_study):
    pages = write_pages(tmp_path / "pages", tmp_path / "nothing", [table_study])
    assert [path.name for path in pages] == ["README.md", "opauc.md"]
    row = row_of(text_of(pages, "opauc.md").split("### accuracy")[0], "diabetes", "OPAUC")
    assert row[2:] == ["0.8100 ± 0.0100", NONE, NONE, NONE, NONE, f"{NONE} (1,234)", "Not run yet."]


def test_a_page_begins_with_the_claims_of_its_paper(tmp_path):
    study = read_study("opauc-table-2")
    aucs = {"OPAUC": 0.83, "OAMseq": 0.81, "OAMgra": 0.82, "online Uni-Exp": 0.82, "online Uni-Squ": 0.82}
    chosen = {"OAMseq": {"C": 2.0**-12}}
    entries = [
        Record(data, method, run, metrics={"auc": auc + 0.001 * run}, parameters=chosen.get(method, {}))
        for data in ("diabetes", "german")
        for method, auc in aucs.items()
        for run in range(3)
    ]
    pages = make(tmp_path, [study], [[SESSION, *entries]])
    page, index = (text_of(pages, name) for name in ("opauc.md", "README.md"))
    claim = "| In one pass OPAUC ranks better than other online algorithms, and never worse. | **shown** |"
    assert claim in page.split("## Its tables")[0]
    assert "wins/ties/losses: 2/0/0 (published: 1/1/0) against OAMseq, OAMgra" in page
    assert f"| [OPAUC](opauc.md) {claim}" in index
    assert "Chosen at the edge of the paper's grid in most fits: C of OAMseq at its least in 6 of 6." in page
    assert "0.8110• ▼‡ |" in page or "0.8110**• ▼‡ |" in page or "0.8110• ?‡ |" in page


# The figures
