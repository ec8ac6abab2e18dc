"""The study of scorecards: its page, and the cards of optbinning where it is installed."""

import numpy as np
import pytest

from aucmax_studies.peers import cards

FOUND = {
    "machine": "a machine",
    "versions": {"aucmax": "1"},
    "halves": {"a": "choice", "b": "verdict", "c": "verdict", cards.CREDIT: "neither"},
    "cells": {
        f"{name}/{who}/{split}": {
            **{str(n): [n, 0.7 + lead / 100 + n / 1000 + split / 10] for n in cards.LINES},
            "auto": [33, 0.8],
            cards.MODEL: [0, 0.9],
        }
        for name, ours in (("a", 3), ("b", -1), (cards.CREDIT, 4))
        for who, lead in ((cards.OURS, ours), (cards.PEER, 0))
        for split in range(2)
    },
}


def test_page_of_cards_has_the_mean_leads(tmp_path):
    page = cards.make_page(FOUND, "About.", "cards.svg")
    assert "With at most 20 lines, the mean lead of our cards is +0.0200 on 3 tables (all): 2 better, 1 worse." in page
    assert "is +0.0300 on 1 tables (choice)" in page
    assert "is -0.0100 on 1 tables (verdict): 0 better, 1 worse." in page
    assert "| a | choice | 33 | .8000 | .7700 |" in page
    cards.draw(FOUND, tmp_path / "cards.svg")
    assert "lines, at most" in (tmp_path / "cards.svg").read_text(encoding="utf-8")


def test_our_cards_have_at_most_so_many_lines():
    rows = cards.load_credits()
    X, y = rows.X[:1500], rows.y[:1500]
    found = cards.our_cards(X, y, rows.X[1500:2500], rows.y[1500:2500])
    assert all(found[str(n)][0] <= n for n in cards.LINES)
    assert all(0.5 < auc < 0.9 for _, auc in found.values())


def test_cards_of_optbinning_have_at_most_so_many_lines():
    pytest.importorskip("optbinning")
    rows = cards.load_credits()
    X = cards.TypedFrame().fit_transform(rows.X[:1200][["income", "amount", "home"]])
    found = cards.peer_cards(X[:800], rows.y[:800], X[800:], rows.y[800:1200])
    assert all(lines <= int(n) for n, (lines, _) in found.items())
    assert np.isfinite([auc for _, auc in found.values()]).all()
