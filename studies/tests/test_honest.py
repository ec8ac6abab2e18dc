"""The study of honest AUCs: its settings, and what it makes of the draws."""

import numpy as np
import pytest

from aucmax_studies.choices import honest


@pytest.mark.parametrize("setting", honest.SETTINGS)
def test_honest_settings_have_their_rows_and_labels_that_know_nothing(setting):
    make, _ = honest.SETTINGS[setting]
    X, y, *groups = make(np.random.default_rng(0))
    assert len(X) == len(y)
    unit = np.unique(groups[0], return_index=True)[1] if groups else np.arange(len(y))
    assert np.array_equal(y, y[unit][groups[0]] if groups else y)  # a group has one label
    assert f" {y[unit].sum()} " in setting
    _, again, *_ = make(np.random.default_rng(1))
    assert abs(np.corrcoef(y, again)[0, 1]) < 0.3


def test_honest_summary_by_hand():
    draws = np.array([[0.6, 0.5, 0.4, 0.6], [0.7, 0.6, 0.55, 0.65], [0.5, 0.4, 0.3, 0.5], [0.6, 0.5, 0.2, 0.45]])
    chosen, auc, error, covered = honest.summarise(draws)
    assert (chosen, auc, covered) == pytest.approx((0.6, 0.5, 0.5))  # two intervals hold one half, one ends there
    assert error == pytest.approx(np.sqrt(0.02 / 3) / 2)


def test_honest_draw_of_a_table_is_one_of_aucmax_fit():
    setting = next(name for name in honest.SETTINGS if "100 levels" in name)
    chosen, auc, low, high = honest.draw(setting, 0)
    assert 0 <= low < auc < high <= 1
    assert 0.3 < chosen < 0.7
    assert honest.draw(setting, 0) == (chosen, auc, low, high)
    assert honest.draw(setting, 1) != (chosen, auc, low, high)


def test_honest_tables_without_data_have_shuffled_labels_alone(monkeypatch):
    monkeypatch.setattr(honest, "available", list)
    monkeypatch.setattr(honest, "SETTINGS", dict(list(honest.SETTINGS.items())[:1]))
    assert list(honest.nested_lines(1)) == []
    *_, line = honest.shuffled_lines(2)
    assert line.count("|") == 6
