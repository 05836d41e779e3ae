"""The files of `--format ansible`: a playbook, the module beside it, and what is to be made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gpuenv.fleet.engines.ansible import MODULE
from gpuenv.fleet.render.ansible import GroupPlay, render_module, render_playbook
from gpuenv.i18n.messages import tr

Group = tuple[tuple[str, ...], str, Mapping[str, Any]]


def playbook_files(groups: Sequence[Group], name: str, program: bytes) -> dict[str, str]:
    """Return the files' texts by their paths; a group is its hosts, a line about it, and its request."""
    locks = {f"locks/group-{number}.json": entry for number, (_, _, entry) in enumerate(groups, 1)}
    plays = [
        GroupPlay(hosts, lock, (tr("group {number}", number=number), about))
        for number, ((hosts, about, _), lock) in enumerate(zip(groups, locks, strict=True), 1)
    ]
    return {
        "playbook.yml": render_playbook(plays, name),
        "library/gpuenv_node.py": render_module(MODULE.read_text(encoding="utf-8"), program),
        **{path: json.dumps(request, indent=1) + "\n" for path, request in locks.items()},
    }
