"""A signal ends a command as an error does: one line, the usual status, and nothing half-written."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from aucmax import AUCClassifier
from aucmax.cli.app import Signalled, Signals

# The command sends itself a signal when it has written half of its output.
SCRIPT = """
import os, signal, sys
import aucmax.cli.commands.predict as predict
from aucmax.cli.app import main

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored
signal.signal(signal.SIGINT, signal.default_int_handler)  # and a shell in the background this one
lines = predict.prediction_lines

def half(*arguments):
    for k, line in enumerate(lines(*arguments)):
        yield line
        if k:
            try:
                os.kill(os.getpid(), int(sys.argv[1]))
            except BaseException:
                if sys.argv[2] == "caught":  # as a module does that is being imported
                    raise ImportError("initialization failed")
                if sys.argv[2] == "followed":  # while the exception is on its way
                    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                        os.kill(os.getpid(), number)
                raise
            yield "never written"

predict.prediction_lines = half
main(sys.argv[3:])
"""
TOLD = {"SIGINT": "interrupted.", "SIGTERM": "terminated.", "SIGHUP": "the terminal was closed."}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), np.arange(50) % 2
    np.savez(folder / "rows.npz", X=X, y=y)
    AUCClassifier(alpha=1).fit(X, y).save(folder / "model")
    return folder


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("SIGTERM", "caught"),
        *(pytest.param(name, how, marks=pytest.mark.slow) for name in TOLD for how in ("raised", "followed")),
    ],
)
def test_signal_during_predict_leaves_no_draft(folder, tmp_path, name, how):
    number = getattr(signal, name)
    arguments = ["predict", str(folder / "model"), str(folder / "rows.npz"), "-o", str(tmp_path / "scores.csv")]
    command = [sys.executable, "-c", SCRIPT, str(int(number)), how, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (128 + number, f"aucmax: {TOLD[name]}\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.posix
def test_signal_during_import_prints_one_line():
    code = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has it ignored
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from aucmax.__main__ import run
run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (130, "aucmax: interrupted.\n")


@pytest.fixture
def usual_handlers():
    """Give SIGINT its usual handler: a shell in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.posix
@pytest.mark.usefixtures("usual_handlers")
def test_signals_are_ignored_for_a_second_and_at_the_end(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("aucmax.cli.app.time.monotonic", lambda: clock[0])
    with Signals() as signals:
        with pytest.raises(Signalled):
            os.kill(os.getpid(), signal.SIGTERM)
        clock[0] = 0.9
        os.kill(os.getpid(), signal.SIGINT)
        clock[0] = 1.0
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        clock[0], signals.active = 10, False
        os.kill(os.getpid(), signal.SIGINT)
        assert signals.first == signal.SIGTERM


class Finalized:
    """Sends a signal when it goes."""

    def __init__(self, number):
        self.number = number

    def __del__(self):
        signal.raise_signal(self.number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("usual_handlers")
def test_signal_swallowed_by_python_is_raised_again(number, capfd):
    going = Finalized(number)
    with Signals() as signals:
        del going
        with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else Signalled):
            time.sleep(5)
    assert signals.first == number
    assert capfd.readouterr() == ("", "")


@pytest.mark.posix
def test_signal_handlers_are_restored_after_a_command(run, folder):
    before = {name: signal.getsignal(getattr(signal, name)) for name in TOLD}
    assert run("inspect", folder / "model")[0] == 0
    assert {name: signal.getsignal(getattr(signal, name)) for name in TOLD} == before


@pytest.mark.slow
def test_main_exits_without_interpreter_teardown(folder):
    """A thread that waits for the interpreter while it is taken apart would abort the process."""
    code = """
import atexit, runpy, sys
atexit.register(print, "taken apart")
sys.argv = ["aucmax", *sys.argv[1:]]
runpy.run_module("aucmax", run_name="__main__")
"""
    for arguments, status in ((["inspect", folder / "model"], 0), (["inspect", folder / "rows.npz"], 2)):
        done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == status
        assert "taken apart" not in done.stdout
        assert ("AUCClassifier" in done.stdout) == (status == 0)
        assert done.stderr.count("\n") == (status != 0)
