"""`gpuenv clone`: another environment with the very same packages, from no index."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.activation.entering import python_of
from gpuenv.environments import ledger, renaming
from gpuenv.environments import transaction as apply
from gpuenv.environments.contents.kernels import kernels_of, remove_kernel
from gpuenv.environments.file_lock import WAIT_S, locked
from gpuenv.environments.folders.preconditions import check_beginning
from gpuenv.environments.listing import Environment, note_external
from gpuenv.environments.os_errors import converting_os_errors
from gpuenv.environments.record import Record
from gpuenv.environments.store import is_path
from gpuenv.i18n.messages import series, tr
from gpuenv.model.errors import Because, Fix, InstallFailed
from gpuenv.model.machine import Machine
from gpuenv.on_disk.directories import remove_tree
from gpuenv.on_disk.installed import installed_versions
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.operations.unverified import proof_interrupted
from gpuenv.operations.verify import VerifyOptions, VerifyResult, verify
from gpuenv.process import interruption
from gpuenv.relocation.copy_tree import CopiedTree, check_copied_room, copy_tree, read_tree
from gpuenv.relocation.relocate import both_locked, check_new, moved_files, new_place, source_environment


class PlannedClone(Struct, frozen=True):
    """What is to be copied, and where to."""

    source: Environment
    paths: EnvironmentPaths
    tree: CopiedTree


class CloneOptions(Struct, frozen=True):
    """How to copy: tell what goes on, show the bytes copied and all of them."""

    tell: Callable[[str], None] = lambda _: None
    progress: Callable[[int, int], None] = lambda _, __: None


def plan_clone(source: str, name: str, environ: Mapping[str, str]) -> PlannedClone:
    """Look at what is to be copied, and raise UsageError or InstallFailed early where it can't be."""
    environment = source_environment(source, environ, lambda path: _by_conda(path, name))
    paths = new_place(name, environment.paths, environ)
    check_beginning(paths, environ)
    with converting_os_errors(environment.paths):
        tree = read_tree(environment.paths.path)
    check_copied_room(tree, paths.path)
    return PlannedClone(environment, paths, tree)


def _by_conda(path: str, name: str) -> Fix:
    option = "-p" if is_path(name) else "-n"
    return Fix(
        tr("let conda copy it"), f"conda create --clone {shlex.quote(path)} {option} {shlex.quote(name)}"
    )


def clone(planned: PlannedClone, how: CloneOptions | None = None) -> Path:
    """Make the copy and return its Python; whatever ends it before it is whole leaves nothing.

    Raises UsageError (busy, or taken meanwhile) and InstallFailed.
    """
    how = how or CloneOptions()
    source, environment = planned.source.paths, planned.paths
    with interruption.heeded(), both_locked((environment,), source, wait_s=WAIT_S, tell=how.tell):
        check_new(environment)
        with apply.changing(environment, force=False) as change:
            tree = read_tree(source.path)
            copy_tree(source.path, tree, environment.path, how.progress)
            beside = ledger.new_entry("renaming").folder(environment.path)
            renaming.put_beside(
                environment.path, beside, moved_files(environment.path, source, environment, _fresh)
            )
            renaming.put_in_place(environment.path, beside)
            remove_tree(beside)
            _drop_kernels(source, environment)
            _check_same(source, environment)
            note_external(environment)
            interruption.check()
            change.commit()
    return python_of(environment.path)


def _fresh(record: Record) -> Record:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return replace(record, created=now, verified=None, verify=None, proof=None, request=None)


def _drop_kernels(source: EnvironmentPaths, environment: EnvironmentPaths) -> None:
    """Kernels that lie in the environment itself are registered for the original."""
    for kernel in kernels_of(source.path):
        if kernel.is_relative_to(source.path):
            remove_kernel(environment.path / kernel.relative_to(source.path), environment.path)


def _check_same(source: EnvironmentPaths, environment: EnvironmentPaths) -> None:
    """Raise InstallFailed where a pip was at work on the original meanwhile."""
    before, after = installed_versions(source.path), installed_versions(environment.path)
    different = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if different:
        raise InstallFailed(
            tr("`{name}` changed while it was copied", name=source.name),
            code="environment-changed",
            because=(Because(series(different), str(source.path)),),
            fixes=(Fix(tr("run the command again")),),
        )


def prove_clone(
    environment: EnvironmentPaths, python: Path, environ: Mapping[str, str], machine: Machine
) -> VerifyResult:
    """Verify the copy and record the result; raise ProofInterrupted on Ctrl-C: the copy stays."""
    try:
        with locked(environment):
            return verify(str(python), environ, machine=machine, options=VerifyOptions(trust=True))
    except KeyboardInterrupt:
        raise proof_interrupted(environment.name, environment.path, python) from None
