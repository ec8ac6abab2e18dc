"""The README's code runs."""

import re
from pathlib import Path

import algorithms
import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_python_block(block):
    exec(compile(block, "README.md", "exec"), {})


def test_the_commands_are_targets_of_the_makefile():
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert len(BLOCKS) >= 2
    assert {"demo", "test", "bench"} <= set(re.findall(r"make ([a-z-]+)", README)) <= targets


def test_the_table_of_the_algorithms_is_that_of_the_registry():
    assert f"<!-- made by `make algorithms` -->\n\n{algorithms.table()}\n\n<!-- end -->" in README
