"""The table of the algorithms in the guide, made from the registry.

python benchmarks/algorithms.py [--write docs/guide/papers.md]
"""

import argparse
import inspect
from pathlib import Path

from markdown import replace_block

from aucmax.papers import ALGORITHMS, PAPERS
from aucmax.papers.registry import Method, short_paper


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="put the table between the marks of this file")
    arguments = parser.parse_args()
    print(table())
    if arguments.write:
        replace_block(arguments.write, "make algorithms", table())


if __name__ == "__main__":
    main()
