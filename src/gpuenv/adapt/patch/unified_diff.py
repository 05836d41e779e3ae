"""Two texts of a file as a unified diff that `git apply` and `patch -p1` take."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from difflib import unified_diff as lines_of_diff
from itertools import chain

from gpuenv.adapt.model import DependencyFile, Project

_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def unified_diff(project: Project, files: tuple[DependencyFile, ...]) -> str:
    """Return what changed between the files that were left and what becomes of them; empty for nothing.

    Names are relative to where the command runs, or to the folder of all files where one lies elsewhere. Line
    ends stand as they are in the files.
    """
    names = _names(tuple(file.path for file in project.files))
    pairs = zip(project.files, files, strict=True)
    parts = (_diff(names[before.path], before.text, after.text) for before, after in pairs)
    return "".join(chain.from_iterable(parts))


def _names(paths: tuple[str, ...]) -> dict[str, str]:
    plain = {path: posixpath.normpath(path) for path in paths}
    away = [item for item in plain.values() if item.startswith(("..", "/")) or item[1:2] == ":"]
    if not away:
        return plain
    folders = [item.rpartition("/")[0].split("/") for item in plain.values()]
    common = 0
    while all(len(parts) > common for parts in folders) and len({parts[common] for parts in folders}) == 1:
        common += 1
    return {path: "/".join(item.split("/")[common:]) for path, item in plain.items()}


def _diff(name: str, before: str, after: str) -> Iterator[str]:
    if before == after:
        return
    old, new = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    # by "\n" alone: a lone "\r" or a form feed is no end of a line to git
    removed, added = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    for line in lines_of_diff(removed, added, old, new, lineterm="\n"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _quoted(name: str) -> str:
    """Return a name as git writes it: in quotes where it has odd characters, a tab after one with blanks."""
    if not name.isprintable() or any(item in _ESCAPES for item in name):
        return f'"{"".join(_escaped(item) for item in name)}"'
    return f"{name}\t" if " " in name else name


def _escaped(item: str) -> str:
    if item.isprintable() or item in _ESCAPES:
        return _ESCAPES.get(item, item)
    return "".join(f"\\{byte:03o}" for byte in item.encode("utf-8", "surrogateescape"))
