"""Commands that are killed, stopped, starved and disturbed; counts go to docs/reliability.md.

python fuzz/run_faults.py [--kills 200] [--write docs/reliability.md]

Each round draws a fault from its seed. After it, every file must be whole, the model bitwise that of an undisturbed
run, and no draft left. Counts are kept in fuzz/results/faults.json: a run goes on with the next seed, after those that
found something. When there were enough kills, it kills the kinds of fits that have not been killed yet, and ends.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aucmax import ALGORITHMS
from aucmax.cli.fit_file import can_read_blocks

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "faults.json"
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1  # of Linux: without it, modes of folders hold for root, too
MOST_LIVES = 300  # of one command that is killed again and again
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


class Ended(NamedTuple):
    """How a command ended: its status, minus the signal if one killed it, and what it said."""

    status: int
    said: str


def begin(arguments: list[Any], largest_file: int | None = None, is_plain_user: bool = False) -> subprocess.Popen[str]:
    """Start a command in a process of its own, with a limit on the size of files or on what root may do."""

    def limit() -> None:
        if is_plain_user:
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)  # does nothing for other users
        if largest_file is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    command = [sys.executable, "-m", "aucmax", *map(str, arguments)]
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
        rows = [" ".join(f"{j + 1}:{v:.5f}" for j, v in enumerate(x)) for x in X]
        lines = [f"{int(c)} {row}\n" for c, row in zip(y, rows, strict=True)]
        (folder / "train.libsvm").write_text("".join(lines), encoding="utf-8")
        (folder / "changed.libsvm").write_text("".join(lines[::-1]), encoding="utf-8")
        self.kind = ""  # of the fit of this round
        self.whole: dict[str, bytes] = {}
        self.seconds: dict[str, float] = {}

    def fit(self, name: str, output: Path, checkpoint: Path, data: str = "train.libsvm") -> list[Any]:
        """Return the arguments of a fit by blocks with a checkpoint at every block."""
        options = ["--memory", "4MB", "--checkpoint", checkpoint, "--checkpoint-every", "0", "-q"]
        return ["fit", self.folder / data, "-o", output, *options, *FITS[name]]

    def prepare(self, kind: str) -> None:
        """Run the commands of a round, undisturbed, unless that was done before.

        Each runs twice, since the first run may compile kernels: kills by its time would come when a command has ended.
        """
        self.kind, self.model = kind, self.folder / "logistic loss.model"
        for name in dict.fromkeys(["logistic loss", kind, "predict", "evaluate"]):
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
        """Return the arguments of a prediction, or of an evaluation with a report."""
        option = {"predict": "-o", "evaluate": "--report"}[name]
        return [name, self.model, self.folder / "train.libsvm", option, output, "--force"]


def wait(shop: Workshop, name: str, rng: random.Random, life: int) -> None:
    """Sleep to a random moment of a command, a later one in later lives: the machine may have become slower."""
    time.sleep(rng.uniform(0.3, 1.05) * shop.seconds[name] * 1.05**life)


Fault = Callable[[Workshop, Path, random.Random], tuple[int, str]]


def kill_fit(shop: Workshop, folder: Path, rng: random.Random, number: int = signal.SIGKILL) -> tuple[int, str]:
    """Kill a fit again and again until it ends by itself; return how often, and what is wrong."""
    name = shop.kind
    model, checkpoint = folder / "model", folder / "checkpoint"
    arguments, n_kills = shop.fit(name, model, checkpoint), 0
    for life in range(MOST_LIVES):
        process = begin(arguments)
        wait(shop, name, rng, life)
        process.send_signal(number)
        ended = end(process)
        if ended.status == 0:
            break
        n_kills += 1
        if ended.status not in (-signal.SIGKILL, -number, 128 + number):
            return n_kills, f"{name}: ended with {ended}"
        if model.exists() and model.read_bytes() != shop.whole[name]:
            return n_kills, f"{name}: a model that is not whole"
    else:
        return n_kills, f"{name}: it never ended"
    return n_kills, check(folder, model, shop.whole[name])


def stop_command(shop: Workshop, folder: Path, rng: random.Random) -> tuple[int, str]:
    """Stop a prediction or a report once, then run it to the end."""
    name, number = rng.choice(["predict", "evaluate"]), rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    output = folder / "output"
    process = begin(shop.use(name, output))
    wait(shop, name, rng, 0)
    process.send_signal(number)
    ended = end(process)
    if ended.status not in (0, -number, 128 + number):
        return 1, f"{name}: ended with {ended} after signal {number}"
    if output.exists() and output.read_bytes() != shop.whole[name]:
        return 1, f"{name}: a file that is not whole"
    if number != signal.SIGKILL and ended.status > 0 and os.listdir(folder):
        return 1, f"{name}: signal {number} left {os.listdir(folder)}"
    ended = end(begin(shop.use(name, output)))
    return 1, f"{name}: then {ended}" if ended.status else check(folder, output, shop.whole[name])


def fill_disk(shop: Workshop, folder: Path, rng: random.Random) -> tuple[int, str]:
    """Let no file grow beyond a limit, which stands for a full disk; the old file must stay."""
    name = shop.kind
    model = folder / "model"
    model.write_bytes(shop.whole[name])
    arguments = [*shop.fit(name, model, folder / "checkpoint"), "--force"]
    ended = end(begin(arguments, largest_file=rng.choice([100, 1000])))
    if ended.status != 2 or "\n" in ended.said:
        return 0, f"{name}: on a full disk ended with {ended}"
    return 0, check(folder, model, shop.whole[name])


def lock_folder(shop: Workshop, folder: Path, rng: random.Random) -> tuple[int, str]:
    """Name an output in a folder that does not exist, is a file or is read-only; refused before the fit."""
    (folder / "file").write_text("x", encoding="utf-8")
    (folder / "locked").mkdir(mode=0o555)
    where = folder / rng.choice(["nowhere", "file", "locked"])
    arguments = shop.fit(shop.kind, where / "model", folder / "checkpoint")
    ended = end(begin(arguments, is_plain_user=True))
    (folder / "file").unlink()
    (folder / "locked").rmdir()  # fails if something was left there
    wrong = "" if ended.status == 2 and "\n" not in ended.said else f"ended with {ended}"
    return 0, wrong or ("" if not os.listdir(folder) else f"left {os.listdir(folder)}")


def change_between(shop: Workshop, folder: Path, rng: random.Random) -> tuple[int, str]:
    """Kill a fit, change its rows or options, and resume: refused, and the checkpoint kept for the right command."""
    name, model, checkpoint = shop.kind, folder / "model", folder / "checkpoint"
    data = folder / "rows.libsvm"
    shutil.copy(shop.folder / "train.libsvm", data)
    arguments = shop.fit(name, model, checkpoint, str(data))
    n_kills = 0
    while not checkpoint.exists():
        process = begin(arguments)
        wait(shop, name, rng, n_kills)
        process.kill()
        n_kills += 1
        if end(process).status == 0:
            return 0, ""  # it was faster
    before, changed = checkpoint.read_bytes(), list(arguments)
    if rng.random() < 0.5:
        shutil.copy(shop.folder / "changed.libsvm", data)
    else:
        changed += ["--positive", "0"]
    ended = end(begin(changed))
    if ended.status != 2 or "\n" in ended.said or checkpoint.read_bytes() != before:
        return 1, f"{name}: a changed command ended with {ended}"
    return 1, ""  # kills before the first checkpoint do not count


def run_twice(shop: Workshop, folder: Path, rng: random.Random) -> tuple[int, str]:
    """Run two processes on one checkpoint."""
    name = shop.kind
    model, checkpoint = folder / "model", folder / "checkpoint"
    processes = []
    for _ in range(2):
        processes.append(begin(shop.fit(name, model, checkpoint)))
        time.sleep(rng.uniform(0, 0.2))
    for ended in map(end, processes):
        if ended.status not in (0, 2) or "\n" in ended.said:
            return 0, f"{name}: two processes, one ended with {ended}"
    return 0, check(folder, model, shop.whole[name])


def check(folder: Path, output: Path, expected: bytes) -> str:
    """Return what is wrong with an output or with what else lies in its folder."""
    if output.read_bytes() != expected:
        return f"{output.name} differs from that of an undisturbed run"
    left = set(os.listdir(folder)) - {output.name}
    return f"left {sorted(left)}" if left else ""


FAULTS: dict[str, Fault] = {
    "fits with checkpoints, killed": kill_fit,
    "fits with checkpoints, terminated": partial(kill_fit, number=signal.SIGTERM),
    "predictions and reports, stopped": stop_command,
    "full disk": fill_disk,
    "folders that cannot be written": lock_folder,
    "rows or options changed before resuming": change_between,
    "two processes on one checkpoint": run_twice,
}


KILLED, TERMINATED = list(FAULTS)[:2]


def drawn(seed: int) -> tuple[str, str]:
    """Return the fault of a seed and the kind of fit. Their numbers have no common divisor: every pair comes."""
    return list(FAULTS)[seed % len(FAULTS)], list(FITS)[seed % len(FITS)]


def run_round(shop: Workshop, seed: int) -> tuple[str, int, str]:
    """Run the fault of a seed; return its name, the number of kills, and what is wrong."""
    rng = random.Random(seed)
    name, kind = drawn(seed)
    shop.prepare(kind)
    with tempfile.TemporaryDirectory() as folder:
        n_kills, wrong = FAULTS[name](shop, Path(folder), rng)
    return name, n_kills, wrong


def run_and_count(shop: Workshop, seed: int, kept: dict[str, Any]) -> None:
    """Run the fault of a seed, add it to the counts, and save these."""
    name, n_kills, wrong = run_round(shop, seed)
    for part, n in (("rounds", 1), ("kills", n_kills), ("failures", int(bool(wrong)))):
        kept[part][name] = kept[part].get(name, 0) + n
    if name in (KILLED, TERMINATED):
        kept["kills of fits"][shop.kind] = kept["kills of fits"].get(shop.kind, 0) + n_kills
    kept["wrong"] += [[seed, name, wrong]] if wrong else []
    kept["next seed"] = max(kept["next seed"], seed + 1)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(seed, name, n_kills, wrong or "right", flush=True)


def table(kept: dict[str, Any]) -> str:
    """Return the counts as a table."""
    lines = ["| | rounds | kills | anything lost, half-written, left behind or different |", "|---|---|---|---|"]
    for name in FAULTS:
        numbers = (kept["rounds"].get(name, 0), kept["kills"].get(name, 0), kept["failures"].get(name, 0))
        lines.append(f"| {name} | {' | '.join(f'{n:,}' for n in numbers)} |")
    killed = [n for n in fit_kills(kept).values() if n]
    fewest = min(killed, default=0)
    times = {0: "", 1: ", each at least once"}.get(fewest, f", each at least {fewest} times")
    lines += ["", f"{len(killed)} of the {len(FITS)} kinds of fits with checkpoints were killed or terminated{times}."]
    return "\n".join(lines)


def fit_kills(kept: dict[str, Any]) -> dict[str, int]:
    """Return how often fits of each kind were killed or terminated."""
    return {kind: kept["kills of fits"].get(kind, 0) for kind in FITS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--kills", type=int, default=200, help="how many kills to reach, those of earlier runs included"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="when to stop at the latest")
    parser.add_argument("--write", type=Path, help="put the counts between the marks of this file")
    arguments = parser.parse_args()
    kept: dict[str, Any] = {"next seed": 0, "rounds": {}, "kills": {}, "kills of fits": {}, "failures": {}, "wrong": []}
    if RESULTS.exists():
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        until = time.monotonic() + arguments.seconds
        again, kept["wrong"] = [(seed, name) for seed, name, _ in kept["wrong"]], []
        for seed, name in again:  # so that rounds that were mended leave the list
            kept["failures"][name] -= 1
            kept["rounds"][name] -= 1
            run_and_count(shop, seed, kept)
        for seed in itertools.count(kept["next seed"]):
            enough = sum(kept["kills"].values()) >= arguments.kills
            if time.monotonic() > until or (enough and all(fit_kills(kept).values())):
                break
            fault, kind = drawn(seed)
            if not enough or (fault in (KILLED, TERMINATED) and not fit_kills(kept)[kind]):
                run_and_count(shop, seed, kept)
    print(table(kept))
    if arguments.write:
        sys.path.insert(0, str(ROOT / "benchmarks"))
        from markdown import replace_block

        replace_block(arguments.write, "make faults", table(kept))


if __name__ == "__main__":
    main()
