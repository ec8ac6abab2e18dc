"""The data sets of the studies: those of the catalogue whose files are in the folder of data, and tables of it."""

import bz2
import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from .. import ROOT
from ..reproduce import catalogue
from ..reproduce.catalogue import Dataset

DATA_DIR = Path(os.environ.get("AUCMAX_DATA") or ROOT.parent / "shared" / "data")
SOURCES = catalogue.catalogue()
# Test parts, and other versions of data that are measured on anyway.
LEFT_OUT = ("usps.t", "usps-all", "a9a.t", "mnist", "poker")


def is_there(name: str) -> bool:
    """Return whether the files of a data set are in the folder."""
    return catalogue.find_files(SOURCES[name], DATA_DIR) is not None


def available() -> list[str]:
    """Return the names of the data sets to measure on."""
    return [name for name in SOURCES if name not in LEFT_OUT and is_there(name)]


def read(name: str, **options: Any) -> Dataset:
    """Return a data set of the folder, with its labels; the options are those of `catalogue.load`."""
    return catalogue.load(name, data_dir=DATA_DIR, download=False, **options)


def load(name: str, max_rows: int | None = None) -> tuple[Any, np.ndarray]:
    """Return X as float64, dense or CSR, and y in {0, 1}; a seeded sample of at most `max_rows` rows."""
    data = read(name, max_rows=max_rows)
    return data.features, data.y


def load_splice_full() -> tuple[np.ndarray, np.ndarray]:
    """Return all 3,175 rows of splice; the catalogue's file has 1,000 of them."""
    X, labels = load_svmlight_file(str(DATA_DIR / "splice_full.bz2"), n_features=60)
    return X.toarray(), (labels == 1).astype(np.int64)


# Tables with words


class Table(NamedTuple):
    """A CSV file with words and numbers.

    Attributes
    ----------
    file : str
        Its name in the folder of data.
    target, positive : str
        The column of the labels, and the label that is positive.
    dropped : tuple of str
        Columns that identify rows.
    """

    file: str
    target: str
    positive: str
    dropped: tuple[str, ...] = ()


TABLES = {
    "adult": Table("tables/adult.csv.bz2", "classification", ">50K"),
    "telco": Table("tables/telco_churn.csv.bz2", "Churn", "Yes", dropped=("customerID",)),
}


def load_table(name: str) -> tuple[sparse.csr_array, np.ndarray]:
    """Return the columns of a table, encoded, and y in {0, 1}."""
    table = TABLES[name]
    with bz2.open(DATA_DIR / table.file, "rt", encoding="utf-8", newline="") as file:
        header, *rows = (row for row in csv.reader(file, skipinitialspace=True) if row)
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    y = np.array([label == table.positive for label in columns[table.target]], dtype=np.int64)
    kept = [values for key, values in columns.items() if key not in (table.target, *table.dropped)]
    return sparse.csr_array(sparse.hstack([encode(values) for values in kept])), y


def encode(values: Sequence[str]) -> sparse.csr_array:
    """Return a column of numbers as it is, with the median for blanks; a column of words one-hot, with all levels."""
    try:
        numbers = np.array([float(value or "nan") for value in values])
    except ValueError:
        return sparse.csr_array(OneHotEncoder().fit_transform(np.array(values)[:, None]))
    return sparse.csr_array(SimpleImputer(strategy="median").fit_transform(numbers[:, None]))
