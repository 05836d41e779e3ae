"""`gpuenv mirrors use` and `mirrors reset`."""

from __future__ import annotations

import os
from typing import Any

from gpuenv.cli.options import Common
from gpuenv.cli.output import (
    check_terminal,
    confirm,
    envelope,
    note,
    print_data,
    print_file,
    print_json,
    print_warnings,
)
from gpuenv.i18n.messages import tr
from gpuenv.mirrors.chosen_mirror import UseOptions
from gpuenv.mirrors.use import Changes, ConfigurationChange, apply_reset, apply_use, plan_reset, plan_use
from gpuenv.model.mirror import Tool
from gpuenv.secrets.url_credentials import redact_credentials


def use(name: str, options: UseOptions, common: Common, *, print_only: bool, yes: bool) -> int:
    """Show what would change, ask, write."""
    planned = plan_use(name, options, os.environ)
    if print_only:
        return _print_only(planned, "mirrors use", common)
    if not _agreed(planned, common, yes=yes):
        return _report("mirrors use", planned, common, tr("nothing to change: already configured"))
    apply_use(planned, os.environ)
    written = ", ".join(str(change.path) for change in planned.changes)
    return _report(
        "mirrors use", planned, common, tr("wrote {files}; undo: gpuenv mirrors reset", files=written)
    )


def reset(tools: tuple[Tool, ...], common: Common, *, print_only: bool, yes: bool) -> int:
    """Show what would come back, ask, write."""
    planned = plan_reset(tools, os.environ)
    if print_only:
        return _print_only(planned, "mirrors reset", common)
    if not planned.changes:
        return _report(
            "mirrors reset", planned, common, tr("nothing to undo: gpuenv has not changed any file")
        )
    for change in planned.changes:
        if change.left and not common.quiet:
            keys = ", ".join(f"`{key}`" for key in change.left)
            note(tr("{file}: {keys} changed since and are left unchanged", file=change.path, keys=keys))
    _agreed(planned, common, yes=yes)
    apply_reset(planned, os.environ)
    files = ", ".join(str(change.path) for change in planned.changes)
    return _report("mirrors reset", planned, common, tr("restored {files}", files=files))


def _agreed(planned: Changes, common: Common, *, yes: bool) -> bool:
    """Show the changes and ask; false where there is nothing to do."""
    if not common.quiet:
        print_warnings(planned.warnings)
    if all(change.before == change.after for change in planned.changes):
        return False
    if not yes:
        check_terminal(assume="--yes")
    if not common.as_json and not (common.quiet and yes):
        for change in planned.changes:
            print_data(change.diff.rstrip("\n"))
    if not yes:
        confirm(tr("write this?"), assume="--yes")
    return True


def _print_only(planned: Changes, command: str, common: Common) -> int:
    if common.as_json:
        return _report(command, planned, common, "")
    if not common.quiet:
        print_warnings(planned.warnings)
    for change in planned.changes:
        print_data(f"# {change.path}")
        text = (change.after or b"").decode("utf-8", "replace").rstrip("\n")
        if redact_credentials(text) != text and not common.quiet:
            hidden = tr(
                "{file} contains a password, shown as ****: without --print it is written unchanged",
                file=change.path,
            )
            note(hidden)
        print_file(redact_credentials(text))
    return 0


def _report(command: str, planned: Changes, common: Common, text: str) -> int:
    if common.as_json:
        data = {"mirror": planned.mirror or None, "files": [_data(change) for change in planned.changes]}
        print_json(envelope(command, data, warnings=planned.warnings))
    elif not common.quiet:
        note(text)
    return 0


def _data(change: ConfigurationChange) -> dict[str, Any]:
    return {
        "tool": change.tool,
        "path": str(change.path),
        "diff": change.diff,
        "text": None if change.after is None else change.after.decode("utf-8", "replace"),
        "left": list(change.left),
    }
