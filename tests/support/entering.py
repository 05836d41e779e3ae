"""Commands in an environment, which take the place of the process that runs them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_CODE = (
    "import json, sys; from gpuenv.activation.entering import run; "
    "sys.exit(run(sys.argv[1], sys.argv[3:], json.loads(sys.argv[2])))"
)
_HANDLED = (signal.SIGINT, signal.SIGTERM)


def run_inside(name: str, words: list[str], environ: Mapping[str, str]) -> int:
    """Run a command in an environment, from a process of its own; return its exit status, -N for signal N."""
    argv = [sys.executable, "-c", _CODE, name, json.dumps(dict(environ)), *words]
    return subprocess.run(argv, check=False).returncode


@contextmanager
def handlers_kept() -> Iterator[None]:
    """Set the handlers of signals back that a command which could not be started was to be rid of."""
    numbers = (
        *_HANDLED,
        *((signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ) if sys.platform != "win32" else ()),
    )
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
