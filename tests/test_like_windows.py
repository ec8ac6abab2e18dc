"""Neither imports nor files that are written need what only POSIX has; `make test-like-windows` runs all tests so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.linux

TESTS = Path(__file__).parent
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
IMPORT_ALL = """
import importlib, pkgutil
import like_windows
import aucmax
names = [module.name for module in pkgutil.walk_packages(aucmax.__path__, "aucmax.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""


def run(*arguments):
    environment = os.environ | ASCII | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)


@pytest.mark.slow
def test_modules_import_like_windows():
    done = run("-c", IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


@pytest.mark.slow
def test_write_atomically_like_windows():
    names = [str(TESTS / name) for name in ("files/test_atomic_write.py", "models/test_checkpoint.py")]
    done = run("-m", "pytest", "-q", "-p", "like_windows", "-p", "no:cacheprovider", *names)
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
    assert "skipped" in done.stdout
