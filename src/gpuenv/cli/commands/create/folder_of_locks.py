"""`gpuenv create --from-lock DIR`: the lock of a folder that fits this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpuenv.cli.console import Console
from gpuenv.i18n.messages import tr
from gpuenv.locks.choose_lock import choose_lock
from gpuenv.planning.options import PlanOptions


def take_lock(folder: Path, options: PlanOptions, console: Console) -> tuple[PlanOptions, dict[str, Any]]:
    """Return the options with the lock that fits, and what is told of it in JSON; say which it is."""
    with console.working(tr("reading locks")):
        taken = choose_lock(folder, replace(options, made_here=True), os.environ)
    console.note(
        tr("of {folder} `{lock}` fits: {build}", folder=folder, lock=taken.path.name, build=taken.build)
    )
    if console.verbose:
        for other in taken.passed_over:
            console.note(tr("  not `{lock}`: {why}", lock=other.path.name, why=other.why))
    passed_over = [{"file": str(other.path), "why": other.why} for other in taken.passed_over]
    return taken.options, {"file": str(taken.path), "build": taken.build, "passed_over": passed_over}
