"""How values become JSON and tensors in model files and checkpoints, and are read back.

None, booleans, text, finite floats and lists are stored as they are in JSON. Any other value is stored as a JSON object
whose first key, the tag, says what it is:

    {"int": hex}  {"float": "nan"}                      numbers that JSON cannot hold exactly
    {"tuple": [...]}  {"dict": {...}}
    {"array": tensor}                                   an array
    {"transposed": array}                               an array in Fortran order, stored as its transpose
    {"flipped": array, "axes": [...]}                   an array with negative strides, stored in the order of memory
    {"bytes": tensor, "dtype": ..., "shape": ...}       an array of text, dates or other types that tensors cannot hold
    {"objects": tensor, "shape": ...}                   an array of Python objects, stored as a list in JSON
    {"scalar": array}                                   a NumPy scalar
    {"random_state": {...}}
    {"named_tuple": name, "fields": {...}}
    {"csr": name, "n_columns": ..., "parts": [...]}
    {"moments": name, "attributes": {...}}
    {"partial": name, "keywords": {...}}
    {"estimator": name, "parameters": {...}, "attributes": {...}}

A name stands for a class or function in the table of `names`. Reading uses that table and nothing else, so a file
cannot make it run other code.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..rows.validate import check_csr
from .checks import array, check_estimator, check_moments, check_shape
from .names import find, name_of

# Attributes of a fit under way, which are no part of its result.
TRANSIENT = {"history_", "_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx", "_metadata_request"}
# The types that safetensors can hold, in the byte order of this machine; complex ones only from 0.6 on.
TENSOR_TYPES = {np.dtype(code) for code in "?bBhHiIlLqQefd"}
KINDS = "biufcSUMmO"  # of arrays that are written and read
PLAIN_INTEGERS = 1 << 63  # smaller ones are JSON numbers; Python reads no decimal integer of more than 4,300 digits
DEEPEST = 50  # levels of nesting; decoding takes several stack frames for each

Tensors = dict[str, np.ndarray]


def encode(value: Any) -> tuple[Any, Tensors]:
    """Return a description of a value that JSON can hold, and the tensors that it refers to, once to each.

    The value is None, a number, text, an array, a CSR matrix, a random state, or what the table of `names` lists: class
    moments, named tuples and estimators; also lists, tuples and dicts of these. Tensors are in C order.
    """
    encoder = _Encoder()
    return encoder.encode(value, "The value"), encoder.tensors


def decode(description: Any, tensors: Tensors) -> Any:
    """Return the value of a description; each tensor is removed from the dict when it is used."""
    if isinstance(description, list):
        return [decode(item, tensors) for item in description]
    if not isinstance(description, dict):
        return description
    tag = next(iter(description), "")
    if tag not in _DECODERS:
        raise ValueError(f"{tag!r} is unknown")
    return _DECODERS[tag](description, tensors)


class _Encoder:
    """Describes values, and collects their tensors."""

    def __init__(self) -> None:
        self.tensors: Tensors = {}
        self.depth = 0

    def encode(self, value: Any, where: str) -> Any:
        if self.depth == DEEPEST:
            raise ValueError(f"{where} cannot be stored in a file: it is nested too deeply, or holds itself.")
        self.depth += 1
        description = self._plain(value, where)
        self.depth -= 1
        return description

    def _plain(self, value: Any, where: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            return value if abs(value) < PLAIN_INTEGERS else {"int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return [self.encode(item, where) for item in value]
        if kind is tuple:
            return {"tuple": [self.encode(item, where) for item in value]}
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": {key: self.encode(item, f"The entry {key!r}") for key, item in value.items()}}
        if kind is np.ndarray and value.dtype.kind in KINDS:
            return self._array(value, where)
        if isinstance(value, np.generic) and value.dtype.kind in KINDS:
            return {"scalar": self._array(np.asarray(value), where)}
        return self._object(value, where)

    def _each(self, values: Mapping[str, Any], noun: str, owner: str) -> dict[str, Any]:
        return {key: self.encode(value, f"The {noun} {key!r} of {owner}") for key, value in values.items()}

    def _tensor(self, array: np.ndarray) -> str:
        name = str(len(self.tensors))
        self.tensors[name] = np.asarray(array, order="C")
        return name

    def _array(self, array: np.ndarray, where: str) -> dict[str, Any]:
        try:
            shape = list(check_shape(array.shape))
        except ValueError as error:
            raise ValueError(f"{where} cannot be stored in a file: {error}.") from None
        if array.dtype.kind == "O":
            text = json.dumps(self.encode(array.ravel().tolist(), where), allow_nan=False)
            return {"objects": self._tensor(np.frombuffer(text.encode(), np.uint8)), "shape": shape}
        # The memory layout is kept, because matrix products round differently in another one.
        if backwards := tuple(axis for axis, stride in enumerate(array.strides) if stride < 0):
            return {"flipped": self._array(np.flip(array, backwards), where), "axes": list(backwards)}
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            return {"transposed": self._array(array.T, where)}
        if array.dtype in TENSOR_TYPES:
            return {"array": self._tensor(array)}
        content = np.frombuffer(array.tobytes(), np.uint8)
        return {"bytes": self._tensor(content), "dtype": array.dtype.str, "shape": shape}

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        kind, owner = type(value), type(value).__name__
        if kind is np.random.RandomState and value.get_state(legacy=False)["bit_generator"] == "MT19937":
            return {"random_state": self._each(value.get_state(legacy=False), "part", owner)}
        if name := name_of(kind, "named_tuple"):
            return {"named_tuple": name, "fields": self._each(value._asdict(), "field", owner)}
        if name := name_of(kind, "csr"):
            parts = self.encode([value.data, value.indices, value.indptr], where)
            return {"csr": name, "n_columns": value.shape[1], "parts": parts}
        if name := name_of(kind, "moments"):
            return {"moments": name, "attributes": self._each(value.__getstate__(), "attribute", owner)}
        if kind is functools.partial and not value.args and (name := name_of(value.func, "partial")):
            return {"partial": name, "keywords": self._each(value.keywords, "parameter", name)}
        if name := name_of(kind, "estimator"):
            parameters = value.get_params(deep=False)
            attributes = {key: item for key, item in vars(value).items() if key not in {*parameters, *TRANSIENT}}
            attributes = getattr(value, "_stored", dict)(attributes)
            described = {
                "parameters": self._each(parameters, "parameter", owner),
                "attributes": self._each(attributes, "attribute", owner),
            }
            check_estimator(value, attributes)
            return {"estimator": name, **described}
        raise ValueError(
            f"{where} cannot be stored in a file: it is or holds an object of the type {owner}, and only None, "
            "numbers, text, arrays, lists, tuples, dicts with text keys and the estimators of aucmax can be."
        )


# Decoders. Each takes the description and the tensors.


def _decode_each(descriptions: dict[str, Any], tensors: Tensors) -> dict[str, Any]:
    return {key: decode(item, tensors) for key, item in descriptions.items()}


def _decode_array(description: Any, tensors: Tensors) -> np.ndarray:
    tensor = tensors.pop(description["array"])
    check_shape(tensor.shape)
    return tensor.copy()  # `ClassBuffers` resizes its arrays in place, so they own their memory


def _decode_bytes(description: Any, tensors: Tensors) -> np.ndarray:
    dtype = np.dtype(description["dtype"])
    if dtype.kind not in KINDS or dtype.kind in "bO":  # bytes would be neither pointers nor truth values
        raise ValueError(f"{description['dtype']!r} is not an array type that files hold")
    return np.ndarray(check_shape(description["shape"]), dtype, buffer=tensors.pop(description["bytes"])).copy()


def _decode_objects(description: Any, tensors: Tensors) -> np.ndarray:
    values = decode(json.loads(tensors.pop(description["objects"]).tobytes()), tensors)
    return np.fromiter(values, object, len(values)).reshape(check_shape(description["shape"]))


def _decode_random_state(description: Any, tensors: Tensors) -> np.random.RandomState:
    state = _decode_each(description["random_state"], tensors)
    array("i", 624)(state["state"]["key"], "the key of a random state", {})
    if not 0 <= state["state"]["pos"] <= 624:  # NumPy does not check it and would read beyond its array
        raise ValueError("a random state is out of range")
    rng = np.random.RandomState(0)
    rng.set_state(state)
    return rng


def _decode_csr(description: Any, tensors: Tensors) -> Any:
    data, indices, indptr = decode(description["parts"], tensors)
    check_csr(data, indices, indptr, (len(indptr) - 1, description["n_columns"]))
    matrix = find(description["csr"], "csr")((len(indptr) - 1, description["n_columns"]), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr  # the constructor would change the index type
    return matrix


def _decode_moments(description: Any, tensors: Tensors) -> Any:
    attributes = _decode_each(description["attributes"], tensors)
    moments = find(description["moments"], "moments")(0, attributes["classes"])
    vars(moments).update(attributes)
    check_moments(moments, "the moments", {})
    return moments


def _decode_estimator(description: Any, tensors: Tensors) -> Any:
    parameters, attributes = (_decode_each(description[part], tensors) for part in ("parameters", "attributes"))
    estimator = find(description["estimator"], "estimator")(**parameters)
    check_estimator(estimator, attributes)
    vars(estimator).update(attributes)
    return estimator


_DECODERS: dict[str, Callable[[Any, Tensors], Any]] = {
    "int": lambda description, _: int(description["int"], 16),
    "float": lambda description, _: float(description["float"]),
    "tuple": lambda description, tensors: tuple(decode(description["tuple"], tensors)),
    "dict": lambda description, tensors: _decode_each(description["dict"], tensors),
    "array": _decode_array,
    "transposed": lambda description, tensors: decode(description["transposed"], tensors).T,
    "flipped": lambda description, tensors: np.flip(decode(description["flipped"], tensors), description["axes"]),
    "bytes": _decode_bytes,
    "objects": _decode_objects,
    "scalar": lambda description, tensors: decode(description["scalar"], tensors)[()],
    "random_state": _decode_random_state,
    "named_tuple": lambda description, tensors: find(description["named_tuple"], "named_tuple")(
        **_decode_each(description["fields"], tensors)
    ),
    "csr": _decode_csr,
    "moments": _decode_moments,
    "partial": lambda description, tensors: functools.partial(
        find(description["partial"], "partial"), **_decode_each(description["keywords"], tensors)
    ),
    "estimator": _decode_estimator,
}
