"""What `make study NAME=faults` counts is what happened."""

import functools
import itertools
import json
import random
import signal
import time

import pytest

from aucmax import AUCClassifier
from aucmax.cli.app import ENDING
from aucmax_studies.fuzz import faults as run_faults
from aucmax_studies.fuzz.faults import (
    CHANGES,
    FAULTS,
    Round,
    change_between,
    change_rows,
    count,
    exchange_names,
    kill_fit,
    load,
    stop_use,
)
from aucmax_studies.fuzz.workshop import SAVE, Ended, after_signal, begin, end, judge

# Says something like a traceback, makes a file, and ends with an error.
NOISY = """
import sys, time
print("Traceback (most recent call last):", file=sys.stderr, flush=True)
print("ValueError: no.", file=sys.stderr, flush=True)
open(sys.argv[2], "w").close()
time.sleep(float(sys.argv[1]))
sys.exit(2)
"""
SCRIPT = "import sys, time; time.sleep(float(sys.argv[1])); open(sys.argv[2], 'w').write('all')"


class Shop:
    """A workshop whose only command sleeps, then writes its output."""

    def __init__(self):
        self.kind, self.lines = "sleep", ["1\n", "2\n"]
        self.whole = dict.fromkeys([*run_faults.USES, "sleep"], b"all")

    def use(self, name, output):
        return ["-c", SCRIPT, 60, output]

    def fit(self, name, output, checkpoint, *data):
        return self.use(name, output)


class NoisyShop(Shop):
    """A workshop whose only command says more than one sentence."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def use(self, name, output):
        self.file = output
        return ["-c", NOISY, self.seconds, output]

    def fit(self, name, output, checkpoint, *data):
        return self.use(name, checkpoint)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_hears_a_traceback(fault, tmp_path, monkeypatch):
    def wait(shop, *_):
        while not shop.file.exists():
            time.sleep(0.01)

    monkeypatch.setattr(run_faults, "wait", wait)
    is_killed = "kill" in fault or "stopped" in fault or "resuming" in fault
    found = FAULTS[fault](NoisyShop(60 if is_killed else 0), tmp_path, random.Random(0))
    assert "said something else than it should: Ended(status=" in found.wrong
    assert "Traceback" in found.wrong


@pytest.mark.parametrize(
    ("status", "said"),
    [(-9, ""), (0, ""), (130, "aucmax: interrupted."), (143, "aucmax: terminated."), (2, "aucmax: a: No space left.")],
)
def test_a_command_says_one_sentence_or_nothing(status, said):
    assert judge(Ended(status, said), status) == ""
    for other in ("aucmax: unexpected OSError: x (--debug shows where).", f"{said}\n{said}", "No space.", "Traceback"):
        assert "something else" in judge(Ended(status, other), status)
    assert "not with (1,)" in judge(Ended(status, said), 1)


def test_the_script_that_saves_says_that_it_was_interrupted(tmp_path):
    AUCClassifier(alpha=1).fit([[0.0], [1], [2], [3]], [0, 1, 0, 1]).save(tmp_path / "model")
    process = begin(["-c", SAVE.replace("range(200)", "iter(int, 1)"), tmp_path / "model", tmp_path / "output"])
    while not (tmp_path / "output").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert judge(end(process), 130) == ""


def test_a_signal_that_cannot_be_handled_has_one_status():
    assert after_signal(signal.SIGKILL) == (-9,)
    assert after_signal(signal.SIGHUP) == (-1, 129)


@pytest.fixture
def factors(monkeypatch):
    """Return the factors that rounds waited with; no time goes by."""
    found = []
    monkeypatch.setattr(run_faults, "wait", lambda shop, name, rng, factor: found.append(factor))
    return found


@pytest.fixture
def end_all_but(monkeypatch):
    """Return a function that lets commands end before they are killed, but for the one with this number."""
    begin, numbers = run_faults.begin, itertools.count(1)

    def end_all_but(last):
        def begin_one(arguments):
            number = next(numbers)
            process = begin(["-c", SCRIPT, 60 if number == last else 0, *arguments[3:]])
            if number != last:
                process.wait()
            return process

        monkeypatch.setattr(run_faults, "begin", begin_one)

    return end_all_but


@pytest.mark.parametrize("fault", [stop_use, kill_fit, change_between])
def test_a_command_that_ended_before_it_was_killed_is_no_round(fault, tmp_path, factors, end_all_but, monkeypatch):
    for name in ("MOST_TRIES", "MOST_LIVES"):
        monkeypatch.setattr(run_faults, name, 2)
    end_all_but(None)
    assert fault(Shop(), tmp_path, random.Random(0)) is None


@pytest.mark.parametrize("fault", [stop_use, kill_fit])
def test_a_command_that_was_missed_is_killed_sooner(fault, tmp_path, factors, end_all_but, monkeypatch):
    monkeypatch.setattr(run_faults, "SIGNALS", [signal.SIGKILL])
    end_all_but(3)
    assert fault(Shop(), tmp_path, random.Random(0)) == Round(1, "")
    assert factors[:3] == pytest.approx([1, 0.8, 0.64])


def test_a_half_written_file_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(run_faults, "wait", lambda *_: (tmp_path / "output").write_text("al", encoding="utf-8"))
    found = stop_use(Shop(), tmp_path, random.Random(0))
    assert found.n_kills == 1
    assert "a file that is not whole" in found.wrong


def test_changed_files_keep_what_they_are_said_to_keep(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("1\n2\n", encoding="utf-8")
    second.write_text("3\n4\n", encoding="utf-8")
    before = first.stat()
    change_rows(first, with_times=False)
    after = first.stat()
    assert first.read_text(encoding="utf-8") == "2\n1\n"
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    change_rows(first, with_times=True)
    assert first.stat().st_mtime_ns != before.st_mtime_ns
    exchange_names(first, second)
    assert (first.read_text(encoding="utf-8"), second.read_text(encoding="utf-8")) == ("3\n4\n", "1\n2\n")
    assert {"names", "rows without times"} <= set(CHANGES)


def test_counts_of_faults_that_are_counted_otherwise_now_are_dropped(tmp_path):
    (name, *_) = FAULTS
    old = {
        "next seed": 7,
        "rounds": {name: 2, "old": 5},
        "kills": {"old": 9},
        "failures": {},
        "kills of fits": {"x": 1},
    }
    (tmp_path / "faults.json").write_text(json.dumps({**old, "wrong": [[1, "old", 0, "?"], [2, name, 1, "?"]]}))
    assert load(tmp_path / "faults.json") == {
        "next seed": 7,
        "rounds": {name: 2},
        "kills": {},
        "failures": {},
        "kills of each fit": {},
        "wrong": [[2, name, 1, "?"]],
    }


def test_a_round_that_is_run_again_is_counted_once():
    kept = {"rounds": {}, "kills": {}, "failures": {}, "kills of each fit": {}}
    (name, *_) = FAULTS
    count(kept, 0, name, Round(3, "wrong"))
    count(kept, 0, name, Round(3, "wrong"), times=-1)
    count(kept, 0, name, Round(2, ""))
    fit = next(iter(run_faults.FITS))
    assert kept == {"rounds": {name: 1}, "kills": {name: 2}, "failures": {name: 0}, "kills of each fit": {fit: 2}}


def test_every_signal_that_is_promised_is_drawn():
    """The commands promise to clean up after these."""
    assert {signal.SIGKILL, signal.SIGINT, *ENDING} == set(run_faults.SIGNALS)
    drawn = [fault.keywords["numbers"] for fault in FAULTS.values() if isinstance(fault, functools.partial)]
    assert {signal.SIGINT, *ENDING} == set(*drawn)
