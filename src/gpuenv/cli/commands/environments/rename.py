"""`gpuenv rename`."""

from __future__ import annotations

import os

from gpuenv.cli.console import Console
from gpuenv.cli.output import print_warnings
from gpuenv.i18n.messages import tr
from gpuenv.relocation.rename import rename as rename_environment


def rename(old: str, new: str, console: Console) -> int:
    """Rename an environment that gpuenv made."""
    with console.working(tr("renaming `{name}`", name=old)):
        renamed = rename_environment(old, new, os.environ, console.note)
    environment, before = renamed.new, renamed.old
    if console.as_json:
        python = str(renamed.python)
        data = {
            "environment": {"name": environment.name, "path": str(environment.path), "python": python},
            "previous": {"name": before.name, "path": str(before.path)},
            "kernels": [str(folder) for folder in renamed.kernels],
        }
        return console.print_json("rename", data, renamed.warnings)
    print_warnings(renamed.warnings)
    console.note(tr("renamed {path} to {new}", path=before.path, new=environment.path))
    for folder in renamed.kernels:
        console.note(tr("its kernel is now `{name}`, in {path}", name=folder.name, path=folder))
    return 0
