"""Rename an environment: what changes in it is written beforehand, then one rename of its folder decides.

What is to be put in place lies in the environment itself, with a manifest, so that after a kill the next
command either forgets it (the folder has its old path) or finishes (it has its new one).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpuenv.environments import elsewhere
from gpuenv.environments.record import replace_file
from gpuenv.environments.store import Place, Store
from gpuenv.environments.trees import remove_tree
from gpuenv.reading import read_limited_text
from gpuenv.values.documents import load_json
from gpuenv.values.errors import Because, Fix, InstallFailed
from gpuenv.values.system_words import reason_of
from gpuenv.values.text import tr

if TYPE_CHECKING:  # `run` only looks whether there is something to finish
    from gpuenv.environments.relocation import Rewritten

FOLDER = ".gpuenv-renaming"
_MANIFEST = "manifest.json"
_FILES = "files"


@dataclass(frozen=True, slots=True)
class MovedKernel:
    """A kernel of Jupyter: the folders it lies in before and afterwards, and what is written into the new."""

    before: str
    after: str
    text: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """From where to where an environment goes, and its kernels."""

    old: str
    new: str
    kernels: tuple[MovedKernel, ...] = ()


def put_beside(root: Path, files: Iterable[Rewritten]) -> None:
    """Write files into the environment where nothing reads them; raise OSError."""
    remove_tree(root / FOLDER)
    (root / FOLDER / _FILES).mkdir(parents=True)
    for file in files:
        target = root / FOLDER / _FILES / file.path
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


def put_in_place(root: Path) -> None:
    """Move the files to where they belong, as often as it takes; raise OSError."""
    for kept in sorted((root / FOLDER / _FILES).rglob("*")):
        if kept.is_dir() and not kept.is_symlink():
            continue
        target = root / kept.relative_to(root / FOLDER / _FILES)
        if target.suffix == ".py":  # a bytecode file goes by the second and the size of its source
            for compiled in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
                compiled.unlink()
        kept.replace(target)


def begin(root: Path, manifest: Manifest) -> None:
    """Note what is under way: from now on it is finished or forgotten."""
    replace_file(root / FOLDER / _MANIFEST, json.dumps(asdict(manifest)))


def is_left(root: Path) -> bool:
    """Tell whether a renaming has not ended."""
    return os.path.isdir(root / FOLDER)  # noqa: PTH112 - False where nobody may look


def discard(root: Path) -> None:
    """Forget it."""
    with suppress(FileNotFoundError):
        (root / FOLDER / _MANIFEST).unlink()
    remove_tree(root / FOLDER)


def finish(place: Place) -> bool:
    """Finish or forget a renaming that was begun; tell whether there was one. The place must be locked.

    It may be interrupted at any point and be called again. Raises InstallFailed where it can't be done.
    """
    if not is_left(place.path):
        return False
    try:
        manifest = _read(place.path)
        if manifest is not None and manifest.new == str(place.path):
            put_in_place(place.path)
            _take_along(place.store, manifest)
        elif manifest is not None and manifest.old == str(place.path):
            elsewhere.forget(_at(place.store, manifest.new))
        discard(place.path)
    except (OSError, ValueError) as error:
        raise InstallFailed(
            tr(
                "the renaming of `{path}` could not be finished: {error}",
                path=place.path,
                error=reason_of(error),
            ),
            code="roll-back-failed",
            because=(Because(str(error), str(place.path / FOLDER)),),
            fixes=(Fix(tr("mend that, then run the command again: it tries once more")),),
        ) from error
    return True


def _read(root: Path) -> Manifest | None:
    try:
        text = read_limited_text(root / FOLDER / _MANIFEST)
    except FileNotFoundError:  # nothing had begun
        return None
    return parse_manifest(text)


def parse_manifest(text: str) -> Manifest:
    """Parse what `begin` noted; raise ValueError.

    {"old": "/data/envs/paper", "new": "/data/envs/thesis", "kernels": [{"before": "/home/ada/.local/share/
     jupyter/kernels/gpuenv-paper", "after": "/home/.../gpuenv-thesis", "text": "{...}"}]}
    """
    try:
        document = load_json(text)
        kernels = tuple(
            MovedKernel(str(one["before"]), str(one["after"]), str(one["text"]))
            for one in document["kernels"]
        )
        return Manifest(str(document["old"]), str(document["new"]), kernels)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(tr("the manifest of a renaming is garbled")) from error


def _at(store: Store, path: str) -> Place:
    return Place(store, Path(path).name, Path(path))


def _take_along(store: Store, manifest: Manifest) -> None:
    """Let kernels, notes and logs follow."""
    from gpuenv.environments.kernels import move_kernel  # noqa: PLC0415 - `run` needs none

    old, new = _at(store, manifest.old), _at(store, manifest.new)
    for kernel in manifest.kernels:
        with suppress(OSError):  # one that can't be written is told of by the command
            move_kernel(Path(kernel.before), Path(kernel.after), kernel.text, (old.path, new.path))
    elsewhere.forget(old)
    ending = f"-{old.key[:6]}.log"
    for log in store.logs.glob(f"*{ending}"):
        moment = log.name.removesuffix(ending).rpartition("-")[2]
        with suppress(OSError):
            log.replace(store.logs / f"{new.path.name}-{moment}-{new.key[:6]}.log")
