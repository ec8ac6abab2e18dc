"""The table of the algorithms in the guide, made from the registry.

python docs/_tools/algorithms.py [--write docs/guide/papers.md]
"""

import argparse
import inspect
import re
from pathlib import Path

from aucmax.papers import ALGORITHMS, PAPERS
from aucmax.papers.registry import Method, short_paper

COMMAND = "make study NAME=algorithms"


def row(algorithm: Method) -> str:
    """Return name, first line of the documentation, whether it learns from a stream, and who published it."""
    name = f"`{algorithm.name}`"
    is_variant = algorithm.maker != algorithm.name
    if is_variant:
        parameters = ", ".join(f"{key}={value!r}".replace("'", '"') for key, value in algorithm.parameters.items())
        name = f"`{algorithm.maker}({parameters})` ({algorithm.name})"
    documentation = inspect.getdoc(algorithm.make) or ""
    summary = "as above" if is_variant else documentation.splitlines()[0].rstrip(".")
    authors = short_paper(PAPERS[algorithm.paper])
    return f"| {name} | {summary} | {'yes' if algorithm.online else ''} | {authors} |"


def table() -> str:
    """Return the table."""
    return "\n".join(["| | | stream | published by |", "|---|---|---|---|", *map(row, ALGORITHMS.values())])


def main() -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="put the table between the marks of this file")
    arguments = parser.parse_args()
    print(table())
    if arguments.write:
        page = arguments.write.read_text(encoding="utf-8")
        marks = re.compile(rf"(<!-- made by `{COMMAND}` -->\n\n).*?(\n\n<!-- end -->)", re.DOTALL)
        arguments.write.write_text(marks.sub(lambda found: found[1] + table() + found[2], page), encoding="utf-8")


if __name__ == "__main__":
    main()
