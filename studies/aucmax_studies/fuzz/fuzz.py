"""Damaged files of rows and forged model files, in child processes with limits of time and memory.

python -m aucmax_studies fuzz [--seconds 600] [--only readers|models] [--write docs/measured/reliability.md]

Seeds and counts are kept in studies/results/fuzz.json: a run goes on where the last one stopped, and a seed that found
something is listed there and runs again first. Once it is right, it is listed as mended. `python -m aucmax_studies fuzz
--only models --seed 17` runs one case, in this process.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import RESULTS_DIR
from ..common.markdown import replace_block
from .isolation import Outcome, run_cases

RESULTS = RESULTS_DIR / "fuzz.json"
KINDS = {"readers": f"{__package__}.reader_cases", "models": f"{__package__}.model_cases"}
STEP = 10.0  # seconds after which counts are saved


def load(path: Path = RESULTS) -> dict[str, Any]:
    """Return the counts so far."""
    empty: dict[str, Any] = {kind: {"next seed": 0, "counts": {}, "wrong": [], "mended": []} for kind in KINDS}
    return {**empty, **json.loads(path.read_text(encoding="utf-8"))} if path.exists() else empty


def save(kept: dict[str, Any]) -> None:
    """Write the counts so far."""
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def fuzz(kind: str, kept: dict[str, Any], seconds: float, most: int | None = None) -> Iterator[Outcome]:
    """Run cases from the next seed on, and add each to the counts."""
    for outcome in run_cases(KINDS[kind], kept["next seed"], seconds, most):
        verdict = "wrong" if outcome.is_wrong else outcome.verdict
        kept["counts"][verdict] = kept["counts"].get(verdict, 0) + 1
        kept["wrong"] += [list(outcome)] if outcome.is_wrong else []
        kept["next seed"] = outcome.seed + 1
        yield outcome


def run_again(kind: str, kept: dict[str, Any]) -> None:
    """Run the cases again that found something, so that those that were mended go from one list to the other."""
    before, kept["wrong"] = sorted(kept["wrong"]), []
    seeds = [seed for seed, _ in before]
    for _, run in itertools.groupby(enumerate(seeds), lambda place: place[1] - place[0]):  # of consecutive seeds
        again = [seed for _, seed in run]
        kept["counts"]["wrong"] -= len(again)
        # The counts and the list are shared.
        list(fuzz(kind, {**kept, "next seed": again[0]}, seconds=3600, most=len(again)))
    still = {seed for seed, _ in kept["wrong"]}
    kept["mended"] += [found for found in before if found[0] not in still]


def table(kept: dict[str, Any]) -> str:
    """Return the counts as a table."""
    lines = ["| | cases | read | refused in a sentence | anything else | mended since |", "|---|---|---|---|---|---|"]
    for kind, found in kept.items():
        counts = Counter(found["counts"])
        name = {"readers": "damaged files of rows", "models": "forged model files"}[kind]
        numbers = (counts.total(), counts["read"], counts["refused"], counts["wrong"], len(found["mended"]))
        lines.append(f"| {name} | {' | '.join(f'{n:,}' for n in numbers)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to run, all kinds together")
    parser.add_argument("--only", choices=list(KINDS), help="one kind of cases")
    parser.add_argument("--seed", type=int, help="run one case again, and print its verdict")
    parser.add_argument("--write", type=Path, help="put the counts between the marks of this file")
    arguments = parser.parse_args()
    kinds = [arguments.only] if arguments.only else list(KINDS)
    if arguments.seed is not None:
        for kind in kinds:
            print(kind, importlib.import_module(KINDS[kind]).run_case(arguments.seed))
        return
    kept, saved = load(), time.monotonic()
    for kind in kinds:
        run_again(kind, kept[kind])
        for outcome in fuzz(kind, kept[kind], arguments.seconds / len(kinds)):
            if outcome.is_wrong:
                print(kind, *outcome, flush=True)
            if outcome.is_wrong or time.monotonic() > saved + STEP:
                save(kept)
                saved = time.monotonic()
    save(kept)
    print(table(kept))
    if arguments.write:
        replace_block(arguments.write, "make study NAME=fuzz", table(kept))


if __name__ == "__main__":
    main()
