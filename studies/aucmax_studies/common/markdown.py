"""Puts the results of a benchmark into a page, so that no number is typed by hand."""

import re
from pathlib import Path


def replace_block(path: Path, command: str, text: str) -> None:
    """Replace the text between the marks of `command` in a page."""
    replace_between(path, f"<!-- made by `{command}` -->", "<!-- end -->", text)


def replace_between(path: Path, begin: str, end: str, text: str) -> None:
    """Replace the text between two marks in a page."""
    page = path.read_text(encoding="utf-8")
    block = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if len(block.findall(page)) != 1:
        raise ValueError(f"{path} must have one block from {begin} to {end}.")
    path.write_text(block.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", page), encoding="utf-8")
