"""What the files of a virtual environment say once it lies at another path: shebangs, scripts, RECORD."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from urllib.parse import quote_from_bytes

from msgspec import Struct

_LONGEST_SHEBANG = 127  # bytes that Linux reads, `#!` and the line's end among them
_NAME = rb"[\w.+~\x80-\xff-]"
_SHEBANG = re.compile(rb"#! *(?P<python>[^ \n]+)(?P<options>[^\n]*)\n")
# https://github.com/pypa/pip and uv write it where a path has blanks or is too long for the system
_LONG_SHEBANG = re.compile(
    rb"#!/bin/sh\n"
    rb"'''exec' (?P<python>'[^'\n]*'|\"[^\"\n]*\"|[^ \n]+)(?P<options>[^\n]*) \"\$0\" \"\$@\"\n"
    rb"' '''\n"
)


class Move(Struct, frozen=True):
    """An environment that lies, or will, at `new`; `olds` are the paths by which its files may name it now.

    `called` is what a prompt shows before and afterwards.
    """

    olds: tuple[str, ...]
    new: str
    called: tuple[str, str]


def moved_path(path: str, move: Move) -> str | None:
    """Return where what lies at `path` lies afterwards; None for what is outside the environment."""
    for old in move.olds:
        if path == old or path.startswith(old + os.sep):
            return move.new + path[len(old) :]
    return None


def relocated(content: bytes, move: Move) -> bytes:
    """Return the content of a file with the environment's path replaced: plain, in JSON, in a URL.

    Of a file that is not text only the first line is looked at.
    """
    head, body = _relocated_shebang(content, move)
    return head + (body if b"\0" in body else replaced(body, move))


def replaced(content: bytes, move: Move) -> bytes:
    """Return a text with the path replaced wherever it ends as a name does: `/envs/a` is not `/envs/ab`."""
    for old in move.olds:
        for before, after in zip(_spellings(old), _spellings(move.new), strict=True):
            if before in content:
                pattern = (
                    rb"(?<!" + _NAME + rb")" + re.escape(before) + rb"(?![\w+~\x80-\xff-]|\.[\w\x80-\xff])"
                )
                content = re.sub(pattern, lambda _, text=after: text, content)  # type: ignore[misc]
    return content


def _spellings(path: str) -> tuple[bytes, bytes, bytes]:
    plain = os.fsencode(path)
    return plain, json.dumps(path)[1:-1].encode(), quote_from_bytes(plain).encode()


def _relocated_shebang(content: bytes, move: Move) -> tuple[bytes, bytes]:
    """Return a script's first lines, with the moved interpreter, and what follows them."""
    match = _LONG_SHEBANG.match(content) or _SHEBANG.match(content)
    if match is None:
        return b"", content
    python = match["python"]
    if python[:1] in (b"'", b'"'):
        python = python[1:-1]
    moved = moved_path(os.fsdecode(python), move)
    if moved is None:
        return b"", content
    return _shebang(moved, match["options"]), content[match.end() :]


def _shebang(python: str, options: bytes) -> bytes:
    """https://docs.python.org/3/library/venv.html: a path with blanks, or a long one, goes through sh."""
    short = b"#!" + os.fsencode(python) + options + b"\n"
    if " " not in python and len(short) <= _LONGEST_SHEBANG:
        return short
    quoted = os.fsencode(shlex.quote(python))
    return b"#!/bin/sh\n'''exec' " + quoted + options + b' "$0" "$@"\n' + b"' '''\n"


def relocated_activation(content: bytes, move: Move) -> bytes:
    """Return an activation script for the new path: some of it has to be quoted now, the prompt changes."""
    for old in move.olds:
        bare = rb"(?<=[= ])" + re.escape(os.fsencode(old)) + rb"(?=\r?$)"
        quoted = os.fsencode(shlex.quote(move.new))
        content = re.sub(bare, lambda _, text=quoted: text, content, flags=re.MULTILINE)  # type: ignore[misc]
    before, after = map(os.fsencode, move.called)
    lines = []
    for line in replaced(content, move).split(b"\n"):
        if b"PROMPT" in line or b"PS1" in line or b"prompt" in line:
            line = line.replace(b"(" + before + b")", b"(" + after + b")")  # noqa: PLW2901
            word = rb"(?<=PROMPT[= ])(['\"]?)" + re.escape(before) + rb"\1(?=\r?$)"
            line = re.sub(word, lambda hit: hit[1] + after + hit[1], line)  # noqa: PLW2901
        lines.append(line)
    return b"\n".join(lines)


def relocated_configuration(content: bytes, move: Move) -> bytes:
    """Return a pyvenv.cfg; its prompt is the environment's name where it was."""
    before, after = map(os.fsencode, move.called)
    prompt = rb"^(prompt\s*=\s*)(['\"]?)" + re.escape(before) + rb"\2(?=\s*$)"
    text = re.sub(prompt, lambda hit: hit[1] + hit[2] + after + hit[2], content, flags=re.MULTILINE)
    return replaced(text, move)


def relocated_record(text: str, contents: Mapping[str, bytes]) -> str:
    """Return a RECORD with the hashes and sizes of rewritten files, by their paths as a RECORD has them.

    https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    """
    if not any(path in text for path in contents):
        return text
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\r\n" if "\r\n" in text else "\n")
    writer.writerows(_recorded(row, contents) for row in csv.reader(io.StringIO(text, newline="")))
    return sink.getvalue()


def _recorded(row: Iterable[str], contents: Mapping[str, bytes]) -> list[str]:
    path, *fields = list(row) or [""]
    content = contents.get(path)
    if content is None or len(fields) != 2 or not fields[0]:  # noqa: PLR2004 - hash, size
        return [path, *fields]
    digest = urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()
    return [path, f"sha256={digest}", str(len(content))]
