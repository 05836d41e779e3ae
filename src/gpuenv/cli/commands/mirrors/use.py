"""`gpuenv mirrors use` and `mirrors reset`."""

from __future__ import annotations

import os
from typing import Any

from gpuenv.cli.console import Console
from gpuenv.cli.output import check_terminal, confirm, print_data, print_file
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.mirrors.settings import UseOptions
from gpuenv.mirrors.use import Changes, ConfigurationChange, apply_reset, apply_use, plan_reset, plan_use
from gpuenv.model.mirror import Tool
from gpuenv.secrets.url_credentials import redact_credentials


def use(name: str, options: UseOptions, console: Console, *, print_only: bool, yes: bool) -> int:
    """Show what would change, ask, write."""
    planned = plan_use(name, options, os.environ)
    if print_only:
        return _print_only(planned, "mirrors use", console)
    if not _confirm(planned, console, yes=yes):
        return _report("mirrors use", planned, console, tr("nothing to change: already configured"))
    apply_use(planned, os.environ)
    written = series(str(change.path) for change in planned.changes)
    text = tr("wrote {files}; undo: gpuenv mirrors reset", files=written)
    return _report("mirrors use", planned, console, text)


def reset(tools: tuple[Tool, ...], console: Console, *, print_only: bool, yes: bool) -> int:
    """Show what would be restored, ask, write."""
    planned = plan_reset(tools, os.environ)
    if print_only:
        return _print_only(planned, "mirrors reset", console)
    if not planned.changes:
        text = tr("nothing to undo: gpuenv has not changed any file")
        return _report("mirrors reset", planned, console, text)
    for change in planned.changes:
        if change.left:
            keys = series(f"`{key}`" for key in change.left)
            console.note(
                tr("{file}: {keys} changed since and are left unchanged", file=change.path, keys=keys)
            )
    _confirm(planned, console, yes=yes)
    apply_reset(planned, os.environ)
    files = series(str(change.path) for change in planned.changes)
    return _report("mirrors reset", planned, console, tr("restored {files}", files=files))


def _confirm(planned: Changes, console: Console, *, yes: bool) -> bool:
    """Show the changes and ask; false where there is nothing to do."""
    console.warn(planned.warnings)
    if all(change.before == change.after for change in planned.changes):
        return False
    if not yes:
        check_terminal()
    if not console.as_json and not (console.quiet and yes):
        for change in planned.changes:
            print_file(change.diff.rstrip("\n"))
    if not yes:
        confirm(tr("write this?"))
    return True


def _print_only(planned: Changes, command: str, console: Console) -> int:
    if console.as_json:
        return _report(command, planned, console, "")
    console.warn(planned.warnings)
    for change in planned.changes:
        print_data(f"# {change.path}")
        text = (change.after or b"").decode("utf-8", "replace").rstrip("\n")
        if redact_credentials(text) != text:
            hidden = N_("{file} contains a password, shown as ****: without --print it is written unchanged")
            console.note(tr(hidden, file=change.path))
        print_file(redact_credentials(text))
    return 0


def _report(command: str, planned: Changes, console: Console, text: str) -> int:
    if console.as_json:
        data = {"mirror": planned.mirror or None, "files": [_data(change) for change in planned.changes]}
        return console.print_json(command, data, planned.warnings)
    console.note(text)
    return 0


def _data(change: ConfigurationChange) -> dict[str, Any]:
    return {
        "tool": change.tool,
        "path": str(change.path),
        "diff": change.diff,
        "text": None if change.after is None else change.after.decode("utf-8", "replace"),
        "left": list(change.left),
    }
