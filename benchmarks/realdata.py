"""The data sets the benchmarks measure on, as binary problems."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

DATA_DIR = Path(os.environ.get("AUCMAX_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


class Source(NamedTuple):
    """A file, its number of columns, the classes that count as positive, and whether to keep it sparse."""

    file: str
    n_features: int
    positive: tuple[int, ...] = (1,)
    sparse: bool = False


# Multi-class sets: the second half of the classes against the first, or the class named.
SOURCES = {
    "diabetes": Source("diabetes.bz2", 8),
    "fourclass": Source("fourclass.bz2", 2),
    "german": Source("german.numer.bz2", 24),
    "sonar": Source("sonar.bz2", 60),
    "splice": Source("splice_scale.bz2", 60),
    "vowel": Source("vowel.bz2", 13, (6, 7, 8, 9, 10)),
    "svmguide3": Source("svmguide3.bz2", 21),
    "segment": Source("segment.bz2", 19, (5, 6, 7)),
    "svmguide1": Source("svmguide1.bz2", 4),
    "satimage": Source("satimage.scale.bz2", 36, (4, 5, 6)),
    "spambase": Source("spambase.bz2", 57),
    "usps": Source("usps.bz2", 256, (6, 7, 8, 9, 10)),
    "higgs": Source("higgs_sample.npz", 28),
    "letter": Source("letter.scale.bz2", 16, tuple(range(14, 27))),
    "magic04": Source("magic04.bz2", 10),
    "susy": Source("susy_sample30k.bz2", 18),
    "ijcnn1": Source("ijcnn1_recon.bz2", 22),
    "shuttle": Source("shuttle.bz2", 9, (4,)),
    "cod-rna": Source("cod-rna_std.bz2", 8),
    "mnist-8": Source("mnist.npz", 784, (8,)),
    "covtype": Source("covtype.npz", 54, (2,)),
    "a9a": Source("a9a.bz2", 123, sparse=True),
    "w8a": Source("w8a.bz2", 300, sparse=True),
    "connect-4": Source("connect-4.bz2", 126, (0,), sparse=True),
    "colon-cancer": Source("colon-cancer.bz2", 2000),
    "leukemia": Source("leukemia_raw.bz2", 7129, (2,)),
    "farm-ads": Source("farm-ads.bz2", 54877, sparse=True),
    "news20": Source("news20.bz2", 62061, tuple(range(11, 21)), sparse=True),
}


def available() -> list[str]:
    """Names of the data sets whose files are there."""
    return [name for name, source in SOURCES.items() if (DATA_DIR / source.file).exists()]


def read(source: Source) -> tuple[np.ndarray | sparse.csr_array, np.ndarray]:
    """Return X as float64, dense or CSR, and the labels of the file."""
    if source.file.endswith(".npz"):
        with np.load(DATA_DIR / source.file) as file:
            X, y = (file["X_train"], file["y_train"]) if "X_train" in file else (file["X"], file["y"])
        X = np.ascontiguousarray(X.reshape(len(X), -1), dtype=np.float64)
    else:
        X, y = load_svmlight_file(str(DATA_DIR / source.file), n_features=source.n_features)
        X = sparse.csr_array(X) if source.sparse else X.toarray()
    return X, y


def load(
    name: str | Source, max_rows: int | None = None, seed: int = 0
) -> tuple[np.ndarray | sparse.csr_array, np.ndarray]:
    """Return X as float64, dense or CSR, and y in {0, 1}; a seeded sample of at most `max_rows` rows."""
    source = SOURCES[name] if isinstance(name, str) else name
    X, y = read(source)
    y = np.isin(y, source.positive).astype(np.int64)
    if max_rows is not None and len(y) > max_rows:
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:max_rows])
        X, y = X[rows], y[rows]
    return X, y
