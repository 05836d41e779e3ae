"""`gpuenv mirrors list`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from msgspec import to_builtins

from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data
from gpuenv.cli.table import render_table, terminal_width
from gpuenv.i18n.messages import N_, gettext, tr
from gpuenv.indexes.mirrors.load import Mirrors, load_mirrors
from gpuenv.model.mirror import Mirror, MirrorStatus

_COLUMNS = {
    "name": N_("name"),
    "status": N_("status"),
    "pypi": "pypi",
    "torch": "torch",
    "conda": "conda",
    "title": N_("title"),
}
_STATUSES: dict[MirrorStatus, str] = {
    "alive": N_("alive"),
    "partial": N_("partial"),
    "redirector": N_("redirector"),
    "stale": N_("stale"),
    "retired": N_("retired"),
}


def show(console: Console) -> int:
    """Print the mirrors, the retired ones last; under -v, what each is known to get wrong."""
    mirrors = load_mirrors(os.environ)
    if console.as_json:
        rows = [{**to_builtins(item), "own": item.name in mirrors.own} for item in mirrors.all]
        return console.print_json("mirrors list", {"mirrors": rows})
    print_data(render_table([_row(item, mirrors) for item in mirrors.all], _COLUMNS, width=terminal_width()))
    if console.verbose:
        for mirror in mirrors.all:
            for fault in mirror.faults:
                print_data(f"{mirror.name}: {gettext(fault.text)} ({fault.source})")
    return 0


def _row(mirror: Mirror, mirrors: Mirrors) -> Mapping[str, Any]:
    own = tr("your own, {file}", file=mirrors.file)
    return {
        "name": mirror.name,
        "status": tr(_STATUSES[mirror.status]),
        "pypi": _yes(mirror.pypi),
        "torch": mirror.torch.layout if mirror.torch else None,
        "conda": _yes(mirror.conda),
        "title": f"{mirror.title} ({own})" if mirror.name in mirrors.own else gettext(mirror.title),
    }


def _yes(part: object) -> str | None:
    return tr("yes") if part else None
