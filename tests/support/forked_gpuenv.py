"""gpuenv in processes that need no start: forked from this one, which has loaded it and read the matrices.

Each run is a process of its own, with its own variables, folder and streams, and goes through the entry point
of the installed program. What a Python does before that, which takes longer than most answers, is done once.
"""

from __future__ import annotations

import gc
import io
import json
import os
import pkgutil
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

import gpuenv
from gpuenv import matrices
from gpuenv.__main__ import main
from gpuenv.planning.load_knowledge import load_knowledge

# what runs elsewhere, or when it is imported
_NOT_LOADED = (
    "gpuenv.node", "gpuenv.fleet.engines.slurm_start", "gpuenv.fleet.engines.ansible_module",
    "gpuenv.verification.child",
)  # fmt: skip
_LENGTH = 8  # bytes of a message's length
Request = tuple[list[str], dict[str, str], str, Mapping[str, int]]


def _serve(asked: socket.socket) -> None:
    """Fork for each request; the server itself has no thread, so that nothing is held at a fork."""
    _load()
    while True:
        head, fds, _, _ = socket.recv_fds(asked, _LENGTH, 4)
        if not head:
            return
        rest = int.from_bytes(head, "big")
        parts = []
        while rest:
            parts.append(asked.recv(rest))
            rest -= len(parts[-1])
        if os.fork() == 0:
            asked.close()
            os._exit(_attend(json.loads(b"".join(parts)), fds))
        for fd in fds:
            os.close(fd)
        _reap()


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _attend(request: Request, fds: list[int]) -> int:
    """Start the run as a child, so that its end is known, and tell how it ended and what it took."""
    *streams, reply = fds
    with socket.socket(fileno=reply) as connection:
        pid = os.fork()
        if pid == 0:
            connection.close()
            _become(request, streams)
        for fd in streams:
            os.close(fd)
        connection.sendall(b"%d\n" % pid)
        _, status, used = os.wait4(pid, 0)
        if request[3]:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)  # what it has left behind
        took = (used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
        connection.sendall(b"%d %.3f %.1f\n" % (os.waitstatus_to_exitcode(status), *took))
    return 0


def _become(request: Request, streams: list[int]) -> None:
    """Be gpuenv: as `python -m gpuenv` is once it has been loaded."""
    arguments, environ, folder, limits = request
    for target, fd in enumerate(streams):
        os.dup2(fd, target)
        os.close(fd)
    os.environ.clear()
    os.environ.update(environ)
    status = 1
    try:
        _limit(limits)
        os.chdir(folder)
        sys.argv = [sys.argv[0], *arguments]
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), "utf-8")
        sys.stdout = sys.__stdout__ = _writing(1)
        sys.stderr = sys.__stderr__ = _writing(2, errors="backslashreplace", line_buffering=True)
        status = _main()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(status)


def _limit(limits: Mapping[str, int]) -> None:
    """Set limits by their name in `resource`, in a group of its own that ends with the run."""
    if limits:
        os.setpgid(0, 0)
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, name), (most, most))


def _writing(fd: int, **options: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(fd, "w")), "utf-8", **options)


def _main() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does it
        traceback.print_exc()
        return 1
    return 0


def _load() -> None:
    """Load what most commands load, and read what they read that no variable changes."""
    for module in pkgutil.walk_packages(gpuenv.__path__, "gpuenv."):
        if not module.name.startswith(_NOT_LOADED):
            import_module(module.name)
    for table in (*matrices.DECIDING, "tegra", "pythons", "dependencies", "mirrors"):
        matrices.load(table)
    load_knowledge({})
    gc.freeze()  # what is loaded stays, and is shared by all runs


if __name__ == "__main__":
    del sys.path[0]  # this folder
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        _serve(asked)
