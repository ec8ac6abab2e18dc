"""Where kernels are cached, set before anything else is imported, and fixtures for commands and clusters."""

import hashlib
import logging
import os
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

_folder = Path(__file__).parents[1] / "src" / "aucmax"
# Tests have these marks if they need such a system, or a folder of rows that can be taken away.
POSIX = find_spec("fcntl") is not None
SYSTEMS = {"posix": POSIX, "linux": POSIX and sys.platform == "linux"}
SYSTEMS |= {room: (_folder / "rows" / room).exists() for room in ("dask", "device")}
collect_ignore = ["like_windows.py"]  # which takes functions away from the process that looks in it for doctests

# scikit-learn's check of array API input runs only with this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# A cached kernel does not notice an edit in another file that it calls, and a release of Numba throws away what another
# has cached, so the cache is keyed by both.
_names = (
    "_compat.py",
    "losses/rowwise.py",
    "losses/smooth_auc.py",
    *(f"papers/engine/{name}.py" for name in ("row_access", "averages", "proximal", "buffers")),
)
_shared = b"".join((_folder / name).read_bytes() for name in _names)
_key = hashlib.sha256(_shared + version("numba").encode()).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"aucmax-kernels-{_key}"))


def pytest_collection_modifyitems(items):
    """Skip tests that need another system than this, or a folder that is not there."""
    for item in items:
        if "check_array_api" in item.name:  # scikit-learn's checks, which put rows on a device
            item.add_marker(pytest.mark.device)
        for name, is_here in SYSTEMS.items():
            if not is_here and item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=f"needs {name}"))


@pytest.fixture
def run(capsys):
    """Return a function that runs a command and returns its exit status, standard output and standard error."""

    def run(*arguments):
        from aucmax.cli.app import main

        with pytest.raises(SystemExit) as leaving:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return leaving.value.code, out, err

    return run


@pytest.fixture
def refused(run):
    """Return a function that runs a command, which must end with status 2 and one line, and returns that line."""

    def refused(*arguments):
        status, out, err = run(*arguments)
        assert status == 2, err
        assert out == ""
        assert err.startswith("aucmax: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        return err.removeprefix("aucmax: ").rstrip("\n")

    return refused


@pytest.fixture(scope="session")
def cluster():
    """Return a Dask cluster of two worker processes."""
    from distributed import LocalCluster

    quiet = {"silence_logs": logging.CRITICAL, "scheduler_kwargs": {"dashboard": False}}
    free = {"host": "127.0.0.1", "dashboard_address": ":0"}  # any free port: other clusters may be running
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **free, **quiet) as cluster:
        yield cluster
