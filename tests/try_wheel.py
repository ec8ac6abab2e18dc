"""Run the README's first example and the demo with the installed package, in an empty folder: `make test-wheel`."""

import re
import subprocess
import sys
import tempfile
from importlib.metadata import metadata
from pathlib import Path

import aucmax


def main(readme):
    assert "site-packages" in aucmax.__file__, f"not the installed package: {aucmax.__file__}"
    example = re.search(r"```python\n(.*?)```", Path(readme).read_text(encoding="utf-8"), re.DOTALL).group(1)
    exec(compile(example, readme, "exec"), {})
    description = metadata("aucmax").get_payload()
    assert example in description
    assert (broken := re.findall(r"\]\((?!https:).*?\)", description)) == [], f"a package index cannot follow {broken}"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([Path(sys.executable).with_name("aucmax"), "demo"], cwd=folder, check=True)
        assert (Path(folder) / "aucmax-demo.html").stat().st_size > 10_000
    print(f"aucmax {aucmax.__version__}: the example and the demo run from the wheel, whose links are whole")


if __name__ == "__main__":
    main(sys.argv[1])
