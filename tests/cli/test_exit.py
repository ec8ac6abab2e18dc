"""The status of a command is its own, whatever threads do while a process ends."""

import subprocess
import sys

import pytest

from aucmax import __version__

# pyarrow's threads abort a process if they wait for the interpreter while it is taken apart, which is seldom. Here it
# never gets that far unharmed: a thread keeps it waiting, or what it runs at its end aborts.
ABORTS = "import atexit, os; atexit.register(os.abort)"
LINGERS = "import threading; threading.Thread(target=threading.Event().wait).start()"
COMMAND = "import runpy, sys; runpy.run_module('aucmax', run_name='__main__')"


def run_command(before, *arguments):
    command = [sys.executable, "-c", f"{before}\n{COMMAND}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def wrong_at_its_end(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    lines = "".join(f"{k},{k % 7},0.5,{k % 2}\n" for k in range(20_000))
    path.write_text(f"a,b,c,y\n{lines}1,2,3\n", encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("before", [ABORTS, LINGERS], ids=["aborts", "lingers"])
def test_exit_status_of_an_error_after_threads_have_read(before, wrong_at_its_end, tmp_path):
    done = run_command(before, "fit", wrong_at_its_end, "-o", tmp_path / "m", "-q")
    told = f"aucmax: {wrong_at_its_end}, line 20002: 3 cells, but there are 4 columns.\n"
    assert (done.returncode, done.stderr, done.stdout) == (2, told, "")


@pytest.mark.parametrize("before", [ABORTS, LINGERS], ids=["aborts", "lingers"])
def test_output_is_flushed_before_exit(before):
    done = run_command(before, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"aucmax {__version__}\n", "")
