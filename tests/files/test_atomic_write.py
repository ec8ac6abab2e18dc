"""Files are written whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
import time

import pytest

from aucmax.files import atomic_write
from aucmax.files.atomic_write import ABANDONED, write_atomically


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def full(file):
    file.write(b"half of the")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupted(file):
    file.write(b"half of the")
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("write", "error", "message"),
    [(full, OSError, "No space left on device: '.*name'$"), (interrupted, KeyboardInterrupt, "^$")],
)
@pytest.mark.parametrize("before", [{}, {"name": b"old"}], ids=["new", "old"])
def test_write_atomically_changes_nothing_when_the_writer_fails(write, error, message, before, tmp_path):
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=message):
        write_atomically(tmp_path / "name", write)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("function", ["replace", "fsync"])
def test_write_atomically_changes_nothing_when_the_system_fails(function, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    (tmp_path / "name").write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(OSError, match=r"Input/output error: '.*name'$"):
            write_atomically(tmp_path / "name", lambda file: file.write(b"new"))
    assert contents(tmp_path) == {"name": b"old"}


def test_errors_of_other_files_keep_their_names(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"another'$"):
        write_atomically(tmp_path / "name", lambda _: (tmp_path / "another").read_bytes())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.posix
def test_write_atomically_has_permissions_of_a_plain_file(tmp_path):
    for name, mask in (("open", 0o022), ("private", 0o077)):
        before = os.umask(mask)
        try:
            write_atomically(tmp_path / name, lambda file: file.write(b"1"))
        finally:
            os.umask(before)
        assert mode(tmp_path / name) == 0o666 & ~mask
    (tmp_path / "open").chmod(0o640)
    write_atomically(tmp_path / "open", lambda file: file.write(b"2"))
    assert mode(tmp_path / "open") == 0o640


@pytest.mark.posix
def test_write_atomically_follows_links_and_writes_to_pipes(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/name")
    for content in (b"1", b"2"):
        write_atomically(tmp_path / "link", lambda file: file.write(content))  # noqa: B023
        assert (tmp_path / "link").is_symlink()
        assert contents(tmp_path / "folder") == {"name": content}
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", lambda file: file.write(b"3"))
    assert os.read(reader, 10) == b"3"
    os.close(reader)
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


@pytest.mark.posix
def test_write_atomically_removes_drafts_of_killed_processes(tmp_path):
    import fcntl

    names = [
        ".name.0123456789abcdef.draft",
        ".name.fedcba9876543210.draft",
        ".other.0123456789abcdef.draft",
        ".name.mine",
    ]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    with open(tmp_path / names[1], "ab") as file:  # still being written
        fcntl.flock(file, fcntl.LOCK_EX)
        write_atomically(tmp_path / "name", lambda file: file.write(b"new"))
    assert sorted(contents(tmp_path)) == sorted(["name", *names[1:]])
    write_atomically(tmp_path / "name", lambda file: file.write(b"new"))
    assert sorted(contents(tmp_path)) == sorted(["name", *names[2:]])


def test_write_atomically_removes_old_drafts_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic_write, "HAS_LOCKS", False)
    old, new = tmp_path / ".name.0123456789abcdef.draft", tmp_path / ".name.fedcba9876543210.draft"
    for path in (old, new):
        path.write_bytes(b"")
    os.utime(old, (0, time.time() - ABANDONED - 60))
    write_atomically(tmp_path / "name", lambda file: file.write(b"new"))
    assert sorted(contents(tmp_path)) == [new.name, "name"]


@pytest.mark.slow
@pytest.mark.posix
def test_two_processes_that_write_the_same_file_do_not_disturb_each_other(tmp_path):
    code = """
from aucmax.files.atomic_write import write_atomically
for k in range(200):
    write_atomically("name", lambda file: file.write(b"whole"))
"""
    processes = [subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert contents(tmp_path) == {"name": b"whole"}
