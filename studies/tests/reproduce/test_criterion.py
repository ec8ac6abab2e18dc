"""The criterion: a right method agrees, another one does not, and noise of our own never buys agreement."""

import math

import numpy as np
import pytest
from scipy import stats

from aucmax_studies.reproduce.judging.counts import (
    count_verdicts,
    counted_cells,
    measure_agreement,
    measure_distance,
)
from aucmax_studies.reproduce.judging.criterion import (
    AGREES,
    BETTER,
    OUTCOMES,
    TOO_CLOSE,
    TOO_NOISY,
    UNDECIDABLE,
    WORSE,
    Estimate,
    estimate,
    find_spread,
    half_width,
    judge,
)
from aucmax_studies.reproduce.judging.tables import FITTED, NO_RUNS, NO_STD, ONE_RUN, contrast, count_signs, tabulate
from aucmax_studies.reproduce.running.store import Record, Results
from aucmax_studies.reproduce.study_file import list_studies, read_study

METHODS = {"one": 0.80, "two": 0.85, "three": 0.90, "four": 0.70}
STUDY = """
paper = "OPAUC"
label = "Table 9"
title = "A made-up one"
[methods.one]
method = "OPAUC"
[methods.two]
method = "OAM"
[methods.three]
method = "PSAM"
[methods.four]
method = "SOLAM"
[methods.ours]
method = "AUCClassifier"
[data.a]
[data.b]
grouping = "halves"
[published]
runs = 25
auc = '''
data | one       | two       | three     | four
a    | .80±.0100 | .85±.0100 | .90±.0100 | .70±.0100
b    | .80±.0100 | .85±.0100 | .90±.0100 | .70±.0100
'''
"""


def read(tmp_path, text=STUDY, name="own"):
    path = tmp_path / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return read_study(path)


@pytest.fixture
def study(tmp_path):
    return read(tmp_path)


def runs(data, method, mean, std, n=25):
    """Return runs of exactly this mean and standard deviation."""
    noise = np.random.default_rng([len(method), n]).standard_normal(n)
    noise = (noise - noise.mean()) / noise.std() if n > 1 else noise * 0
    return [Record(data, method, run, metrics={"auc": mean + std * e}) for run, e in enumerate(noise)]


def right(std=0.01, n=25, shift=0.0, data="ab"):
    """Return results in which every method has its published mean, up to a shift."""
    return [r for d in data for method, mean in METHODS.items() for r in runs(d, method, mean + shift, std, n)]


def table_of(study, records, **groupings):
    return tabulate(study, Results(records, {}, groupings, []))


def verdict(study, records, method="one", data="a", **groupings):
    return table_of(study, records, **groupings).cells[data, method, "auc"]


# The interval


def test_the_interval_is_students_for_two_means_of_equal_size():
    rng = np.random.default_rng(0)
    for n in (3, 25):
        x, y = rng.normal(size=(2, n))
        # Pooled and unpooled errors are the same for equal n; ours has the degrees of freedom of one sample.
        test = stats.ttest_ind(x, y)
        error = (x.mean() - y.mean()) / test.statistic
        width = half_width(estimate(x.mean(), x.std(), n), estimate(y.mean(), y.std(), n))
        assert width == pytest.approx(stats.t.ppf(0.975, n - 1) * error)


def test_the_interval_covers_a_difference_of_zero_in_at_least_95_percent_of_draws():
    rng = np.random.default_rng(1)
    for n, m, scale in ((25, 5, 1.0), (5, 25, 3.0), (20, 4, 0.2)):
        x, y = rng.normal(size=(4000, n)), scale * rng.normal(size=(4000, m))
        covered = [
            abs(a.mean() - b.mean()) <= half_width(estimate(a.mean(), a.std(), n), estimate(b.mean(), b.std(), m))
            for a, b in zip(x, y, strict=True)
        ]
        assert np.mean(covered) > 0.945  # 0.95 less 1.5 deviations of 4,000 draws; the interval is conservative


def test_the_luck_of_a_split_is_added_in_squares():
    assert estimate(0.8, 0.03, 10, luck=0.04).error == pytest.approx(math.hypot(0.01, 0.04))


def test_the_spread_is_a_median_from_the_figure_and_not_between_the_others():
    assert find_spread(1.0, [1.0, 1.0, 9.0]) == 0.0, "a figure among equal ones cannot be told from them"
    assert find_spread(9.0, [1.0, 1.0, 1.0]) == 8.0
    assert find_spread(1.0, []) == 0.0


# Verdicts


PUBLISHED = Estimate(0.80, 0.002, 25)
TOLERANCE = half_width(PUBLISHED, PUBLISHED)


@pytest.mark.parametrize(
    ("difference", "error", "spread", "expected"),
    [
        (0.0, 0.001, 0.05, AGREES),
        (TOLERANCE, 0.001, 0.05, AGREES),
        (-TOLERANCE, 0.001, 0.05, AGREES),
        (TOLERANCE + 1e-6, 0.001, 0.05, BETTER),
        (-TOLERANCE - 1e-6, 0.001, 0.05, WORSE),
        (-0.015, 0.008, 0.05, UNDECIDABLE),  # more than the tolerance, but zero is in the interval
        (0.0, 0.001, 2 * TOLERANCE, UNDECIDABLE),  # another method would be as near
        (0.0, 0.015, 0.05, UNDECIDABLE),  # our own noise
        (-0.3, 0.015, 0.0, WORSE),  # a difference that is shown needs no spread
    ],
)
def test_verdicts_at_the_edges(difference, error, spread, expected):
    found = judge(PUBLISHED, Estimate(0.80 + difference, error, 25), spread)
    assert found.verdict == expected
    assert bool(found.why) == (expected == UNDECIDABLE)


def test_why_a_figure_is_not_decidable_is_told_apart():
    exact = Estimate(0.80, 0.0, 25)
    assert judge(PUBLISHED, exact, 2 * TOLERANCE).why == TOO_CLOSE
    assert judge(PUBLISHED, exact._replace(error=0.03), 0.05).why == TOO_NOISY
    assert judge(PUBLISHED, exact._replace(runs=2), 0.05).why == TOO_NOISY


def test_noise_of_our_own_never_buys_agreement():
    """As our error grows, a verdict may turn into "not decidable", once, and into nothing else."""
    rng = np.random.default_rng(2)
    for _ in range(40):
        published = Estimate(0.8, rng.exponential(0.005), int(rng.integers(2, 30)))
        mean, spread, n = 0.8 + rng.normal(0, 0.02), rng.exponential(0.05), int(rng.integers(2, 30))
        verdicts = [judge(published, Estimate(mean, error, n), spread).verdict for error in np.geomspace(1e-5, 1, 30)]
        decided = [v for v in verdicts if v != UNDECIDABLE]
        assert verdicts == decided + [UNDECIDABLE] * (len(verdicts) - len(decided))
        assert len(set(decided)) <= 1


def test_fewer_runs_never_buy_agreement(study):
    for std in (0.001, 0.01, 0.05):
        verdicts = [verdict(study, right(std, n, shift=-0.02)).verdict for n in (100, 25, 10, 5, 3, 2)]
        assert AGREES not in verdicts


def test_verdicts_do_not_depend_on_where_zero_is_and_turn_over_with_the_sign():
    other = {BETTER: WORSE, WORSE: BETTER}
    rng = np.random.default_rng(3)
    for _ in range(200):
        published = Estimate(rng.normal(), rng.exponential(), int(rng.integers(2, 30)))
        measured = Estimate(rng.normal(), rng.exponential(), int(rng.integers(2, 30)))
        spread = rng.exponential(8)
        found = judge(published, measured, spread).verdict
        shifted = [e._replace(mean=e.mean + 5) for e in (published, measured)]
        assert judge(*shifted, spread).verdict == found
        scaled = [Estimate(3 * e.mean, 3 * e.error, e.runs) for e in (published, measured)]
        assert judge(*scaled, 3 * spread).verdict == found
        reversed_ = [e._replace(mean=-e.mean) for e in (published, measured)]
        assert judge(*reversed_, spread).verdict == other.get(found, found)


# Tables with known answers


def test_right_methods_agree_and_substituted_ones_do_not(study):
    table = table_of(study, right())
    assert {cell.verdict for cell in counted_cells([table])} == {AGREES}
    assert measure_agreement([table]) == (8, 1.0, 0.0)


def test_methods_in_each_others_place_do_not_agree(study):
    other = dict(zip(METHODS, [*METHODS][1:] + [*METHODS][:1], strict=True))
    swapped = [r._replace(method=other[r.method]) for r in right()]
    table = table_of(study, swapped)
    found = {cell.method: cell.verdict for cell in counted_cells([table])}
    assert found == {"one": WORSE, "two": WORSE, "three": WORSE, "four": BETTER}
    # Of the three other measurements, one is that of the right method.
    assert measure_agreement([table]) == (8, 0.0, pytest.approx(1 / 3))


def test_noise_makes_a_right_method_undecidable(study):
    table = table_of(study, right(std=0.2))
    assert {(cell.verdict, cell.why_undecidable) for cell in counted_cells([table])} == {(UNDECIDABLE, TOO_NOISY)}
    assert measure_agreement([table]) == (0, None, None)


def test_equal_methods_are_undecidable(tmp_path):
    same = STUDY.replace(".85±", ".80±").replace(".90±", ".80±").replace(".70±", ".80±")
    table = table_of(read(tmp_path, same), [r for m in METHODS for r in runs("a", m, 0.80, 0.01)])
    assert {table.cells["a", m, "auc"].why_undecidable for m in METHODS} == {TOO_CLOSE}


def test_a_noisy_substitute_does_not_count_as_a_miss(study):
    """Where no substitution can be decided there is no share, and not a share of zero."""
    records = runs("a", "one", 0.80, 0.01) + [r for m in ("two", "three") for r in runs("a", m, METHODS[m], 0.3)]
    table = table_of(study, records)
    assert table.cells["a", "one", "auc"].verdict == AGREES
    assert table.cells["a", "one", "auc"].substituted is None
    assert measure_agreement([table])[:3] == (1, 1.0, None)


def test_a_method_without_a_published_figure_changes_nothing(study):
    before, after = (table_of(study, right() + more) for more in ([], runs("a", "ours", 0.99, 0.0001)))
    assert counted_cells([before]) == counted_cells([after])


def test_the_order_of_the_methods_does_not_matter(study):
    turned = study._replace(methods=dict(reversed(study.methods.items())))
    records = [r for m, shift in zip(METHODS, (0.0, 0.1, -0.03, 0.004), strict=True) for r in
               runs("a", m, METHODS[m] + shift, 0.02)]  # fmt: skip
    first, second = (table_of(s, records) for s in (study, turned))
    for method in METHODS:
        cells = [table.cells["a", method, "auc"] for table in (first, second)]
        assert cells[0].judgement == cells[1].judgement
        assert cells[0].substituted == pytest.approx(cells[1].substituted)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("runs = 25", "", NO_RUNS),
        ("runs = 25", "runs = 25\nfitted = [{ method = 'one' }]", FITTED),
        ("a    | .80±.0100", "a    | .80", NO_STD),
    ],
)
def test_what_cannot_be_judged_is_undecidable_even_if_it_is_far_off(tmp_path, old, new, why):
    cell = verdict(read(tmp_path, STUDY.replace(old, new, 1)), right(shift=-0.2))
    assert (cell.verdict, cell.why_undecidable, cell.judgement) == (UNDECIDABLE, why, None)


def test_a_single_run_is_not_judged(study):
    assert verdict(study, runs("a", "one", 0.5, 0.0, 1)).why_undecidable == ONE_RUN


def test_runs_on_one_split_have_its_luck_by_the_steadiest_method(tmp_path):
    one_split = read(
        tmp_path, STUDY.replace("runs = 25", "runs = 25\none_split = true", 1).replace("| .85±.0100", "| .85")
    )
    for noise in (0.01, 0.1):
        records = runs("a", "one", 0.8, noise) + runs("a", "two", 0.85, 0.003)
        cells = table_of(one_split, records).cells
        tolerance = math.sqrt(2) * stats.t.ppf(0.975, 24) * math.hypot(0.01 / math.sqrt(24), 0.003)
        assert cells["a", "one", "auc"].judgement.tolerance == pytest.approx(tolerance), "whatever its own noise"
        batch = cells["a", "two", "auc"].judgement  # no deviation is printed of a batch method: it has the luck alone
        assert batch.tolerance == pytest.approx(math.sqrt(2) * stats.t.ppf(0.975, 24) * 0.003)


def test_cited_figures_are_a_row_of_their_own():
    study = read_study("spdam-table-3")
    records = [
        Record("a9a", method, run, metrics={"auc": value.mean + 0.0001 * run})
        for (data, method), value in study.published["auc"].items()
        if data == "a9a"
        for run in range(5)
    ]
    cell = table_of(study, records).cells["a9a", "SPDAM", "auc"]
    assert cell.judgement.spread == pytest.approx(0.8970 - 0.8967), "regSOLAM alone"


def test_a_figure_of_one_data_set_may_be_fitted(tmp_path):
    study = read(tmp_path, STUDY.replace("runs = 25", "runs = 25\nfitted = [{ method = 'one', data = 'b' }]"))
    assert verdict(study, right()).judgement is not None
    assert verdict(study, right(), data="b").unjudged == FITTED


# Two methods, reasons, edges


def test_contrasts_are_paired_t_tests(tmp_path):
    study = read(tmp_path)
    first, second = (study.published["auc"]["a", method].mean for method in ("one", "two"))
    noise = np.random.default_rng(0).normal(0, 0.1, 5)  # of the splits, the same for both
    for gap, counts in ((0.05, (1, 0, 0)), (-0.05, (0, 0, 1)), (0.0, (0, 1, 0))):
        jitter = 1e-4 * np.array([1, -1, 0.5, -0.5, 0])
        pairs = [("one", noise + gap + jitter), ("two", noise)]
        records = [Record("a", m, run, metrics={"auc": x}) for m, values in pairs for run, x in enumerate(values)]
        (found,) = contrast(table_of(study, records), "one", "two")
        assert found.measured == pytest.approx(gap)
        assert found.published == pytest.approx(first - second)
        low, high = stats.ttest_rel(*(values for _, values in pairs)).confidence_interval(0.95)
        assert found.margin == pytest.approx((high - low) / 2)
        assert count_signs([found]) == counts


def test_data_measured_in_another_way_and_borrowed_classes_are_not_compared(tmp_path):
    other = "[data.'a, small penalties']\nname = 'a'\n"
    study = read(tmp_path, STUDY.replace("[published]", f"{other}[published]"))
    records = runs("a, small penalties", "one", 0.8, 0.01) + runs("a, small penalties", "two", 0.7, 0.02)
    assert contrast(table_of(study, records), "one", "two") == []
    cited = read_study("spdam-table-3")
    both = [runs(data, m, 0.8, 0.01) for data in ("a9a", "usps") for m in ("SPDAM", "OPAUC", "regSOLAM")]
    table = table_of(cited, [record for of_method in both for record in of_method])
    assert [found.data for found in contrast(table, "SPDAM", "OPAUC")] == ["a9a"], "usps has other classes here"
    assert [found.data for found in contrast(table, "SPDAM", "regSOLAM")] == ["usps", "a9a"]


def test_a_reason_stands_at_the_figures_that_differ(tmp_path):
    reason = '[[reasons]]\ntext = "Other rows."\nmethods = ["one"]\nrun = "two"\n'
    study = read(tmp_path, STUDY + reason)
    assert verdict(study, right(shift=-0.04)).reason.text == "Other rows."
    assert verdict(study, right(shift=-0.04), "two").reason is None, "of another method"
    assert verdict(study, right()).reason is None, "it agrees"
    assert verdict(study, right(std=0.3)).reason is None, "it is not decidable"
    with pytest.raises(ValueError, match="a reason names 'nine', which is neither data nor method"):
        read(tmp_path, STUDY + reason.replace("two", "nine"))
    with pytest.raises(ValueError, match="a reason needs 'run'"):
        read(tmp_path, STUDY + reason.replace('run = "two"', ""))


def test_edges_of_a_grid_are_counted(tmp_path):
    text = STUDY.replace("[methods.two]", "grid = { alpha = [0.1, 1, 10], eta0 = [1, 2] }\n[methods.two]")
    chosen = [{"alpha": a, "eta0": 1} for a in (0.1, 0.1, 0.1, 1, 10)]
    records = [r._replace(parameters=p) for r, p in zip(runs("a", "one", 0.8, 0.01, 5), chosen, strict=True)]
    study = read(tmp_path, text)
    (edge,) = verdict(study, records).edges
    assert edge.text == "alpha at its least in 3 of 5", "two values of eta0 have no inside"
    inside = [r._replace(parameters={"alpha": 1}) for r in records[:3]]
    assert verdict(study, inside + records[3:]).edges == []


# Counts


def test_counts_add_up(study):
    records = [
        *right(data="a"),
        *runs("b", "one", 0.5, 0.01),
        *runs("b", "two", 0.95, 0.01),
        *runs("b", "three", 0.9, 0.5),
    ]
    tables = [table_of(study, records), table_of(study, right())]
    verdicts = count_verdicts(tables)
    assert verdicts == {AGREES: 12, WORSE: 1, BETTER: 1, UNDECIDABLE: 1, "not run": 1}
    apart = [count_verdicts([table]) for table in tables]
    assert apart[0] + apart[1] == verdicts
    assert measure_agreement(tables).decidable == verdicts[AGREES] + verdicts[BETTER] + verdicts[WORSE]
    distance = measure_distance(counted_cells(tables))
    assert (distance.figures, distance.near) == (15, pytest.approx(13 / 15))
    assert distance.median == pytest.approx(0, abs=1e-12)


def test_a_figure_that_two_tables_have_is_counted_once():
    second, third = read_study("opauc-table-2"), read_study("opauc-table-3")
    assert {method for _, method in third.repeated["auc"]} == {"OPAUC"}
    assert not any(second.repeated.values())
    count = sum(count_verdicts([table_of(study, []) for study in (second, third)]).values())
    assert count == len(second.published["auc"]) + len(third.published["auc"]) - 16
    assert not any(read_study("sht-table-1").repeated.values()), "the same runs, but other figures"


@pytest.mark.parametrize("name", [name for name in list_studies() if "-table-" in name])
def test_every_table_says_how_many_runs_its_figures_are_of(name):
    study = read_study(name)
    expected = {"opauc": 25, "spdam": 25, "gaussian": 20, "psam-table-2": 5, "psam-table-3": 3, "sht-table-3": 100}
    assert study.published_runs == expected.get(name, expected.get(study.paper.lower(), 20))
    assert study.one_split == (study.paper == "PSAM")
    if name in ("sht-table-1", "sht-table-2"):
        assert "does not say how many draws it makes here: 20 are taken" in " ".join(
            read_study("sht-table-1").note.split()
        )
    assert set(OUTCOMES) >= {cell.verdict for cell in table_of(study, []).cells.values()} - {"", "no data", "not run"}


def test_the_gaussian_descent_has_the_papers_figures_and_the_optimum_has_none():
    for number, metric in (
        (2, "accuracy"),
        (4, "accuracy"),
        (5, "auc"),
        (6, "auc"),
        (11, "accuracy"),
        (12, "accuracy"),
    ):
        study = read_study(f"gaussian-table-{number}")
        judged = {method for _, method in study.published[metric]} - {fitted.method for fitted in study.fitted}
        for label, entry in study.methods.items():
            if entry.method.name.startswith("Gaussian") and label in judged:
                assert "variant='paper'" in entry.method.name, (number, label)
