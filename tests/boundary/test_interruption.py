"""Signals that end a run are never lost, wherever in a program they fall."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
# a handler runs between two instructions of Python: here of the callback that a weak reference has
IN_A_CALLBACK = """
import os, signal, sys, time, weakref
from gpuenv.process import interruption

class Thing: ...

def callback(reference):
    os.kill(os.getpid(), int(sys.argv[1]))
    time.sleep(0)

with interruption.heeded():
    try:
        thing = Thing()
        reference = weakref.ref(thing, callback)
        del thing
        time.sleep(5)
        print("lost")
    except KeyboardInterrupt:
        print("heeded")
"""
SWALLOWED = """
import os, signal, sys
from gpuenv.process import interruption

with interruption.heeded():
    try:
        os.kill(os.getpid(), int(sys.argv[1]))
    except BaseException:
        pass  # as a library may
    try:
        interruption.check()
        print("lost")
    except KeyboardInterrupt:
        print("heeded")
"""


EXECUTED = """
import os, signal, sys
from gpuenv.process import interruption

with interruption.heeded():
    try:
        exec("os.kill(os.getpid(), int(sys.argv[1]))")
        print("lost")
    except KeyboardInterrupt:
        print("heeded")
"""


SETTLED = """
import os, signal, sys
from gpuenv.process import interruption

with interruption.heeded():
    interruption.settle()
    os.kill(os.getpid(), int(sys.argv[1]))
    print("told whole", interruption.came())
"""


def run(code: str, number: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, str(int(number))], capture_output=True, encoding="utf-8", check=False
    )


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "code", [IN_A_CALLBACK, SWALLOWED, EXECUTED], ids=["in a callback", "swallowed", "executed"]
)
def test_a_signal_is_heeded_where_its_exception_is_ignored(code: str, number: int) -> None:
    done = run(code, number)
    assert (done.returncode, done.stdout, done.stderr) == (0, "heeded\n", "")


@pytest.mark.parametrize("number", SIGNALS)
def test_how_a_run_ended_is_told_to_its_end(number: int) -> None:
    done = run(SETTLED, number)
    assert (done.returncode, done.stdout, done.stderr) == (0, "told whole False\n", "")


def test_what_nohup_ignores_stays_ignored() -> None:
    code = SWALLOWED.replace("with ", "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nwith ", 1)
    assert run(code, signal.SIGHUP).stdout == "lost\n"


def test_afterwards_the_handlers_are_what_they_were() -> None:
    code = (
        "import signal, sys\nfrom gpuenv.process import interruption\n"
        "before = signal.getsignal(signal.SIGINT), sys.unraisablehook\n"
        "with interruption.heeded(), interruption.heeded(): pass\n"
        "print(before == (signal.getsignal(signal.SIGINT), sys.unraisablehook))"
    )
    assert run(code, 0).stdout == "True\n"


# Ctrl-C while Python itself starts is Python's to answer: what is imported then is gpuenv's
SLOW_START = """
import os, signal, sys
wanted = sys.argv.pop(1)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from gpuenv.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("module", "ending"),
    [
        ("gpuenv.cli.main", (-signal.SIGINT, "")),
        ("typer", (130, "interrupted; partial files were removed\n")),
        ("gpuenv.cli.app", (130, "interrupted; partial files were removed\n")),
    ],
)
def test_ctrl_c_while_gpuenv_is_loaded_shows_no_traceback(
    module: str, ending: tuple[int, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SLOW_START, module, "--help"],
        capture_output=True, encoding="utf-8", check=False, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == ending


# while the words of the command line are parsed, which typer would answer with a status alone
PARSING = """
import os, signal, sys
from typer.core import TyperGroup
def parse(*_):
    os.kill(os.getpid(), int(sys.argv[1]))
TyperGroup.parse_args = parse
from gpuenv.cli.main import run
sys.exit(run(["list", "--all", "--json"]))
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_words_are_parsed_leaves_an_envelope(number: int) -> None:
    done = run(PARSING, number)
    assert (done.returncode, done.stderr) == (130, "")
    assert json.loads(done.stdout)["error"]["code"] == "interrupted"
