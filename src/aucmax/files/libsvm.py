"""LIBSVM text: a label and ``index:value`` pairs on each line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NoReturn

import numpy as np
from scipy.sparse import csr_array

from .lines import Chunk, Lines
from .source import BLOCK_BYTES, Block, Options, Source

_TOKEN = re.compile(rb"[^\s#]*")


class LibsvmSource(Source):
    """A file in LIBSVM format.

    Parameters
    ----------
    lines : Lines
        Its text.
    options : Options
        `zero_based`, `n_features` and `with_target` are used; `weight` and `group` are refused.
    """

    format = "libsvm"
    sparse = True

    def __init__(self, lines: Lines, options: Options) -> None:
        self.file, self.name, self.size = lines.file, lines.file.name, lines.file.size
        for role in ("weight", "group"):
            if getattr(options, role) is not None:
                raise ValueError(f"{self.name}: {role}= names a column, but LIBSVM text has no names of columns.")
        self.n_features = options.n_features
        self._lines = lines
        self._first_index = 0 if options.zero_based else 1
        self._with_labels = options.with_target is not False
        self._width = 0  # columns that were seen so far

    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:  # noqa: D102
        n_rows = width = 0
        for chunk in self._lines.chunks(n_bytes, start):
            X, y = self._parse(chunk)
            n_rows, width = n_rows + len(y), max(width, X.shape[1])
            if len(y):
                yield Block(X, y if self._with_labels else None, chunk.stop, chunk.n_read)
        if start == 0 and n_rows == 0:
            raise ValueError(f"{self.name} has no rows.")
        if start == 0 and width == 0:
            raise ValueError(f"{self.name} has labels but no columns: not one index:value in {n_rows} rows.")

    def _parse(self, chunk: Chunk) -> tuple[csr_array, np.ndarray]:
        from . import libsvm_kernel as kernel

        text = np.frombuffer(chunk.text, dtype=np.uint8)
        max_values, max_rows = kernel.count(text)
        data, indices = np.empty(max_values), np.empty(max_values, dtype=np.int32)
        indptr, labels = np.empty(max_rows + 1, dtype=np.int32), np.empty(max_rows)
        slow = np.empty((max_values + max_rows, 2), dtype=np.int64)
        n_columns = self.n_features
        if n_columns is None:
            n_columns = kernel.LARGEST_INDEX + 1 - self._first_index
        problem, place, n_rows, n_values, width, n_slow = kernel.parse(
            text, self._first_index, n_columns, data, indices, indptr, labels, slow
        )
        for slot, position in slow[:n_slow].tolist():
            value = self._parse_slowly(chunk, position, is_label=slot < 0)
            if slot < 0:
                labels[-1 - slot] = value
            else:
                data[slot] = value
        if problem != kernel.OK:
            self._refuse(chunk, problem, place)
        self._width = max(self._width, width)
        X = csr_array(
            (data[:n_values], indices[:n_values], indptr[: n_rows + 1]),
            shape=(n_rows, width if self.n_features is None else self.n_features),
        )
        X.has_canonical_format = True  # the parser has checked that indices increase
        return X, labels[:n_rows]

    def _parse_slowly(self, chunk: Chunk, position: int, is_label: bool) -> float:
        token = _token(chunk, position)
        what = "label" if is_label else "value"
        try:
            value = float(token.replace(b"_", b"?"))  # Python would take 1_000
        except ValueError:
            self._lines.refuse(f"the {what} {_show(token)} is not a number.", chunk.start, chunk.text[:position])
        if not math.isfinite(value):
            self._lines.refuse(f"the {what} {_show(token)} is not a finite number.", chunk.start, chunk.text[:position])
        return value

    def find_largest_index(self) -> tuple[int, int] | None:
        """Return the largest index that was read so far and the first line that has it; None if none was read."""
        if self._width == 0:
            return None
        index = self._width - 1 + self._first_index
        pair = re.compile(rb"^[^#\n]*\s0*%d:" % index, re.MULTILINE)
        for chunk in self._lines.chunks(BLOCK_BYTES, 0):
            if found := pair.search(chunk.text):
                return index, self._lines.line_number(chunk.start) + chunk.text.count(b"\n", 0, found.start())
        return None

    def _refuse(self, chunk: Chunk, problem: int, position: int) -> NoReturn:
        from . import libsvm_kernel as kernel

        token = _token(chunk, position)
        index = _show(token.partition(b":")[0])
        if problem == kernel.NOT_A_PAIR and token.startswith(b"qid:"):
            what = f"{_show(token)} puts the row into a group, which is not read from LIBSVM text: leave qid out."
        elif problem == kernel.NOT_A_PAIR:
            what = f"found {_show(token)} where index:value is expected, with a whole number as index."
        elif problem == kernel.ZERO_INDEX:
            what = "index 0, but LIBSVM counts from 1: say zero_based=True if this file counts from 0."
        elif problem == kernel.NOT_INCREASING:
            what = f"index {index} does not come after the index before it: sort the indices, each at most once."
        elif self.n_features is None:
            what = f"index {index} is above {kernel.LARGEST_INDEX}, the largest index that is accepted."
        else:
            what = f"index {index} is beyond the {self.n_features} features that are expected."
        self._lines.refuse(what, chunk.start, chunk.text[:position])


def _token(chunk: Chunk, position: int) -> bytes:
    found = _TOKEN.match(chunk.text, position)
    return found.group() if found else b""


def _show(token: bytes) -> str:
    return repr(token[:40].decode("utf-8", "replace"))
