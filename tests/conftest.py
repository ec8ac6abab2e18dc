"""Shared by the tests: the compiled kernels are cached by their source, and small problems are made here."""

import hashlib
import os
import tempfile
from pathlib import Path

# A cached kernel does not notice an edit in another file, so the cache is keyed by the source.
_source = Path(__file__).parents[1] / "src" / "aucmax" / "kernels.py"
_key = hashlib.sha256(_source.read_bytes()).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"aucmax-kernels-{_key}"))
