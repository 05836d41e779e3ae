"""`gpuenv list`, `run`, `remove`."""

from __future__ import annotations

import os
from typing import Any

from gpuenv.cli.console import Console
from gpuenv.cli.output import confirm, print_data, print_warnings
from gpuenv.cli.table import render_table, terminal_width
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import N_, tr
from gpuenv.inspection.list_facts import ago, list_facts
from gpuenv.operations import find

_COLUMNS = {
    "name": N_("name"),
    "torch": "torch",
    "variant": N_("variant"),
    "python": "python",
    "manager": N_("manager"),
    "verified": N_("verified"),
    "size": N_("size"),
    "created": N_("created"),
    "last_used": N_("last used"),
    "path": N_("path"),
}
_WORDS = {True: N_("yes"), False: N_("no"), None: N_("not yet")}


def list_environments(console: Console, *, everything: bool) -> int:
    """Print the environments that gpuenv made; `everything`: the user's other conda environments too."""
    result = find.list_all(os.environ)
    rows = [{**find.render_environment(item), **list_facts(item, os.environ)} for item in result]
    warnings = tuple(filter(None, map(find.unreadable, result)))
    warnings += tuple(map(find.interrupted, find.list_interrupted(os.environ)))
    warnings += tuple(filter(None, map(find.outdated, rows)))
    if everything:
        from gpuenv.operations import manage  # noqa: PLC0415 - reads what is installed

        rows += [manage.render_foreign(path) for path in find.list_foreign(os.environ)]
    if console.as_json:
        return console.print_json("list", {"environments": rows}, warnings)
    print_warnings(warnings)
    if not rows:
        console.note(tr("no environments yet: create one with `gpuenv create NAME`"))
    else:
        print_data(render_table([shown_environment(row) for row in rows], _COLUMNS, width=terminal_width()))
    return 0


def shown_environment(row: dict[str, Any]) -> dict[str, Any]:
    """Return an environment's data with sizes and moments as a person reads them."""
    verified = tr(_WORDS[row["verified"]])
    driver = row.get("verified_driver")
    for more in (ago(row.get("verified_at")), tr("driver {version}", version=driver) if driver else None):
        verified = tr("{known}, {more}", known=verified, more=more) if more else verified
    return {
        **row,
        "verified": verified,
        "size": render_size(row["size"]) if row.get("size") is not None else None,
        "created": ago(row.get("created")),
        "last_used": ago(row.get("last_used")),
    }


def remove(name: str, console: Console, *, yes: bool) -> int:
    """Remove an environment created by gpuenv."""
    from gpuenv.operations import manage  # noqa: PLC0415 - not for `list`

    environment = manage.check_removable(name, os.environ)
    if not yes:
        confirm(tr("remove {path}?", path=environment.path))
    removed = manage.remove(name, os.environ)
    if console.as_json:
        return console.print_json("remove", {"name": removed.name, "path": str(removed.path)})
    console.note(tr("removed {path}", path=removed.path))
    return 0
