"""Whatever ends gpuenv, SIGKILL too, ends all that it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
TOKEN = "GPUENV_TEST_TOKEN"
# a shell that heeds no signal it is asked with, and a child of its own
WAITS = """
import sys, threading
from gpuenv.process import subprocesses as process
argv = ["/bin/sh", "-c", "trap '' TERM INT HUP; sleep 60 & echo > begun; wait"]
work = lambda: process.run(argv, timeout_s=60, cwd=sys.argv[1])
{how}
"""
HELD = """
import os, signal, sys
from gpuenv.process import interruption
with interruption.heeded():
    try:
        with interruption.held():
            with interruption.held():
                os.kill(os.getpid(), signal.SIGTERM)
            print("went on", flush=True)
        print("lost")
    except KeyboardInterrupt:
        print("raised", interruption.is_pending())
"""


def running(token: str) -> list[str]:
    """Return the command lines of all processes that have the token among their variables."""
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone, or somebody else's
            if f"{TOKEN}={token}".encode() in (folder / "environ").read_bytes():
                lines.append((folder / "cmdline").read_text())
    return lines


def begin(how: str, folder: Path) -> subprocess.Popen[str]:
    environ = {**os.environ, TOKEN: str(folder), "GPUENV_CACHE_DIR": str(folder / "cache")}
    argv = [sys.executable, "-c", WAITS.format(how=how), str(folder)]
    child = subprocess.Popen(argv, env=environ, stderr=subprocess.DEVNULL, encoding="utf-8")
    wait_until((folder / "begun").exists)
    return child


@pytest.mark.parametrize("attempt", range(3))
def test_a_child_that_was_only_just_started_ends_too(tmp_path: Path, attempt: int) -> None:
    """It kills gpuenv as its first deed: the guardian is hardly told of it by then."""
    kills = WAITS.replace("trap", "echo > begun; kill -KILL $PPID; trap")
    environ = {**os.environ, TOKEN: str(tmp_path), "GPUENV_CACHE_DIR": str(tmp_path / "cache")}
    argv = [sys.executable, "-c", kills.format(how="work()"), str(tmp_path)]
    done = subprocess.run(argv, env=environ, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    wait_until(lambda: not running(str(tmp_path)))


def test_a_kill_ends_the_children_of_children_too(tmp_path: Path) -> None:
    child = begin("work()", tmp_path)
    assert len(running(str(tmp_path))) >= 3
    child.send_signal(signal.SIGKILL)
    child.wait()
    wait_until(lambda: running(str(tmp_path)) == [])


def test_an_end_that_waits_for_no_thread_leaves_nothing(tmp_path: Path) -> None:
    how = "threading.Thread(target=work, daemon=True).start()\nimport time, os\n"
    how += "while not os.path.exists(sys.argv[1] + '/begun'): time.sleep(0.01)\ntime.sleep(0.1)"
    child = begin(how, tmp_path)
    child.wait(30)
    wait_until(lambda: running(str(tmp_path)) == [])


def test_after_a_run_no_process_is_left(tmp_path: Path) -> None:
    code = "from gpuenv.process.subprocesses import run; assert run(['/bin/true'], timeout_s=9).ok"
    environ = {**os.environ, TOKEN: str(tmp_path), "GPUENV_CACHE_DIR": str(tmp_path / "cache")}
    assert subprocess.run([sys.executable, "-c", code], env=environ, check=False).returncode == 0
    assert running(str(tmp_path)) == []


@pytest.mark.parametrize("name", ["plain", "with spaces ' and $(ls) *", "-rf", "überall"])
def test_a_kill_removes_the_temporary_folders_in_use_and_no_others(tmp_path: Path, name: str) -> None:
    code = """
import os, signal, sys
from gpuenv.process import guardian
with guardian.temporary_folder("gpuenv-first-"):
    pass
with guardian.temporary_folder("gpuenv-second-") as folder:
    os.makedirs(folder + "/deep/deeper")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    here = tmp_path / name
    (here / "gpuenv-others").mkdir(parents=True)
    environ = {**os.environ, TOKEN: str(tmp_path), "TMPDIR": str(here)}
    subprocess.run([sys.executable, "-c", code], env=environ, check=False)
    wait_until(lambda: running(str(tmp_path)) == [])
    assert [path.name for path in here.iterdir()] == ["gpuenv-others"]


def test_what_is_held_goes_on_and_the_signal_is_raised_after_it() -> None:
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, encoding="utf-8", check=False)
    assert (done.stdout, done.stderr) == ("went on\nraised False\n", "")
