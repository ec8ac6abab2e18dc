"""The data sets of the study of tables: raw tables of mixed types, and numeric sets, with their splits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from ..common import realdata
from ..common.study_data import halves

MAX_ROWS, N_FOLDS = 20_000, 3
# The column of the labels and the positive one, where they are not `target` and `yes`; columns that identify rows.
LABELS = {"adult": ("classification", ">50K"), "telco_churn": ("Churn", "Yes")}
READING = {"adult": {"skipinitialspace": True, "na_values": ["?"]}}
DROPPED = {"telco_churn": ["customerID"]}
LEFT_OUT = "adult_test"

MAX_NUMERIC_ROWS, MAX_NUMERIC_COLUMNS = 10_000, 300
# Parts of other sets, and columns that are all 0 or 1.
NUMERIC_LEFT_OUT = ("vowel-train", "splice", "a9a", "w8a")


class Rows(NamedTuple):
    """A data set: its columns as read, and labels in {0, 1}."""

    X: pd.DataFrame
    y: np.ndarray


def table_names() -> list[str]:
    """Return the names of the raw tables in the folder of data, sorted."""
    names = sorted(file.name.removesuffix(".csv.bz2") for file in (realdata.DATA_DIR / "tables").glob("*.csv.bz2"))
    return [name for name in names if name != LEFT_OUT]


def numeric_names() -> list[str]:
    """Return the names of the numeric sets, small ones first."""
    narrow = [name for name in realdata.available() if realdata.SOURCES[name].columns <= MAX_NUMERIC_COLUMNS]
    return [name for name in narrow if name not in NUMERIC_LEFT_OUT]


def half_of(name: str) -> str:
    """Return the half of a table, "choice" or "verdict"."""
    return next(half for half, names in halves(table_names()).items() if name in names)


def load_table(name: str) -> Rows:
    """Return a table as `pandas.read_csv` reads it, with at most 20,000 rows drawn at random."""
    frame = pd.read_csv(realdata.DATA_DIR / "tables" / f"{name}.csv.bz2", **READING.get(name, {}))
    if len(frame) > MAX_ROWS:
        frame = frame.sample(MAX_ROWS, random_state=0).reset_index(drop=True)
    target, positive = LABELS.get(name, ("target", "yes"))
    y = (frame.pop(target) == positive).to_numpy().astype(np.int64)
    return Rows(frame.drop(columns=DROPPED.get(name, [])), y)


def load(name: str) -> Rows:
    """Return a data set by its name."""
    if name in table_names():
        return load_table(name)
    X, y = realdata.load(name, max_rows=MAX_NUMERIC_ROWS)
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    return Rows(pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y)


def splits(name: str, rows: Rows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and test rows: three folds of a table, two draws of a quarter of a numeric set."""
    if name in table_names():
        return StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(rows.X, rows.y)
    return StratifiedShuffleSplit(2, test_size=0.25, random_state=0).split(rows.X, rows.y)
