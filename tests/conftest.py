"""Set before anything else is imported: where kernels are cached, and that no check of scikit-learn is skipped."""

import hashlib
import os
import tempfile
from pathlib import Path

# scikit-learn's check of array API input runs only with this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# A cached kernel does not notice an edit in another file that it calls, so the cache is keyed by those.
_folder = Path(__file__).parents[1] / "src" / "aucmax"
_names = ("kernels.py", "rows.py", "weights.py", "penalties.py", "buffers.py")
_shared = b"".join((_folder / name).read_bytes() for name in _names)
_key = hashlib.sha256(_shared).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"aucmax-kernels-{_key}"))
