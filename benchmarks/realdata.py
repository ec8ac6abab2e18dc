"""The data sets of the benchmarks: those of the catalogue whose files are in the folder of data."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from aucmax.reproduce import catalogue
from aucmax.reproduce.catalogue import Dataset

DATA_DIR = Path(os.environ.get("AUCMAX_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
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
