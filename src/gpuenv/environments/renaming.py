"""Rename an environment: what changes in it is written beforehand, then one rename of its folder decides.

What is to be put in place lies in the environment itself; the ledger knows of it under both paths, so that
after a kill it is either forgotten (the folder has its old path) or finished (it has its new one).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from gpuenv.environments import ledger
from gpuenv.environments.folders.within import Within
from gpuenv.environments.ledger import LedgerEntry
from gpuenv.environments.listing import forget_external
from gpuenv.environments.record import read_record
from gpuenv.files.read_limited import is_own
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, InstallFailed
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore

if TYPE_CHECKING:  # `run` only looks whether there is something to finish
    from gpuenv.environments.find_paths import Rewritten


class MovedKernel(Struct, frozen=True):
    """A kernel of Jupyter: the folders it lies in before and afterwards, and what is written into the new."""

    before: str
    after: str
    text: str


class RenameManifest(Struct, frozen=True):
    """From where to where an environment goes, and its kernels."""

    old: str
    new: str
    kernels: tuple[MovedKernel, ...] = ()


def put_beside(root: Path, folder: Path, files: Iterable[Rewritten]) -> None:
    """Write files into a new folder of the environment, where nothing reads them; raise OSError."""
    folder.mkdir(mode=0o700)
    for file in files:
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.link is not None:
            target.symlink_to(file.link)
            continue
        with target.open("xb") as sink:
            sink.write(file.content)
            sink.flush()
            os.fsync(sink.fileno())
        if (root / file.path).exists():
            shutil.copymode(root / file.path, target)


def put_in_place(root: Path, folder: Path) -> None:
    """Move the files to where they belong, as often as it takes; raise OSError.

    Raises ValueError for a file of another user, and where a link leads out of the environment.
    """
    within = Within(root)
    for kept in sorted(folder.rglob("*")):
        if not is_own(kept.lstat()):
            raise ValueError(tr("`{path}` is owned by another user", path=kept))
        if kept.is_dir() and not kept.is_symlink():
            continue
        target = within.check(root / kept.relative_to(folder))
        if target.suffix == ".py":  # a bytecode file goes by the second and the size of its source
            for compiled in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
                within.check(compiled).unlink()
        within.check(kept).replace(target)


def begin(
    source: EnvironmentPaths, target: EnvironmentPaths, entry: LedgerEntry, kernels: tuple[MovedKernel, ...]
) -> None:
    """Note what is under way, under both paths: from now on it is finished or forgotten."""
    manifest = RenameManifest(str(source.path), str(target.path), kernels)
    started = replace(entry, state="begun", data=to_builtins(manifest))
    ledger.note(target, started)
    ledger.note(source, started)


def finish(environment: EnvironmentPaths, entry: LedgerEntry) -> None:
    """Finish or forget a renaming that was begun. The environment must be locked.

    It may be interrupted at any point and be called again. Raises InstallFailed where it can't be done.
    """
    folder = entry.folder(environment.path)
    try:
        manifest = parse_manifest(entry.data)
        old, new = _at(environment.store, manifest.old), _at(environment.store, manifest.new)
        if os.path.realpath(new.path) == os.path.realpath(environment.path):
            put_in_place(environment.path, folder)
            _take_along(environment.store, manifest)
            ledger.drop(old, entry.token)
        else:
            if read_record(new.path) is None:
                forget_external(new)
            ledger.drop(new, entry.token)
        ledger.clear(environment, entry)
    except (OSError, ValueError) as error:
        raise InstallFailed(
            tr(
                "the renaming of `{path}` could not be finished: {error}",
                path=environment.path,
                error=reason_of(error),
            ),
            code="roll-back-failed",
            because=(Because(str(error), str(folder)),),
            fixes=(Fix(tr("fix that, then run the command again")),),
        ) from error


def parse_manifest(data: dict[str, Any]) -> RenameManifest:
    """Parse what `begin` noted; raise ValueError.

    {"old": "/data/envs/paper", "new": "/data/envs/thesis", "kernels": [{"before": "/home/ada/.local/share/
     jupyter/kernels/gpuenv-paper", "after": "/home/.../gpuenv-thesis", "text": "{...}"}]}
    """
    try:
        kernels = tuple(
            MovedKernel(str(item["before"]), str(item["after"]), str(item["text"]))
            for item in data["kernels"]
        )
        return RenameManifest(str(data["old"]), str(data["new"]), kernels)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(tr("the manifest of a rename is invalid")) from error


def _at(store: EnvironmentStore, path: str) -> EnvironmentPaths:
    return EnvironmentPaths(store, Path(path).name, Path(path))


def _take_along(store: EnvironmentStore, manifest: RenameManifest) -> None:
    """Let kernels, notes and logs follow."""
    from gpuenv.environments.contents.kernels import move_kernel  # noqa: PLC0415 - `run` needs none

    old, new = _at(store, manifest.old), _at(store, manifest.new)
    for kernel in manifest.kernels:
        with suppress(OSError):  # the command warns of one that cannot be written
            move_kernel(Path(kernel.before), Path(kernel.after), kernel.text, (old.path, new.path))
    forget_external(old)
    for log in store.logs.glob(f"*{old.log_suffix}"):
        moment = log.name.removesuffix(old.log_suffix).rpartition("-")[2]
        with suppress(OSError):
            log.replace(store.logs / f"{new.path.name}-{moment}{new.log_suffix}")
