"""How much held-out AUCs flatter, because the strengths of the penalties were found on all rows.

Cross-validation trains the models of a fold with strengths, and pairs, that know the labels of its test rows. Where
columns mean nothing this matters: with 500 rows of eight such columns the held-out AUC is .56. So the whole search is
made again inside of each fold, and the difference is the optimism:

    mean over folds of   AUC(strengths of all rows) - AUC(strengths of the training rows)

where both models are fitted to the training rows, by the penalised logistic likelihood, and scored on the test rows. It
is a mean of paired differences, so it has little noise. All candidates of a cross-validation have the same strengths,
and so about the same optimism. As in the bootstrap of Efron (1983), it is subtracted from their AUCs.

The search takes time with the cube of the number of cells. How much curves can adapt to labels is a matter of their
strengths, not of the width of bins: bins are coarse here, and a search takes a hundredth of the time.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ..metrics import roc_auc
from ..rows.protocol import InMemoryRows
from ..search.rounds import Round, Split, make_rounds
from .bins import find_columns
from .evidence import find_strengths
from .kernels import gather
from .pairs import Design, encode, make_design, weights_of
from .rows import summarise_values
from .terms import cell_codes

COARSE_BINS, COARSE_CELLS = 32, 256  # of a column, and of all columns; as many again of all pairs that are found
MOST_ROWS = 5_000  # of each class: with more there is hardly any optimism, nor noise in it


def find_optimism(rows: InMemoryRows, categorical: np.ndarray, pairs: Any, signs: np.ndarray, cv: Any) -> float:
    """Return by how much held-out AUCs are too high, at least 0.

    Rows hold NaN where values are missing. `pairs` and `signs` are as in `make_design`, and `cv` gives one round of
    folds.
    """
    if isinstance(cv, Integral | None):
        rows = rows.sample(MOST_ROWS)
        cv = min(5 if cv is None else int(cv), *rows.counts.tolist())
    columns = find_columns(summarise_values(rows), categorical, COARSE_BINS, COARSE_CELLS)
    of_all = make_design(rows, columns, pairs, signs, COARSE_CELLS)
    found = [
        compare(rows, of_all, pairs, signs, round, split)
        for round in make_rounds(cv, rows, 1)
        for split in round.splits
    ]
    return max(float(np.mean(found)), 0.0)


def compare(rows: InMemoryRows, of_all: Design, pairs: Any, signs: np.ndarray, round: Round, split: Split) -> float:
    """Return the AUC on a test set with the strengths of all rows, minus the AUC with the training set's."""
    train, test = (rows.subset(round.parts, parts) for parts in (split.train, split.test))
    own = make_design(train, of_all.columns, pairs, signs, COARSE_CELLS)
    cells = cell_codes(of_all.terms, encode(of_all.columns, train.values()))
    given = cells, train.targets.positive, weights_of(train.targets), of_all.terms, of_all.columns
    refitted = find_strengths(*given, fixed=of_all.strengths)
    return score(test, of_all, refitted.values) - score(test, own, own.values)


def score(test: InMemoryRows, design: Design, values: np.ndarray) -> float:
    """Return the AUC of the curves of a design."""
    cells = cell_codes(design.terms, encode(design.columns, test.values()))
    return float(roc_auc(test.targets.positive, gather(cells, np.append(values, 0.0)), test.targets.sample_weight))
