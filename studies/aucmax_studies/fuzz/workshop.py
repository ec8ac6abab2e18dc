"""The commands of `faults.py`: how they are started, what they do undisturbed, and what they may say."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aucmax import ALGORITHMS
from aucmax.cli.app import ENDING
from aucmax.cli.fit import can_read_blocks

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1  # of Linux: without it, modes of folders hold for root, too
# A script that saves a model again and again. SIGINT waits for what is imported, which would make another error of it.
SAVE = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
import aucmax
model = aucmax.load_model(sys.argv[1])
try:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    for _ in range(200):
        model.save(sys.argv[2])
except KeyboardInterrupt:
    print("aucmax: interrupted.", file=sys.stderr)
    sys.exit(130)
"""
SHORTER = {
    "OPAUC": "OPAUC(max_iter=6)",
    "SVMPerf": "SVMPerf(C=0.001, tol=0.1)",
    "SVMOR": "SVMOR(C=0.01, tol=0.1)",
    "PairwiseDescent": "PairwiseDescent(tol=0.5)",
    "PairwiseDescentLog": "PairwiseDescentLog(tol=0.5)",
    "LogisticDescent": "LogisticDescent(tol=0.5)",
}  # than by default, where a fit reads a file hundreds of times
IS_CSV = ["--format", "csv", "--no-header"]
# Every kind of fit that can be checkpointed.
FITS = {
    "square loss, cross-validated": ["--loss", "squared", "--cv", "2"],
    "logistic loss": ["--loss", "logistic", "--alpha", "0.1"],
    "blend": ["--cv", "2"],
    "hinge": ["--loss", "hinge", "--alpha", "0.1"],
    "table": ["--algorithm", "TableClassifier(terms='curves', cv=0, max_bins=8)", "--target", "x1", *IS_CSV],
    **{name: ["--algorithm", SHORTER.get(name, name)] for name in ALGORITHMS if can_read_blocks(ALGORITHMS[name]())},
}


# What writes a file with a model, and the option that names the file; "save" is Python's own.
USES = {"predict": "-o", "evaluate": "--report", "export": "--onnx", "save": ""}


class Ended(NamedTuple):
    """How a command ended: its status, minus the signal if one killed it, and what it said."""

    status: int
    said: str


# What a command says about a signal, and about anything else that ended it: one line with one sentence.
TOLD = {signal.SIGINT: "aucmax: interrupted.", **{number: f"aucmax: {text}" for number, text in ENDING.items()}}
SENTENCE = re.compile(r"aucmax: (?!unexpected |warning: ).+[.]")


def judge(ended: Ended, *statuses: int) -> str:
    """Return what is wrong with how a command ended and with what it said; an empty text if nothing is.

    Every fault is judged by this rule. A quiet command that did its work says nothing, nor does one that a signal
    killed; one that was stopped says so, and one that refused says why, in one line.
    """
    if ended.status not in statuses:
        return f"ended with {ended}, not with {statuses}"
    if ended.status <= 0:
        is_right = not ended.said
    elif ended.status > 128:
        is_right = ended.said == TOLD[ended.status - 128]
    else:
        is_right = SENTENCE.fullmatch(ended.said) is not None
    return "" if is_right else f"said something else than it should: {ended}"


def after_signal(number: int) -> tuple[int, ...]:
    """Return the statuses of a command that was sent a signal: killed by it, or stopped, unless that cannot be."""
    return (-number, 128 + number) if number in TOLD else (-number,)


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


def format_of(kind: str) -> str:
    """Return the format of the rows of a kind of fit."""
    return "csv" if kind == "table" else "libsvm"


class Workshop:
    """Files to work on, and what undisturbed commands make of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rng = np.random.default_rng(0)
        y = (rng.random(4000) < 0.3).astype(int)
        X = rng.standard_normal((len(y), 6)) + 0.5 * y[:, None] * rng.standard_normal(6)
        self.texts = {  # lines of one length
            "libsvm": [
                f"{c:d} {' '.join(f'{j + 1}:{v:+.5f}' for j, v in enumerate(x))}\n" for c, x in zip(y, X, strict=True)
            ],
            "csv": [f"{c:d},{','.join(f'{v:+.5f}' for v in x)}\n" for c, x in zip(y, X, strict=True)],
        }
        for name, lines in self.texts.items():
            (folder / f"train.{name}").write_text("".join(lines), encoding="utf-8")
        self.kind = ""  # of the fit of this round
        self.whole: dict[str, bytes] = {}
        self.seconds: dict[str, float] = {}

    @property
    def lines(self) -> list[str]:
        """The rows for the fit of this round."""
        return self.texts[format_of(self.kind)]

    def fit(self, name: str, output: Path, checkpoint: Path, *data: Path) -> list[Any]:
        """Return the arguments of a fit by blocks with a checkpoint at every block."""
        options = ["--memory", "4MB", "--checkpoint", checkpoint, "--checkpoint-every", "0", "-q"]
        rows = data or [self.folder / f"train.{format_of(name)}"]
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
                assert not (wrong := judge(ended, 0)), f"{name}: {wrong}"
                assert self.whole.setdefault(name, output.read_bytes()) == output.read_bytes(), f"{name}: not the same"
                self.seconds[name] = time.monotonic() - begun

    def use(self, name: str, output: Path) -> list[Any]:
        """Return the arguments of a command that writes a file with a model, or of a script that saves the model."""
        if name == "save":
            return ["-c", SAVE, self.model, output]
        rows = [] if name == "export" else [self.folder / "train.libsvm"]
        return ["-m", "aucmax", name, self.model, *rows, USES[name], output, "--force", "-q"]
