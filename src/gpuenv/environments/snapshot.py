"""Keep the files of a few distributions aside, so that what an installer did to them can be undone.

Large files are hard links where the file system has them: installers put new files in place of old ones and
never write into libraries. What is kept lies in the environment itself, so that what a killed gpuenv has left
can be made good later; gpuenv's own files are kept as well.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from packaging.utils import canonicalize_name

from gpuenv.environments.record import FILE_NAME, replace_file
from gpuenv.environments.trees import remove_tree
from gpuenv.machine.executables import read_text
from gpuenv.reading import read_limited_text
from gpuenv.values.documents import load_json
from gpuenv.values.text import tr

FOLDER = ".gpuenv-repair"
_MANIFEST = "manifest.json"
_FILES = "files"
_OWN = (FILE_NAME, "constraints.txt", "pip.conf", "pip.ini")  # at the root
_COMMANDS = ("bin", "Scripts")
_COMPILED = "__pycache__"
_RECORD = 64 << 20  # bytes
_MOST = 500_000
_LARGE = 1 << 20  # bytes; smaller files, which something might write into, are copied


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was kept: the distributions by name, their directories, and what lay in these before.

    `before` is None where an older gpuenv took it. Once `cleared`, all that is left to do is to move back.
    """

    names: tuple[str, ...]
    places: tuple[str, ...]
    before: frozenset[str] | None = None
    cleared: bool = False


def take(root: Path, places: tuple[str, ...], touched: Iterable[str]) -> Path:
    """Keep the files of the distributions that will be touched; those not yet there are noted as new.

    Raises OSError. The manifest is written last: without it nothing had begun.
    """
    folder = root / FOLDER
    remove_tree(folder)
    folder.mkdir(mode=0o700, parents=True)  # a pip.conf with a password may be among the files
    (folder / _FILES).mkdir()
    names = tuple(sorted({canonicalize_name(name) for name in touched}))
    own = (root / name for name in _OWN if (root / name).is_file())
    for file in (*_files_of(root, places, names), *own):
        target = folder / _FILES / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        _keep(file, target)
    _write(root, Manifest(names, places, frozenset(_listing(root, places))))
    return folder


def _write(root: Path, manifest: Manifest) -> None:
    document = {
        "names": manifest.names,
        "places": [_relative(place, root) for place in manifest.places],
        "before": None if manifest.before is None else sorted(manifest.before),
        "cleared": manifest.cleared,
    }
    replace_file(root / FOLDER / _MANIFEST, json.dumps(document))


def _relative(place: str, root: Path) -> str:
    return os.path.relpath(place, root)


def _keep(source: Path, target: Path) -> None:
    if source.lstat().st_size >= _LARGE:
        try:
            os.link(source, target)
        except OSError:  # a file system without hard links
            pass
        else:
            return
    shutil.copy2(source, target, follow_symlinks=False)


def _listing(root: Path, places: tuple[str, ...]) -> Iterator[str]:
    """Yield what lies in the directories of packages and commands, by paths within the environment."""
    for place in (*places, *(str(root / name) for name in _COMMANDS)):
        for folder, inner, names in os.walk(place):
            inner[:] = [name for name in inner if name != _COMPILED]
            yield from (_relative(os.path.join(folder, name), root) for name in names)  # noqa: PTH118 - many


def is_taken(root: Path) -> bool:
    """Tell whether an unfinished change left what was there before."""
    return os.path.isfile(root / FOLDER / _MANIFEST)  # noqa: PTH113 - False where nobody may look


def put_back(root: Path) -> None:
    """Bring the touched distributions back to how they were; raise OSError or ValueError where that fails.

    It may be interrupted at any point and be called again.
    """
    folder = root / FOLDER
    manifest = parse_manifest(read_limited_text(folder / _MANIFEST), root)
    if not manifest.cleared:
        _clear(root, manifest)
        _write(root, replace(manifest, cleared=True))
    for kept in sorted((folder / _FILES).rglob("*")):
        if kept.is_dir() and not kept.is_symlink():
            continue
        target = root / kept.relative_to(folder / _FILES)
        target.parent.mkdir(parents=True, exist_ok=True)
        kept.replace(target)
    discard(root)


def _clear(root: Path, manifest: Manifest) -> None:
    """Remove the files of the touched distributions, and what an installer that was killed left of others."""
    own = (path for name in _OWN for path in (root / name, *root.glob(f".{name}-*")))
    strays = _strays(root, manifest)
    for file in (*_files_of(root, manifest.places, manifest.names), *strays, *own):
        with suppress(FileNotFoundError):
            file.unlink()
        _drop_empty(file.parent, root)


def _strays(root: Path, manifest: Manifest) -> tuple[Path, ...]:
    """Return what has come since, and no distribution says is its own."""
    if manifest.before is None:
        return ()
    come = {one for one in _listing(root, manifest.places) if one not in manifest.before}
    if not come:
        return ()
    infos = (info.name.partition("-")[0] for place in manifest.places for info in Path(place).glob("*-info"))
    others = {canonicalize_name(name) for name in infos} - set(manifest.names)
    claimed = {_relative(str(file), root) for file in _files_of(root, manifest.places, others)}
    return tuple(root / one for one in sorted(come - claimed))


def discard(root: Path) -> None:
    """Forget what was kept."""
    with suppress(FileNotFoundError):
        (root / FOLDER / _MANIFEST).unlink()  # first: what is left without it is nothing to bring back
    remove_tree(root / FOLDER)


def parse_manifest(text: str, root: Path) -> Manifest:
    """Parse what `take` noted; raise ValueError.

    {"names": ["torch"], "places": ["lib/python3.12/site-packages"], "before": ["bin/python"],
     "cleared": false}
    """
    try:
        document = load_json(text)
        names = tuple(str(name) for name in document["names"])
        places = tuple(os.path.normpath(root / str(place)) for place in document["places"])
        told = document.get("before")
        before = None if told is None else frozenset(map(str, told))
        cleared = document.get("cleared") is True
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(tr("the manifest of a repair is garbled")) from error
    inside = tuple(place for place in places if _is_inside(Path(place), root))
    return Manifest(names, inside, before, cleared)


def _files_of(root: Path, places: tuple[str, ...], names: Iterable[str]) -> Iterator[Path]:
    """Yield the files of distributions, by their RECORDs, that lie within the environment."""
    wanted = set(names)
    for place in map(Path, places):
        for info in sorted(place.glob("*.dist-info")):
            if canonicalize_name(info.name.partition("-")[0]) in wanted:
                yield from _recorded(root, place, info)


def _recorded(root: Path, place: Path, info: Path) -> Iterator[Path]:
    text = read_text(info / "RECORD", _RECORD) or ""
    from gpuenv.environments.dists import parse_record  # noqa: PLC0415 - `run` only looks for a snapshot

    listed = [place / path for path, _ in islice(parse_record(text), _MOST)]
    beside = [path for path in info.rglob("*") if not path.is_dir()]
    for path in dict.fromkeys(Path(os.path.normpath(path)) for path in (*listed, *beside)):
        if _is_inside(path, root) and os.path.lexists(path) and not path.is_dir():
            yield path


def _is_inside(path: Path, root: Path) -> bool:
    return path.is_relative_to(root) and not path.is_relative_to(root / FOLDER)


def _drop_empty(folder: Path, root: Path) -> None:
    while folder != root and folder.name != "site-packages" and _is_inside(folder, root):
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
