"""Commands as text that can be pasted into a shell: nothing in them reaches the shell unquoted."""

from __future__ import annotations

import re
import shlex

from gpuenv.values.build import Platform

_PLAIN = re.compile(r"[\w@%+:,./\\-]+", re.ASCII)


def render_command(argv: tuple[str, ...], platform: Platform) -> str:
    """Return `argv` quoted for a POSIX shell, on Windows for cmd and PowerShell."""
    if platform != "win-64":
        return shlex.join(argv)
    return " ".join(word if _PLAIN.fullmatch(word) else f'"{word}"' for word in argv)
