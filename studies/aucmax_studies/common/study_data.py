"""The data sets of the study beside other libraries: their loader, their two halves and their splits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from .generated import GENERATED
from .realdata import DATA_DIR, TABLES, is_there, load_splice_full, load_table
from .realdata import load as load_real

# The fastest to measure come first.
NAMES = (
    *("colon-cancer", "sonar", "fourclass", "diabetes", "made-equal-gaussians", "german", "vowel", "svmguide3"),
    *("made-few-columns-matter", "segment", "svmguide1", "made-heavy-tails", "made-mislabelled"),
    *("made-unequal-gaussians", "made-logistic-model", "splice-full", "made-rare-levels", "leukemia", "satimage"),
    *("spambase", "made-rare-positives", "telco", "letter", "magic04", "higgs", "susy", "cod-rna", "shuttle", "ijcnn1"),
    *("a9a", "adult", "connect-4", "w8a", "usps", "made-wide-correlated", "farm-ads", "covtype", "news20", "mnist-8"),
)
# Up to the first number of rows five halvings, of which each half is the training set once; above it, splits of 80% for
# training and 20% for the test.
SPLITS = {"halved_rows": 5_000, "three_splits_rows": 20_000, "three_splits_columns": 10_000, "test_size": 0.2}


def available() -> list[str]:
    """Return the data sets of the study that are generated, or whose files are there."""
    return [name for name in NAMES if _is_available(name)]


def _is_available(name: str) -> bool:
    if name in GENERATED:
        return True
    if name in TABLES:
        return (DATA_DIR / TABLES[name].file).is_file()
    return (DATA_DIR / "splice_full.bz2").is_file() if name == "splice-full" else is_there(name)


def load(name: str) -> tuple[Any, np.ndarray]:
    """Return X as float64, dense or CSR, and y in {0, 1} of a real, encoded or generated data set."""
    if name in GENERATED:
        return GENERATED[name]()
    if name in TABLES:
        return load_table(name)
    return load_splice_full() if name == "splice-full" else load_real(name)


def halves(names: Iterable[str] = NAMES) -> dict[str, list[str]]:
    """Return the data sets on which choices are made ("choice"), and those that judge them ("verdict").

    The names are sorted as plain strings. The first, third, fifth and so on are for choices, the others for verdicts.

    Examples
    --------
    >>> from aucmax_studies.common.study_data import halves
    >>> halves(["c", "a", "b"])
    {'choice': ['a', 'c'], 'verdict': ['b']}
    """
    ordered = sorted(names)
    return {"choice": ordered[::2], "verdict": ordered[1::2]}


def half_of(name: str) -> str:
    """Return the half of a data set, "choice" or "verdict"."""
    return next(half for half, names in halves().items() if name in names)


def n_splits(n_rows: int, n_columns: int) -> int:
    """Return the number of splits: small data need more, because one is noisy."""
    if n_rows <= SPLITS["halved_rows"]:
        return 10
    return 3 if n_rows <= SPLITS["three_splits_rows"] and n_columns <= SPLITS["three_splits_columns"] else 2


def test_share(n_rows: int) -> float:
    """Return the share of the rows that a split keeps for the test."""
    return 0.5 if n_rows <= SPLITS["halved_rows"] else SPLITS["test_size"]


def split(y: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training rows and the test rows of a split, with the same share of each class.

    Small data are halved: splits 0 and 1 are the two directions of the first halving, 2 and 3 of the second.
    """
    is_halved = len(y) <= SPLITS["halved_rows"]
    seed = number // 2 if is_halved else number
    parts = train_test_split(np.arange(len(y)), test_size=test_share(len(y)), stratify=y, random_state=seed)
    train, test = reversed(parts) if is_halved and number % 2 else parts
    return train, test
