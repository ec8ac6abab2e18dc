"""A fit that is killed again and again ends at bitwise the same model, and no file is ever half-written."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from aucmax import load_model

pytestmark = pytest.mark.posix

# A process that forks one child for each line: what it has imported and compiled before, no child has to.
SERVER = """
import os, signal, sys, time
import aucmax.cli.app
for line in sys.stdin:
    delay, *arguments = line.split()
    if delay == "here":
        try:
            aucmax.cli.app.main(arguments)
        except SystemExit as leaving:
            print(leaving.code, flush=True)
        continue
    pid, end = os.fork(), time.monotonic() + float(delay)
    if pid == 0:
        aucmax.cli.app.main(arguments)
    done, status = 0, 0
    while not done and time.monotonic() < end:
        time.sleep(0.001)
        done, status = os.waitpid(pid, os.WNOHANG)
    if not done:
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


class Server:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    def run(self, *arguments, kill_after=60.0):
        """Run a command in a child, or here, and return its exit status; minus 9 if it was killed."""
        self.process.stdin.write(" ".join(map(str, [kill_after, *arguments])) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kill")
    rng = np.random.default_rng(0)
    y = rng.random(12_000) < 0.2
    X = rng.standard_normal((len(y), 8)) + 0.4 * y[:, None] * rng.standard_normal(8)
    lines = [",".join(f"{v:.6f}" for v in x) + f",{int(c)}\n" for x, c in zip(X, y, strict=True)]
    (folder / "train.csv").write_text(",".join(f"x{j}" for j in range(8)) + ",y\n" + "".join(lines), encoding="utf-8")
    (folder / "train.libsvm").write_text(
        "".join(
            f"{2 * int(c) - 1} " + " ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(x)) + "\n"
            for x, c in zip(X, y, strict=True)
        ),
        encoding="utf-8",
    )
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("train.csv", ["--cv", "2", "--loss", "squared"]),
        ("train.csv", ["--alpha", "0.1", "--loss", "logistic", "--memory", "64MB"]),  # four blocks a pass
        ("train.libsvm", ["--algorithm", "OPAUC(max_iter=8)"]),
    ],
)
def test_fit_killed_at_random_resumes_to_bitwise_the_same_model(server, data, tmp_path, name, options):
    arguments = ["fit", data / name, "-q", "--memory", "4MB", "--checkpoint-every", "0", *options]
    assert server.run(*arguments, "--checkpoint", tmp_path / "c", "-o", tmp_path / "warm", kill_after="here") == 0
    begun = time.monotonic()
    assert server.run(*arguments, "--checkpoint", tmp_path / "c", "-o", tmp_path / "whole") == 0
    whole = time.monotonic() - begun
    model, checkpoint = tmp_path / "model", tmp_path / "checkpoint"
    arguments += ["--checkpoint", checkpoint, "-o", model]
    n_killed, seen, share = 0, set(), 0.05
    while n_killed < 3:  # where the machine was slow when `whole` was measured, once more with shorter lives
        model.unlink(missing_ok=True)
        n_killed, seen = fit_and_kill(server, arguments, model, checkpoint, longest=share * whole)
        share /= 4
    assert len(seen) > 2, "no fit was resumed from a checkpoint"
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()
    left = {path for path in os.listdir(tmp_path) if not path.startswith(".")}
    assert left == {"model", "warm", "whole"}


def fit_and_kill(server, arguments, model, checkpoint, longest):
    """Kill the command at random moments until it ends by itself; return how often, and the checkpoints seen."""
    rng, n_killed, seen = random.Random(0), 0, set()
    for _ in range(500):
        status = server.run(*arguments, kill_after=rng.uniform(0, longest))
        assert status in (0, -signal.SIGKILL)
        n_killed += status != 0
        if model.exists():
            load_model(model)  # whole, whenever it is there
            if not checkpoint.exists():
                return n_killed, seen
        seen.add(checkpoint.read_bytes() if checkpoint.exists() else b"")
        longest *= 1.02  # however slow the machine has become since, it gets to the end
    pytest.fail("it never ended")
