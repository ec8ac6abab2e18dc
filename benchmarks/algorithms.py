"""The table of the algorithms, from the registry.

python benchmarks/algorithms.py [--write README.md]
"""

import argparse
import inspect
from pathlib import Path

from markdown import replace_block

from aucmax.algorithms import ALGORITHMS, PAPERS, Algorithm


def row(algorithm: Algorithm) -> str:
    """Return name, first line of the documentation, whether it learns from a stream, and who published it."""
    name = f"`{algorithm.name}`"
    if algorithm.maker:
        parameters = ", ".join(f"{key}={value!r}".replace("'", '"') for key, value in algorithm.parameters.items())
        name = f"`{algorithm.maker}({parameters})` ({algorithm.name})"
    documentation = inspect.getdoc(algorithm.make) or ""
    summary = "as above" if algorithm.maker else documentation.splitlines()[0].rstrip(".")
    authors = PAPERS[algorithm.paper].partition("), ")[0] + ")"
    return f"| {name} | {summary} | {'yes' if algorithm.online else ''} | {authors} |"


def table() -> str:
    """Return the table."""
    return "\n".join(["| | | stream | published by |", "|---|---|---|---|", *map(row, ALGORITHMS.values())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="put the table into this file, between its marks")
    arguments = parser.parse_args()
    print(table())
    if arguments.write:
        replace_block(arguments.write, "make algorithms", table())


if __name__ == "__main__":
    main()
