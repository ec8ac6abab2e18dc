"""The architecture as CONTRIBUTING.md draws it: who may import whom, and who may touch the data matrix."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "aucmax"
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
# They stand outside of the layers: `__init__` looks public names up when they are used.
TOP = ("__init__.py", "__main__.py")
# Where a matrix comes in: `fit` makes rows of it, and callbacks are told the matrix that `fit` was given.
ENTRANCE = ("estimators/base.py", "estimators/moment_classifier.py", "classifier.py", "papers/engine/epochs.py")


def read_layers(page):
    """Return the folders and modules of the table of layers, from the top, without "/" and ".py"."""
    table = re.search(r"<!-- layers -->\n(.*?)<!-- end layers -->", page, re.DOTALL).group(1)
    return [name.removesuffix("/").removesuffix(".py") for name in re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)]


LAYERS = read_layers((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))


def layer_of(path):
    """Return the folder or module of the package that a path or a dotted name is in."""
    return re.split(r"[/.]", path)[0]


def imports(path, source):
    """Yield the line and the layer of each import of this package, wherever in the file it stands."""
    package = ["aucmax", *path.split("/")[:-1]]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            names = [".".join(module)]
            if len(module) == 1:  # from the package itself: a layer, or a public name of one
                names = [".".join([*module, alias.name]) for alias in node.names if alias.name != "__version__"]
        else:
            continue
        for name in names:
            top, *rest = name.split(".")
            if top == "aucmax" and name != "aucmax.papers.registry":  # a list of names, which imports nothing
                yield node.lineno, rest[0] if rest else "__init__"


def wrong_imports(path, source):
    """Return the imports of what stands below, or of what the table does not have."""
    own = LAYERS.index(layer_of(path))
    return [f"{path}:{line} imports {layer}" for line, layer in imports(path, source) if layer not in LAYERS[: own + 1]]


def attributes_X(source):
    """Return the lines where an attribute called X is read or set, also by getattr and its like."""
    nodes = list(ast.walk(ast.parse(source)))
    found = [node.lineno for node in nodes if isinstance(node, ast.Attribute) and node.attr == "X"]
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr", "setattr"):
            found += [node.lineno for name in node.args[1:2] if getattr(name, "value", "") == "X"]
    return found


def test_every_file_has_a_place_in_the_table():
    assert len(LAYERS) == len(set(LAYERS))
    assert {layer_of(path) for path in FILES if path not in TOP} == set(LAYERS)


@pytest.mark.parametrize("path", [path for path in FILES if path not in TOP])
def test_imports_point_up(path):
    assert wrong_imports(path, (PACKAGE / path).read_text(encoding="utf-8")) == []


def behind_the_door(path):
    """Whether a file gets rows through the protocol, and so must not know of a matrix."""
    layer = layer_of(path)
    from_losses_to_algorithms = LAYERS.index("data") < LAYERS.index(layer) <= LAYERS.index("papers")
    return from_losses_to_algorithms and path not in ENTRANCE


@pytest.mark.parametrize("path", [path for path in FILES if path not in TOP and behind_the_door(path)])
def test_nobody_touches_the_matrix_behind_the_door(path):
    assert attributes_X((PACKAGE / path).read_text(encoding="utf-8")) == []


def test_the_checks_find_what_they_look_for():
    """Imports inside functions and for type checkers count, and so do relative ones."""
    source = """
import aucmax.cli.console
from aucmax import datasets
from typing import TYPE_CHECKING
from .. import __version__, jit, table_encoder
from ..data.memory import MemoryRows
from .problem import Objective
if TYPE_CHECKING:
    from ..estimators.base import LinearAUCClassifier
def solve(rows):
    from ..models import model_file
    rows.X = rows.X @ rows.Xs
    return hasattr(rows, "X"), getattr(rows, "totals")
"""
    found = [line.removeprefix("solvers/square.py:") for line in wrong_imports("solvers/square.py", source)]
    assert found == [
        "2 imports cli",
        "3 imports datasets",
        "5 imports table_encoder",
        "9 imports estimators",
        "11 imports models",
    ]
    assert attributes_X(source) == [12, 12, 13]
    assert behind_the_door("solvers/square.py")
    assert not behind_the_door("data/memory.py")
    assert not behind_the_door("classifier.py")
    assert not behind_the_door("cli/console.py")
