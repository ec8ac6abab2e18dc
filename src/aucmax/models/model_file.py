"""Model files and checkpoints: safetensors files with a description in JSON and a digest. Reading one runs no code.

The layout of a file:

    8 bytes         length of the header, as in every safetensors file
    the header      {"__metadata__":{"aucmax":"DESCRIPTION"},"0":{"dtype":...,"shape":...,"data_offsets":...},...}
    the tensors

DESCRIPTION is the JSON of

    sha256          digest of the whole file, computed with 64 zeros in the place of the digest
    format          2
    kind            "model" or "checkpoint"
    aucmax, scikit-learn, numpy         the versions that wrote the file
    values          what the file holds, as described in `encoding`

The digest comes first, so that it has the same place in files of every format.

Tensors are written from where they lie (`tensor_bytes`). The library safetensors makes two copies of all tensors to
write them: a fit that just had enough memory would be lost when its model is written.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import os
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from safetensors.numpy import load
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._text import printable
from ..files.atomic_write import write_atomically as write_atomically
from .encoding import decode, encode

ALIGNMENT = 8  # bytes; the tensors begin at a multiple of it
LETTERS = {"b": "BOOL", "i": "I", "u": "U", "f": "F"}  # by kind of type; numbers of bits follow, but for truth values
FORMAT = 3
BEGINNING = b'{"__metadata__":{"aucmax":"{\\"sha256\\":\\"'
NO_DIGEST = b"0" * 64
DIGEST = slice(8 + len(BEGINNING), 8 + len(BEGINNING) + len(NO_DIGEST))
LONGEST_HEADER = 100_000_000  # bytes; safetensors reads no longer one


class ModelFile(NamedTuple):
    """What a model file holds."""

    model: Any  # the fitted model
    notes: dict[str, Any]  # that were given to `save_model`
    versions: dict[str, str]  # of aucmax, scikit-learn and NumPy, which wrote the file


# What `partial_fit` and warm starts continue from: class moments, and the states of stochastic algorithms.
CONTINUED = ("moments_", "state_", "_stream")


def save_model(model: Any, path: str | os.PathLike[str], /, *, moments: bool = True, **notes: Any) -> None:
    """Write a fitted model to a file, whole or not at all.

    The file holds the parameters and the fitted attributes. A loaded model gives the same predictions to the last bit,
    and `partial_fit` and warm starts continue where they stopped. Callbacks and metadata requests are not saved.

    Parameters
    ----------
    model : estimator
        A classifier of aucmax, or a pipeline made by one of its functions.
    path : str or path
        The file to write. An existing file is replaced.
    moments : bool, default=True
        Whether the file holds what `partial_fit` and warm starts continue from: the class moments of the square loss,
        or the state of a stochastic algorithm. Class moments are the means and covariances of the columns in each
        class; the states of OAM and CBR hold training rows. Without, the file reveals less of the rows and is smaller.
    **notes
        Saved with the model: numbers, text, arrays, and lists and dicts of these.

    See Also
    --------
    load_model : Reads the model back.
    read_model : Reads the model, its notes and its versions.

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
    check_is_fitted(model)
    write_values(path, "model", {"model": model if moments else without_moments(model), "notes": notes})


def without_moments(model: Any) -> Any:
    """Return a copy of a model that only predicts: without what `partial_fit` and warm starts continue from."""
    smaller = copy.copy(model)
    smaller.__dict__ = {name: value for name, value in vars(model).items() if name not in CONTINUED}
    if hasattr(model, "steps"):
        smaller.steps = [(name, without_moments(step) if hasattr(step, "fit") else step) for name, step in model.steps]
    return smaller


def load_model(path: str | os.PathLike[str]) -> Any:
    """Return the model in a file written by `save_model`. Reading the file runs no code from it.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    model : estimator
        The model as it was saved.

    See Also
    --------
    save_model : Writes the file.

    Examples
    --------
    >>> import tempfile
    >>> from aucmax import AUCClassifier, load_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     AUCClassifier(alpha=1).fit([[0], [1], [2], [3]], [0, 0, 1, 1]).save(f"{folder}/model.safetensors")
    ...     load_model(f"{folder}/model.safetensors")
    AUCClassifier(alpha=1)
    """
    return read_model(path).model


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Return the model in a file, its notes and the versions that wrote it.

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
    values, written_by = _read(path, "model")
    if not {"model", "notes"} <= values.keys():
        raise ValueError(f"{os.fspath(path)} holds no model.")
    return ModelFile(values["model"], values["notes"], written_by)


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as model files and checkpoints do."""
    with open(path, "rb") as file:
        return file.peek()[8 : DIGEST.start] == BEGINNING


def write_values(path: str | os.PathLike[str], kind: str, values: dict[str, Any]) -> None:
    """Write values that `encoding.encode` accepts to a file, whole or not at all; `kind` is "model" or "checkpoint"."""
    description, tensors = encode(values)
    about = {"sha256": NO_DIGEST.decode(), "format": FORMAT, "kind": kind, **versions(), "values": description}
    text = json.dumps(about, allow_nan=False, separators=(",", ":"))
    head, *parts = tensor_bytes(tensors, {"aucmax": text})
    if len(head) - 8 > LONGEST_HEADER:
        raise ValueError(f"{os.fspath(path)} was not written: its lists are too long, use arrays instead.")
    digest = hashlib.sha256(head)
    for part in parts:
        digest.update(part)

    def write(file: BinaryIO) -> None:
        file.write(head[: DIGEST.start])
        file.write(digest.hexdigest().encode())
        file.write(head[DIGEST.stop :])
        for part in parts:
            file.write(part)

    write_atomically(path, write)


def read_values(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Return the values in a file written by `write_values`, equal to the last bit; another kind is refused."""
    return _read(path, kind)[0]


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of aucmax and of the libraries that determine what a file holds."""
    return {"aucmax": __version__, "scikit-learn": version("scikit-learn"), "numpy": version("numpy")}


def _read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values in a file and the versions that wrote it."""
    name = os.fspath(path)
    with open(path, "rb") as file:
        if file.peek()[8 : DIGEST.start] != BEGINNING:  # checked first: a file of another kind may be huge
            raise ValueError(f"{name} is not an aucmax {kind} file.")
        content = file.read()
    about = _describe(name, content)
    if about["format"] != FORMAT:
        raise ValueError(
            f"{name} has format {about['format']!r}, this version reads {FORMAT}: fit it again, or update aucmax."
        )
    if about["kind"] != kind:
        raise ValueError(f"{name} is a {about['kind']!r}, not a {kind!r}.")
    try:
        written_by = {library: about[library] for library in versions()}
        tensors = load(content)
        del content
        return dict(decode(about["values"], tensors)), written_by
    except Exception as error:  # of any kind: the file may come from another version or be made by hand
        (reason, *_) = str(error).splitlines() or [type(error).__name__]
        # Texts of the file, which could control a terminal, are escaped; the error itself would be printed with them.
        reason = printable(reason.rstrip("."))
        raise ValueError(f"{name} cannot be read by aucmax {__version__}: {reason}.") from None


def _describe(name: str, content: bytes) -> dict[str, Any]:
    """Return the description of a file after checking its digest."""
    digest = hashlib.sha256(content[: DIGEST.start] + NO_DIGEST)
    digest.update(memoryview(content)[DIGEST.stop :])
    try:
        if digest.hexdigest().encode() != content[DIGEST]:
            raise ValueError("the digest differs")
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        about = json.loads(header["__metadata__"]["aucmax"])
        return {"format": None, "kind": None, **about}
    except Exception as error:  # JSON, missing keys, wrong types or recursion
        raise ValueError(f"{name} is cut short or was altered: copy it again, or remove it and fit again.") from error


def tensor_bytes(tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> Iterator[memoryview]:
    """Yield the content of a file: the length of the header and the header, then each tensor.

    Tensors are in C order, of truth values, integers or floats of up to 8 bytes. They are not copied where the machine
    has the byte order of the file.
    """
    # Sorted so that each begins at a multiple of its own size.
    ordered = sorted(tensors.items(), key=lambda item: -item[1].itemsize)
    header: dict[str, object] = {"__metadata__": metadata}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + tensor.nbytes
        bits = "" if tensor.dtype.kind == "b" else 8 * tensor.itemsize
        dtype = f"{LETTERS[tensor.dtype.kind]}{bits}"
        header[name] = {"dtype": dtype, "shape": tensor.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    yield memoryview(len(text).to_bytes(8, "little") + text)
    for _, tensor in ordered:
        little = tensor.astype(tensor.dtype.newbyteorder("<"), copy=False)
        yield little.reshape(-1).view(np.uint8).data
