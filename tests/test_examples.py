"""The scripts of the gallery run, draw something and warn of nothing."""

import runpy
from pathlib import Path

import matplotlib
import pytest
from slow import slow_except

import aucmax

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.glob("*/plot_*.py"))


def test_gallery_has_twenty_four_scripts():
    assert len(SCRIPTS) == 24


def test_gallery_shows_every_display():
    text = "".join((EXAMPLES / script).read_text(encoding="utf-8") for script in SCRIPTS)
    displays = [name for name in aucmax.__all__ if name.endswith("Display")]
    assert displays
    assert [name for name in displays if f"{name}(" not in text and f"{name}.from_" not in text] == []


@pytest.mark.parametrize("script", slow_except(["fitting/plot_sparse_path.py", "judging/plot_roc_bands.py"], SCRIPTS))
def test_gallery_script_draws_without_warnings(script, tmp_path, monkeypatch):
    from matplotlib import pyplot as plt

    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        runpy.run_path(str(EXAMPLES / script))
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert figures
        for figure in figures:
            figure.canvas.draw()
    finally:
        plt.close("all")
