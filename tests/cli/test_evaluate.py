"""`aucmax evaluate`: the figures of `evaluate`, with weights, costs and groups."""

import json

import numpy as np
import pandas as pd
import pytest

from aucmax import TableClassifier, load_model
from aucmax.report.evaluation import evaluate

RNG = np.random.default_rng(0)
N = 400
FRAME = pd.DataFrame({"age": RNG.normal(40, 9, N).round(2), "plan": RNG.choice(["basic", "plus"], N)})
Y = np.where(RNG.random(N) < 1 / (1 + np.exp((42 - FRAME["age"]) / 4)), "yes", "no")
REGION = np.where(np.arange(N) < 8, "tiny", np.where(RNG.random(N) < 0.4, "north", "south")).astype(object)
REGION[-5:] = None
WEIGHT = np.arange(N) % 4 / 2
PERSON = np.argsort(np.argsort(FRAME["age"].to_numpy())) // 5  # neighbours in age


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    FRAME.assign(region=REGION, person=PERSON, w=WEIGHT, y=Y).to_csv(folder / "rows.csv", index=False)
    TableClassifier("curves", cv=0).fit(FRAME, Y).save(folder / "model")
    return folder


@pytest.fixture
def told(run, folder):
    """Return a function that evaluates with options, as JSON."""

    def told(*options):
        status, out, err = run("evaluate", folder / "model", folder / "rows.csv", "--json", *options)
        assert (status, err) == (0, "")
        return json.loads(out)

    return told


@pytest.fixture(scope="module")
def scored(folder):
    model = load_model(folder / "model")
    return model.decision_function(FRAME), model.predict_proba(FRAME)[:, 1]


def test_figures_thresholds_gains_and_calibration(told, scored):
    found, expected = (
        told("--cost-fp", "1", "--cost-fn", "5"),
        evaluate(Y, scored[0], probabilities=scored[1], costs=(1, 5)),
    )
    assert found["auc"] == pytest.approx(expected.auc.auc)
    for name in ("ks", "gini", "average_precision"):
        ends = found[name], found[f"{name}_low"], found[f"{name}_high"]
        assert ends == pytest.approx(getattr(expected, name)), name
    assert [each["rule"] for each in found["thresholds"]] == list(expected.thresholds)
    for each, at in zip(found["thresholds"], expected.thresholds.values(), strict=True):
        assert (each["threshold"], each["tp"], each["fp"], each["cost"]) == (*at[:1], at.tp, at.fp, at.cost)
    for each, tenth in zip(found["gains"], expected.gains, strict=True):
        assert (each["n_samples"], each["n_positive"], each["lift"]) == (tenth.rows, tenth.positives, tenth.lift)
    calibration = expected.calibration
    assert found["calibration"]["brier_low"] == pytest.approx(calibration.brier.low)
    assert found["calibration"]["slope_low"] == pytest.approx(calibration.slope.low)
    assert found["calibration"]["bins"][3]["rate_high"] == pytest.approx(calibration.bins[3].rate.high)
    assert found["thresholds"][1]["recall_low"] == expected.thresholds["false positive rate 5%"].recall.low
    assert found["thresholds"][1]["probability"] == expected.thresholds["false positive rate 5%"].probability
    assert (found["by"], found["n_groups"]) == ([], None)


def test_weights_are_a_column_and_reach_all_figures(told, scored):
    found, expected = told("--weight", "w"), evaluate(Y, scored[0], WEIGHT, probabilities=scored[1])
    for name in ("n_samples", "n_positive", "ks_threshold", "partial_auc", "base_rate"):
        assert found[name] == pytest.approx(getattr(expected, name)), name
    assert found["auc_low"] == pytest.approx(expected.auc.low)
    assert found["ks"] != told()["ks"]


def test_groups_have_auc_rates_and_calibration_with_intervals(told, scored):
    found = told("--by", "region")["by"]
    expected = evaluate(Y, scored[0], probabilities=scored[1], by=REGION).by
    assert [each["group"] for each in found] == ["north", "south", "tiny", "missing"]
    for each, group in zip(found, expected, strict=True):
        assert each["n_samples"] == group.n_samples
        for name in ("recall", "fpr", "precision"):
            estimate = getattr(group.at, name)
            for key, value in ((name, estimate.value), (f"{name}_low", estimate.low), (f"{name}_high", estimate.high)):
                assert each[key] == (None if np.isnan(value) else pytest.approx(value))
        assert each["called_share"] == pytest.approx(group.at.called_share.value)
        assert each["calibration"]["mean_probability"] == pytest.approx(group.calibration.mean)
    assert found[0]["auc_high"] == pytest.approx(expected[0].auc.high)
    assert found[2]["auc"] is found[2]["auc_low"] is None
    assert "10 of each are needed" in found[2]["note"]
    weighted = told("--by", "region", "--weight", "w")["by"]
    again = evaluate(Y, scored[0], WEIGHT, probabilities=scored[1], by=REGION).by
    assert weighted[1]["recall"] == pytest.approx(again[1].at.recall.value)


def test_intervals_by_groups_of_dependent_rows(told, scored, run, folder):
    found, expected = told("--group", "person"), evaluate(Y, scored[0], probabilities=scored[1], groups=PERSON)
    assert found["n_groups"] == len(set(PERSON))
    assert found["auc_standard_error"] == pytest.approx(expected.auc.standard_error)
    assert found["auc_standard_error"] != pytest.approx(told()["auc_standard_error"])
    assert found["thresholds"][5]["precision_low"] == pytest.approx(expected.thresholds["top 10%"].precision.low)
    assert found["calibration"]["slope_low"] == pytest.approx(expected.calibration.slope.low)
    assert told("--group", "plan", "--by", "plan")["by"][0]["note"].startswith(
        "no AUC: 1 positive and 1 negative groups"
    )
    lines = run("evaluate", folder / "model", folder / "rows.csv", "--group", "person", "--by", "region")[1]
    assert f"(Obuchowski, {len(set(PERSON))} groups)" in lines


def test_the_terminal_and_the_report_show_them(run, folder, tmp_path):
    options = ["--by", "region", "--weight", "w", "--report", tmp_path / "report.html"]
    status, out, err = run("evaluate", folder / "model", folder / "rows.csv", *options)
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for begin in ("top 5%", "100%", "north", "tiny", "missing"):
        assert any(line.startswith(begin) for line in lines), begin
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for part in ("What each column is worth", "<h2>By region</h2>", "tiny: no AUC: "):
        assert part in page


def test_a_file_without_rows(refused, folder, tmp_path):
    (tmp_path / "none.csv").write_text("age,plan,y\n", encoding="utf-8")
    assert refused("evaluate", folder / "model", tmp_path / "none.csv") == f"{tmp_path}/none.csv has no rows."


def test_names_with_blanks_around_them(run, refused, tmp_path):
    """pandas keeps the blanks of a header, and a file of rows is read without them."""
    frame = FRAME.rename(columns={"plan": " plan"})
    frame.assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
    TableClassifier("curves", cv=0).fit(frame, Y).save(tmp_path / "model")
    status, out, _ = run("evaluate", tmp_path / "model", tmp_path / "rows.csv", "--by", " plan", "--json")
    assert status == 0
    assert [each["group"] for each in json.loads(out)["by"]] == ["basic", "plus"]
    line = refused("evaluate", tmp_path / "model", tmp_path / "rows.csv", "--by", "plan")
    assert line == f"{tmp_path}/rows.csv has no column 'plan' for --by; the nearest is ' plan'."


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--cost-fp", "1"], "--cost-fp and --cost-fn belong together: give both."),
        (["--group", "region"], "{0}: 5 rows have no value of 'region', the column of --group."),
        (
            ["--by", "plan", "--group", "who"],
            "{0} has no column 'who' for --group; its columns are age, plan, region, person, w, y.",
        ),
        (["--by", "sex"], "{0} has no column 'sex' for --by; its columns are age, plan, region, person, w, y."),
        (["--weight", "age"], "{0}: the column 'age' is a feature of the model, so it cannot be the weight."),
    ],
)
def test_options_that_cannot_be_used_are_refused(refused, folder, options, line):
    told = refused("evaluate", folder / "model", folder / "rows.csv", *options)
    assert told == line.format(folder / "rows.csv")
