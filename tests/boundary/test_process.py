"""What is started ends, with all it has begun, and what it prints is read up to a limit."""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuenv.process import subprocesses as process

pytestmark = pytest.mark.skipif(os.name != "posix", reason="daemons and process groups are POSIX's")

_DAEMON = """
import os, sys, time
first, second = os.pipe()
if os.fork() == 0:
    {apart}
    open({note!r}, "w").write(str(os.getpid()))
    os.write(second, b"x")
    time.sleep(60)
    os._exit(0)
os.read(first, 1)
print("done", flush=True)
"""


@pytest.fixture
def left_behind(tmp_path: Path) -> Iterator[Path]:
    """Where a daemon notes its number; it is ended after the test."""
    note = tmp_path / "daemon"
    yield note
    if note.exists() and is_alive(int(note.read_text())):
        os.kill(int(note.read_text()), signal.SIGKILL)


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
        state = Path(f"/proc/{number}/stat")
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def ends(number: int) -> bool:
    for _ in range(100):  # it has been killed; the kernel may still be at it
        if not is_alive(number):
            return True
        time.sleep(0.05)
    return False


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def start(way: str, argv: tuple[str, ...], folder: Path) -> process.Completed:
    if way == "run":
        return process.run(argv, timeout_s=30)
    if way == "attend":
        return process.attend(argv, log=folder / "log", every_s=0.05)
    return process.stream(argv, log=folder / "log", show=way == "shown")


WAYS = pytest.mark.parametrize("way", ["run", "attend", "stream", "shown"])


@pytest.mark.slow
@WAYS
def test_a_daemon_that_keeps_the_pipe_open_is_not_waited_for(
    way: str, tmp_path: Path, left_behind: Path
) -> None:
    done = start(way, python(_DAEMON.format(apart="os.setsid()", note=str(left_behind))), tmp_path)
    assert (done.returncode, done.stdout, done.timed_out) == (0, "done\n", False)
    assert is_alive(int(left_behind.read_text())), "it was waited for until its end"


@pytest.mark.slow
@WAYS
def test_what_a_process_leaves_in_its_group_ends_with_it(way: str, tmp_path: Path, left_behind: Path) -> None:
    done = start(way, python(_DAEMON.format(apart="", note=str(left_behind))), tmp_path)
    assert (done.returncode, done.stdout, done.timed_out) == (0, "done\n", False)
    assert ends(int(left_behind.read_text()))


@WAYS
def test_of_much_that_is_printed_both_ends_are_kept(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LARGEST", 1 << 20)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    code = "import sys; sys.stdout.write('first' + 'x' * (8 << 20) + 'last')"
    done = start(way, python(code), tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("first")
    assert done.stdout.endswith("last")
    assert len(done.stdout) < (1 << 20) + 2 * (64 << 10) + 100
    log = tmp_path / "log"
    assert not log.exists() or log.stat().st_size < (1 << 20) + 2 * (64 << 10) + 1000


def test_a_program_that_prints_without_end_is_ended_in_time_and_little_of_it_is_kept() -> None:
    code = "import os\nwhile True: os.write(1, b'y' * 65536)"
    done = process.run(python(code), timeout_s=1, limit=1 << 20)
    assert done.timed_out
    assert 1 << 19 < len(done.stdout) < 2 << 20


def test_what_is_given_is_read_whole_and_may_be_left_unread() -> None:
    text = "x" * (4 << 20)
    code = "import sys; print(len(sys.stdin.read()))"
    assert process.run(python(code), timeout_s=60, stdin=text).stdout == f"{len(text)}\n"
    assert process.run(python("print('done')"), timeout_s=60, stdin=text).stdout == "done\n"


def test_a_process_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    code = (
        "import os, time; os.close(1); os.close(2); time.sleep(0.4); "
        f"open({str(tmp_path / 'end')!r}, 'w').close(); os._exit(3)"
    )
    assert process.run(python(code), timeout_s=60).returncode == 3
    assert (tmp_path / "end").exists()


def test_a_log_that_can_not_be_written_ends_the_process(left_behind: Path) -> None:
    code = f"import os; open({str(left_behind)!r}, 'w').write(str(os.getpid()))\nwhile True: print('y')"
    with pytest.raises(OSError, match="No space"):
        process.stream(python(code), log=Path("/dev/full"), show=False)
    assert not left_behind.exists() or not is_alive(int(left_behind.read_text()))


@pytest.mark.parametrize("way", ["attend", "stream"])
def test_what_an_installer_leaves_among_temporary_files_goes(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    code = "import os, tempfile; print(tempfile.mkdtemp(), flush=True); os.kill(os.getpid(), 9)"
    done = start(way, python(code), tmp_path)
    assert done.stdout.startswith(str(tmp_path / "tmp"))
    assert list((tmp_path / "tmp").iterdir()) == []
