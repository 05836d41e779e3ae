"""`gpuenv rename`: an environment under another name, or at another path of the same file system."""

from __future__ import annotations

import errno
import json
import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from gpuenv.activation.entering import python_of
from gpuenv.environments import ledger, renaming
from gpuenv.environments.contents.kernel_spec import kernel_name, moved_kernel
from gpuenv.environments.contents.kernels import LIST, is_kernel_of, kernels_of, read_kernel
from gpuenv.environments.contents.size import forget_size
from gpuenv.environments.file_lock import WAIT_S
from gpuenv.environments.find_paths import Rewritten
from gpuenv.environments.folders.preconditions import check_beginning
from gpuenv.environments.listing import note_external
from gpuenv.environments.os_errors import converting_os_errors
from gpuenv.environments.renaming import MovedKernel
from gpuenv.environments.rewrite_paths import moved_path
from gpuenv.environments.store import is_path
from gpuenv.files.disk_space import existing_part
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.plan import PlanWarning
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.operations.settle import word_for
from gpuenv.process import interruption
from gpuenv.process.surroundings import cache_root
from gpuenv.relocation.relocate import (
    both_locked,
    check_new,
    move_between,
    moved_files,
    new_place,
    source_environment,
)


class Renamed(Struct, frozen=True):
    """The result: where the environment was and is, and the folders of its kernels."""

    old: EnvironmentPaths
    new: EnvironmentPaths
    python: Path
    kernels: tuple[Path, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()


def rename(
    old: str,
    new: str,
    environ: Mapping[str, str],
    tell: Callable[[str], None] = lambda _: None,
    *,
    wait_s: float = WAIT_S,
) -> Renamed:
    """Rename an environment; what ends it leaves it whole under its old name or its new one.

    Raises UsageError (unknown, busy, conda's, taken, on another file system) and InstallFailed.
    """
    source = source_environment(old, environ, lambda path: _by_conda(path, new), change=True).paths
    target = new_place(new, source, environ)
    check_beginning(target, environ)
    with interruption.heeded(), both_locked((source, target), target, wait_s=wait_s, tell=tell):
        source_environment(old, environ, lambda path: _by_conda(path, new))  # it may have gone meanwhile
        check_new(target)
        _check_one_disk(source, target)
        with interruption.held():
            with converting_os_errors(source):
                kernels = _prepare(source, target)
                forget_size(source, cache_root(environ))
                _move(source, target)
            _end(target)  # a kill leaves it to the next command
    stale = tuple(Path(kernel.before) for kernel in kernels if is_kernel_of(Path(kernel.before), source.path))
    return Renamed(
        source,
        target,
        python_of(target.path),
        kernels_of(target.path),
        _warnings(source, target, stale, environ),
    )


def _by_conda(path: str, new: str) -> Fix:
    return Fix(tr("let conda rename it"), f"conda rename -p {shlex.quote(path)} {shlex.quote(new)}")


def _check_one_disk(source: EnvironmentPaths, target: EnvironmentPaths) -> None:
    if source.path.stat().st_dev == existing_part(target.path).stat().st_dev:
        return
    raise _other_disk(source, target)


def _other_disk(source: EnvironmentPaths, target: EnvironmentPaths) -> UsageError:
    return UsageError(
        tr("`{path}` is on another file system than `{other}`", path=target.path, other=source.path),
        code="other-file-system",
        because=(Because(tr("a directory cannot be renamed across file systems"), str(target.path)),),
        fixes=(
            Fix(tr("copy it"), f"gpuenv clone {word_for(source)} {word_for(target)}"),
            Fix(tr("then remove the original"), f"gpuenv remove {word_for(source)}"),
        ),
    )


def _prepare(source: EnvironmentPaths, target: EnvironmentPaths) -> tuple[MovedKernel, ...]:
    """Write all that will change, before anything does; return the kernels. Raises OSError."""
    root, entry = source.path, ledger.note(source, ledger.new_entry("renaming"))
    try:
        kernels = _kernels(source, target)
        files = [
            rewritten
            for rewritten in moved_files(root, source, target, lambda record: record)
            if rewritten.path != LIST
        ]
        if kernels:
            listed = json.dumps(sorted(kernel.after for kernel in kernels)) + "\n"
            files.append(Rewritten(LIST, listed.encode("ascii")))
        renaming.put_beside(root, entry.folder(root), files)
        interruption.check()
        renaming.begin(source, target, entry, kernels)
    except BaseException:
        ledger.clear(source, entry)
        raise
    return kernels


def _kernels(source: EnvironmentPaths, target: EnvironmentPaths) -> tuple[MovedKernel, ...]:
    name = kernel_name(target.path.name, target.key[:8] if is_path(target.name) else "")
    move = move_between(source, target)
    moved = []
    for folder in kernels_of(source.path):
        if not is_kernel_of(folder, source.path):
            continue
        before = Path(moved_path(str(folder), move) or folder)  # one that lies inside moves with it
        free = before.name == name or not os.path.lexists(folder.parent / name)
        after = before.parent / name if free else before
        text = moved_kernel(read_kernel(folder), move)
        moved.append(MovedKernel(str(before), str(after), text))
    return tuple(moved)


def _move(source: EnvironmentPaths, target: EnvironmentPaths) -> None:
    try:
        target.path.parent.mkdir(parents=True, exist_ok=True)
        note_external(target)
        interruption.check()
        source.path.rename(target.path)
    except BaseException as error:
        if source.path.exists():  # a signal may come just after the rename
            _end(source)
        if isinstance(error, OSError) and error.errno == errno.EXDEV:
            raise _other_disk(source, target) from None
        raise


def _end(environment: EnvironmentPaths) -> None:
    entry = ledger.begun(environment)
    if entry is not None:
        renaming.finish(environment, entry)


def _warnings(
    source: EnvironmentPaths, target: EnvironmentPaths, stale: tuple[Path, ...], environ: Mapping[str, str]
) -> tuple[PlanWarning, ...]:
    name = word_for(target)
    warnings = [
        PlanWarning(
            "kernel-left",
            tr("the kernel in {path} could not be changed: `gpuenv kernel {name}`", path=folder, name=name),
        )
        for folder in stale
    ]
    if environ.get("VIRTUAL_ENV") == str(source.path):
        text = tr("it is active in this shell with its old path: `gpuenv activate {name}`", name=name)
        warnings.append(PlanWarning("active-by-old-path", text))
    return tuple(warnings)
