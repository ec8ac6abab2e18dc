"""The stability index is its formula, its interval covers, and every change of a column is found."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from aucmax import (
    AUCClassifier,
    GaussianAUC,
    GaussianError,
    TableClassifier,
    TableEncoder,
    load_model,
    monitor,
    population_stability,
    roc_auc_ci,
    save_model,
)
from aucmax.metrics import AUCInterval
from aucmax.monitoring.drift import Drift
from aucmax.monitoring.reference import FEWEST, seldom_of
from aucmax.monitoring.stability import excess_of_new, stability_of_counts
from aucmax.search.calibration import SHARP, find_bins

RNG = np.random.default_rng(0)
N = 3000


def draw(n, rng, shift=0.0):
    """Return a table with a curve, a level of few rows, truth words, gaps and a date, and its labels."""
    age = rng.normal(40 + shift, 10, n).round(1)
    plan = rng.choice(["basic", "plus", "family", "rare"], n, p=[0.5, 0.3, 0.197, 0.003])
    frame = pd.DataFrame({"age": age, "plan": plan, "owner": rng.choice(["Yes", "No"], n, p=[0.3, 0.7])})
    frame["since"] = (np.datetime64("2020-01-01") + rng.integers(0, 700, n)).astype("datetime64[D]").astype(str)
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    y = np.where(rng.random(n) < 1 / (1 + np.exp(2 - abs(frame["age"].fillna(40) - 40) / 8)), "lost", "kept")
    return frame, y


@pytest.fixture(scope="module")
def rows():
    return draw(N, np.random.default_rng(1))


@pytest.fixture(scope="module")
def model(rows):
    return TableClassifier("curves").fit(*rows)


@pytest.fixture(scope="module")
def linear(rows):
    return make_pipeline(TableEncoder(), AUCClassifier("squared")).fit(*rows)


def index_by_hand(before, after):
    """The index by a loop over cells, where an empty cell has half a row."""
    total = 0.0
    for e, a in zip(before, after, strict=True):
        if e or a:
            e, a = (e or 0.5) / sum(before), (a or 0.5) / sum(after)
            total += (a - e) * math.log(a / e)
    return total


def flat(value):
    """Yield the keys and the values of nested lists and dicts."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield str(key)
            yield from flat(inner)
    else:
        yield value


def by_name(drift):
    return {each.column: each for each in drift.columns}


def test_index_of_texts_is_its_formula():
    before, after = ["a"] * 60 + ["b"] * 30 + ["c"] * 10, ["a"] * 20 + ["b"] * 10 + ["d"] * 10
    found = population_stability(before, after)
    assert found.labels == ["a", "b", "rarer levels", "new levels"]  # of c, 4 rows are to be expected
    assert found.psi == pytest.approx(index_by_hand([60, 30, 10, 0], [20, 10, 0, 10]))
    assert found.by_chance == pytest.approx(3 * (1 / 100 + 1 / 40))
    np.testing.assert_allclose(found.expected, [0.6, 0.3, 0.1, 0])


def test_a_cell_that_is_empty_in_one_sample_has_half_a_row():
    found = population_stability(["a"] * 60 + ["b"] * 40, ["a"] * 30)
    assert found.labels == ["a", "b"]
    expected = (1 - 0.6) * math.log(1 / 0.6) + (0.5 / 30 - 0.4) * math.log(0.5 / 30 / 0.4)
    assert found.psi == pytest.approx(expected)
    assert found.actual.tolist() == [1, 0]
    new = stability_of_counts("ab", np.array([10.0, 0.0]), np.array([6.0, 2.0]), 0.95)
    assert new.psi == pytest.approx((0.75 - 1) * math.log(0.75) + (0.25 - 0.05) * math.log(0.25 / 0.05))


def test_index_of_numbers_is_its_formula_over_deciles():
    before, after = RNG.normal(size=1000), RNG.normal(0.4, 1.2, size=300)
    found = population_stability(before, after)
    ordered = np.sort(before)
    cuts = (ordered[99:-1:100] + ordered[100::100]) / 2
    counts = [np.histogram(each, [-np.inf, *cuts, np.inf])[0] for each in (before, after)]
    assert counts[0].tolist() == [100] * 10
    assert found.psi == pytest.approx(index_by_hand(*counts))
    assert found.psi == pytest.approx(population_stability(3 * before + 1, 3 * after + 1).psi), "only the order counts"
    both = found.psi, population_stability(before, after, n_bins=5).by_chance
    assert both[1] == pytest.approx(4 * (1 / 1000 + 1 / 300))


def test_missing_numbers_are_a_cell_and_ties_stay_together():
    before = np.repeat([0.0, 1.0, np.nan], [500, 400, 100])
    after = np.repeat([0.0, 1.0, np.nan], [100, 50, 50])
    found = population_stability(before, after)
    assert found.labels == ["up to 0.5", "above 0.5", "missing"]
    assert found.psi == pytest.approx(index_by_hand([500, 400, 100], [100, 50, 50]))
    assert population_stability(before, before).psi == 0


def test_index_is_symmetric_in_the_samples_over_the_same_cells():
    e, a = np.array([50.0, 30, 20]), np.array([5.0, 10, 25])
    forth, back = (stability_of_counts("abc", *pair, 0.95) for pair in ((e, a), (a, e)))
    assert forth.psi == pytest.approx(back.psi)
    assert (forth.low, forth.high, forth.by_chance) == pytest.approx((back.low, back.high, back.by_chance))
    twice = stability_of_counts("abc", 2 * e, 2 * a, 0.95)
    assert twice.psi == pytest.approx(forth.psi)
    assert twice.high - twice.low < forth.high - forth.low


def test_interval_inverts_the_noncentral_chi_squared_distribution():
    found = stability_of_counts("abcd", np.array([400.0, 300, 200, 100]), np.array([60.0, 80, 30, 30]), 0.9)
    unit = 1 / 1000 + 1 / 200
    for end, tail in ((found.low, 0.95), (found.high, 0.05)):
        assert stats.ncx2.cdf(found.psi / unit, 3, end / unit) == pytest.approx(tail, abs=1e-6)
    same = stability_of_counts("abcd", *[np.array([400.0, 300, 200, 100])] * 2, 0.9)
    assert (same.psi, same.low, same.high) == (0, 0, 0)
    one = stability_of_counts("a", np.array([10.0]), np.array([20.0]), 0.9)
    assert (one.psi, one.by_chance, one.low, one.high) == (0, 0, 0, 0)


@pytest.mark.parametrize("tilt", [0.0, 0.3, 0.8])
def test_interval_covers_and_chance_is_the_mean_without_drift(tilt):
    rng, p = np.random.default_rng(5), np.full(8, 1 / 8)
    q = p * np.exp(tilt * np.linspace(-1, 1, 8))
    q /= q.sum()
    truth = float((q - p) @ np.log(q / p))
    found = [
        stability_of_counts("abcdefgh", rng.multinomial(2000, p), rng.multinomial(400, q), 0.95) for _ in range(400)
    ]
    covered = np.mean([each.low <= truth <= each.high + 1e-12 for each in found])
    assert 0.92 < covered < 0.99 or (tilt == 0 and covered > 0.95)
    assert np.mean([each.psi - each.by_chance for each in found]) == pytest.approx(truth, abs=0.01)


def test_training_rows_are_stable_and_their_index_is_nothing(rows, model):
    drift = monitor(model, *rows)
    assert drift.is_stable
    assert drift.drifted == []
    assert max(each.stability.psi for each in drift.columns) < 1e-12
    assert drift.score.psi < 0.01  # the bins are of held-out scores
    assert drift.auc == roc_auc_ci(rows[1], model.decision_function(rows[0]))
    assert drift.promised[:3] == (model.cv_auc_, *model.cv_auc_ci_)
    assert drift.base_rate == pytest.approx(np.mean(rows[1] == "lost"))
    assert drift.mean_probability == pytest.approx(model.predict_proba(rows[0])[:, 1].mean())
    assert not any(each.new_levels or each.vanished_levels or each.n_outside for each in drift.columns)
    assert [each.missing_share for each in drift.columns] == [each.expected_missing_share for each in drift.columns]


def test_indices_of_columns_are_the_formula_over_the_bins_and_levels_of_the_model(rows, model):
    new, _ = draw(800, np.random.default_rng(2), shift=4)
    drift = by_name(monitor(model, new))
    cells = drift["age"].stability
    assert len(cells.labels) == 11
    cuts = [float(label.split()[-1]) for label in cells.labels[:-2]]
    counts = [
        [*np.histogram(each.dropna(), [-np.inf, *np.nextafter(cuts, np.inf), np.inf])[0], each.isna().sum()]
        for each in (rows[0]["age"], new["age"])
    ]
    np.testing.assert_allclose(cells.expected, np.array(counts[0]) / N)
    assert cells.psi == pytest.approx(index_by_hand(*counts))
    assert max(cells.expected[:-1]) < 0.13, "neighbouring bins of the model are joined to about ten"
    levels = ["basic", "family", "plus", "rare"]
    counts = [[(each["plan"] == level).sum() for level in levels] for each in (rows[0], new)]
    assert drift["plan"].stability.labels == [*levels[:3], "rarer levels"]
    assert drift["plan"].stability.psi == pytest.approx(index_by_hand(*counts))
    assert drift["owner"].stability.labels == ["No", "Yes"]
    counts = [[(each["owner"] == word).sum() for word in ("No", "Yes")] for each in (rows[0], new)]
    assert drift["owner"].stability.psi == pytest.approx(index_by_hand(*counts))


@pytest.mark.filterwarnings("ignore:X has")
@pytest.mark.parametrize("which", ["model", "linear"])
def test_new_and_vanished_levels_gaps_and_ranges_left_are_found(rows, which, request):
    fitted, (new, _) = request.getfixturevalue(which), draw(500, np.random.default_rng(3))
    new["plan"] = new["plan"].replace({"family": "gold"}).mask(new.index < 3, "new'\n<b>")
    new.loc[:9, "age"] = 1e6
    new.loc[:3, "age"] = -1e6
    new.loc[10:300, "age"] = np.nan
    drift = by_name(monitor(fitted, new))
    assert drift["plan"].new_levels == {"gold": (new["plan"] == "gold").sum(), "new'\n<b>": 3}
    assert drift["plan"].vanished_levels == ["family"], "a rare level may well be absent"
    assert drift["age"].n_outside == 10
    assert drift["age"].missing_share == new["age"].isna().mean()
    assert drift["age"].expected_missing_share == rows[0]["age"].isna().mean()
    assert "new levels" in drift["plan"].stability.labels
    assert drift["plan"].remarks[0].startswith("new: gold (")
    assert drift["plan"].remarks[1] == "gone: family"
    assert drift["age"].remarks == ["10 rows outside of the range"]
    assert (drift["age"].stability is None) == (which == "linear"), "an encoder knows the range of a number alone"


def test_a_linear_model_knows_levels_and_truth_values_from_its_encoder(rows, model, linear):
    new, _ = draw(700, np.random.default_rng(4))
    ours, theirs = by_name(monitor(model, new)), by_name(monitor(linear, new))
    for name in ("plan", "owner"):
        assert theirs[name].stability.psi == pytest.approx(ours[name].stability.psi, rel=1e-6)
    assert monitor(linear, new).score.labels[0].startswith("up to")


def test_a_constant_that_changes_is_drift(rows):
    X = rows[0].assign(flag=5.0)
    with pytest.warns(UserWarning, match="constant"):
        model = TableClassifier("lines", cv=0).fit(X, rows[1])
    same, other = (by_name(monitor(model, X[:400].assign(flag=flag)))["flag"].stability for flag in (5.0, 7.0))
    assert same.psi == 0
    assert other.labels == ["5", "above 5"]
    assert other.psi > 5


def test_only_what_is_beyond_chance_is_drift(rows, model):
    new, _ = draw(30, np.random.default_rng(7))
    few = monitor(model, new)
    assert max(each.stability.psi for each in few.columns) > 0.25, "by chance alone"
    assert few.is_stable
    moved = monitor(model, draw(2000, np.random.default_rng(8), shift=4)[0])
    assert moved.status(by_name(moved)["age"].stability) == "moved"
    assert moved.is_stable
    strict = monitor(model, draw(2000, np.random.default_rng(8), shift=4)[0], limit=0.05)
    assert strict.drifted == ["age"]
    assert strict.status(by_name(strict)["age"].stability) == "drift"


def test_new_levels_are_apart_only_if_they_are_more_than_rare_ones_let_expect():
    before = ["a"] * 80 + ["b"] * 10 + list("0123456789")  # ten of a hundred rows had a level of their own
    few, many = (population_stability(before, ["a"] * (70 - n) + ["b"] * 10 + ["new"] * n) for n in (8, 24))
    assert few.labels == ["a", "b", "rarer levels"]
    assert few.psi == pytest.approx(index_by_hand([80, 10, 10], [62, 10, 8]))
    assert many.labels == ["a", "b", "new levels"], "all rarer levels had one row"
    assert many.psi == pytest.approx(index_by_hand([80, 10, 10], [46, 10, 24]))


@pytest.mark.parametrize("n_levels", [50, 200, 400])
@pytest.mark.parametrize("n", [1, 30, 500])
def test_many_levels_do_not_drift_by_themselves(n_levels, n):
    alarms = {"same": 0, "other": 0}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        before, same = (rng.integers(n_levels, size=size).astype(str) for size in (1000, n))
        for name, after in (("same", same), ("other", np.char.add(same, "x"))):
            drift = empty_drift(score=population_stability(before, after))
            alarms[name] += not drift.is_stable
    assert alarms["same"] <= 1
    assert n == 1 or alarms["other"] == 10


def test_excess_of_new_levels_is_its_formula():
    share, expected = 100 / 500, 30 / 1000
    low = stats.binomtest(100, 500).proportion_ci(0.95, "exact").low
    error = stats.norm.ppf(0.975) * math.sqrt(30 * (1 - 30 / 1000) + 2 * 10) / 1000
    by_hand = share - expected - math.hypot(share - low, error)
    assert excess_of_new(100, 500, 30, 10, 1000, 0.95) == pytest.approx(by_hand)
    assert excess_of_new(0, 500, 30, 10, 1000, 0.95) < 0
    assert excess_of_new(0, 0, 30, 10, 1000, 0.95) == excess_of_new(1, 1, 0, 0, 0, 0.95) == 0


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize("n_levels", [50, 400, 2000])
@pytest.mark.parametrize("n", [1, 100, 500])
def test_a_fifth_of_new_names_among_rare_levels_is_drift(power, n_levels, n):
    """Without new names, fewer alarms than an interval of 95% allows: 2.5%, and 1% where rows are many."""
    rng, n_training, alarms = np.random.default_rng(n_levels + n), 2000, np.zeros(2)
    shares = 1 / np.arange(1.0, n_levels + 1) ** power
    shares /= shares.sum()
    for _ in range(200):
        counts = np.bincount(rng.choice(n_levels, n_training, p=shares), minlength=n_levels)
        new, named_anew = counts[rng.choice(n_levels, n, p=shares)] == 0, rng.random(n) < 0.2
        for k, n_new in enumerate((new.sum(), (new | named_anew).sum())):
            alarms[k] += excess_of_new(n_new, n, *seldom_of(counts), n_training, 0.95) > 0.05
    assert alarms[0] <= (5 if n == 1 else 2)
    assert n < 100 or alarms[1] >= (190 if n_levels <= 400 and n == 500 else 40)


def test_new_levels_among_rare_ones_say_drift():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"street": rng.integers(400, size=1000).astype(str), "x": rng.normal(size=1000)})
    model = TableClassifier("lines", cv=0, categorical=["street"]).fit(X, rng.random(1000) < 0.5)
    new = pd.DataFrame({"street": rng.integers(400, size=500).astype(str), "x": rng.normal(size=500)})
    same = by_name(monitor(model, new))["street"]
    counts = X["street"].value_counts()
    assert same.expected_new_share == (counts == 1).sum() / 1000
    assert same.new_share == (~new["street"].isin(counts.index)).mean()
    new.loc[:99, "street"] = "never"
    drift = monitor(model, new)
    (street,) = (each for each in drift.columns if each.column == "street")
    assert drift.status(street.stability) != "drift"
    assert drift.drifted == ["street"]
    assert street.remarks[0].startswith("new: never (100), ")
    assert street.remarks[0].endswith(f"% of rows, {same.expected_new_share:.1%} expected")
    assert monitor(model, new, limit=2.0).is_stable


@pytest.mark.parametrize("which", ["model", "linear"])
def test_only_the_ratios_of_weights_count(rows, which, request):
    fitted, (new, y) = request.getfixturevalue(which), draw(300, np.random.default_rng(3), shift=6)
    whole = np.arange(300) % 3
    weighted = monitor(fitted, new, y, sample_weight=1e-3 * whole)
    for one, other in (
        (weighted, monitor(fitted, new, y, sample_weight=whole)),
        (monitor(fitted, new, y), monitor(fitted, new, y, sample_weight=[1e5] * 300)),
    ):
        for name in ("score", "drift", "auc", "mean_probability", "drifted"):
            each = zip(flat({"": one.to_dict()[name]}), flat({"": other.to_dict()[name]}), strict=True)
            assert all(a == b or a == pytest.approx(b) for a, b in each)
    repeated = monitor(fitted, new.loc[np.repeat(np.arange(300), whole)])
    for ours, theirs in zip(weighted.columns, repeated.columns, strict=True):
        if ours.stability is not None and ours.kind != "category":
            np.testing.assert_allclose(ours.stability.actual, theirs.stability.actual)
            assert ours.stability.by_chance >= theirs.stability.by_chance
    assert weighted.mean_probability == pytest.approx(repeated.mean_probability)


@pytest.mark.filterwarnings("ignore:The mean of sample_weight")
def test_weights_of_training_rows_far_from_one_do_not_matter(rows):
    new = draw(300, np.random.default_rng(3))[0]
    light, plain = (TableClassifier("lines").fit(*rows, sample_weight=w * np.ones(N)) for w in (1e-4, 1))
    assert monitor(light, new).score.by_chance == pytest.approx(monitor(plain, new).score.by_chance)


def empty_drift(**values):
    named = {"n_samples": 9, "columns": [], "base_rate": 0.5, "mean_probability": 0.5, "periods": [], "limit": 0.25}
    return Drift(**dict.fromkeys(Drift._fields) | named | values)


def test_few_rows_do_not_say_drift(rows, model):
    assert [monitor(model, rows[0][k : k + 1]).drifted for k in range(20)] == [[]] * 20
    found = stability_of_counts("ab", np.array([950.0, 50.0]), np.array([15.0, 5.0]), 0.95)
    assert found.excess > 0.25
    assert 0 < found.low < 0.1
    assert empty_drift().status(found) == "moved"


@pytest.mark.parametrize("which", ["model", "linear"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_missing_dates_count(which, share, rows, request):
    fitted, n = request.getfixturevalue(which), 400
    new = rows[0][:n].reset_index(drop=True)
    new.loc[: int(share * n) - 1, "since"] = None
    drift = monitor(fitted, new)
    gaps = by_name(drift)["since (missing)"]
    assert gaps.counts
    assert (gaps.expected_missing_share, gaps.missing_share) == (0, share)
    if share:
        assert gaps.stability.labels == ["present", "missing"]
        assert gaps.stability.psi == pytest.approx(index_by_hand([N, 0], [n - share * n, share * n]))
    assert ("since (missing)" in drift.drifted) == (share > 0)
    assert drift.status(gaps.stability) == ("drift" if share else "stable")


def test_an_auc_below_the_promised_one_is_drift(rows, model):
    new, y = draw(800, np.random.default_rng(21))
    assert monitor(model, new, y).auc_loss is None
    assert monitor(model, new, y).verdict == "stable"
    shuffled = np.random.default_rng(0).permutation(y)
    assert monitor(model, new).is_stable, "without labels"
    drift = monitor(model, new, shuffled)
    assert drift.drifted == ["AUC"]
    auc = "{:.4f} ({:.4f} to {:.4f})".format(*drift.auc[:3])
    low = f"{model.cv_auc_ci_[0]:.4f}"
    words = f"drift: AUC; the AUC of {auc} is below {low}, the lower end of the cross-validated one"
    assert drift.verdict == words
    assert drift.to_dict()["verdict"] == words


def test_the_whole_interval_of_the_auc_must_be_below():
    auc, end = AUCInterval(0.7, 0.65, 0.75, 0.02), math.nan
    promises = {
        (0.8, 0.74): None,
        (0.8, 0.76): "lower end",
        (0.74, end): None,
        (0.76, end): "is below 0.7600, the cross",
    }
    for (promised, low), words in promises.items():
        loss = empty_drift(auc=auc, promised=AUCInterval(promised, low, 0.9, end)).auc_loss
        assert (loss is None) if words is None else (words in loss)
    assert empty_drift(auc=auc).auc_loss is None


def test_dates_move_on_and_do_not_count(rows, model):
    new = rows[0][:900].assign(since="2022-06-01")
    drift = monitor(model, new)
    ages = next(each for each in drift.columns if each.column.startswith("since (days before "))
    assert drift.status(ages.stability) == "drift"
    assert not ages.counts
    assert drift.is_stable


def test_auc_by_month_is_the_auc_of_its_rows(rows, model):
    new, y = draw(600, np.random.default_rng(9))
    months = np.array(["2024-01", "2024-02", "2024-03"])[np.arange(600) % 3]
    days = np.char.add(months, "-15")
    days[0] = "2023-11-30"
    for time in (days, days.astype("M8[s]"), pd.to_datetime(pd.Series(days)), days.tolist()):
        periods = monitor(model, new, y, time=time).periods
        assert [each.month for each in periods] == ["2023-11", "2024-01", "2024-02", "2024-03"]
        assert periods[0][1:] == (1, int(y[0] == "lost"), None)
        scores, mask = model.decision_function(new), months == "2024-02"
        assert periods[2].auc == roc_auc_ci(y[mask], scores[mask])
        assert (periods[2].n_samples, periods[2].n_positive) == (200, (y[mask] == "lost").sum())
    assert monitor(model, new, time=days).periods == []
    days[::2] = "NaT"
    (*_, last) = monitor(model, new, y, time=days).periods
    assert (last.month, last.n_samples) == ("no date", 300)
    assert last.auc == roc_auc_ci(y[::2], model.decision_function(new)[::2])


def test_the_score_is_compared_with_the_rows_of_the_calibration():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = rng.random(4000) < 1 / (1 + np.exp(-X[:, 0]))
    model = AUCClassifier(alpha=0.01).fit(X, y)
    scores = model.decision_function(X)
    ends, weights = model.score_bins_
    assert len(ends) == 10
    np.testing.assert_allclose(weights, np.histogram(scores, [-np.inf, *ends[:-1], np.inf])[0], atol=20)
    assert weights.sum() == pytest.approx(4000)
    assert monitor(model, X).score.psi < 0.001
    moved = monitor(model, X + np.array([1, 0, 0]))
    assert moved.drifted == ["score"]
    assert moved.score.psi == pytest.approx(
        population_stability(scores, model.decision_function(X + np.array([1, 0, 0]))).psi, rel=0.05
    )


def test_few_different_scores_are_not_cut_in_the_middle():
    """The histogram of the calibration shares a score between two points: no border may be there."""
    X = np.repeat([[0.0], [1.0], [2.0], [3.0]], [400, 300, 200, 100], axis=0)
    y = np.random.default_rng(0).random(1000) < X[:, 0] / 4
    model = AUCClassifier(alpha=0.01).fit(X, y)
    drift = monitor(model, X)
    assert drift.score.psi == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(sorted(drift.score.expected), [0.1, 0.2, 0.3, 0.4], atol=1e-9)


def test_bins_are_equal_shares_and_need_sharp_borders():
    points = np.arange(1001.0)
    borders, weights = find_bins(points, np.ones(1001))
    np.testing.assert_allclose(weights, 100.1, atol=1)
    assert borders.tolist() == sorted(borders)
    lumps = np.zeros(1001)
    lumps[50:1001:80] = [0.05, *[0.1] * 9, 0.05, 0.0]
    borders, weights = find_bins(points, lumps)  # a decile is in the middle of a lump: the border is next to it
    assert len(borders) >= 8
    assert (lumps[borders.astype(int)] == 0).all()
    lump = np.zeros(1001)
    lump[500:502] = 0.5 - SHARP, 0.5 + SHARP
    borders, weights = find_bins(points, lump)
    assert not ((borders > 499) & (borders < 502)).any()
    assert weights[weights > 0].tolist() == [1.0]


def test_classifiers_without_known_scores_say_so(rows):
    X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 2
    drift = monitor(GaussianAUC().fit(X, y), X, y)
    assert drift.score is None
    assert drift.columns == []
    assert drift.is_stable
    assert drift.to_dict()["score"] is None
    assert monitor(GaussianError(priors=[0.9, 0.1]).fit(X, y), X).base_rate == 0.1


def test_a_model_from_a_file_knows_the_same(rows, model, linear, tmp_path):
    new, y = draw(300, np.random.default_rng(11))
    for k, fitted in enumerate((model, linear)):
        save_model(fitted, tmp_path / f"m{k}")
        assert monitor(load_model(tmp_path / f"m{k}"), new, y).to_dict() == monitor(fitted, new, y).to_dict()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda m, X, y: monitor(m, X, limit=0), ValueError, "limit must be above 0, got 0"),
        (lambda m, X, y: monitor(m, X, confidence_level=1), ValueError, r"confidence_level must be in \(0, 1\), got 1"),
        (
            lambda m, X, y: monitor(m, X, ["a"] * len(X)),
            ValueError,
            r"y holds 'a', but the classes are \['kept', 'lost'\]",
        ),
        (lambda m, X, y: monitor(m, X, y, time=["x"] * len(X)), ValueError, "time must hold a date for each row"),
        (lambda m, X, y: monitor(m, X, y, time=np.arange(len(X))), ValueError, "each row: numbers are not dates"),
        (lambda m, X, y: monitor(m, X, sample_weight=[-1.0] * len(X)), ValueError, "Negative values in data passed to"),
        (lambda m, X, y: monitor(m, X, y, time=["2024-01-01"]), ValueError, "inconsistent numbers of samples"),
        (lambda m, X, y: monitor(m, X.drop(columns="age")), ValueError, "X has no column 'age', which the model needs"),
        (lambda m, X, y: monitor(TableClassifier(), X), ValueError, "not fitted"),
        (lambda m, X, y: monitor(LogisticRegression(), X), TypeError, "classifier of aucmax, not a LogisticRegression"),
        (lambda m, X, y: population_stability([], [1.0]), ValueError, "expected has no values"),
        (lambda m, X, y: population_stability([1.0], [1.0], n_bins=1), ValueError, "n_bins must be at least 2, got 1"),
        (
            lambda m, X, y: population_stability([1.0], [1.0], confidence_level=2),
            ValueError,
            "confidence_level must be",
        ),
    ],
)
def test_hostile_arguments_get_one_sentence(rows, model, call, error, text):
    with pytest.raises(error, match=text):
        call(model, rows[0][:50], rows[1][:50])


def test_fewest_rows_of_a_cell():
    before = np.repeat(["a", "b"], [1000, 50])
    after = np.repeat(["a", "b"], [95, FEWEST])
    assert population_stability(before, after).labels == ["a", "rarer levels"]
    assert population_stability(np.repeat(["a", "b"], [1000, 60]), after).labels == ["a", "b"]
