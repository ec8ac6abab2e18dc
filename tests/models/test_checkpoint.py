"""A checkpoint holds the last whole state of its own fit, whenever the process is killed."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from small_models import assert_same

from aucmax.models import checkpoint as checkpoint_module
from aucmax.models.checkpoint import Checkpoint, describe_differences
from aucmax.models.model_file import versions, write_values
from aucmax.papers.engine.epochs import Scaling, Stream

COMMAND = {"alpha": 1.0, "the file": "rows.csv", "n_nonzero": None, "columns": ["a", "b"]}


@pytest.fixture
def saved(tmp_path):
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    checkpoint.load(COMMAND)
    checkpoint.save({"epoch": 1})
    return checkpoint


def test_checkpoint_loads_the_saved_state(tmp_path):
    checkpoint = Checkpoint(str(tmp_path / "checkpoint"))
    assert checkpoint.load(COMMAND) is None
    rng = np.random.RandomState(0)
    for epoch in range(2):
        state = {"epoch": epoch, "weights": rng.standard_normal(5), "stream": Stream.begin(Scaling.none(3), rng)}
        checkpoint.save(state)
        assert_same(Checkpoint(tmp_path / "checkpoint").load(COMMAND), state)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_a_removed_checkpoint_is_none(saved):
    saved.remove()
    assert saved.load(COMMAND) is None
    saved.remove()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ({**COMMAND, "alpha": 2.0}, "its options differ: alpha 1.0, now 2.0"),
        ({**COMMAND, "columns": ["a"]}, r"its options differ: columns \['a', 'b'\], now \['a'\]"),
        ({**COMMAND, "seed": 3}, "its options differ: seed not given, now 3"),
        (
            {"the file": "rows.csv", "columns": ["a", "b"]},
            "its options differ: alpha 1.0, now not given; n_nonzero None, now not given",
        ),
        ({**COMMAND, "the file": "x" * 1000}, "its options differ: the file rows.csv, now x{60}"),
        ({**COMMAND, "the digest of the file": "a1"}, "its rows differ"),
        (
            {**COMMAND, "the size of the file": 9, "alpha": 2.0, "seed": 3},
            "its rows differ, and its options differ: alpha 1.0, now 2.0; seed not given, now 3",
        ),
        ({**COMMAND, "a\x1b": 1}, r"its options differ: a\\x1b not given, now 1"),
        ({**COMMAND, "the memory": 1, "the size of a block": 1}, "its options differ: the memory not given, now 1"),
        (
            {**COMMAND, **dict.fromkeys("pqrst", 1)},
            "its options differ: p not given, now 1; q .*; r not given, now 1; and 2 more",
        ),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused_and_kept(command, message, saved):
    before = saved.path.read_bytes()
    begin, end = re.escape(f"{saved.path} is the checkpoint of another fit: "), "; remove the file to start anew.$"
    with pytest.raises(ValueError, match=f"^{begin}{message}{end}"):
        Checkpoint(saved.path).load(command)
    assert saved.path.read_bytes() == before


def test_checkpoint_of_another_version_is_refused(saved, monkeypatch):
    monkeypatch.setattr("aucmax.models.checkpoint.versions", lambda: {**versions(), "numpy": "9"})
    with pytest.raises(ValueError, match=r"another fit: its versions differ: numpy [\d.]+, now 9; remove"):
        Checkpoint(saved.path).load(COMMAND)


def test_damaged_checkpoint_is_refused(saved):
    content = saved.path.read_bytes()
    flipped = bytearray(content)
    flipped[-1] ^= 1
    altered = "is cut short or was altered: copy it again, or remove it and fit again"
    for damaged, message in [
        (content[:-1], altered),
        (content[:300], altered),
        (content + b" ", altered),
        (bytes(flipped), altered),
        (b"", "is not an aucmax checkpoint file"),
        (b"a,b\n1,2\n", "is not an aucmax checkpoint file"),
    ]:
        saved.path.write_bytes(damaged)
        with pytest.raises(ValueError, match=f"^{re.escape(str(saved.path))} {message}[.]$"):
            Checkpoint(saved.path).load(COMMAND)
        assert saved.path.read_bytes() == damaged


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("model", {"command": COMMAND, "state": {}}, "is a 'model', not a 'checkpoint'"),
        ("checkpoint", {"state": {}}, "holds no state of a fit"),
        ("checkpoint", {"command": COMMAND}, "holds no state of a fit"),
        ("checkpoint", {"command": 3, "state": {}}, "holds no state of a fit"),
        ("checkpoint", {"command": COMMAND, "state": [1]}, "holds no state of a fit"),
    ],
)
def test_checkpoint_refuses_another_kind_of_file(kind, values, message, tmp_path):
    write_values(path := tmp_path / "checkpoint", kind, values)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} {message}[.]$"):
        Checkpoint(path).load(COMMAND)


def test_a_save_is_due_when_the_time_has_passed(tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr(checkpoint_module.time, "monotonic", lambda: now)
    checkpoint, always = Checkpoint(tmp_path / "checkpoint", every=30), Checkpoint(tmp_path / "always", every=0)
    checkpoint.load({})
    for start in (100.0, 130.0):
        now = start + 29.9
        assert not checkpoint.due()
        now = start + 30.0
        assert checkpoint.due()
        assert always.due()
        checkpoint.save({})


def test_checkpoint_save_needs_load_before(tmp_path):
    with pytest.raises(RuntimeError, match=r"^Call load before save: "):
        Checkpoint(tmp_path / "checkpoint").save({})
    assert list(tmp_path.iterdir()) == []


# Forks a child for each line of input. The child resumes, and notes each state after it was saved.
RESUMED = """
import os, signal, sys
import numpy as np
from aucmax.models.checkpoint import Checkpoint
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
notes = os.open("notes", os.O_WRONLY | os.O_APPEND)
for line in sys.stdin:
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        checkpoint = Checkpoint("checkpoint", every=0)
        state = checkpoint.load({"rows": 7}) or {"epoch": 0, "weights": np.zeros(200_000)}
        while True:
            state = {"epoch": state["epoch"] + 1, "weights": state["weights"] + 1}
            checkpoint.save(state)
            os.write(notes, b"%d " % state["epoch"])
"""


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def is_gone(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.slow
@pytest.mark.posix
def test_kill_leaves_the_last_whole_state(tmp_path):
    rng, last, notes = random.Random(0), 0, tmp_path / "notes"
    notes.touch()
    process = subprocess.Popen(
        [sys.executable, "-c", RESUMED], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        for _ in range(12):
            notes.write_text("", encoding="utf-8")
            process.stdin.write("resume\n")
            process.stdin.flush()
            child = int(process.stdout.readline())
            wait_until(notes.read_text)
            time.sleep(rng.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
            wait_until(lambda: is_gone(child))  # noqa: B023
            epochs = [int(epoch) for epoch in notes.read_text(encoding="utf-8").split()]
            state = Checkpoint(tmp_path / "checkpoint").load({"rows": 7})
            assert epochs == list(range(last + 1, epochs[-1] + 1))
            assert state["epoch"] - epochs[-1] in (0, 1)  # 1 if it was killed after a save and before the note
            assert (state["weights"] == state["epoch"]).all()
            last = state["epoch"]
        process.stdin.close()


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ({"a": None}, {}, "a None, now not given"),
        ({}, {"a": None}, "a not given, now None"),
        ({"a": True}, {"a": 1}, "a True, now 1"),
        ({"a": 1}, {"a": "1"}, "a 1 (int), now 1 (str)"),
        ({"a": [1, 0]}, {"a": [1, False]}, "a [1, 0], now [1, False]"),
        ({"a": np.arange(2)}, {"a": [0, 1]}, "a [0 1], now [0, 1]"),
        ({"a": np.arange(2)}, {"a": np.array([0, 2])}, "a [0 1], now [0 2]"),
        ({"a": np.zeros((2, 1))}, {"a": 0}, "a [[0.] [0.]], now 0"),
    ],
)
def test_describe_differences_tells_types_apart(was, now, told):
    assert describe_differences(was, now) == f"its options differ: {told}"


def test_describe_differences_of_equal_commands_is_empty():
    command = {"a": float("nan"), "b": (1, [None, True]), "c": {"d": np.array([1.0, np.nan])}}
    assert describe_differences(command, {**command, "c": {"d": np.array([1.0, np.nan])}}) == ""


def test_a_checkpoint_whose_command_holds_an_array_is_refused_with_its_name(tmp_path):
    path = tmp_path / "checkpoint"
    write_values(path, "checkpoint", {"command": {"alpha": np.arange(3)}, "state": {}})
    with pytest.raises(
        ValueError, match=rf"^{re.escape(str(path))} is the checkpoint of another fit: its options diff"
    ):
        Checkpoint(path).load({"alpha": 0.1})
