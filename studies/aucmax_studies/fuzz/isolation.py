"""Cases in child processes with limits of time and memory; a child that dies or hangs costs one case, not the run.

A child is given a range of seeds. It writes the seed of each case before it runs it, and what it found after it, so
that the parent knows which case ended it.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

SECONDS = 30  # of computing for one case
PATIENCE = 300  # seconds after which a case that does not compute hangs; the machine may be busy
BEGINNING = 900  # seconds that a child may take to begin
MEMORY = 6 << 30  # bytes of address space; libraries take about 2 GB of it
READY = b"ready"  # what a child says when it has begun
BATCH = 20_000  # cases of one child, which takes seconds to begin


class Outcome(NamedTuple):
    """What a case ended with.

    Attributes
    ----------
    seed : int
        The case, which is made from it alone.
    verdict : str
        "refused" (in a sentence) or "read", which are right; "wrong: ..." for all else.
    """

    seed: int
    verdict: str

    @property
    def is_wrong(self) -> bool:
        """Whether something was found."""
        return self.verdict.startswith("wrong")


def make_folder(name: str) -> str:
    """Return a new folder, in memory where the system has such folders: a case writes a file or two."""
    memory = "/dev/shm"
    folder = tempfile.mkdtemp(prefix=f"fuzz-{name}-", dir=memory if os.path.isdir(memory) else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def run_cases(kind: str, first: int, seconds: float, most: int | None = None) -> Iterator[Outcome]:
    """Yield the outcomes of cases from a seed on, until the time or the number of cases is over.

    Parameters
    ----------
    kind : str
        The module of the cases, with a function `run_case(seed)` that returns a verdict.
    first : int
        The first seed.
    seconds : float
        How long to go on.
    most : int, default=None
        How many cases at most.
    """
    end, seed = time.monotonic() + seconds, first
    while time.monotonic() < end and (most is None or seed < first + most):
        size = BATCH if most is None else min(BATCH, first + most - seed)
        for outcome in run_child(kind, seed, size, end):
            yield outcome
            seed = outcome.seed + 1


def run_child(kind: str, first: int, size: int, end: float) -> Iterator[Outcome]:
    """Yield the outcomes of one child; the last one says how it ended if that was too early."""
    command = [sys.executable, "-m", __name__, kind, str(first), str(size)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with (
        tempfile.TemporaryFile() as errors,  # a pipe that nobody reads would fill up
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment) as child,
    ):
        assert child.stdout is not None
        seed, buffer, patience = first, b"", BEGINNING
        while time.monotonic() < end:
            if not select.select([child.stdout], [], [], patience)[0]:
                child.kill()
                yield Outcome(seed, f"wrong: hung for {patience} s")
                return
            data = os.read(child.stdout.fileno(), 1 << 16)
            if not data:
                status = child.wait()
                if status or seed < first + size:
                    errors.seek(0)
                    said = errors.read().decode(errors="replace").splitlines()
                    yield Outcome(seed, f"wrong: ended with status {status}: {said[-1] if said else ''}")
                return
            *lines, buffer = (buffer + data).split(b"\n")
            patience = PATIENCE
            for line in lines:
                if line != READY:
                    found, verdict = json.loads(line)
                    yield Outcome(found, verdict)
                    seed = found + 1
        child.kill()


def serve(run_case: Callable[[int], str], first: int, size: int) -> None:
    """Run the cases of one child."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    out = os.dup(1)
    os.dup2(2, 1)  # what a case prints is not an outcome
    os.write(out, READY + b"\n")
    for seed in range(first, first + size):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # ends the process
        try:
            verdict = run_case(seed)
        except Exception as error:
            verdict = f"wrong: {type(error).__name__}: {error}"
        verdict = verdict.replace(tempfile.gettempdir(), "")  # the same everywhere
        os.write(out, json.dumps([seed, verdict[:400]]).encode() + b"\n")


if __name__ == "__main__":
    cases = importlib.import_module(sys.argv[1])
    serve(cases.run_case, int(sys.argv[2]), int(sys.argv[3]))
