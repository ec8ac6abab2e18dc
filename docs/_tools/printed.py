"""What the code of Markdown pages prints, in a block of text below each block of code that prints something.

python docs/_tools/printed.py docs/start.md ...

The blocks of a page are one script. A block of `text` right after a block of `python` is what that one prints: this
command writes it, and a test compares it.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.DOTALL | re.MULTILINE)


BAR = re.compile(r"^.*\u2501.*\n", re.MULTILINE)  # a bar of progress, whose times vary


class Block(NamedTuple):
    """A block of code, what the page shows that it prints, and what it prints."""

    code: str
    shown: str
    printed: str


def run_blocks(page: str, name: str) -> list[Block]:
    """Run the blocks of code of a page, one after the other in one namespace, and return them."""
    space: dict[str, object] = {}
    blocks = []
    for found in BLOCK.finditer(page):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(found["code"], name, "exec"), space)
        blocks.append(Block(found["code"], found["shown"] or "", BAR.sub("", out.getvalue())))
    return blocks


def write_printed(page: str, name: str) -> str:
    """Return a page with what its blocks print."""
    printed = (block.printed for block in run_blocks(page, name))

    def write(found: re.Match[str]) -> str:
        text = next(printed)
        return f"```python\n{found['code']}```\n" + (f"\n```text\n{text}```\n" if text else "")

    return BLOCK.sub(write, page)


def main() -> None:
    """Write what the blocks of the named pages print."""
    paths = [Path(path).resolve() for path in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some blocks write files
        for path in paths:
            page = path.read_text(encoding="utf-8")
            path.write_text(write_printed(page, path.name), encoding="utf-8")


if __name__ == "__main__":
    main()
