"""Model files and checkpoints: safetensors with a description in JSON, checked by a digest, read without running code.

A file is laid out as

    8 bytes         length of the header, as in every safetensors file
    the header      {"__metadata__":{"aucmax":"DESCRIPTION"},"0":{"dtype":...,"shape":...,"data_offsets":...},...}
    the tensors

where DESCRIPTION is the JSON of

    sha256          digest of the whole file, with 64 zeros in its own place
    format          1
    kind            "model" or "checkpoint"
    aucmax, scikit-learn, numpy         the versions that wrote it
    tree            what it holds, as `trees` has it

The digest comes first, so that it is at the same place in files of every format, and covers everything else.
"""

from __future__ import annotations

import hashlib
import json
import os
from importlib.metadata import version
from typing import Any, BinaryIO, NamedTuple

from .. import __version__
from ..files.atomic_write import write_atomically as write_atomically
from .value_tree import decode, encode

FORMAT = 1
BEGINNING = b'{"__metadata__":{"aucmax":"{\\"sha256\\":\\"'
NO_DIGEST = b"0" * 64
DIGEST = slice(8 + len(BEGINNING), 8 + len(BEGINNING) + len(NO_DIGEST))
LONGEST_HEADER = 100_000_000  # that safetensors reads


class ModelFile(NamedTuple):
    """What a model file holds.

    Attributes
    ----------
    model : estimator
        The fitted model.
    notes : dict
        What was given to `save_model` besides.
    versions : dict of str
        The versions of aucmax, scikit-learn and NumPy that wrote the file.
    """

    model: Any
    notes: dict[str, Any]
    versions: dict[str, str]


def save_model(model: Any, path: str | os.PathLike[str], /, **notes: Any) -> None:
    """Write a fitted model to a file, whole or not at all.

    The file holds its parameters and all that was fitted, so that a loaded model predicts the same to the last bit, and
    `partial_fit` and warm starts go on where they were. Callbacks and requests for metadata are not kept.

    Parameters
    ----------
    model : estimator
        A classifier of aucmax, or one of the pipelines that its functions make.
    path : str or path
        Where to; an existing file is replaced.
    **notes
        Kept with the model: numbers, text, arrays, and lists and dicts of them.

    See Also
    --------
    load_model : The way back.
    read_model : The same with notes and versions.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import AUCClassifier, load_model, save_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = AUCClassifier(alpha=0.1).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(clf, f"{folder}/model.safetensors", source="breast cancer")
    ...     loaded = load_model(f"{folder}/model.safetensors")
    >>> bool((loaded.predict(X) == clf.predict(X)).all())
    True
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    write_tree(path, "model", {"model": model, "notes": notes})


def load_model(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file that `save_model` wrote; nothing in the file is executed.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    model : estimator
        As it was saved.

    See Also
    --------
    save_model : How to write one, with an example.
    """
    return read_model(path).model


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Return the model of a file with its notes and the versions that wrote it.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    file : ModelFile
        The model, its notes and versions.

    Examples
    --------
    >>> import tempfile
    >>> from aucmax import AUCClassifier
    >>> from aucmax.models.model_file import read_model, save_model
    >>> clf = AUCClassifier(alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(clf, f"{folder}/model.safetensors", rows=4)
    ...     file = read_model(f"{folder}/model.safetensors")
    >>> file.model, file.notes, sorted(file.versions)
    (AUCClassifier(alpha=0.1), {'rows': 4}, ['aucmax', 'numpy', 'scikit-learn'])
    """
    tree, written_by = _read(path, "model")
    if not {"model", "notes"} <= tree.keys():
        raise ValueError(f"{os.fspath(path)} holds no model.")
    return ModelFile(tree["model"], tree["notes"], written_by)


def write_tree(path: str | os.PathLike[str], kind: str, tree: dict[str, Any]) -> None:
    """Write a tree of values to a file, whole or not at all.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str
        What it is, "model" or "checkpoint"; `read_tree` asks for the same.
    tree : dict
        What `trees.encode` takes.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from aucmax.models.model_file import read_tree, write_tree
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tree(f"{folder}/here", "checkpoint", {"rows": 10, "mean": np.array([0.5, np.inf])})
    ...     read_tree(f"{folder}/here", "checkpoint")
    {'rows': 10, 'mean': array([0.5, inf])}
    """
    from safetensors.numpy import save

    description, tensors = encode(tree)
    about = {"sha256": NO_DIGEST.decode(), "format": FORMAT, "kind": kind, **versions(), "tree": description}
    text = json.dumps(about, allow_nan=False, separators=(",", ":"))
    content = memoryview(save(tensors, metadata={"aucmax": text}))
    if int.from_bytes(content[:8], "little") > LONGEST_HEADER:
        raise ValueError(f"{os.fspath(path)} was not written: its lists are too long, use arrays instead.")

    def write(file: BinaryIO) -> None:
        file.write(content[: DIGEST.start])
        file.write(hashlib.sha256(content).hexdigest().encode())
        file.write(content[DIGEST.stop :])

    write_atomically(path, write)


def read_tree(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Return the tree of a file that `write_tree` wrote.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str
        What it has to be, "model" or "checkpoint".

    Returns
    -------
    tree : dict
        Equal to what was written, to the last bit.
    """
    return _read(path, kind)[0]


def versions() -> dict[str, str]:
    """Return the versions that a file is written by.

    Examples
    --------
    >>> from aucmax.models.model_file import versions
    >>> list(versions())
    ['aucmax', 'scikit-learn', 'numpy']
    """
    return {"aucmax": __version__, "scikit-learn": version("scikit-learn"), "numpy": version("numpy")}


def _read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the tree of a file and the versions that wrote it."""
    from safetensors.numpy import load

    name = os.fspath(path)
    with open(path, "rb") as file:
        if file.peek()[8 : DIGEST.start] != BEGINNING:  # before much is read of a file that is something else
            raise ValueError(f"{name} is not an aucmax {kind} file.")
        content = file.read()
    about = _describe(name, content)
    if about["format"] != FORMAT:
        raise ValueError(f"{name} has format {about['format']}, this version reads {FORMAT}: update aucmax.")
    if about["kind"] != kind:
        raise ValueError(f"{name} is a {about['kind']}, not a {kind}.")
    try:
        written_by = {library: about[library] for library in versions()}
        tensors = load(content)
        del content
        return dict(decode(about["tree"], tensors)), written_by
    except Exception as error:  # of any kind: a file made by another version, or by hand
        (reason, *_) = str(error).splitlines() or [type(error).__name__]
        raise ValueError(f"{name} holds what aucmax {__version__} cannot read: {reason.rstrip('.')}.") from error


def _describe(name: str, content: bytes) -> dict[str, Any]:
    """Return the description of a file, every byte of which has to be as it was written."""
    digest = hashlib.sha256(content[: DIGEST.start] + NO_DIGEST)
    digest.update(memoryview(content)[DIGEST.stop :])
    try:
        if digest.hexdigest().encode() != content[DIGEST]:
            raise ValueError("another digest")
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        about = json.loads(header["__metadata__"]["aucmax"])
        return {"format": None, "kind": None, **about}
    except Exception as error:  # of JSON, keys, types or recursion
        raise ValueError(f"{name} is cut short or was altered: copy it or write it again.") from error
