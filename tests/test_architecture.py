"""The plan of the package: counts that a change may lower and must not raise, what is read on rows, rooms to lock."""

import ast
import functools
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "aucmax"
# Folders that list things of one kind, which may be many.
LISTS = {"papers", "commands", "displays"}
# Libraries that functions import when they need them: optional, heavy, or not on every system.
OPTIONAL = {
    "array_api_compat", "cupy", "dask", "distributed", "fcntl", "interpret", "jinja2", "lightgbm", "markupsafe",
    "matplotlib", "onnx", "onnxruntime", "pandas", "polars", "pyarrow", "resource", "rich", "torch", "typer",
}  # fmt: skip
# Rooms that can be locked: no module outside needs one to be imported.
ROOMS = ("aucmax.rows.dask", "aucmax.rows.device")
# Our own modules that functions import: rooms, and what needs an optional library.
LATE = (*ROOMS, "aucmax.cli", "aucmax.report.figures")
# A bare `import aucmax` loads it, and must stay light: it imports scikit-learn when it makes an estimator.
LIGHT = "aucmax.papers.registry"
ROWS_FOLDER, PROTOCOL = "rows", "rows/protocol.py"
# Annotations of what holds rows. mypy, which is strict, knows them of what has no annotation of its own.
ROWS_TYPES = ("Rows", "InMemoryRows", "ReadRows", "RemoteScores", "ScoreSpace")
ROWS_CLASSES = ("MemoryRows", "FileRows", "DaskRows", "DaskFiles", "DeviceRows")


def module_name(path):
    """Return the dotted name of a file of the package."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def parent_package(name):
    """Return the parts of the package that the relative imports of a module start from."""
    return name.split(".") if MODULES[name].name == "__init__.py" else name.split(".")[:-1]


def targets(node, name):
    """Return the dotted names that an import may load: the module, and its members."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    package = parent_package(name)
    base = package[: len(package) - node.level + 1] if node.level else []
    stem = ".".join([*base, *([node.module] if node.module else [])])
    return [stem, *(f"{stem}.{alias.name}" for alias in node.names)]


def is_for_type_checkers(node):
    """Whether a statement is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports(node, function=None):
    """Yield each import that runs, with the function it stands in, or None at the top."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, function
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports(child, child)
        elif not isinstance(child, ast.expr) and not is_for_type_checkers(child):
            yield from imports(child, function)


@functools.cache
def all_imports():
    """Return the module, the import and the function around it of all imports of the package."""
    return [
        (name, *found)
        for name, path in MODULES.items()
        for found in imports(ast.parse(path.read_text(encoding="utf-8")))
    ]


def import_graph():
    """Return the modules of ours that each module imports, inside of functions too."""
    graph = defaultdict(set)
    for name, node, _ in all_imports():
        found = [target for target in targets(node, name) if target in MODULES and target != name]
        modules = [target for target in found if MODULES[target].name != "__init__.py"]
        graph[name].update(modules or found)
    return graph


def find_cycles(graph):
    """Return the modules that import each other, directly or through others."""

    def reachable(start):
        seen, stack = set(), [start]
        while stack:
            for target in graph.get(stack.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
        return seen

    return sorted(name for name in graph if name in reachable(name))


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
        (*ROWS_TYPES, *ROWS_CLASSES)
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


def test_modules_import_without_cycles():
    assert find_cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert find_cycles(import_graph()) == []


def test_functions_import_only_optional_libraries():
    late = []
    for name, node, function in all_imports():
        loaded = targets(node, name)
        is_optional = loaded[0].split(".")[0] in OPTIONAL or any(
            f"{n}.".startswith(f"{r}.") for n in loaded for r in LATE
        )
        if function is not None and not is_optional and name != LIGHT:
            late.append(f"{name}:{node.lineno} imports {loaded[0]}")
    assert late == []


def test_folders_show_a_dozen_names():
    shown = {
        folder.relative_to(PACKAGE.parent).as_posix(): [
            entry.name for entry in folder.iterdir() if entry.name not in ("__pycache__", "__init__.py", "py.typed")
        ]
        for folder in [PACKAGE, *PACKAGE.rglob("*")]
        if folder.is_dir() and folder.name not in ("__pycache__", *LISTS)
    }
    assert {
        folder: len(names) for folder, names in shown.items() if len(names) > (20 if folder == "aucmax" else 12)
    } == {}
    modules = [path.name for path in PACKAGE.glob("*.py") if path.name not in ("__init__.py", "__main__.py")]
    assert len(modules) <= 8


def test_few_modules_have_one_importer_in_their_own_folder():
    importers = defaultdict(set)
    for name, loaded in import_graph().items():
        for target in loaded:
            importers[target].add(name)
    folder = lambda name: name.rpartition(".")[0]  # noqa: E731
    fragments = [name for name, users in importers.items() if len(users) == 1 and folder(*users) == folder(name)]
    assert len(fragments) <= 25, sorted(fragments)


def test_source_stays_below_40_000_lines():
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES.values()) <= 40_000


def test_seven_hard_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert len(project["dependencies"]) <= 7


def test_private_names_of_scikit_learn_are_imported_in_compat_only():
    private = [
        f"{name}:{node.lineno}"
        for name, node, _ in all_imports()
        for target in targets(node, name)
        if name != "aucmax._compat" and target.startswith("sklearn.") and "._" in target
    ]
    assert private == []


def test_place_of_rows_is_asked_in_rows_alone():
    asks = re.compile(r"(?<![a-z_])(?:is_dask|on_device)\(|DeviceVector|isinstance\([^)]*(?<!CSR)(?<!Dense)Rows\)")
    found = [
        f"{name}: {match.group()}"
        for name, path in MODULES.items()
        if not name.startswith("aucmax.rows.")
        for match in asks.finditer(path.read_text(encoding="utf-8"))
    ]
    assert len(found) <= 4, found


def test_prose_has_few_phrases_of_translations():
    odd = re.compile(r"\bthose of\b|\bthat of\b|\btold\b|\bis no \b")
    assert sum(len(odd.findall(path.read_text(encoding="utf-8"))) for path in MODULES.values()) <= 100


def outside_rows():
    """Return the modules outside of the folder of rows."""
    return {name: path for name, path in MODULES.items() if not f"{name}.".startswith(f"aucmax.{ROWS_FOLDER}.")}


def test_attributes_read_on_rows_are_in_the_protocol():
    members = protocol_members()
    unknown = [
        f"{name}:{line} reads .{attribute} on rows"
        for name, path in outside_rows().items()
        for line, attribute in read_on_rows(path.read_text(encoding="utf-8"))
        if attribute not in members
    ]
    assert unknown == []


def test_members_of_the_protocol_are_read_outside():
    """By the spelling of the name: rows also have names such as `sample` or `view`."""
    sources = "".join(path.read_text(encoding="utf-8") for path in outside_rows().values())
    assert protocol_members() - set(re.findall(r"\.(\w+)", sources)) == set()


@pytest.mark.parametrize("room", ROOMS)
def test_modules_import_with_a_room_locked(room):
    """With its modules blocked, every module outside is imported."""
    others = [name for name in MODULES if not f"{name}.".startswith(f"{room}.") and name != "aucmax.__main__"]
    code = f"""
import importlib, sys
class Lock:
    def find_spec(self, name, path=None, target=None):
        if f"{{name}}.".startswith("{room}."):
            raise ImportError(f"{{name}} is locked")
sys.meta_path.insert(0, Lock())
for name in {others!r}:
    importlib.import_module(name)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-1000:]


def test_read_on_rows_finds_attributes_of_arguments_and_of_self():
    source = """
class Problem:
    def __init__(self, rows: Rows, other: list, known: InMemoryRows | None):
        self.rows, self.other, self.known = rows, other, known
    def solve(self, sample: Rows, rows: FileRows):
        return self.rows.X, self.other.X, self.known.y, sample.matrix, rows.passes
"""
    assert read_on_rows(source) == [(6, "X"), (6, "matrix"), (6, "passes"), (6, "y")]
    assert {"scores", "targets", "reduce", "in_memory"} <= protocol_members()
    assert "X" not in protocol_members()
