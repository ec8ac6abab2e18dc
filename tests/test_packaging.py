"""What is said of versions in several places is the same, and the files about the project can be read."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import aucmax

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = [PROJECT["optional-dependencies"][extra] for extra in ("cli", "report", "onnx", "gpu", "dask", "dev")]
LOWEST = {
    match.group(1): match.group(2)
    for entry in sum(EXTRAS, PROJECT["dependencies"])
    if (match := re.fullmatch(r"([\w-]+)(?:\[.*\])?>=(.+)", entry))  # not aucmax itself, with other extras
}
TOOLS = {"mypy", "ruff", "codespell"}  # check the source, whatever the versions


def test_constraints_lowest_are_the_declared_versions():
    tested = dict(
        re.findall(
            r"^([\w-]+)==([\d.]+)\.\*", (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    assert tested == {name: version for name, version in LOWEST.items() if name not in TOOLS}


def test_constraints_fit_the_declared_versions():
    pins = dict(
        re.findall(r"^([\w-]+)==([\d.]+)", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    )
    pinned = {name.lower(): [int(part) for part in version.split(".")] for name, version in pins.items()}
    for name, version in LOWEST.items():
        assert pinned[name] >= [int(part) for part in version.split(".")], name


def test_version_is_that_of_the_changelog():
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE).group(1)
    assert aucmax.__version__ == first


@pytest.mark.parametrize(
    "path",
    [ROOT / "CITATION.cff", ROOT / ".pre-commit-config.yaml", *sorted((ROOT / ".github").rglob("*.yml"))],
    ids=lambda path: path.name,
)
def test_project_files_are_yaml(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_workflow_runs_the_declared_versions_of_python():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))["jobs"]
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert jobs["tests"]["strategy"]["matrix"]["python"] == declared
    assert PROJECT["requires-python"] == f">={declared[0]}"
