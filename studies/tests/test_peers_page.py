"""The pages of the benchmark beside other libraries: ranks, intervals, verdicts and sentences, from made-up results."""

import itertools
import json

import numpy as np
import pytest

from aucmax_studies.peers import measure as peers
from aucmax_studies.peers import page as peers_page
from aucmax_studies.peers import summary as peers_summary
from aucmax_studies.peers.summary import BASELINE, REFERENCE, Duel, Estimate, standard_error

AUCS = {
    "one": {REFERENCE: (0.70, 0.72, 0.74), BASELINE: (0.71, 0.73, 0.75), "Trees": (0.80, 0.80)},
    "two": {REFERENCE: (0.80, 0.81, 0.82), BASELINE: (0.70, None), "Trees": (0.90, 0.91)},
    "late": {REFERENCE: (0.80, 0.81, 0.82), BASELINE: (0.70, 0.70), "Trees": (0.90, 0.91)},
}
FAMILIES = {REFERENCE: "aucmax", BASELINE: "linear", "Trees": "trees"}
SECONDS = {REFERENCE: 1.0, BASELINE: 3.0, "Trees": 7.0}


def kept_results(aucs=AUCS):
    """Results of three splits; an AUC of None is a failure, and one that is left out was not measured."""
    cells = []
    for data, by_competitor in aucs.items():
        for name, figures in by_competitor.items():
            for split, auc in enumerate(figures):
                times = {"tuning_seconds": SECONDS[name], "fit_seconds": 1.0, "parameters": {}}
                result = {"failure": "too wide"} if auc is None else {"auc": auc} | times
                stamp = {"date": "2026-01-02", "environment": 0}
                cells.append({"data": data, "competitor": name, "split": split} | result | stamp)
    return {
        "protocol": peers.PROTOCOL,
        "environments": [{"versions": {"python": "3.x"}, "machine": "abacus, 2 cores, 8 GB"}],
        "data": {
            name: {
                **{"rows": 1000 * len(name), "columns": 7, "sparse": name == "two", "positive": 0.25},
                **{"half": "verdict" if name == "two" else "choice", "splits": 3, "test_share": 0.2},
            }
            for name in aucs
        },
        "competitors": {
            name: {"family": family, "candidates": [{"C": 1}, {"C": 2}], "note": ""}
            for name, family in FAMILIES.items()
        },
        "cells": cells,
    }


def summary_of(aucs):
    return peers_summary.summarize(kept_results(aucs))


# Ranks


def test_ranks_by_brute_force():
    rng = np.random.default_rng(0)
    auc = rng.integers(5, size=(20, 6)) / 10 + rng.uniform(-4e-5, 4e-5, (20, 6))
    auc[3, 2] = auc[7, 0] = auc[7, 5] = np.nan
    figures = np.where(np.isnan(auc), -1, auc.round(4))
    brute = [
        [1 + sum(b > a for b in row) + (sum(b == a for b in row) - 1) / 2 for a in row] for row in figures.tolist()
    ]
    assert np.array_equal(peers_summary.ranks(auc), brute)
    assert peers_summary.ranks(auc)[7, 0] == 5.5


def test_bootstrap_interval_of_two_rows_by_enumeration():
    values = np.array([[1.0, 4.0], [3.0, 4.0]])
    low, high = peers_summary.bootstrap_interval(values)
    means = [np.mean(draw, axis=0) for draw in itertools.product(values, repeat=2)]  # 1, 2, 2, 3, each 1/4
    assert np.array_equal(low, np.quantile(means, 0.025, axis=0, method="inverted_cdf"))
    assert np.array_equal(high, np.quantile(means, 0.975, axis=0, method="inverted_cdf"))


def test_critical_difference_of_two_is_the_normal_test():
    """And that of four is with q of Demsar (2006), Table 5."""
    assert peers_summary.critical_difference(25, 2) == pytest.approx(1.959964 / np.sqrt(25), rel=1e-5)
    assert peers_summary.critical_difference(14, 4) == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), rel=1e-3)


def test_the_interval_of_a_rank_difference_is_paired_over_data_sets():
    """Of two competitors, one is always the other's mirror: the difference is twice the distance from the middle."""
    better, worse = (0.8, 0.8, 0.8), (0.7, 0.7, 0.7)
    aucs = {
        str(k): {REFERENCE: better if k % 3 else worse, BASELINE: worse if k % 3 else better, "Trees": (0.9, 0.9)}
        for k in range(12)
    }
    ours, other, _ = peers_summary.standings(summary_of(aucs))
    assert ours.rank.mean == pytest.approx(1 + 1 / 3)
    assert other.rank_difference == pytest.approx([2 * (figure - 1.5) for figure in other.rank])
    assert tuple(ours.rank_difference) == (0, 0, 0)


# Summary and standing


def test_summary_by_hand():
    summary = summary_of(AUCS)
    assert summary.data == ["one", "two"]  # "late" is not complete
    assert summary.names == [REFERENCE, BASELINE, "Trees"]
    assert summary.auc == pytest.approx(np.array([[0.72, 0.73, 0.80], [0.81, np.nan, 0.905]]), nan_ok=True)
    assert summary.seconds[0] == pytest.approx([2, 4, 8])
    assert summary.failures == {("two", BASELINE): "too wide"}
    verdict = summary.half("verdict")
    assert (verdict.data, verdict.auc.shape) == (["two"], (1, 3))


def test_standings_by_hand():
    by_name = {row.name: row for row in peers_summary.standings(summary_of(AUCS))}
    ours, other, trees = by_name[REFERENCE], by_name[BASELINE], by_name["Trees"]
    assert (ours.rank.mean, ours.difference, ours.ratio, ours.n_data) == (1.5, 0, 1, 2)
    assert (other.rank.mean, other.n_data) == (1.5, 1)
    assert other.difference == pytest.approx(0.01)
    assert other.ratio == pytest.approx(2)
    assert trees.rank is None
    assert trees.difference == pytest.approx((0.09 + 0.10) / 2)  # on the two splits that trees have
    assert trees.ratio == pytest.approx(4)


def test_where_the_reference_fails_nothing_is_held_against_it():
    aucs = AUCS | {"one": AUCS["one"] | {REFERENCE: (None,)}}
    by_name = {row.name: row for row in peers_summary.standings(summary_of(aucs))}
    assert [by_name[name].n_data for name in FAMILIES] == [1, 0, 1]
    assert np.isnan(by_name[BASELINE].difference)
    assert [by_name[name].rank.mean for name in (REFERENCE, BASELINE)] == [1.5, 1.5]
    assert peers_summary.duels(summary_of(aucs)) == []


# One data set at a time


def test_standard_errors_by_hand():
    assert standard_error(np.array([1.0, 2.0, 3.0])) == pytest.approx(np.sqrt(1 / 3))
    assert standard_error(np.array([1.0, 2.0, 3.0]), 0.2) == pytest.approx(np.sqrt(1 / 3 + 1 / 4))
    halved = np.array([0.0, 2.0] * 5)
    assert standard_error(halved, 0.5) == pytest.approx(np.sqrt(10 / 9) * np.sqrt(1 / 10 + 1))
    assert standard_error(halved, 0.5) / standard_error(halved) == pytest.approx(3.3, abs=0.05)
    assert np.isnan(standard_error(np.array([1.0]), 0.2))


def test_below_is_by_more_than_the_margin_and_two_errors():
    assert make_duel("x", -0.0031).is_below(0.0015)
    assert not make_duel("x", -0.0031).is_below(0.0016)
    assert not make_duel("x", -0.0029).is_below(0.0)
    assert make_duel("x", -0.0031).is_below(np.nan)
    assert not make_duel("x", 0.1).is_below(0.0)


def test_duels_by_hand():
    (duel,) = peers_summary.duels(summary_of(AUCS))  # on "two" there is no rival
    assert (duel.data, duel.half, duel.rival) == ("one", "choice", BASELINE)
    assert (duel.difference, duel.error, duel.time_ratio) == pytest.approx((-0.01, 0, 0.5))
    noisy = AUCS | {"one": AUCS["one"] | {BASELINE: (0.61, 0.73, 0.86)}}
    (duel,) = peers_summary.duels(summary_of(noisy))
    spread = np.std([-0.09, 0.01, 0.12], ddof=1)
    assert (duel.error, duel.plain_error) == pytest.approx((spread * np.sqrt(1 / 3 + 1 / 4), spread * np.sqrt(1 / 3)))


# Sentences


def make_duel(data, difference=0.0, errors=(0.01, 0.001), time_ratio=1.0):
    return Duel(data, "choice", 0.7, "B", 0.7 - difference, difference, *errors, time_ratio)


def test_the_place_is_computed():
    lost = peers_page.place(summary_of({"one": AUCS["one"]}))
    assert f"place 2 of 2 linear classifiers; the best is {BASELINE} with 1.0 (1.0 to 1.0)." in lost
    won = peers_page.place(summary_of({"two": AUCS["two"]}))
    assert f"the best of 2 linear classifiers; next is {BASELINE} with 2.0 (2.0 to 2.0)." in won
    assert "Its interval is clear of that one; " in won
    both = peers_page.place(summary_of(AUCS))
    assert "Its interval overlaps with that one; " in both
    assert both.count("1.5 (1.0 to 2.0)") == 2, "once for each of the two"
    own, other = (row for row in peers_summary.standings(summary_of(AUCS)) if row.rank)
    assert f"overlaps with that of {BASELINE}, 1.5 (1.0 to 2.0); " in peers_page.clearness(own, other)
    assert "is +0.0 (-1.0 to +1.0)." in both


def test_losses_are_counted_and_named():
    fine, perhaps, lost = make_duel("x"), make_duel("y", -0.01), make_duel("z", -0.03)
    text = "It is below the best linear rival by more than 0.003 and more than two standard errors on "
    assert peers_page.below([fine]).startswith(f"{text}none of 1 data sets; ")
    assert peers_page.below([fine]).endswith(", on none.")
    both = peers_page.below([fine, perhaps, lost])
    assert both.startswith(f"{text}1 (z, 0.0300 below B) of 3 data sets; ")
    assert both.endswith(", on 2 (y, 0.0100 below B; z, 0.0300 below B).")


def test_times_are_geometric_means():
    text = peers_page.times([make_duel("x", time_ratio=0.1), make_duel("y", time_ratio=2.5), make_duel("z")])
    assert text.startswith(f"Its time is 0.63 of {BASELINE}'s in the geometric mean, and at most 2.5 (y); ")
    assert text.endswith("it is longer on 1 of 3 data sets.")
    assert peers_page.times([make_duel("x", time_ratio=np.nan)]) == ""


def test_the_lead_of_trees_is_said():
    (line,) = peers_page.trees(summary_of(AUCS))
    assert f"have a higher AUC than {REFERENCE} on 2 of 2 data sets" in line
    assert "the mean difference is +0.0950, the largest +0.1000 (two)." in line


def test_an_interval_as_text():
    assert peers_page.interval(Estimate(1.25, -0.5, 3.0), sign="+") == "+1.2 (-0.5 to +3.0)"


# Pages


def test_pages_are_made_from_the_file_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "find_competitors", lambda: pytest.fail("it must not look for competitors"))
    results, page, readme = tmp_path / "kept.json", tmp_path / "page.md", tmp_path / "README.md"
    results.write_text(json.dumps(kept_results()), encoding="utf-8")
    for path in (page, readme):
        path.write_text(
            "before\n<!-- made by `make study NAME=peers` -->\nstale figures\n<!-- end -->\nafter\n", encoding="utf-8"
        )
    arguments = ["--write-only", "--results", str(results), "--write", str(page), "--readme", str(readme)]
    peers.main(arguments)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "stale figures" not in text
    for line in (
        "Measured 2026-01-02 with one thread on abacus, 2 cores, 8 GB; python 3.x.",
        "| one | 0.7200 | **0.7300** | 0.8000 |",
        "| two | **0.8100** | - | 0.9050 |",
        "| one | 2 (1) | 4 (1) | 8 (1) |",
        f"| one | choice | 0.7200 | {BASELINE} | 0.7300 | -0.0100 | 0.0000 | 0.0000 | **below** | 0.50 |",
        f"- {BASELINE} on two: too wide",
        "by the AUC of 3 folds of at most 10,000 training rows",
        "On the half for choices, 1 data sets: ",
        "Not complete, and left out: late.",
        "| two | 3,000 | 7 | sparse | 25% | verdict | 3 with 20% for the test |",
        f"- {BASELINE}: 2 candidates of C.",
        "![Ranks, AUC and training time](page.svg)",
    ):
        assert line in text
    assert "| Trees |  | +0.0950 | 4 |" in readme.read_text(encoding="utf-8")
    figure = (tmp_path / "page.svg").read_text(encoding="utf-8")
    assert all(name in figure for name in FAMILIES)
    peers.main(arguments)
    assert (page.read_text(encoding="utf-8"), (tmp_path / "page.svg").read_text(encoding="utf-8")) == (text, figure)
    peers.main([*arguments, "--competitors", f"{REFERENCE},{BASELINE}"])
    assert "Trees" not in readme.read_text(encoding="utf-8")


@pytest.mark.parametrize("missing", [REFERENCE, BASELINE])
def test_a_page_without_results_is_one_sentence(tmp_path, missing):
    results = tmp_path / "kept.json"
    results.write_text(json.dumps(kept_results() | {"cells": []}), encoding="utf-8")
    with pytest.raises(SystemExit, match="There is no data set yet"):
        peers.main(["--write-only", "--results", str(results), "--write", str(tmp_path / "page.md")])
    others = kept_results()
    others["cells"] = [cell for cell in others["cells"] if cell["competitor"] != missing]
    results.write_text(json.dumps(others), encoding="utf-8")
    with pytest.raises(SystemExit, match=f"There are no results of {missing}"):
        peers.main(["--write-only", "--results", str(results), "--readme", str(tmp_path / "page.md")])
