"""Find the shell that gpuenv was started from: its parent process, not the login shell of $SHELL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePath

from msgspec import Struct


class Shell(Struct, frozen=True):
    """A shell: its bare name (`zsh`, `pwsh`) and the program."""

    name: str
    program: str


def started_by_busybox() -> bool:
    """Tell whether the parent is `busybox sh`, which shellingham ignores."""
    try:
        words = Path(f"/proc/{os.getppid()}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return PurePath(os.fsdecode(words[0])).name == "busybox" and words[1] in {b"sh", b"ash"}


def find_shell(environ: Mapping[str, str]) -> Shell | None:
    """Return the nearest shell among this process's parents, else the login shell."""
    import shellingham  # noqa: PLC0415 - few commands need it

    try:
        name, program = shellingham.detect_shell()
    except (shellingham.ShellDetectionFailure, OSError):
        program = environ.get("SHELL") or environ.get("COMSPEC") or ""
        name = PurePath(program).name.lower().removesuffix(".exe")
    return Shell(name, program) if name else None
