"""The parts of a report that only additive models have."""

import re

import numpy as np
import pytest

from aucmax import AdditiveAUCClassifier, Scorecard
from aucmax.report.curves import describe_additive
from aucmax.report.html import Report, render_page
from aucmax.tables.curves import auc_lost_without

ATTACK = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def fitted():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.standard_normal((300, 2)), columns=["age", ATTACK])
    frame.loc[:20, "age"] = np.nan
    frame["level"] = pandas.Categorical(rng.choice(["a", ATTACK, "c"], 300))
    y = (frame[ATTACK] + rng.standard_normal(300) > 0).to_numpy().astype(int)
    return AdditiveAUCClassifier("squared", alpha=0.01, max_bins=6).fit(frame, y), frame, y


def test_describe_additive_has_the_parts_of_the_model(fitted):
    model, X, y = fitted
    parts = describe_additive(model, X, y)
    assert parts.scorecard == Scorecard(model).table()
    assert parts.importance[0][0] == ATTACK
    assert sorted(lost for _, lost in parts.importance) == sorted(auc_lost_without(model, X, y))
    assert parts.curves[0].name == ATTACK


def test_the_page_shows_curves_importance_and_scorecard_and_escapes_names(fitted):
    parts = describe_additive(*fitted)
    page = render_page(Report("An additive model", additive=parts))
    assert len(re.findall("<figure>", page)) == len(parts.curves) + 1, "and that of the importance"
    assert "What each column is worth" in page
    assert len(re.findall("%</td></tr>", page)) == len(parts.scorecard)
    assert f"Every row has {parts.base_points} points" in page
    assert "Missing values: " in page
    assert "<script" not in page


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
    assert [value for _, value in describe_additive(*fitted).importance] == lost[:2]


def test_a_page_without_an_additive_model_has_no_trace_of_it():
    assert "Scorecard" not in render_page(Report("Nothing"))
