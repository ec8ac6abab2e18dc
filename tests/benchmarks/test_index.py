"""The folder of benchmarks: what its index lists, and names that a script may import from the standard library."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPTS = {path.name for path in (ROOT / "benchmarks").glob("*.py")}


def test_no_script_shadows_the_standard_library():
    assert not {name.removesuffix(".py") for name in SCRIPTS} & set(sys.stdlib_module_names)


def test_the_index_lists_every_script_with_its_target():
    index = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(\w+\.py)`", index)) == SCRIPTS
    targets = dict(
        re.findall(
            r"^(\w+): .*\n\t\$\(BIN\)/python benchmarks/(\w+\.py)",
            (ROOT / "Makefile").read_text(encoding="utf-8"),
            re.M,
        )
    )
    assert len(targets) >= 9
    assert all(f"| `{target}` | `{script}` |" in index for target, script in targets.items())
