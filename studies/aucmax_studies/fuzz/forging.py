"""Model files that somebody made by hand: changed in bytes or in structure, most of them with a right digest."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import safetensors.numpy

from aucmax.models.model_file import DIGEST, NO_DIGEST

ESCAPE = "\x1b]0;owned\x07\x1b[2J"
STRANGE: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    3,
    2**31,
    2**63 - 1,
    -0.5,
    1e308,
    5e-324,
    "",
    "x",
    ESCAPE,
    "a" * 5000,
    [],
    [1, 2],
    [[]],
    {"float": "nan"},
    {"float": "inf"},
    {"int": "-0x1" + "0" * 40},
    {"dict": {}},
    {"dict": {"x": 1}},
    {"tuple": [1]},
    {"array": "0"},
    {"bytes": "0", "dtype": "<U5", "shape": [1000000000, 0]},
    {"bytes": "0", "dtype": ">f8", "shape": [5]},
    {"bytes": "0", "dtype": "<M8[Y]", "shape": [2]},
    {"bytes": "0", "dtype": "<M8", "shape": [2]},
    {"bytes": "0", "dtype": "<m8[ns]", "shape": [2]},
    {"objects": "0", "shape": [0]},
    {"estimator": "SOLAM", "parameters": {}, "attributes": {}},
    {"named_tuple": "Scaling", "fields": {"shift": {"array": "0"}, "unit": 1}},
]
VALUES = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, -1e308, 5e-324, 2**63, -(2**63), 10**6]


def open_up(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the description and the tensors of a file."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return json.loads(header["__metadata__"]["aucmax"]), dict(sorted(safetensors.numpy.load(content).items()))


def seal(content: bytes) -> bytes:
    """Return a file with the digest that it should have."""
    blank = content[: DIGEST.start] + NO_DIGEST + content[DIGEST.stop :]
    return content[: DIGEST.start] + hashlib.sha256(blank).hexdigest().encode() + content[DIGEST.stop :]


def put_together(about: dict[str, Any], tensors: dict[str, np.ndarray]) -> bytes:
    """Return the file of a description and tensors, with a right digest."""
    about = {"sha256": NO_DIGEST.decode()} | {key: value for key, value in about.items() if key != "sha256"}
    text = json.dumps(about, separators=(",", ":"))
    whole = {name: np.asarray(tensor, order="C") for name, tensor in tensors.items()}
    return seal(safetensors.numpy.save(whole, metadata={"aucmax": text}))


def nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in a description: a dict or list, and a key of it."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(pairs):
        yield value, key
        yield from nodes(item)


def forge(content: bytes, rng: random.Random) -> bytes:
    """Return a changed file: one to three changes of its bytes, or of its description and tensors."""
    if rng.random() < 0.25:
        return forge_bytes(content, rng)
    about, tensors = open_up(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change = rng.choice(
            [change_value, change_value, change_tensor, change_tensor, swap_values, drop_value, rename, wrap]
        )
        change(about, tensors, rng)
    return put_together(about, tensors)


def forge_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return a file with changed bytes, three quarters of them with a right digest."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at, patch = rng.randrange(max(1, len(data))), rng.randbytes(rng.randrange(1, 9))
        how = rng.choice(["flip", "replace", "insert", "drop", "cut"] if len(data) > 20 else ["insert"])
        if how == "flip":
            data[at] ^= 1 << rng.randrange(8)
        elif how == "replace":
            data[at : at + len(patch)] = patch
        elif how == "insert":
            data[at:at] = patch
        elif how == "drop":
            del data[at : at + len(patch)]
        else:
            del data[at:]
    return seal(bytes(data)) if rng.random() < 0.75 and len(data) > DIGEST.stop else bytes(data)


def change_value(about: dict[str, Any], tensors: dict[str, np.ndarray], rng: random.Random) -> None:
    """Put something strange in place of a value."""
    holder, key = rng.choice(list(nodes(about)))
    holder[key] = copy.deepcopy(rng.choice(STRANGE))


def swap_values(about: dict[str, Any], tensors: dict[str, np.ndarray], rng: random.Random) -> None:
    """Exchange two values."""
    (a, i), (b, j) = (rng.choice(list(nodes(about))) for _ in range(2))
    first, second = copy.deepcopy(a[i]), copy.deepcopy(b[j])
    a[i], b[j] = second, first


def drop_value(about: dict[str, Any], tensors: dict[str, np.ndarray], rng: random.Random) -> None:
    """Leave a value out, or add one twice."""
    holder, key = rng.choice(list(nodes(about)))
    if rng.random() < 0.7:
        del holder[key]
    elif isinstance(holder, dict):
        holder[f"{key}_"] = copy.deepcopy(holder[key])
    else:
        holder.append(copy.deepcopy(holder[key]))


def rename(about: dict[str, Any], tensors: dict[str, np.ndarray], rng: random.Random) -> None:
    """Rename a key, to that of another value or to something strange."""
    places = [(holder, key) for holder, key in nodes(about) if isinstance(holder, dict)]
    holder, key = rng.choice(places)
    other = rng.choice(places)[1] if rng.random() < 0.7 else ESCAPE
    items = [(other if name == key else name, value) for name, value in holder.items()]
    holder.clear()
    holder.update(items)


def wrap(about: dict[str, Any], tensors: dict[str, np.ndarray], rng: random.Random) -> None:
    """Give an array another order in memory, another byte order, or make a value an item of something."""
    is_array = [
        (holder, key) for holder, key in nodes(about) if isinstance(holder[key], dict) and "array" in holder[key]
    ]
    holder, key = rng.choice(is_array or list(nodes(about)))
    value = holder[key]
    wrapped = [{"transposed": value}, {"flipped": value, "axes": [0]}, {"scalar": value}, [value], {"tuple": [value]}]
    name = value["array"] if is_array else None
    if isinstance(name, str) and name in tensors:
        shape = list(tensors[name].shape)
        wrapped += [{"bytes": name, "dtype": dtype, "shape": shape} for dtype in (">f8", "<f8", "<f2")]
    holder[key] = rng.choice(wrapped)


def change_tensor(about: dict[str, Any], tensors: dict[str, np.ndarray], rng: random.Random) -> None:
    """Change the values, the shape or the type of a tensor, or exchange two."""
    if not tensors:
        return
    name = rng.choice(list(tensors))
    tensor = tensors[name].copy()
    how = rng.choice(["value", "value", "values", "shape", "cut", "longer", "type", "swap"])
    if how in ("value", "values") and tensor.size:
        with np.errstate(all="ignore"):
            strange = np.array(rng.choice(VALUES)).astype(tensor.dtype)
        if how == "values":
            tensor[...] = strange
        else:
            tensor.reshape(-1)[rng.randrange(tensor.size)] = strange
    elif how == "shape":
        tensor = tensor.reshape(rng.choice([(-1,), (1, *tensor.shape), (*tensor.shape, 1), tensor.shape[::-1]]))
    elif how == "cut" and tensor.ndim:
        tensor = tensor[: rng.randrange(len(tensor) + 1)]
    elif how == "longer" and tensor.ndim:
        tensor = np.concatenate([tensor, tensor])
    elif how == "type":
        with np.errstate(all="ignore"):
            tensor = tensor.astype(rng.choice("?bBhHiIlLefd"))
    elif how == "swap":
        other = rng.choice(list(tensors))
        tensors[name], tensors[other] = tensors[other], tensors[name]
        return
    tensors[name] = tensor
