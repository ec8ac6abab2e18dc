"""Files as rows that estimators fit, in a memory of your choice."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from typing import Any

from .._text import parse_bytes
from ..models.checkpoint import Checkpoint
from ..rows.blocks.rows import MEMORY
from ..rows.file import FileRows, rows_of
from .open_source import Path, check_options, find_formats, open_source

DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(open_source).parameters.items()}


def open_rows(
    path: Path | Sequence[Path],
    *,
    positive: str | None = None,
    memory: int | str = MEMORY,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    **options: Any,
) -> FileRows:
    """Open a file of any size as rows for `fit_rows`.

    Every loss, penalty, path and cross-validation gives the weights that it gives in memory. A fit reads the file
    several times. Its memory does not grow with the number of rows, with two exceptions. The hinges keep about 120
    bytes for each row of the rarer class, and a fit that has not enough memory for them is refused. `TableClassifier`
    keeps about 20 bytes for each row, and the codes of its columns in a temporary file.

    Parameters
    ----------
    path : path-like or list of paths
        The file: LIBSVM text, CSV, Parquet or ``.npz``; or several with the same columns, which a pattern such as
        ``"part-*.csv"`` may stand for.
    positive : str, default=None
        The positive label; all others are negative then. By default there must be two, and the larger is positive.
    memory : int or str, default=2 GiB
        About how many bytes the process may use, such as ``"2GB"`` or ``"500 MiB"``.
    checkpoint : path-like, default=None
        A file that a fit resumes from after an interruption. Used as ``with open_rows(...) as rows:``, it is removed
        when the fit is done. The checkpoint of another fit is refused.
    checkpoint_every : float, default=30
        Seconds between two checkpoints.
    **options
        Those of :func:`aucmax.files.open_source`: the format, and the columns of labels, weights and groups. One that
        the format of the file does not use is an error.

    Returns
    -------
    rows : FileRows
        The rows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import dump_svmlight_file, load_breast_cancer
    >>> from aucmax import AUCClassifier, open_rows
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "train.libsvm"
    ...     dump_svmlight_file(X, y, str(path), zero_based=False)
    ...     clf = AUCClassifier().fit_rows(open_rows(path))
    >>> round(clf.score(X, y), 3)
    0.997
    """
    n_bytes = parse_bytes(memory)
    given = {name: value for name, value in options.items() if value not in (DEFAULTS.get(name), None, (), [])}
    check_options(given, find_formats(path, options.get("format")))
    source = open_source(path, **{"with_target": True, **options})
    check_options(given, [source.format])  # the format of standard input is known only now
    kept = None if checkpoint is None else Checkpoint(checkpoint, checkpoint_every)
    command = {name: str(value) for name, value in options.items()}
    return rows_of(source, positive=positive, memory=n_bytes, checkpoint=kept, command=command)
