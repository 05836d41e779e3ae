"""`gpuenv self version`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins

from gpuenv import __version__
from gpuenv.cli.console import Console
from gpuenv.cli.output import note
from gpuenv.i18n.messages import series, tr
from gpuenv.operations.latest_version import OnIndex, ask_indexes, is_newer, newest


def own_version(console: Console, *, check: bool, offline: bool) -> int:
    """Print gpuenv's version; look for a newer one on the user's indexes only if requested."""
    indexes: tuple[OnIndex, ...] = ()
    if check:
        with console.working(tr("reading indexes")):
            indexes = ask_indexes(os.environ, offline=offline)
    console.print_result("self version", _data(indexes, check=check), f"gpuenv {__version__}")
    for line in _lines(indexes) if check and not console.as_json else ():
        note(line)
    return 0


def _data(indexes: tuple[OnIndex, ...], *, check: bool) -> dict[str, Any]:
    best = newest(indexes)
    return {
        "version": __version__,
        "checked": check,
        "newest": str(best.newest) if best else None,
        "newer": is_newer(best.newest) if best else None,
        "indexes": [
            {**to_builtins(item, enc_hook=str), "newest": str(item.newest) if item.newest else None}
            for item in indexes
        ],
    }


def _lines(indexes: tuple[OnIndex, ...]) -> Iterator[str]:
    best = newest(indexes)
    for item in indexes:
        if item.problem is not None:
            yield tr("{url} could not be read: {problem}", url=item.url, problem=item.problem)
    read = [item.url for item in indexes if item.problem is None]
    if best is not None and is_newer(best.newest):
        yield tr("{url} lists gpuenv {version}, which is newer", url=best.url, version=best.newest)
        fix = tr(
            "gpuenv's authors have not published it on an index yet: check who published it before "
            "you install it"
        )
        yield tr("hint: {fix}", fix=fix)
    elif best is not None:
        yield tr("no newer version is listed: {url} has {version}", url=best.url, version=best.newest)
    elif read:
        yield tr("gpuenv is not listed on {urls}", urls=series(read))
    else:
        yield tr("cannot check for a newer version: no index could be reached")
