"""The known mirrors: those shipped with gpuenv, and the user's own from the configuration file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpuenv import matrices
from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.lookup import check_words, find_mirror, near_names
from gpuenv.indexes.mirrors.records import parse_mirror, parse_own_mirror
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.mirror import Mirror
from gpuenv.untrusted.documents import load_toml

_PROGRAM = "gpuenv"
_FILE = "config.toml"
_NAMED_BY = "GPUENV_CONFIG"


class Mirrors(Struct, frozen=True):
    """All mirrors, the user's own first; they replace shipped ones of the same name."""

    all: tuple[Mirror, ...]
    own: frozenset[str]
    file: Path

    def find(self, name: str) -> Mirror:
        """Return the mirror of a name; raise UsageError with similar names."""
        mirror = find_mirror(name, self.all)
        if mirror is None:
            raise unknown_mirror(name, self.all)
        return mirror


def configuration_file(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the path of gpuenv's configuration file; `platform` is `sys.platform`."""
    home = environ.get("USERPROFILE" if platform == "win32" else "HOME") or os.path.expanduser("~")  # noqa: PTH111 - one that can't be told stays `~`
    named = environ.get(_NAMED_BY)
    if not named:
        return _configuration_home(environ, platform, Path(home)) / _PROGRAM / _FILE
    if re.match(r"~(?:[/\\]|$)", named):
        return Path(home + named[1:])
    return Path(os.path.expanduser(named))  # noqa: PTH111 - `~nobody` stays as it is


def _configuration_home(environ: Mapping[str, str], platform: str, home: Path) -> Path:
    """Return the system's folder of configuration, as platformdirs does."""
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA", "").strip() or home / "AppData" / "Local")
    return Path(environ.get("XDG_CONFIG_HOME", "").strip() or home / ".config")


def load_mirrors(environ: Mapping[str, str]) -> Mirrors:
    """Return the mirrors; raise UsageError for an unreadable configuration file."""
    file = configuration_file(environ)
    shipped = tuple(parse_mirror(row) for row in matrices.load("mirrors"))
    own = _own(file, shipped, required=bool(environ.get(_NAMED_BY)))
    names = {mirror.name for mirror in own}
    others = (mirror for mirror in shipped if mirror.name not in names)
    return Mirrors((*own, *others), frozenset(names), file)


def own_tables(environ: Mapping[str, str], names: frozenset[str]) -> tuple[Mapping[str, object], ...]:
    """Return some of the user's own mirrors as tables of the file."""
    tables = _read_toml(configuration_file(environ)).get("mirror", [])
    return tuple(table for table in tables if table["name"] in names)


def _read_toml(file: Path) -> dict[str, Any]:
    return load_toml(read_limited_text(file).removeprefix("\ufeff"))


def unknown_mirror(name: str, mirrors: tuple[Mirror, ...]) -> UsageError:
    """Return the error for a name that no mirror has."""
    near = near_names(name, mirrors)
    return UsageError(
        tr("`{mirror}` is neither a known mirror nor the URL of an index", mirror=name),
        code="unknown-mirror",
        fixes=(
            *(Fix(tr("did you mean `{name}`?", name=item)) for item in near[:1]),
            Fix(tr("see what is available"), "gpuenv mirrors list"),
            Fix(tr("or give a URL such as https://mirror.example/simple")),
        ),
    )


def _own(file: Path, shipped: tuple[Mirror, ...], *, required: bool) -> tuple[Mirror, ...]:
    try:
        entries = _read_toml(file).get("mirror", [])
    except (FileNotFoundError, NotADirectoryError):
        if required:
            raise _unreadable(file, tr("does not exist"), _NAMED_BY) from None
        return ()
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(file, reason_of(error), str(file)) from None
    if not isinstance(entries, list):
        raise _unreadable(file, tr("`mirror` is not a list of tables"), str(file))
    known = {mirror.name: mirror for mirror in shipped}
    own = tuple(_entry(entry, number, file, known) for number, entry in enumerate(entries, 1))
    try:
        check_words(own, shipped)
    except ValueError as error:
        raise _unreadable(file, reason_of(error), str(file)) from None
    return own


def _entry(entry: object, number: int, file: Path, known: Mapping[str, Mirror]) -> Mirror:
    name = entry.get("name") if isinstance(entry, Mapping) else None
    try:
        return parse_own_mirror(entry, str(file), known.get(name) if isinstance(name, str) else None)
    except ValueError as error:
        which = tr("mirror {number} ({name})", number=number, name=name or "?")
        raise _unreadable(file, f"{which}: {reason_of(error)}", str(file)) from None


def _unreadable(file: Path, reason: str, source: str) -> UsageError:
    return UsageError(
        tr("gpuenv's configuration `{file}` cannot be read: {reason}", file=file, reason=reason),
        code="bad-configuration",
        because=(Because(reason, source),),
        fixes=(Fix(tr("fix the file, or move it away")),),
    )
