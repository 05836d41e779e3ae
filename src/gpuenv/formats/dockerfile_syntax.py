"""Lines of a Dockerfile: whatever a text holds, it stays where it is put."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from gpuenv.formats.shell import one_line

_CONTINUED = " \\\n    "


def written(path: str, lines: Iterable[str]) -> list[str]:
    """Return an instruction that writes a file of these lines, none of which holds a line break."""
    return ["RUN printf '%s\\n' \\", *(f"    {shlex.quote(line)} \\" for line in lines), f"    > {path}"]


def assignments(word: str, values: Mapping[str, str]) -> list[str]:
    """Return one instruction, ENV or LABEL, that gives all the values, a line each."""
    pairs = [f"{name}={quoted(value)}" for name, value in values.items()]
    return f"{word} {_CONTINUED.join(pairs)}".splitlines()


def quoted(text: str) -> str:
    """Quote a value of ARG, ENV or LABEL: nothing in it is expanded."""
    escaped = one_line(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'


def comment(*lines: str) -> list[str]:
    """Return comments, one a text."""
    return [f"# {one_line(line)}".rstrip() for line in lines]
