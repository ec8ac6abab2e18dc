"""Values as JSON and tensors: what model files and checkpoints are made of.

None, booleans, text, finite floats and lists are themselves in JSON. Everything else is an object of one tag:

    {"int": hex}  {"float": "nan"}                      what JSON has no exact form for
    {"tuple": [...]}  {"dict": {...}}
    {"array": tensor}                                   an array that is a tensor
    {"transposed": array}                               an array in Fortran order, as the tensor of its transpose
    {"flipped": array, "axes": [...]}                   an array that is the reverse of what is in memory
    {"bytes": tensor, "dtype": ..., "shape": ...}       an array of text, dates or other types that tensors have not
    {"objects": tensor, "shape": ...}                   an array of Python objects, as a list in JSON
    {"scalar": array}                                   a NumPy scalar
    {"random_state": dict}
    {"named": class, "fields": {...}}                   a named tuple of this package
    {"csr": class, "n_columns": ..., "parts": [...]}
    {"moments": dict}
    {"partial": function, "keywords": {...}}
    {"estimator": class, "parameters": {...}, "attributes": {...}}

Classes and functions are looked up in the tables below and nowhere else: reading runs nothing that a file brings.
"""

from __future__ import annotations

import functools
import importlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..algorithms import ALGORITHMS

ESTIMATORS = {
    "AUCClassifier": "aucmax.classifier",
    "KMeansNystroem": "aucmax.nystroem",
    **{algorithm.maker or name: f"aucmax.algorithms.{algorithm.module}" for name, algorithm in ALGORITHMS.items()},
    "Pipeline": "sklearn.pipeline",
    "StandardScaler": "sklearn.preprocessing",
    "SelectKBest": "sklearn.feature_selection",
    "PCA": "sklearn.decomposition",
    "GaussianRandomProjection": "sklearn.random_projection",
}
MOMENTS = {"ClassMoments": "aucmax.data.moments"}
FUNCTIONS = {"_random_scores": "aucmax.algorithms.pipelines"}
SPARSE = {"csr_array": "scipy.sparse", "csr_matrix": "scipy.sparse"}
# Where named tuples live.
STATES = {
    "aucmax.selection.calibration",
    *(f"aucmax.stochastic.{module}" for module in ("averaged_weights", "epochs", "row_buffers")),
    *(f"aucmax.streaming.{module}" for module in ("block_selection", "cells")),
    *(f"aucmax.algorithms.{algorithm.module}" for algorithm in ALGORITHMS.values()),
}
# What belongs to a fit under way and not to its result.
TRANSIENT = {"_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx", "_metadata_request"}
# Bool, whole numbers and floats up to float64, in the byte order of the machine.
TENSOR_TYPES = {np.dtype(code) for code in "?bBhHiIlLqQefdF"}
PLAIN_INTEGERS = 1 << 63
DEEPEST = 50  # levels of nesting; the way back takes several frames of the stack for each

Tensors = dict[str, np.ndarray]


def encode(value: Any) -> tuple[Any, Tensors]:
    """Return a value as what JSON can hold, and the tensors it refers to.

    Parameters
    ----------
    value : object
        None, numbers, text, arrays, CSR, random states, class moments, named tuples and estimators of this package, and
        lists, tuples and dicts of these.

    Returns
    -------
    description : object
        Of dicts with text keys, lists, text, numbers, booleans and None.
    tensors : dict of ndarray
        In C order, each once in the description.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.models.value_tree import decode, encode
    >>> description, tensors = encode({"weights": np.arange(3), "range": (0, float("inf"))})
    >>> description
    {'dict': {'weights': {'array': '0'}, 'range': {'tuple': [0, {'float': 'inf'}]}}}
    >>> decode(description, tensors)
    {'weights': array([0, 1, 2]), 'range': (0, inf)}
    """
    encoder = _Encoder()
    return encoder.encode(value, "The value"), encoder.tensors


def decode(description: Any, tensors: Tensors) -> Any:
    """Return the value that `encode` described; the tensors are taken out of the dict one by one."""
    if isinstance(description, list):
        return [decode(item, tensors) for item in description]
    if not isinstance(description, dict):
        return description
    tag = next(iter(description), "")
    if tag not in _DECODERS:
        raise ValueError(f"{tag!r} is unknown")
    return _DECODERS[tag](description, tensors)


class _Encoder:
    """The way from values to JSON, and the tensors met on it."""

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
        if kind is np.ndarray and value.dtype.kind != "V":
            return self._array(value, where)
        if isinstance(value, np.generic) and value.dtype.kind != "V":
            return {"scalar": self._array(np.asarray(value), where)}
        return self._object(value, where)

    def _each(self, values: Mapping[str, Any], noun: str, owner: str) -> dict[str, Any]:
        return {key: self.encode(value, f"The {noun} {key!r} of {owner}") for key, value in values.items()}

    def _tensor(self, array: np.ndarray) -> str:
        name = str(len(self.tensors))
        self.tensors[name] = np.asarray(array, order="C")
        return name

    def _array(self, array: np.ndarray, where: str) -> dict[str, Any]:
        shape = list(array.shape)
        if array.dtype.kind == "O":
            text = json.dumps(self.encode(array.ravel().tolist(), where), allow_nan=False)
            return {"objects": self._tensor(np.frombuffer(text.encode(), np.uint8)), "shape": shape}
        # Products round differently on another layout, so that it has to come back too.
        if backwards := tuple(axis for axis, stride in enumerate(array.strides) if stride < 0):
            return {"flipped": self._array(np.flip(array, backwards), where), "axes": list(backwards)}
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            return {"transposed": self._array(array.T, where)}
        if array.dtype in TENSOR_TYPES:
            return {"array": self._tensor(array)}
        content = np.frombuffer(array.tobytes(), np.uint8)
        return {"bytes": self._tensor(content), "dtype": array.dtype.str, "shape": shape}

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        kind, name = type(value), type(value).__name__
        if kind is np.random.RandomState and value.get_state(legacy=False)["bit_generator"] == "MT19937":
            return {"random_state": self._each(value.get_state(legacy=False), "part", name)}
        if kind.__module__ in STATES and issubclass(kind, tuple):
            fields = self._each(value._asdict(), "field", name)
            return {"named": f"{kind.__module__}.{name}", "fields": fields}
        if _is_listed(kind, SPARSE):
            parts = self.encode([value.data, value.indices, value.indptr], where)
            return {"csr": name, "n_columns": value.shape[1], "parts": parts}
        if _is_listed(kind, MOMENTS):
            return {"moments": self._each(vars(value), "attribute", name)}
        if kind is functools.partial and _is_listed(value.func, FUNCTIONS) and not value.args:
            function = value.func.__name__
            return {"partial": function, "keywords": self._each(value.keywords, "parameter", function)}
        if _is_listed(kind, ESTIMATORS):
            parameters = value.get_params(deep=False)
            attributes = {key: item for key, item in vars(value).items() if key not in {*parameters, *TRANSIENT}}
            return {
                "estimator": name,
                "parameters": self._each(parameters, "parameter", name),
                "attributes": self._each(attributes, "attribute", name),
            }
        raise ValueError(
            f"{where} cannot be stored in a file: it is or holds an object of the type {name}, and only None, numbers, "
            "text, arrays, lists, tuples, dicts with text keys and the estimators of aucmax can be."
        )


def _is_listed(thing: Any, table: Mapping[str, str]) -> bool:
    name = getattr(thing, "__name__", "")
    return name in table and getattr(importlib.import_module(table[name]), name) is thing


def _find(name: str, table: Mapping[str, str]) -> Any:
    if name not in table:
        raise ValueError(f"{name!r} is unknown")
    return getattr(importlib.import_module(table[name]), name)


# The way back. Each takes the description and the tensors.


def _decode_each(descriptions: dict[str, Any], tensors: Tensors) -> dict[str, Any]:
    return {key: decode(item, tensors) for key, item in descriptions.items()}


def _decode_array(description: Any, tensors: Tensors) -> np.ndarray:
    return tensors.pop(description["array"]).copy()  # buffers of rows resize their arrays, which must be their own


def _decode_bytes(description: Any, tensors: Tensors) -> np.ndarray:
    dtype = np.dtype(description["dtype"])
    if dtype.kind not in "fcSUMmiu":
        raise ValueError(f"{description['dtype']!r} is no type of array")
    return np.ndarray(description["shape"], dtype, buffer=tensors.pop(description["bytes"])).copy()


def _decode_objects(description: Any, tensors: Tensors) -> np.ndarray:
    values = decode(json.loads(tensors.pop(description["objects"]).tobytes()), tensors)
    return np.fromiter(values, object, len(values)).reshape(description["shape"])


def _decode_random_state(description: Any, tensors: Tensors) -> np.random.RandomState:
    state = _decode_each(description["random_state"], tensors)
    if not 0 <= state["state"]["pos"] <= 624:  # not checked by NumPy, which would read there
        raise ValueError("a random state is out of range")
    rng = np.random.RandomState(0)
    rng.set_state(state)
    return rng


def _decode_named(description: Any, tensors: Tensors) -> Any:
    module, _, name = description["named"].rpartition(".")
    kind = getattr(importlib.import_module(module), name, None) if module in STATES else None
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        raise ValueError(f"{description['named']!r} is unknown")
    return kind(**_decode_each(description["fields"], tensors))


def _decode_csr(description: Any, tensors: Tensors) -> Any:
    data, indices, indptr = decode(description["parts"], tensors)
    matrix = _find(description["csr"], SPARSE)((len(indptr) - 1, description["n_columns"]), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr  # the constructor would change the index type
    matrix.check_format(full_check=True)
    return matrix


def _decode_moments(description: Any, tensors: Tensors) -> Any:
    attributes = _decode_each(description["moments"], tensors)
    moments = _find("ClassMoments", MOMENTS)(0, attributes["classes"])
    vars(moments).update(attributes)
    return moments


def _decode_partial(description: Any, tensors: Tensors) -> Any:
    return functools.partial(_find(description["partial"], FUNCTIONS), **_decode_each(description["keywords"], tensors))


def _decode_estimator(description: Any, tensors: Tensors) -> Any:
    estimator = _find(description["estimator"], ESTIMATORS)(**_decode_each(description["parameters"], tensors))
    vars(estimator).update(_decode_each(description["attributes"], tensors))
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
    "named": _decode_named,
    "csr": _decode_csr,
    "moments": _decode_moments,
    "partial": _decode_partial,
    "estimator": _decode_estimator,
}
