"""How tensors are written in the layout of safetensors, one after the other.

The library safetensors makes two copies of all tensors to write them. A fit that just had enough memory would be lost
when its model is written; written from where they lie, tensors take no more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

ALIGNMENT = 8  # bytes; the tensors begin at a multiple of it
LETTERS = {"b": "BOOL", "i": "I", "u": "U", "f": "F"}  # by kind of type; numbers of bits follow, but for truth values


def tensor_bytes(tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> Iterator[memoryview]:
    """Yield the content of a file: the length of the header and the header, then each tensor.

    Parameters
    ----------
    tensors : dict of ndarray
        Arrays in C order, of truth values, integers or floats of up to 8 bytes.
    metadata : dict of str
        Texts, which begin the header.

    Yields
    ------
    part : memoryview
        Bytes; those of a tensor are not copied where the machine has the byte order of the file.

    Examples
    --------
    >>> import numpy as np
    >>> from safetensors.numpy import load
    >>> from aucmax.models.tensor_file import tensor_bytes
    >>> content = b"".join(tensor_bytes({"w": np.arange(3.0)}, {"about": "weights"}))
    >>> load(content)["w"]
    array([0., 1., 2.])
    """
    ordered = sorted(
        tensors.items(), key=lambda item: -item[1].itemsize
    )  # so that each begins at a multiple of its own
    header: dict[str, object] = {"__metadata__": metadata}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": type_name(tensor.dtype), "shape": tensor.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    yield memoryview(len(text).to_bytes(8, "little") + text)
    for _, tensor in ordered:
        little = tensor.astype(tensor.dtype.newbyteorder("<"), copy=False)
        yield little.reshape(-1).view(np.uint8).data


def type_name(dtype: np.dtype) -> str:
    """Return what safetensors calls a type.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.models.tensor_file import type_name
    >>> type_name(np.dtype(float)), type_name(np.dtype(bool))
    ('F64', 'BOOL')
    """
    return LETTERS[dtype.kind] + ("" if dtype.kind == "b" else str(8 * dtype.itemsize))
