"""The architecture that CONTRIBUTING.md draws: who imports whom, what is read on rows, and rooms that can be locked."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "aucmax"
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
# They stand outside of the layers: `__init__` looks public names up when they are used.
TOP = ("__init__.py", "__main__.py")
# Rooms that can be locked: no module outside needs one to be imported. The prefixes of their modules.
ROOMS = {"Dask": "aucmax.rows.dask", "device": "aucmax.rows.device"}
ROWS_FOLDER, PROTOCOL = "rows", "rows/protocol.py"
# Annotations of what holds rows. mypy, which is strict, knows them of what has no annotation of its own.
ROWS_TYPES = ("Rows", "InMemoryRows", "ScoreSpace")


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


def protocol_members():
    """Return the members of the row interface."""
    tree = ast.parse((PACKAGE / PROTOCOL).read_text(encoding="utf-8"))
    bodies = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name in ROWS_TYPES]
    return {node.name for body in bodies for node in body if isinstance(node, ast.FunctionDef)}


def annotations(function):
    """Yield the name and the annotation, or None, of each parameter and of each variable with one."""
    for argument in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]:
        yield argument.arg, argument.annotation
    for node in ast.walk(function):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.annotation


def holds_rows(annotation):
    """Whether a variable holds rows of any place."""
    return annotation is not None and not {part.strip() for part in ast.unparse(annotation).split("|")}.isdisjoint(
        ROWS_TYPES
    )


def read_on_rows(source):
    """Return (line, attribute) of everything read on variables, or attributes of self, that hold rows."""
    tree, found = ast.parse(source), []
    for scope in [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)]:
        if isinstance(scope, ast.FunctionDef):
            names = {name for name, annotation in annotations(scope) if holds_rows(annotation)}
            owners = names
        else:  # self.rows = rows, where rows are a parameter of __init__
            first = [node for node in scope.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
            known = {name for init in first for name, annotation in annotations(init) if holds_rows(annotation)}
            stored = [node for init in first for node in ast.walk(init) if isinstance(node, ast.Assign)]
            pairs = [pair for node in stored for pair in assigned(node)]
            owners = {ast.unparse(target) for target, value in pairs if ast.unparse(value) in known}
            owners = {owner for owner in owners if owner.startswith("self.")}
        found += [
            (node.lineno, node.attr)
            for node in ast.walk(scope)
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in owners
        ]
    return sorted(set(found))


def assigned(node):
    """Yield the target and the value of each assignment; those of a tuple one by one."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=True)
        else:
            yield target, node.value


def test_every_file_has_a_place_in_the_table():
    assert len(LAYERS) == len(set(LAYERS))
    assert {layer_of(path) for path in FILES if path not in TOP} == set(LAYERS)


@pytest.mark.parametrize("path", [path for path in FILES if path not in TOP])
def test_imports_point_up(path):
    assert wrong_imports(path, (PACKAGE / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", [path for path in FILES if path not in TOP and layer_of(path) != ROWS_FOLDER])
def test_rows_have_no_members_but_those_of_the_protocol(path):
    members, read = protocol_members(), read_on_rows((PACKAGE / path).read_text(encoding="utf-8"))
    assert [f"{path}:{line} reads .{name} on rows" for line, name in read if name not in members] == []


def test_every_member_of_the_protocol_is_read_outside():
    """By the spelling of the name: rows also have names such as `sample` or `view`."""
    outside = [PACKAGE / path for path in FILES if layer_of(path) != ROWS_FOLDER]
    spelled = set(re.findall(r"\.(\w+)", "".join(path.read_text(encoding="utf-8") for path in outside)))
    assert protocol_members() - spelled == set()


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_can_be_locked(room):
    """With its modules blocked, every module outside is imported."""
    names = ["aucmax." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in FILES]
    open_to_all = [name for name in names if not name.startswith(ROOMS[room]) and name != "aucmax.__main__"]
    code = f"""
import importlib, sys
class Lock:
    def find_spec(self, name, path=None, target=None):
        if name.startswith({ROOMS[room]!r}):
            raise ImportError(f"{{name}} is locked")
sys.meta_path.insert(0, Lock())
for name in {open_to_all!r}:
    importlib.import_module(name)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-1000:]


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
def solve(rows: Rows):
    from ..models import model_file
    return rows.totals + rows.X
"""
    found = [line.removeprefix("solvers/square.py:") for line in wrong_imports("solvers/square.py", source)]
    assert found == [
        "2 imports cli",
        "3 imports datasets",
        "5 imports table_encoder",
        "9 imports estimators",
        "11 imports models",
    ]
    assert read_on_rows(source) == [(12, "X"), (12, "totals")]


def test_the_checks_find_what_is_read_on_rows():
    source = """
class Problem:
    def __init__(self, rows: Rows, other: FileRows, known: InMemoryRows | None):
        self.rows, self.other, self.known = rows, other, known
    def solve(self, sample: Rows, rows: FileRows):
        return self.rows.X, self.other.X, self.known.y, sample.matrix, rows.passes
"""
    assert read_on_rows(source) == [(6, "X"), (6, "matrix"), (6, "y")]
    assert {"scores", "targets", "reduce", "in_memory"} <= protocol_members()
    assert "X" not in protocol_members()
