"""Run the README's first example and the demo with the installed package, from an empty folder: `make test-wheel`."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import aucmax

readme = Path(sys.argv[1]).read_text(encoding="utf-8")
assert "site-packages" in aucmax.__file__, f"not the installed package: {aucmax.__file__}"
exec(compile(re.search(r"```python\n(.*?)```", readme, re.DOTALL).group(1), "README.md", "exec"), {})
with tempfile.TemporaryDirectory() as folder:
    command = Path(sys.executable).with_name("aucmax")
    subprocess.run([command, "demo"], cwd=folder, check=True)
    assert (Path(folder) / "aucmax-demo.html").stat().st_size > 10_000
print(f"aucmax {aucmax.__version__}: the example and the demo run from the wheel")
