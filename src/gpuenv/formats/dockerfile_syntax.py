"""Lines of a Dockerfile: whatever a text holds, it stays where it is put."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpuenv.formats.shell import one_line

_CONTINUED = " \\\n    "


def written(path: str, lines: Iterable[str]) -> list[str]:
    """Return an instruction that writes a file of these lines, none of which holds a line break.

    Nothing in a here-document is expanded whose end is quoted:
    https://docs.docker.com/reference/dockerfile/#here-documents
    """
    content, end = list(lines), "EOF"
    while end in content:
        end += "_"
    return [f"COPY <<'{end}' {path}", *content, end, ""]  # hadolint 2.12 wants the empty line


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
