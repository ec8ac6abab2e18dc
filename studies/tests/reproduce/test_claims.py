"""Claims: the verdicts of made-up results with known answers, and that every claim finds its methods."""

import numpy as np
import pytest

from aucmax_studies.reproduce.judging import claims
from aucmax_studies.reproduce.judging.claims import (
    IN_PART,
    NOT_SHOWN,
    NOT_TESTED,
    OPPOSITE,
    SHOWN,
    Finding,
    find_verdict,
)
from aucmax_studies.reproduce.judging.tables import tabulate
from aucmax_studies.reproduce.running.store import Record, Results
from aucmax_studies.reproduce.study_file import list_studies, read_study

TABLE = """
paper = "OPAUC"
label = "Table 9"
title = "A made-up one"
metrics = ["auc", "seconds"]
[methods.one]
method = "OPAUC"
[methods.two]
method = "OAM"
[methods.three]
method = "PSAM"
[data.a]
[data.b]
[data.c]
[published]
runs = 25
auc = '''
data | one | two  | three
a    | .80 | .70• | .80
b    | .80 | .80  | .81
c    | .80 | .90◦ | .80
'''
seconds = '''
data | one | two
a    | 1   | 2
b    | 1   | 8
'''
"""
CURVE = """
paper = "SPDAM"
label = "Figure 9"
title = "A made-up one"
metrics = ["auc", "gap", "loss"]
[methods.large]
method = "SPDAM(batch_size=0.5)"
per_value = 2
[methods.small]
method = "SPDAM(batch_size=0.1)"
per_value = 10
[data.a]
[data.b]
[curve]
parameter = "max_iter"
values = [1, 2, 5, 10]
"""
NOISE = 0.001 * np.array([-1, 1, -0.5, 0.5])


def table(tmp_path, text, values):
    """Return a table of results: values by data, method, metric and x, or all but x."""
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    found: dict = {}
    for (data, method, metric, *x), value in values.items():
        of_cell = found.setdefault((data, method, x[0] if x else None), {})
        of_cell[metric] = value if np.ndim(value) else np.full(4, value)
    records = [
        Record(data, method, run, x, {metric: of_metric[run] for metric, of_metric in of_cell.items()})
        for (data, method, x), of_cell in found.items()
        for run in range(4)
    ]
    return tabulate(read_study(path), Results(records, {}, {}, []))


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([(10, 3, 0)], SHOWN),
        ([(10, 0, 1)], SHOWN),
        ([(9, 0, 1)], SHOWN),
        ([(8, 0, 2)], IN_PART),
        ([(2, 2, 0)], IN_PART),
        ([(4, 0, 0), (1, 3, 0)], IN_PART),
        ([(0, 4, 0)], NOT_SHOWN),
        ([(1, 2, 1)], NOT_SHOWN),
        ([(1, 0, 3)], OPPOSITE),
        ([(4, 0, 0), (0, 0, 4)], NOT_SHOWN),
        ([], ""),
    ],
)
def test_the_verdict_counts_comparisons(parts, verdict):
    assert find_verdict(parts) == verdict


@pytest.mark.parametrize(
    ("parts", "verdict"), [([(3, 0, 2)], SHOWN), ([(2, 1, 2)], NOT_SHOWN), ([(4, 0, 0), (1, 0, 2)], IN_PART)]
)
def test_claims_of_most_data_sets_need_more_than_half(parts, verdict):
    assert find_verdict(parts, most=True) == verdict


@pytest.mark.parametrize(("part", "verdict"), [((3, 0, 2), IN_PART), ((0, 3, 0), NOT_TESTED), ((1, 0, 3), NOT_TESTED)])
def test_a_claim_that_depends_on_what_is_unknown_is_not_refuted(part, verdict):
    assert find_verdict([part], unknown=True) == verdict


def test_one_data_set_of_several_is_no_test():
    records = [
        Record("news20", method, run, metrics={"auc": auc + 0.001 * run})
        for method, auc in (("OPAUCr", 0.9), ("OAMseq", 0.8))
        for run in range(3)
    ]
    found = claims.check_claims([tabulate(read_study("opauc-table-5"), Results(records, {}, {}, []))])
    ((_, _, verdict, text),) = found
    assert verdict == NOT_TESTED
    assert text.endswith("against OAMseq. One data set of 6 is at hand")


def test_gaussian_data_with_outliers_are_counted_besides():
    wins = {"data1": -0.1, "data2": 0.1, "data4": -0.1}
    records = [
        Record(data, method, run, metrics={"auc": 0.8 + of * wins[data] + 0.001 * run})
        for data in wins
        for method, of in (("FAUC, approximate moments", 1), ("Fhinge", 0))
        for run in range(3)
    ]
    results = tabulate(read_study("gaussian-table-5"), Results(records, {}, {}, []))
    found = claims.better_on_gaussian(results, "FAUC, approximate moments", "Fhinge")
    assert found.parts == [(1, 0, 2)]
    assert found.text.endswith("; on those with outliers 1/0/0")


def test_wins_ties_and_losses_stand_beside_the_printed_ones(tmp_path):
    aucs = {("a", "one"): 0.8, ("b", "one"): 0.8, ("c", "one"): 0.8}
    aucs |= {("a", "two"): 0.7 + NOISE, ("b", "two"): 0.79 + NOISE, ("c", "two"): 0.8 + NOISE}
    found = claims.better(table(tmp_path, TABLE, {(*key, "auc"): auc for key, auc in aucs.items()}), "one", "two")
    assert found == Finding([(2, 1, 0)], "wins/ties/losses: 2/1/0 (published: 1/1/1) against two")
    other = {(data, method.replace("one", "three"), "auc"): auc for (data, method), auc in aucs.items()}
    found = claims.better(table(tmp_path, TABLE, other), "three", "two")
    assert found.text == "wins/ties/losses: 2/1/0 (published: higher on 2 of 3) against two", "marks are against one"
    aucs = {(data, method.replace("two", "three")): auc for (data, method), auc in aucs.items()}
    found = claims.better(table(tmp_path, TABLE, {(*key, "auc"): auc for key, auc in aucs.items()}), "one", "three")
    assert found.text == "wins/ties/losses: 2/1/0 (published: higher on 0 of 3) against three", "no marks of three"


def test_as_good_may_be_lower_by_a_hundredth(tmp_path):
    aucs = {("a", "two", "auc"): 0.82 + NOISE, ("b", "two", "auc"): 0.805 + NOISE, ("c", "two", "auc"): 0.7 + NOISE}
    results = table(tmp_path, TABLE, aucs | {(data, "one", "auc"): 0.8 for data in "abc"})
    found = claims.as_good(results, "one", "two")
    assert found.parts == [(2, 0, 1)]
    assert found.text.startswith(
        "lower by more than 0.01: 1 of 3 (published: 1 of 3), median difference \N{MINUS SIGN}0.0050, "
        "lowest \N{MINUS SIGN}0.0200; wins/ties/losses: 1/0/2"
    )


def test_times_are_compared_by_medians(tmp_path):
    slow = np.array([2.0, 2.0, 2.0, 900.0])
    times = {("a", "two", "seconds"): slow, ("b", "two", "seconds"): 8.0, ("c", "two", "seconds"): 0.5}
    found = claims.faster(
        table(tmp_path, TABLE, times | {(data, "one", "seconds"): 1.0 for data in "abc"}), "one", "two"
    )
    assert found.parts == [(2, 0, 1)]
    assert found.text == "seconds of two over one: 0.5 to 8, median 2 (published: 2 to 8, median 5), more on 2 of 3"


def curve(tmp_path, **of):
    """Return a figure: METHOD=(metric, function of x), the same on both data sets."""
    xs = (1, 2, 5, 10)
    return table(
        tmp_path,
        CURVE,
        {(data, m, metric, x): f(x) + 0 * NOISE for data in "ab" for m, (metric, f) in of.items() for x in xs},
    )


@pytest.mark.parametrize(("gap", "verdict"), [(lambda x: 0.1**x, SHOWN), (lambda x: 1 / x**2, OPPOSITE)])
def test_linear_convergence_is_exponential(tmp_path, gap, verdict):
    results = curve(tmp_path, large=("gap", gap), small=("gap", lambda x: 1 / x))
    found = claims.linear(results, "large", "small")
    assert find_verdict(found.parts) == verdict
    assert f"a {gap(10):.0e} against 1e-01, b" in found.text


def test_a_method_is_ahead_from_a_point_on(tmp_path):
    ahead = curve(tmp_path, large=("auc", lambda x: 0.8 + 0.01 * x), small=("auc", lambda x: 0.83 + NOISE))
    found = claims.sooner(ahead, "large", "small")
    assert found == Finding(
        [(2, 0, 0)],
        "mean AUC of large higher, by max_iter, than that of small: a from 10 on, b from 10 on; "
        "at the end significantly on 2 of 2",
    )
    found = claims.sooner(ahead, "small", "large")
    assert found.parts == [(0, 0, 2)]
    assert "a never, b never" in found.text


def test_a_curve_may_be_flat_and_two_alike(tmp_path):
    flat = curve(tmp_path, large=("auc", lambda x: 0.8 + 0.001 * x), small=("auc", lambda x: 0.82 - 0.002 * x))
    assert claims.flat(flat, "large").parts == [(2, 0, 0)]
    assert claims.flat(flat, "small").parts == [(0, 0, 2)]
    one = table(
        tmp_path,
        CURVE.replace("[data.b]", ""),
        {("a", m, "auc", x): 0.8 + k * (0.005 * x) for k, m in enumerate(("large", "small")) for x in (1, 2, 5)},
    )
    assert claims.alike(one, "large", "small").parts == [(1, 0, 2)]


def test_batches_are_compared_after_as_many_and_after_one_pass(tmp_path):
    """Ten batches are five passes of the large ones and one of the small ones."""
    results = curve(tmp_path, large=("auc", lambda x: 0.7 + 0.01 * x), small=("auc", lambda x: 0.72 + 0.01 * x + NOISE))
    found = claims.larger_batches(results, "large", "small")
    assert found.parts == [(2, 0, 0)]
    assert found.text.startswith(
        "AUC after 10 batches, large against small: a 0.750 against 0.730 (after one pass 0.710, 0.730)"
    )
    assert found.text.endswith("the small batches are ahead on 2 of 2")


def test_the_first_point_may_be_the_optimum(tmp_path):
    results = curve(tmp_path, large=("auc", lambda x: 0.8 + 0.0001 * x), small=("auc", lambda x: 0.8 + 0.001 * x))
    assert find_verdict(claims.at_once(results, "large").parts) == SHOWN
    assert find_verdict(claims.at_once(results, "small").parts) == OPPOSITE
    assert claims.rises(results).parts == [(2, 0, 0)]


def test_losses_of_rarer_positives_converge_later(tmp_path):
    text = CURVE.replace("[data.a]", '[data."k, rare"]').replace("[data.b]", '[data."k, even"]')
    text = text.partition("[methods.small]")[0] + "[data" + text.partition("[data")[2]
    losses = {("k, rare", "large", "loss", x): 1 / x for x in (1, 2, 5, 10)}
    losses |= {("k, even", "large", "loss", x): 0.5 + (x == 1) for x in (1, 2, 5, 10)}
    results = table(tmp_path, text, losses)
    found = claims.slower(results, "rare", "even")
    assert found.parts == [(1, 0, 0)]
    assert "k: 10 against 2." in found.text, "in batches: two a pass"
    assert find_verdict(claims.slower(results, "even", "rare").parts) == OPPOSITE


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.text)
def test_every_claim_compares_what_its_study_has(claim):
    """Made-up results of every method decide it, and no results do not."""
    study = read_study(claim.study)
    rng = np.random.default_rng(0)
    metrics = (*study.metrics, "seconds")
    xs = study.curve.values if study.curve else [None]
    records = [
        Record(data, method, run, x, {metric: float(rng.uniform(0.5, 1)) for metric in metrics})
        for data, subject in study.subjects.items()
        if not subject.missing
        for method in study.methods
        for x in xs
        for run in range(2)
    ]
    assert find_verdict(claim.check(tabulate(study, Results(records, {}, {}, [])), *claim.arguments).parts)
    assert not find_verdict(claim.check(tabulate(study, Results([], {}, {}, [])), *claim.arguments).parts)


def test_every_paper_has_claims():
    assert {claim.study.partition("-")[0] for claim in claims.CLAIMS} == {n.partition("-")[0] for n in list_studies()}
