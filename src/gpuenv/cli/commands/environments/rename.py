"""`gpuenv rename`."""

from __future__ import annotations

import os

from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, note, print_json, print_warnings, working
from gpuenv.i18n.messages import tr
from gpuenv.relocation.rename import rename as rename_environment


def rename(old: str, new: str, common: Common) -> int:
    """Rename an environment that gpuenv made."""
    with working(tr("renaming `{name}`", name=old), quiet=common.quiet):
        renamed = rename_environment(old, new, os.environ, (lambda _: None) if common.quiet else note)
    environment, before = renamed.new, renamed.old
    if common.as_json:
        data = {
            "environment": {
                "name": environment.name,
                "path": str(environment.path),
                "python": str(renamed.python),
            },
            "previous": {"name": before.name, "path": str(before.path)},
            "kernels": [str(folder) for folder in renamed.kernels],
        }
        print_json(envelope("rename", data, warnings=renamed.warnings))
        return 0
    print_warnings(renamed.warnings)
    if not common.quiet:
        note(tr("renamed {path} to {new}", path=before.path, new=environment.path))
        for folder in renamed.kernels:
            note(tr("its kernel is now `{name}`, in {path}", name=folder.name, path=folder))
    return 0
