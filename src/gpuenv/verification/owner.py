"""The owner of an environment: verifying another user's environment runs that user's code."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.verification.locate import LocatedPython


def other_owner(located: LocatedPython) -> str | None:
    """Return the other user, if any but root, who owns an environment or a part of it that is run."""
    if os.name != "posix":
        return None
    trusted = {os.geteuid(), 0}
    for path in _deciding(located):
        try:
            owner = path.lstat().st_uid
        except OSError:
            continue
        if owner not in trusted:
            return _name(owner)
    return None


def _deciding(located: LocatedPython) -> tuple[Path, ...]:
    """Return the paths that decide which code runs; what one's own environment links to counts as trusted."""
    python, root = located.python, located.root
    if root is None:
        return (python, Path(os.path.realpath(python)))
    return (root, python.parent, python, root / "pyvenv.cfg", *sorted(root.glob("lib/python*/site-packages")))


def _name(owner: int) -> str:
    import pwd  # noqa: PLC0415 - on POSIX alone

    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return str(owner)


def refuse_other_owner(located: LocatedPython) -> None:
    """Raise UsageError for an environment of another user."""
    owner = other_owner(located)
    if owner is None:
        return
    path = located.label
    raise UsageError(
        tr("`{path}` is owned by {owner}: verify would run that user's code", path=path, owner=owner),
        code="other-owner",
        because=(Because(tr("owned by {owner}", owner=owner), path),),
        fixes=(
            Fix(tr("run it anyway if you trust that user"), f"gpuenv verify {shlex.quote(path)} --trust"),
            Fix(tr("or look at its files only"), f"gpuenv doctor {shlex.quote(path)}"),
        ),
    )
