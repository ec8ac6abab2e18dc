"""The data sets of the papers by name: files of a folder, or else downloads from LIBSVM or OpenML.

``catalogue.toml`` describes them. Their labels have the same names wherever the rows come from.
"""

from __future__ import annotations

import difflib
import importlib
import os
import socket
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from aucmax.files import open_source
from aucmax.files.source import stack

COMPRESSED = (".bz2", ".xz", ".gz")
PATIENCE = 20.0  # seconds that a server may be silent


class Unavailable(ValueError):
    """A data set that is not in the folder and cannot be downloaded."""


class Entry(NamedTuple):
    """What the catalogue knows about a data set."""

    files: tuple[str, ...]  # their names in a folder of data; the rows of several are stacked
    columns: int  # number of columns of X
    positive: tuple[int, ...] = (1,)  # the labels that are positive, unless others are asked for
    sparse: bool = False  # whether X stays sparse
    libsvm: tuple[str, ...] = ()  # what `libsvmdata` calls the files; empty where it has none
    openml: int | None = None  # the number on OpenML
    # labels of other copies and what they are called here. One is applied to a copy that has exactly these labels.
    spellings: tuple[Mapping[str, int], ...] = ()
    # a column and its value in the rows that belong to the data set, if the files have others
    only: tuple[int, float] | tuple[()] = ()
    note: str = ""  # what users of the data set should know


class Dataset(NamedTuple):
    """A binary problem."""

    name: str  # its name in the catalogue
    features: Any  # the rows, as float64
    y: np.ndarray  # 1 for the positive class, 0 for the other one
    labels: np.ndarray  # the labels of the file, from which y is made


@cache
def catalogue() -> dict[str, Entry]:
    """Return all data sets by name.

    Returns
    -------
    entries : dict of Entry
        In the order of the file.

    Examples
    --------
    >>> from aucmax_studies.reproduce.catalogue import catalogue
    >>> entry = catalogue()["usps-all"]
    >>> entry.files, entry.columns, entry.positive
    (('usps.bz2', 'usps.t.bz2'), 256, (6, 7, 8, 9, 10))
    """
    text = resources.files(__package__).joinpath("catalogue.toml").read_text(encoding="utf-8")
    return {name: Entry(**_frozen(table)) for name, table in tomllib.loads(text).items()}


def _frozen(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table with tuples for lists, and a tuple for the "first-last" of `positive`."""
    if isinstance(table.get("positive"), str):
        first, last = table["positive"].split("-")
        table["positive"] = range(int(first), int(last) + 1)
    return {key: tuple(value) if isinstance(value, list | range) else value for key, value in table.items()}


def load(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    positive: Sequence[int] | None = None,
    drop_columns: Sequence[int] = (),
    max_rows: int | None = None,
    seed: int = 0,
    download: bool = True,
) -> Dataset:
    r"""Return a data set of the catalogue as a binary problem.

    Parameters
    ----------
    name : str
        Its name.
    data_dir : path-like, default=None
        The folder to look in first; None for the one that the environment variable AUCMAX_DATA names, if it is set.
    positive : sequence of int, default=None
        The labels that are positive; None for the catalogue's choice.
    drop_columns : sequence of int, default=()
        Columns to leave out, counted from 0.
    max_rows : int, default=None
        The most rows; of a larger data set a random sample is taken, in the order of the file. None for all rows.
    seed : int, default=0
        Seed of the sample.
    download : bool, default=True
        Whether to download what the folder does not have: through `libsvmdata`, or from OpenML.

    Returns
    -------
    data : Dataset
        The rows.

    Raises
    ------
    Unavailable
        If the data set is not in the folder and cannot be downloaded.
    ValueError
        If there is no such name, folder, label or column, or if a file is not what it should be.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from aucmax_studies.reproduce.catalogue import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "diabetes").write_text("-1 1:6 2:148\n+1 1:1 2:85\n")
    ...     data = load("diabetes", data_dir=folder, drop_columns=range(2, 8))
    >>> data.features, data.y
    (array([[  6., 148.],
           [  1.,  85.]]), array([1, 0]))
    """
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows must be at least 1; got {max_rows}.")
    entry, folder = find_entry(name), find_folder(data_dir)
    files = find_files(entry, folder)
    parts = [_read(file, entry) for file in files] if files else _download(name, entry, folder, download)
    labels = _spell(name, np.concatenate([y for _, y in parts]), entry.spellings)
    X = stack([X for X, _ in parts]) if len(parts) > 1 else parts[0][0]
    if entry.only:
        column, value = entry.only
        X, labels = X[X[:, column] == value], labels[X[:, column] == value]
    y = _binary(name, labels, entry.positive if positive is None else positive)
    X = _without(name, X, drop_columns)
    if max_rows is not None and len(y) > max_rows:
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:max_rows])
        X, y, labels = X[rows], y[rows], labels[rows]
    return Dataset(name, X, y, labels)


def find_entry(name: str) -> Entry:
    """Return what the catalogue knows about a data set; for an unknown name, a ValueError lists similar ones."""
    if name not in catalogue():
        close = difflib.get_close_matches(name, catalogue())
        which = f"closest: {', '.join(close)}" if close else f"there are {', '.join(catalogue())}"
        raise ValueError(f"There is no data set {name!r} in the catalogue ({which}).")
    return catalogue()[name]


# The folder


def find_folder(data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder of data: the argument, or else what AUCMAX_DATA names, or else None."""
    named = os.environ.get("AUCMAX_DATA") if data_dir is None else data_dir
    if not named:
        return None
    if not Path(named).is_dir():
        raise ValueError(f"{named} is no folder: name the one that has the data sets.")
    return Path(named)


def find_files(entry: Entry, folder: Path | None) -> list[Path] | None:
    """Return the files of a data set in a folder, under our names or LIBSVM's; None if one is missing."""
    if folder is None:
        return None
    ours = [_find(folder, name) for name in entry.files]
    theirs = [_find(folder, name.replace("_test", ".t")) for name in entry.libsvm]
    if len(ours) == len(theirs):  # the same parts, some of them perhaps under the other name
        ours = [mine or other for mine, other in zip(ours, theirs, strict=True)]
    complete = ([file for file in files if file] for files in (ours, theirs) if files and all(files))
    return next(complete, None)


def _find(folder: Path, name: str) -> Path | None:
    """Return the file of this name, compressed or not; None if there is none."""
    stem = name.removesuffix(Path(name).suffix) if name.endswith((*COMPRESSED, ".npz")) else name
    names = (name, *(stem + suffix for suffix in ("", *COMPRESSED)))
    return next((folder / each for each in names if (folder / each).is_file()), None)


def _read(file: Path, entry: Entry) -> tuple[Any, np.ndarray]:
    format = "npz" if file.suffix == ".npz" else "libsvm"
    X, labels = open_source(file, format=format, n_features=entry.columns, with_target=True).read()[:2]
    assert labels is not None  # asked for
    return _as_rows(X, entry), labels


# Downloads


def _download(name: str, entry: Entry, folder: Path | None, allowed: bool) -> list[tuple[Any, np.ndarray]]:
    """Return the parts of a data set from the first server that answers."""
    fetchers = {"LIBSVM": _fetch_libsvm} if entry.libsvm else {}
    if entry.openml is not None:
        fetchers["OpenML"] = _fetch_openml
    failures = []
    for server, fetch in fetchers.items() if allowed else ():
        try:
            with _patient():
                return [(_as_rows(X, entry), labels) for X, labels in fetch(entry)]
        except Exception as error:  # libraries and servers fail in many ways
            failures.append(f"{server} ({_reason(error)})")
    if failures:
        verdict, instead = f"could not be downloaded from {' or '.join(failures)}", ", or go online"
    elif fetchers:
        verdict, instead = "is not to be downloaded", ", or let it be downloaded"
    else:
        verdict, instead = "cannot be downloaded", ""
    missing = f"is not in {folder} and {verdict}" if folder else verdict
    raise Unavailable(f"{name} {missing}: give data_dir= a folder that has {' and '.join(entry.files)}{instead}.")


def _fetch_libsvm(entry: Entry) -> Iterator[tuple[Any, np.ndarray]]:
    try:
        libsvmdata = importlib.import_module("libsvmdata")
    except ImportError as error:
        raise ImportError("libsvmdata is not installed: pip install './studies[papers]'") from error
    for name in entry.libsvm:
        yield libsvmdata.fetch_dataset(name)


def _fetch_openml(entry: Entry) -> Iterator[tuple[Any, np.ndarray]]:
    from sklearn.datasets import fetch_openml

    # This parser does not need pandas. A server that does not answer is asked once more, without a pause.
    yield fetch_openml(
        data_id=entry.openml, as_frame=False, return_X_y=True, parser="liac-arff", n_retries=1, delay=0.1
    )


@contextmanager
def _patient() -> Iterator[None]:
    """Give up on silent servers, which neither library does, and hide the warnings about retries."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        socket.setdefaulttimeout(before)


def _reason(error: Exception) -> str:
    """Return the reason in a few words: the system's own error if there is one, not the library's."""
    cause = next((each for each in (error, error.__context__) if isinstance(each, OSError)), error)
    return " ".join(str(getattr(cause, "reason", cause)).split()).rstrip(".") or type(error).__name__


# Rows and labels


def _as_rows(X: Any, entry: Entry) -> Any:
    """Return rows as float64, dense or CSR, with the catalogue's number of columns: a file may leave out last zeros."""
    if X.shape[1] != entry.columns:
        X = sparse.csr_array(X)
        if X[:, entry.columns :].count_nonzero():
            raise ValueError(f"{X.shape[1]} columns where {entry.columns} are expected")
        X.resize((X.shape[0], entry.columns))
    if entry.sparse:
        return sparse.csr_array(X, dtype=np.float64)
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def _spell(name: str, labels: np.ndarray, spellings: Sequence[Mapping[str, int]]) -> np.ndarray:
    """Return labels as the numbers that the catalogue uses."""
    found, codes = np.unique(labels, return_inverse=True)
    texts = [f"{label:.17g}" if isinstance(label, float) else str(label) for label in found.tolist()]
    spelling = next((each for each in spellings if each.keys() == set(texts)), {})
    try:
        return np.array([spelling.get(text, text) for text in texts]).astype(np.float64)[codes]
    except ValueError as error:
        raise ValueError(f"{name}: the labels {', '.join(texts[:10])} are not those of the catalogue.") from error


def _binary(name: str, labels: np.ndarray, positive: Sequence[int]) -> np.ndarray:
    found = np.unique(labels)
    among = np.isin(found, positive)
    if among.sum() < max(1, len(set(positive))) or among.all():
        known = ", ".join(f"{label:g}" for label in found[:30])
        raise ValueError(f"{name}: positive must be some of its labels ({known}) and not all; got {list(positive)}.")
    return np.isin(labels, positive).astype(np.int64)


def _without(name: str, X: Any, columns: Sequence[int]) -> Any:
    if not len(columns):
        return X
    kept = np.setdiff1d(np.arange(X.shape[1]), columns)
    if len(kept) + len(set(columns)) != X.shape[1] or not len(kept):
        raise ValueError(
            f"{name}: drop_columns must be some of 0 to {X.shape[1] - 1} and not all; got {list(columns)}."
        )
    return X[:, kept]
