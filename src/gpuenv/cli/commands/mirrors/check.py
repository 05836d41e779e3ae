"""`gpuenv mirrors check`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from msgspec import to_builtins

from gpuenv.cli.console import Console
from gpuenv.cli.output import note, print_data
from gpuenv.cli.table import render_table, terminal_width
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import N_, ngettext, series, tr
from gpuenv.indexes.mirrors.verdict import MirrorStatus
from gpuenv.mirrors.check import CheckedMirrors, CheckOptions, check_mirrors, raise_unless_served

_COLUMNS = {
    "rank": N_("rank"),
    "name": N_("name"),
    "kind": N_("kind"),
    "answers": N_("responds"),
    "has": N_("has"),
    "newest_torch": N_("newest_torch"),
    "stale": N_("stale"),
    "leaks": N_("leaks"),
    "speed": N_("speed"),
    "problem": N_("problem"),
}
_SILENT = 2  # -qq: no table
_KINDS = {
    "university": N_("university"),
    "commercial": N_("commercial"),
    "router": N_("router"),
    "official": N_("official"),
    "own": N_("own"),
}


def check(options: CheckOptions, console: Console) -> int:
    """Print what each mirror has and how fast it is; exit 4 where none answers."""
    with console.working(tr("checking the mirrors")) as update:

        def follow(name: str, done: int, of: int) -> None:
            update(tr("checking the mirrors: {done} of {all}, latest {name}", done=done, all=of, name=name))

        checked = check_mirrors(options, os.environ, follow)
    data = {"files": list(checked.files), "mirrors": [_data(status, checked) for status in checked.verdicts]}
    if not console.as_json:
        if not console.quiet:
            _print_scope(checked)
        print_data(
            render_table(
                [_row(status) for status in checked.verdicts],
                _COLUMNS,
                width=terminal_width(),
                prose="problem",
            )
        )
    shown = not console.as_json and console.quietness < _SILENT
    raise_unless_served(checked, options, data, shown=shown)
    return console.print_json("mirrors check", data) if console.as_json else 0


def _print_scope(checked: CheckedMirrors) -> None:
    note(tr("looked for {files}", files=series(checked.files)))
    if checked.remembered:
        who = ngettext("1 mirror was", "{count} mirrors were", len(checked.remembered))
        note(tr("{who} measured today and not checked again; --again measures again", who=who))


def _data(verdict: MirrorStatus, checked: CheckedMirrors) -> dict[str, Any]:
    at = verdict.measured_at
    facts = {name: value for name, value in to_builtins(verdict).items() if name != "measured_at"}
    when = None if at is None else datetime.fromtimestamp(int(at), timezone.utc).isoformat()
    return {**facts, "measured": when, "remembered": verdict.name in checked.remembered}


def _row(verdict: MirrorStatus) -> Mapping[str, Any]:
    pace = verdict.bytes_per_s
    return {
        **to_builtins(verdict),
        "kind": tr(_KINDS[verdict.kind]) if verdict.kind in _KINDS else verdict.kind,
        "answers": _yes_or_no(verdict.answers),
        "has": _yes_or_no(verdict.has),
        "stale": _yes_or_no(verdict.stale),
        "leaks": verdict.leaks or (None if verdict.leaks is None else tr("no")),
        "speed": tr("{size}/s", size=render_size(pace)) if pace is not None else None,
    }


def _yes_or_no(fact: bool | None) -> str | None:
    return None if fact is None else tr("yes") if fact else tr("no")
