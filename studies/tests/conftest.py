"""The fixtures of the tests of the package, and its cache of kernels."""

import runpy
from pathlib import Path

shared = runpy.run_path(str(Path(__file__).parents[2] / "tests" / "conftest.py"))
run, refused, cluster = shared["run"], shared["refused"], shared["cluster"]
