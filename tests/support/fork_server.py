"""Ask `forked_gpuenv` for runs of gpuenv: one such process for a worker, begun when it is first needed."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

CAN_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")
LENGTH = 8  # bytes of a message's length
_SERVER = Path(__file__).with_name("forked_gpuenv.py")


class Forked:
    """A run that a `ForkServer` has begun: what of `subprocess.Popen` the tests use of a run to its end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.pid = int(_receive(connection))

    def wait(self, timeout_s: float) -> tuple[int, float, float]:
        """Return the exit status, negative for a signal, seconds of CPU, the most MiB; raise TimeoutError."""
        self._connection.settimeout(timeout_s)
        status, cpu_s, peak_mib = _receive(self._connection).split()
        return int(status), float(cpu_s), float(peak_mib)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        self._connection.close()


class ForkServer:
    """The process that others are forked from; one for a worker, begun when it is first needed."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        words = (sys.executable, "-W", "error", str(_SERVER), str(theirs.fileno()))
        self._socket = ours
        self._lock = threading.Lock()
        fds = (theirs.fileno(),)
        self._process = subprocess.Popen(words, env=environ, pass_fds=fds, stdin=subprocess.DEVNULL)
        theirs.close()
        atexit.register(self.close)

    def run(
        self,
        arguments: list[str],
        environ: Mapping[str, str],
        folder: Path,
        streams: tuple[int, int, int],
        limits: Mapping[str, int],
    ) -> Forked:
        """Begin a run with file descriptors for its standard streams, and limits as `resource` names them."""
        ours, theirs = socket.socketpair()
        requested = json.dumps([arguments, dict(environ), str(folder), dict(limits)]).encode()
        with theirs, self._lock:
            socket.send_fds(
                self._socket, [len(requested).to_bytes(LENGTH, "big")], [*streams, theirs.fileno()]
            )
            self._socket.sendall(requested)
        return Forked(ours)

    def close(self) -> None:
        """End the process; runs that it has begun go on."""
        self._socket.close()
        self._process.wait()


def _receive(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        read = connection.recv(1)
        if not read:
            raise EOFError
        line += read
    return line
