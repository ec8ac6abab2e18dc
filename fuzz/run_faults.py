"""Commands that are killed, stopped, starved and disturbed; counts go to docs/reliability.md.

python fuzz/run_faults.py [--kills 200] [--rounds 20] [--write docs/reliability.md]

Each round draws a fault from its seed. After it, every file must be whole, the model bitwise that of an undisturbed
run, and no draft left. A round counts if its fault happened: a signal that came when a command had ended is no kill.
Counts are kept in fuzz/results/faults.json: a run goes on with the next seed, after those that found something. It ends
when there were enough kills in all, enough rounds of every fault, and a kill of every kind of fit.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aucmax import ALGORITHMS
from aucmax.cli.fit_file import can_read_blocks

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "faults.json"
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1  # of Linux: without it, modes of folders hold for root, too
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
MOST_LIVES = 300  # of one command that is killed again and again
MOST_TRIES = 20  # to hit a command before it ends
SOONER = 0.8  # so many times as long a command is left alone after it was missed
LATER = 1.05  # and after it was killed, since the machine may have become slower
# A script that saves a model again and again. SIGINT waits for what is imported, which would make another error of it.
SAVE = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
import aucmax
model = aucmax.load_model(sys.argv[1])
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
for _ in range(200):
    model.save(sys.argv[2])
"""
SHORTER = {
    "OPAUC": "OPAUC(max_iter=6)",
    "SVMPerf": "SVMPerf(C=0.001, tol=0.1)",
    "SVMOR": "SVMOR(C=0.01, tol=0.1)",
    "PairwiseDescent": "PairwiseDescent(max_iter=5)",
    "PairwiseDescentLog": "PairwiseDescentLog(max_iter=5)",
}  # than by default, where a fit reads a file hundreds of times
# Every kind of fit that can be checkpointed.
FITS = {
    "square loss, cross-validated": ["--loss", "squared", "--cv", "2"],
    "logistic loss": ["--loss", "logistic", "--alpha", "0.1"],
    "blend": ["--cv", "2"],
    "hinge": ["--loss", "hinge", "--alpha", "0.1"],
    "additive": ["--algorithm", "AdditiveAUCClassifier(max_bins=8)", "--loss", "squared", "--alpha", "0.1"],
    **{name: ["--algorithm", SHORTER.get(name, name)] for name in ALGORITHMS if can_read_blocks(ALGORITHMS[name]())},
}


# What writes a file with a model, and the option that names the file; "save" is Python's own.
USES = {"predict": "-o", "evaluate": "--report", "export": "--onnx", "save": ""}


class Ended(NamedTuple):
    """How a command ended: its status, minus the signal if one killed it, and what it said."""

    status: int
    said: str


def begin(
    arguments: Sequence[Any], largest_file: int | None = None, is_plain_user: bool = False
) -> subprocess.Popen[str]:
    """Start Python with these arguments, with a limit on the size of files or on what root may do."""

    def limit() -> None:
        for number in (signal.SIGINT, signal.SIGHUP):  # which may be ignored in the background
            signal.signal(number, signal.SIG_DFL)
        if is_plain_user:
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)  # does nothing for other users
        if largest_file is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    command = [sys.executable, *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=limit, env=environment
    )


def end(process: subprocess.Popen[str]) -> Ended:
    """Wait for a command."""
    _, said = process.communicate(timeout=300)
    return Ended(process.returncode, said.strip())


class Workshop:
    """Files to work on, and what undisturbed commands make of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rng = np.random.default_rng(0)
        y = rng.random(4000) < 0.3
        X = rng.standard_normal((len(y), 6)) + 0.5 * y[:, None] * rng.standard_normal(6)
        rows = [" ".join(f"{j + 1}:{v:+.5f}" for j, v in enumerate(x)) for x in X]
        self.lines = [f"{int(c)} {row}\n" for c, row in zip(y, rows, strict=True)]  # of one length
        (folder / "train.libsvm").write_text("".join(self.lines), encoding="utf-8")
        self.kind = ""  # of the fit of this round
        self.whole: dict[str, bytes] = {}
        self.seconds: dict[str, float] = {}

    def fit(self, name: str, output: Path, checkpoint: Path, *data: Path) -> list[Any]:
        """Return the arguments of a fit by blocks with a checkpoint at every block."""
        options = ["--memory", "4MB", "--checkpoint", checkpoint, "--checkpoint-every", "0", "-q"]
        rows = data or [self.folder / "train.libsvm"]
        return ["-m", "aucmax", "fit", *rows, "-o", output, *options, *FITS[name]]

    def prepare(self, kind: str) -> None:
        """Run the commands of a round, undisturbed, unless that was done before.

        Each runs twice, since the first run may compile kernels: kills by its time would come when a command has ended.
        """
        self.kind, self.model = kind, self.folder / "logistic loss.model"
        for name in dict.fromkeys(["logistic loss", kind, *USES]):
            if name in self.whole:
                continue
            output = self.folder / f"{name}.model"
            fit = [*self.fit(name, output, self.folder / "checkpoint"), "--force"] if name in FITS else None
            for _ in range(2):
                begun = time.monotonic()
                ended = end(begin(fit or self.use(name, output)))
                assert ended.status == 0, ended
                assert self.whole.setdefault(name, output.read_bytes()) == output.read_bytes(), f"{name}: not the same"
                self.seconds[name] = time.monotonic() - begun

    def use(self, name: str, output: Path) -> list[Any]:
        """Return the arguments of a command that writes a file with a model, or of a script that saves the model."""
        if name == "save":
            return ["-c", SAVE, self.model, output]
        rows = [] if name == "export" else [self.folder / "train.libsvm"]
        return ["-m", "aucmax", name, self.model, *rows, USES[name], output, "--force"]


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
        if ended.status == 0 and n_kills:
            break
        if ended.status == 0:
            model.unlink()
            n_missed += 1
            continue
        n_kills += 1
        if ended.status not in (-number, 128 + number):
            return Round(n_kills, f"{name}: ended with {ended}")
        if model.exists() and model.read_bytes() != shop.whole[name]:
            return Round(n_kills, f"{name}: a model that is not whole")
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
    if ended.status not in (-number, 128 + number):
        return Round(1, f"{name}: ended with {ended} after signal {number}")
    if output.exists() and output.read_bytes() != shop.whole[name]:
        return Round(1, f"{name}: a file that is not whole")
    if ended.status > 0 and (left := set(os.listdir(folder)) - {output.name}):
        return Round(1, f"{name}: signal {number} left {sorted(left)}")
    ended = end(begin(shop.use(name, output)))
    return Round(1, f"{name}: then {ended}" if ended.status else check(folder, output, shop.whole[name]))


def fill_disk(shop: Workshop, folder: Path, rng: random.Random) -> Round:
    """Let no file grow beyond a limit, which stands for a full disk; the old file must stay."""
    name = shop.kind
    model = folder / "model"
    model.write_bytes(shop.whole[name])
    arguments = [*shop.fit(name, model, folder / "checkpoint"), "--force"]
    ended = end(begin(arguments, largest_file=rng.choice([100, 1000])))
    if ended.status != 2 or "\n" in ended.said:
        return Round(0, f"{name}: on a full disk ended with {ended}")
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
    wrong = "" if ended.status == 2 and "\n" not in ended.said else f"ended with {ended}"
    return Round(0, wrong or ("" if not os.listdir(folder) else f"left {os.listdir(folder)}"))


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
        if end(process).status and checkpoint.exists():
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
    is_refused = ended.status == 2 and "\n" not in ended.said and checkpoint.read_bytes() == before
    return Round(1, "" if is_refused else f"{name}: changed {how}, and it ended with {ended}")


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
    for ended in map(end, processes):
        if ended.status not in (0, 2) or "\n" in ended.said:
            return Round(0, f"{name}: two processes, one ended with {ended}")
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
        sys.path.insert(0, str(ROOT / "benchmarks"))
        from markdown import replace_block

        replace_block(arguments.write, "make faults", table(kept))


if __name__ == "__main__":
    main()
