"""The Pythons that uv manages, installed ones and those that it can download, as `uv python list` has them.

uv is asked anew when it, its settings or its folder of Pythons has changed: asking takes as long as deciding.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gpuenv.files.private import replace_private
from gpuenv.files.read_limited import read_own
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.uv_settings import settings_file, uv_variables
from gpuenv.installers.protocol import sort_offers
from gpuenv.model.python import PythonOffer
from gpuenv.process import subprocesses as process
from gpuenv.process.surroundings import absolute_variables, cache_root
from gpuenv.untrusted.documents import load_json

_LIMIT_S = 20.0
# what uv's answer depends on: https://docs.astral.sh/uv/reference/environment/
_READ = ("HOME", "XDG_DATA_HOME", "UV_LIBC", "UV_OFFLINE")
_READ_FAMILIES = ("UV_PYTHON", "UV_PREVIEW")


class _Kept(Struct, frozen=True):
    state: str
    offers: tuple[PythonOffer, ...]


@cache
def managed_pythons(
    uv: str, environ: tuple[tuple[str, str], ...], *, exact: bool = False
) -> tuple[PythonOffer, ...]:
    """Return the newest patch release of each minor release, or, if `exact`, every patch release."""
    variables = dict(environ)
    state = None if exact else _state(uv, variables)
    file = cache_root(variables) / "uv-pythons.json"
    known = _read(file, state)
    if known is not None:
        return known
    offers = _ask(uv, variables, exact=exact)
    if state and offers:
        with suppress(OSError):  # then uv is asked the next time too
            replace_private(file, msgspec.json.encode(_Kept(state, offers)))
    return offers


def _read(file: Path, state: str | None) -> tuple[PythonOffer, ...] | None:
    try:
        kept = msgspec.json.decode(read_own(file), type=_Kept)
    except (OSError, ValueError):
        return None
    return kept.offers if kept.state == state else None


def _state(uv: str, environ: Mapping[str, str]) -> str | None:
    """Return what tells one answer of uv from another; None where a configuration file may count too."""
    if sys.platform != "linux" or settings_file(environ) is not None:
        return None
    variables = absolute_variables(environ)
    read = {
        name: variables[name]
        for name in sorted(variables)
        if name in _READ or name.startswith(_READ_FAMILIES)
    }
    data = variables.get("XDG_DATA_HOME") or os.path.join(variables.get("HOME", ""), ".local/share")  # noqa: PTH118
    folder = Path(variables.get("UV_PYTHON_INSTALL_DIR") or Path(data, "uv/python"))
    with suppress(OSError):
        facts = (_changed(Path(uv)), sorted(read.items()), tuple(_installed(folder)))
        return sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()
    return None


def _installed(folder: Path) -> Iterator[tuple[object, ...]]:
    with suppress(FileNotFoundError, NotADirectoryError):
        for entry in sorted(folder.iterdir()):
            programs = entry / "bin"
            yield (*_changed(entry), *(_changed(programs) if programs.is_dir() else ()))


def _changed(path: Path) -> tuple[object, ...]:
    status = path.stat()
    return str(path), status.st_ino, status.st_mtime_ns, status.st_size


def _ask(uv: str, environ: Mapping[str, str], *, exact: bool) -> tuple[PythonOffer, ...]:
    # without a PATH uv does not run the interpreters on it, such as slow pyenv shims
    every = ("--all-versions",) if exact else ()
    argv = (uv, "python", "list", "--managed-python", *every, "--output-format", "json")
    listed = process.run(argv, timeout_s=_LIMIT_S, environ={**uv_variables(dict(environ)), "PATH": ""})
    try:
        return parse_python_list(listed.stdout, exact=exact) if listed.ok else ()
    except ValueError:
        return ()  # an older or newer uv


def parse_python_list(text: str, *, exact: bool = False) -> tuple[PythonOffer, ...]:
    """Parse what `uv python list --output-format json` prints; only final releases of CPython count.

        [{"key": "cpython-3.13.18+freethreaded-linux-x86_64-gnu", "version": "3.13.18", "path": null,
          "version_parts": {"major": 3, "minor": 13, "patch": 18}, "variant": "freethreaded",
          "implementation": "cpython", "url": "https://..."}]

    Of several with one MAJOR.MINOR, an installed one is kept, else the newest; `exact` keeps every patch
    release. Raises ValueError.
    """
    rows = load_json(text)
    if not isinstance(rows, list):
        raise ValueError(tr("uv's list of Pythons is not a list"))
    best: dict[object, tuple[bool, int, PythonOffer]] = {}
    for row in rows:
        patch, offer = _parse_row(row)
        if offer is None:
            continue
        key = (offer.minor, offer.free_threaded, patch if exact else None)
        if exact:
            offer = replace(offer, version=f"{offer.version}.{patch}")
        if key not in best or (offer.installed, patch) > best[key][:2]:
            best[key] = (offer.installed, patch, offer)
    newest_first = sorted(best.values(), key=lambda entry: entry[1], reverse=True)
    return sort_offers(tuple(offer for _, _, offer in newest_first))


def _parse_row(row: Any) -> tuple[int, PythonOffer | None]:
    try:
        parts = row["version_parts"]
        major, minor, patch = int(parts["major"]), int(parts["minor"]), int(parts["patch"])
        version, variant, path = row["version"], row.get("variant", "default"), row.get("path")
        implementation = row["implementation"]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        message = tr("`{row}` is not a valid entry of uv's list of Pythons", row=str(row)[:80])
        raise ValueError(message) from None
    known = implementation == "cpython" and variant in {"default", "freethreaded"}
    if not known or version != f"{major}.{minor}.{patch}":
        return 0, None
    facts = {"installed": isinstance(path, str), "free_threaded": variant == "freethreaded"}
    return patch, PythonOffer(f"{major}.{minor}", path, **facts)
