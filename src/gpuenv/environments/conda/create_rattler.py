"""Create a conda environment with py-rattler, follow its progress, and check the result."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

from msgspec.structs import replace

from gpuenv.environments.conda.create import CondaRunning, check_conda_meta, make_way
from gpuenv.environments.conda.registry import register_environment
from gpuenv.files.private import append_private
from gpuenv.installers import rattler
from gpuenv.installers.conda.rattler_calls import InstallProgress
from gpuenv.installers.conda.solve import Solved
from gpuenv.model.errors import GpuenvError, InstallFailed, Unreachable
from gpuenv.on_disk.directories import remove_tree
from gpuenv.on_disk.journal import MARKER

_SETTLES_S = 2.0  # py-rattler's threads end what they are at
_LOOK_S = 0.05


def create_with_rattler(solved: Solved, running: CondaRunning, system: str) -> None:
    """Make the environment that was solved; it is there whole, or its path is free.

    The path must be free or an empty directory, UsageError else. Where a package cannot be fetched from a
    channel's URL, all starts again with the next one. Raises Unreachable and InstallFailed; Ctrl-C ends it
    and removes what it has created.
    """
    prefix = Path(solved.wanted.prefix)
    make_way(prefix)
    try:
        _install_somewhere(solved, running, prefix)
        check_conda_meta(prefix, solved.records, solved.wanted.pins, system, running.log)
    except BaseException:
        _remove(prefix)
        raise
    register_environment(prefix, running.calling.environ)
    running.progress(solved.size, solved.size)


def _install_somewhere(solved: Solved, running: CondaRunning, prefix: Path) -> None:
    prefix.mkdir()
    running.made()
    while True:
        try:
            return _install(solved, running)
        except (Unreachable, InstallFailed) as error:
            left = rattler.addresses_left(solved.wanted, str((error.data or {}).get("url") or ""))
            if left == solved.wanted:
                raise
            running.calling.tell(error.because[0].text.splitlines()[0])
        solved = replace(solved, wanted=left)
        for child in prefix.iterdir():
            if child.name != MARKER:
                _remove(child)


def _install(solved: Solved, running: CondaRunning) -> None:
    with TextIOWrapper(append_private(running.log), encoding="utf-8") as log:

        def note(name: str) -> None:
            log.write(f"link {name}\n")

        follower = InstallProgress(solved.size, running.progress, note)
        try:
            rattler.install(solved, running.calling, follower)
        except GpuenvError as error:
            log.writelines(f"{reason.text}\n" for reason in error.because)
            raise


def _remove(prefix: Path) -> None:
    """Remove a tree into which a thread may still write for a moment."""
    ends = time.monotonic() + _SETTLES_S
    while time.monotonic() < ends:
        with suppress(OSError):
            remove_tree(prefix)
        time.sleep(_LOOK_S)
        if not os.path.lexists(prefix):
            return
    remove_tree(prefix)
