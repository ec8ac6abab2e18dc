"""Commands that are killed, stopped, starved and disturbed; counts go to docs/measured/reliability.md.

python -m aucmax_studies faults [--kills 200] [--rounds 20] [--write docs/measured/reliability.md]

Each round draws a fault from its seed. After it, every file must be whole, the model bitwise that of an undisturbed
run, and no draft left; what commands say is judged by `judge` in workshop.py. A round counts if its fault happened: a
signal that came when a command had ended is no kill. Counts are kept in studies/results/faults.json: a run goes on with
the next seed, after those that found something. It ends when there were enough kills in all, enough rounds of every
fault, and a kill of every kind of fit.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from .. import RESULTS_DIR
from ..common.markdown import replace_block
from .workshop import FITS, USES, Workshop, after_signal, begin, end, judge

RESULTS = RESULTS_DIR / "faults.json"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
MOST_LIVES = 300  # of one command that is killed again and again
MOST_TRIES = 20  # to hit a command before it ends
SOONER = 0.8  # so many times as long a command is left alone after it was missed
LATER = 1.05  # and after it was killed, since the machine may have become slower


def wait(shop: Workshop, name: str, rng: random.Random, factor: float) -> None:
    """Sleep to a random moment of a command, a later one for a factor above 1."""
    time.sleep(rng.uniform(0.3, 1.05) * shop.seconds[name] * factor)


class Round(NamedTuple):
    """How often commands were killed or stopped in a round, and what is wrong; an empty text if nothing is."""

    n_kills: int
    wrong: str


# A fault returns None if it did not happen.
Fault = Callable[[Workshop, Path, random.Random], Round | None]


def kill_fit(
    shop: Workshop, folder: Path, rng: random.Random, numbers: Sequence[int] = (signal.SIGKILL,)
) -> Round | None:
    """Kill a fit again and again, at least once, until it ends by itself."""
    name = shop.kind
    model, checkpoint = folder / "model", folder / "checkpoint"
    arguments, n_kills, n_missed = shop.fit(name, model, checkpoint), 0, 0
    for _ in range(MOST_LIVES):
        number = rng.choice(numbers)
        process = begin(arguments)
        wait(shop, name, rng, SOONER**n_missed * LATER**n_kills)
        process.send_signal(number)
        ended = end(process)
        n_kills += ended.status != 0
        if wrong := judge(ended, 0, *after_signal(number)):
            return Round(n_kills, f"{name}: {wrong}")
        if ended.status == 0 and n_kills:
            break
        if ended.status == 0:
            model.unlink()
            n_missed += 1
            continue
        if model.exists() and model.read_bytes() != shop.whole[name]:
            return Round(n_kills, f"{name}: a model that is not whole")
        if model.exists() and not checkpoint.exists():  # the signal came when everything was written
            break
    else:
        return Round(n_kills, f"{name}: it never ended") if n_kills else None
    return Round(n_kills, check(folder, model, shop.whole[name]))


def stop_use(shop: Workshop, folder: Path, rng: random.Random) -> Round | None:
    """Stop a prediction, a report, an export or a save once, then run it to the end."""
    name = rng.choice(list(USES))
    number = rng.choice(SIGNALS)
    output = folder / "output"
    for attempt in range(MOST_TRIES):
        output.unlink(missing_ok=True)
        process = begin(shop.use(name, output))
        wait(shop, name, rng, SOONER**attempt)
        process.send_signal(number)
        ended = end(process)
        if ended.status:
            break
    else:
        return None
    if wrong := judge(ended, *after_signal(number)):
        return Round(1, f"{name}: after signal {number} {wrong}")
    if output.exists() and output.read_bytes() != shop.whole[name]:
        return Round(1, f"{name}: a file that is not whole")
    if ended.status > 0 and (left := set(os.listdir(folder)) - {output.name}):
        return Round(1, f"{name}: signal {number} left {sorted(left)}")
    wrong = judge(end(begin(shop.use(name, output))), 0)
    return Round(1, f"{name}: then {wrong}" if wrong else check(folder, output, shop.whole[name]))


def fill_disk(shop: Workshop, folder: Path, rng: random.Random) -> Round:
    """Let no file grow beyond a limit, which stands for a full disk; the old file must stay."""
    name = shop.kind
    model = folder / "model"
    model.write_bytes(shop.whole[name])
    arguments = [*shop.fit(name, model, folder / "checkpoint"), "--force"]
    ended = end(begin(arguments, largest_file=rng.choice([100, 1000])))
    if wrong := judge(ended, 2):
        return Round(0, f"{name}: on a full disk {wrong}")
    return Round(0, check(folder, model, shop.whole[name]))


def lock_folder(shop: Workshop, folder: Path, rng: random.Random) -> Round:
    """Name an output in a folder that does not exist, is a file or is read-only; refused before the fit."""
    (folder / "file").write_text("x", encoding="utf-8")
    (folder / "locked").mkdir(mode=0o555)
    where = folder / rng.choice(["nowhere", "file", "locked"])
    arguments = shop.fit(shop.kind, where / "model", folder / "checkpoint")
    ended = end(begin(arguments, is_plain_user=True))
    (folder / "file").unlink()
    (folder / "locked").rmdir()  # fails if something was left there
    return Round(0, judge(ended, 2) or ("" if not os.listdir(folder) else f"left {os.listdir(folder)}"))


def change_between(shop: Workshop, folder: Path, rng: random.Random) -> Round | None:
    """Kill a fit, change its rows or options, and resume: refused, and the checkpoint kept for the right command."""
    name, model, checkpoint = shop.kind, folder / "model", folder / "checkpoint"
    half = len(shop.lines) // 2
    parts = {folder / "a.libsvm": shop.lines[:half], folder / "b.libsvm": shop.lines[half:]}  # of one size
    for path, lines in parts.items():
        path.write_text("".join(lines))
    arguments = shop.fit(name, model, checkpoint, *parts)
    for _ in range(MOST_TRIES):
        model.unlink(missing_ok=True)
        process = begin(arguments)
        while process.poll() is None and not checkpoint.exists():
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.1))
        process.kill()
        ended = end(process)
        if wrong := judge(ended, 0, -signal.SIGKILL):
            return Round(1, f"{name}: {wrong}")
        if ended.status and checkpoint.exists():
            break
    else:
        return None
    before, changed, how = checkpoint.read_bytes(), list(arguments), rng.choice(CHANGES)
    if how == "options":
        changed += ["--positive", "0"]
    elif how == "names":
        exchange_names(*parts)
    else:
        change_rows(rng.choice(list(parts)), with_times=how == "rows")
    ended = end(begin(changed))
    wrong = judge(ended, 2) or ("" if checkpoint.read_bytes() == before else "the checkpoint was written")
    return Round(1, f"{name}: changed {how}, and {wrong}" if wrong else "")


# What is different when a fit is resumed; "rows without times" keep the size and the times of their file.
CHANGES = ("options", "names", "rows", "rows without times")


def exchange_names(first: Path, second: Path) -> None:
    """Give each of two files the name of the other."""
    between = first.with_name("between")
    first.rename(between)
    second.rename(first)
    between.rename(second)


def change_rows(path: Path, with_times: bool) -> None:
    """Write the lines of a file in another order, at a later time or as if at the same."""
    times = path.stat()
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[::-1]), encoding="utf-8")
    if not with_times:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def run_twice(shop: Workshop, folder: Path, rng: random.Random) -> Round:
    """Run two processes on one checkpoint."""
    name = shop.kind
    model, checkpoint = folder / "model", folder / "checkpoint"
    processes = []
    for _ in range(2):
        processes.append(begin(shop.fit(name, model, checkpoint)))
        time.sleep(rng.uniform(0, 0.2))
    for ended in [end(process) for process in processes]:
        if wrong := judge(ended, 0, 2):
            return Round(0, f"{name}: two processes, one {wrong}")
    return Round(0, check(folder, model, shop.whole[name]))


def check(folder: Path, output: Path, expected: bytes) -> str:
    """Return what is wrong with an output or with what else lies in its folder."""
    if output.read_bytes() != expected:
        return f"{output.name} differs from that of an undisturbed run"
    left = set(os.listdir(folder)) - {output.name}
    return f"left {sorted(left)}" if left else ""


STOPPED_FITS: dict[str, Fault] = {
    "fits with checkpoints, killed by SIGKILL": kill_fit,
    "fits with checkpoints, stopped by SIGTERM, SIGINT and SIGHUP": partial(kill_fit, numbers=SIGNALS[1:]),
}
FAULTS: dict[str, Fault] = {
    **STOPPED_FITS,
    "predictions, reports, exports and saves, killed or stopped": stop_use,
    "full disk": fill_disk,
    "folders that cannot be written": lock_folder,
    "rows, names of files or options changed before resuming": change_between,
    "two processes on one checkpoint": run_twice,
}
COUNTS = ("rounds", "kills", "failures")


def drawn(seed: int) -> tuple[str, str]:
    """Return the fault of a seed and the kind of fit. Their numbers have no common divisor: every pair comes."""
    return list(FAULTS)[seed % len(FAULTS)], list(FITS)[seed % len(FITS)]


def load(path: Path = RESULTS) -> dict[str, Any]:
    """Return the counts so far; those of a fault whose name is gone are left out, as it was counted otherwise."""
    kept: dict[str, Any] = {"next seed": 0, **{part: {} for part in COUNTS}, "kills of each fit": {}, "wrong": []}
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        kept |= {part: found[part] for part in kept if part in found}
    for part in COUNTS:
        kept[part] = {name: n for name, n in kept[part].items() if name in FAULTS}
    kept["wrong"] = [found for found in kept["wrong"] if found[1] in FAULTS]
    return kept


def run_round(shop: Workshop, seed: int, fault: str | None = None) -> tuple[str, Round | None]:
    """Run the fault of a seed, or this one; return its name and what happened."""
    rng = random.Random(seed)
    name, kind = drawn(seed)
    shop.prepare(kind)
    with tempfile.TemporaryDirectory() as folder:
        return fault or name, FAULTS[fault or name](shop, Path(folder), rng)


def count(kept: dict[str, Any], seed: int, name: str, found: Round, times: int = 1) -> None:
    """Add a round to the counts, or take it away with times=-1."""
    for part, n in zip(COUNTS, (1, found.n_kills, int(bool(found.wrong))), strict=True):
        kept[part][name] = kept[part].get(name, 0) + times * n
    if name in STOPPED_FITS:
        kind = drawn(seed)[1]
        kept["kills of each fit"][kind] = kept["kills of each fit"].get(kind, 0) + times * found.n_kills


def run_and_count(shop: Workshop, seed: int, kept: dict[str, Any], fault: str | None = None) -> None:
    """Run the fault of a seed, add it to the counts if it happened, and save these."""
    name, found = run_round(shop, seed, fault)
    if found is not None:
        count(kept, seed, name, found)
        kept["wrong"] += [[seed, name, *found]] if found.wrong else []
    kept["next seed"] = max(kept["next seed"], seed + 1)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(seed, name, "did not happen" if found is None else (found.n_kills, found.wrong or "right"), flush=True)


def table(kept: dict[str, Any]) -> str:
    """Return the counts as a table."""
    lines = ["| | rounds | kills | anything lost, half-written, left behind or different |", "|---|---|---|---|"]
    for name in FAULTS:
        numbers = (kept["rounds"].get(name, 0), kept["kills"].get(name, 0), kept["failures"].get(name, 0))
        lines.append(f"| {name} | {' | '.join(f'{n:,}' for n in numbers)} |")
    killed = [n for n in fit_kills(kept).values() if n]
    fewest = min(killed, default=0)
    times = {0: "", 1: ", each at least once"}.get(fewest, f", each at least {fewest} times")
    lines += ["", f"{len(killed)} of the {len(FITS)} kinds of fits with checkpoints were killed or stopped{times}."]
    return "\n".join(lines)


def fit_kills(kept: dict[str, Any]) -> dict[str, int]:
    """Return how often fits of each kind were killed or stopped."""
    return {kind: kept["kills of each fit"].get(kind, 0) for kind in FITS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--kills", type=int, default=200, help="how many kills to reach, those of earlier runs included"
    )
    parser.add_argument("--rounds", type=int, default=20, help="how many rounds of every fault to reach, likewise")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="when to stop at the latest")
    parser.add_argument("--write", type=Path, help="put the counts between the marks of this file")
    arguments = parser.parse_args()
    kept = load()
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        until = time.monotonic() + arguments.seconds
        again, kept["wrong"] = kept["wrong"], []
        for seed, name, *found in again:  # so that rounds that were mended leave the list
            count(kept, seed, name, Round(*found), times=-1)
            run_and_count(shop, seed, kept, name)
        for seed in itertools.count(kept["next seed"]):
            is_short = sum(kept["kills"].values()) < arguments.kills
            few = {fault for fault in FAULTS if kept["rounds"].get(fault, 0) < arguments.rounds}
            unkilled = {kind for kind, n in fit_kills(kept).items() if not n}
            if time.monotonic() > until or not (is_short or few or unkilled):
                break
            fault, kind = drawn(seed)
            if is_short or fault in few or (fault in STOPPED_FITS and kind in unkilled):
                run_and_count(shop, seed, kept)
    print(table(kept))
    if arguments.write:
        replace_block(arguments.write, "make study NAME=faults", table(kept))


if __name__ == "__main__":
    main()
