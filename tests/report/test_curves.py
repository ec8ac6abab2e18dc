"""The parts of a report that only table models have."""

import re
from html import unescape

import numpy as np
import pytest

from aucmax import Scorecard, TableClassifier
from aucmax.report.curves import describe_additive
from aucmax.report.displays.base import number_text
from aucmax.report.html import Report, render_page
from aucmax.tables.curves import auc_lost_without

ATTACK = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def fitted():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.standard_normal((300, 2)), columns=["age", ATTACK])
    frame.loc[:20, "age"] = np.nan
    frame["level"] = rng.choice(["a", ATTACK, "c"], 300)
    y = (frame[ATTACK] + rng.standard_normal(300) > 0).to_numpy().astype(int)
    return TableClassifier(cv=2, max_bins=6).fit(frame, y), frame, y


def test_describe_additive_has_the_parts_of_the_model(fitted):
    model, X, y = fitted
    parts = describe_additive(model, X, y)
    card = Scorecard(model)
    lost = card.auc_lost(X, y)
    assert [entry for *_, entries in parts.scorecard for entry in entries] == card.table()
    assert parts.summary == card.summary() == repr(card).split("\n\n")[0].splitlines()
    assert f"{lost.difference:.4f} of the AUC on test rows, 95% interval {lost.low:.4f}" in " ".join(parts.summary)
    assert not any("test rows" in each for each in describe_additive(model, X, y, trained_on=True).summary)
    assert parts.importance[0].name == ATTACK
    np.testing.assert_allclose(sorted(each.lost for each in parts.importance), sorted(auc_lost_without(model, X, y)))
    assert parts.curves[0].name == ATTACK
    assert [rung.terms for rung in parts.ladder] == model.ladder_["terms"].tolist()
    assert [rung.low < rung.auc < rung.high for rung in parts.ladder] == [True] * len(parts.ladder)
    assert [rung.freedom for rung in parts.ladder] == model.ladder_["freedom"].tolist()


def test_the_page_shows_curves_importance_and_scorecard_and_escapes_names(fitted):
    parts = describe_additive(*fitted)
    page = render_page(Report("A table model", additive=parts))
    assert len(re.findall("<figure>", page)) == len(parts.curves) + 1, "and that of the importance"
    assert "What each column is worth" in page
    entries = [entry for *_, entries in parts.scorecard for entry in entries]
    assert len(re.findall(r"%</td><td>[^<%]*</td></tr>", page)) == len(entries)
    text = unescape(page)
    assert all(f"{name} <small>{worth}</small>" in text for name, worth, _ in parts.scorecard)
    assert all(sentence in text for sentence in parts.summary)
    for each in parts.importance:
        ends = [number_text(end, "+z.4f") for end in each[1:]]
        assert f"<td>{ends[0]}<small>{ends[1]} to {ends[2]}</small></td>" in page
    assert "Missing values: " in page
    assert "<script" not in page


def test_the_page_shows_the_ladder(fitted):
    parts = describe_additive(*fitted)
    page = render_page(Report("A table model", summary=[("data", "train.csv")], additive=parts))
    (first,) = (part for part in page.split("<section>") if "<h2>The ladder</h2>" in part)
    rows = re.findall(r'<tr( class="chosen")?><th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td>', first)
    expected = [
        (
            ' class="chosen"' * rung.chosen,
            rung.terms + " (chosen)" * rung.chosen,
            f"{rung.auc:.4f}",
            f"{rung.low:.4f} to {rung.high:.4f}",
        )
        for rung in parts.ladder
    ]
    assert rows == expected
    assert sum(rung.chosen for rung in parts.ladder) == 1 < len(parts.ladder)


def test_a_fit_without_folds_has_no_ladder(fitted):
    _, X, y = fitted
    parts = describe_additive(TableClassifier("lines", cv=0).fit(X, y))
    assert not parts.ladder
    assert "ladder</h2>" not in render_page(Report("One rung", additive=parts))


def test_without_rows_the_page_has_curves_and_scorecard_alone(fitted):
    parts = describe_additive(fitted[0])
    assert not parts.importance
    page = render_page(Report("Of a file by blocks", additive=parts))
    assert "Scorecard" in page
    assert "What each column is worth" not in page
    assert len(re.findall("<figure>", page)) == len(parts.curves)


def test_the_most_important_columns_are_shown(monkeypatch, fitted):
    monkeypatch.setattr("aucmax.report.curves.MOST_IMPORTANT", 2)
    lost = sorted(auc_lost_without(*fitted), reverse=True)
    np.testing.assert_allclose([each.lost for each in describe_additive(*fitted).importance], lost[:2])


def test_a_page_without_a_table_model_has_no_trace_of_it():
    page = render_page(Report("Nothing"))
    assert "Scorecard" not in page
    assert "ladder</h2>" not in page


def test_a_long_scorecard_is_folded(fitted):
    parts = describe_additive(*fitted)
    assert "<details open>" in render_page(Report("Short", additive=parts))
    levels = ", ".join(f"level {k}" for k in range(50))
    name, worth, (entry, *_) = parts.scorecard[0]
    long = [(name, worth, [entry._replace(values=levels)] * 50)]
    page = render_page(Report("Long", additive=parts._replace(scorecard=long)))
    assert "<details>\n<summary>50 lines</summary>" in page
    assert page.count(f"<td>{levels}</td>") == 50, "levels are not cut"
