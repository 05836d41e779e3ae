"""The package caches of conda tools: what has been downloaded, and what is unpacked."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gpuenv.model.conda import CondaRecord

# libmamba and conda 23 to 25 collect a download in `.part`, later ones in `.partial`
DOWNLOAD_SUFFIXES = ("", ".part", ".partial")
_SCHEMES = ("https", "http", "file", "ftp", "s3", "oci")
_FLOCK = "hhqqi"  # of Linux on 64 bits: type, whence, start, length, process
_DEEPEST = 12  # folders below a scheme: a host and a path


def package_folders(cache: Path, subdirs: frozenset[str]) -> Iterator[Path]:
    """Yield where a tool may keep packages: the cache, and newer libmamba's folder for each address.

    That is `https/conda.example/conda-forge/linux-64`; ports, logins and tokens are written in ways of its
    own, so that all addresses are looked at.
    """
    yield cache
    for scheme in _SCHEMES:
        for folder, names, _ in os.walk(cache / scheme):
            path = Path(folder)
            yield from (path / name for name in names if name in subdirs)
            deep = len(path.relative_to(cache).parts) >= _DEEPEST
            names[:] = [] if deep else [name for name in names if name not in subdirs]


def unpacked(record: CondaRecord, caches: tuple[Path, ...]) -> bool:
    """Tell whether a package lies unpacked in a cache; then the download itself may be gone."""
    return next(unpacked_folders(record, caches), None) is not None


def unpacked_folders(record: CondaRecord, caches: tuple[Path, ...]) -> Iterator[Path]:
    """Yield where a package lies unpacked."""
    folders = (folder / stem_of(record) for folder in _folders_of(record, caches))
    return (folder for folder in folders if folder.is_dir())


def package_files(record: CondaRecord, caches: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return where a package was downloaded to, in whole."""
    files = (folder / record.filename for folder in _folders_of(record, caches))
    return tuple(file for file in files if file.is_file())


def stem_of(record: CondaRecord) -> str:
    """Return the name of a package's file without its ending."""
    return record.filename.removesuffix(".conda").removesuffix(".tar.bz2")


def _folders_of(record: CondaRecord, caches: tuple[Path, ...]) -> Iterator[Path]:
    for cache in caches:
        yield from package_folders(cache, frozenset((record.subdir,)))


class Downloads:
    """The packages that a tool is fetching: how many bytes of them have come.

    What lies there in whole from the start came from another address, which the tool does not use.
    """

    def __init__(self, fetch: tuple[CondaRecord, ...], caches: tuple[Path, ...]) -> None:
        self._fetch, self._caches = fetch, caches
        self._subdirs = frozenset(record.subdir for record in fetch)
        self._others = {
            path
            for record, sizes in self._sizes()
            for path, size in sizes.items()
            if size >= (record.size or 0)
        }

    def received(self) -> int:
        """Return the bytes that lie in the package caches, half-fetched ones too."""
        ours = (
            (record, [size for path, size in sizes.items() if path not in self._others])
            for record, sizes in self._sizes()
        )
        return sum(min(max(sizes, default=0), record.size or 0) for record, sizes in ours)

    def _sizes(self) -> list[tuple[CondaRecord, dict[Path, int]]]:
        folders = [path for cache in self._caches for path in package_folders(cache, self._subdirs)]
        return [(record, _sizes_in(folders, record)) for record in self._fetch]


def _sizes_in(folders: list[Path], record: CondaRecord) -> dict[Path, int]:
    """Return what there is of a package in these folders, with its bytes."""
    sizes = {}
    for folder in folders:
        stem = folder / stem_of(record)
        if stem.is_dir():  # unpacked; the file itself may be gone
            sizes[stem] = record.size or 0
        for ending in DOWNLOAD_SUFFIXES:
            file = folder / f"{record.filename}{ending}"
            with suppress(OSError):
                sizes[file] = file.stat().st_size
    return sizes


def busy_cache(caches: tuple[Path, ...]) -> Path | None:
    """Return the first cache that another mamba has locked, None where none has, or it cannot be told.

    libmamba locks `pkgs/pkgs.lock` by fcntl, and waits without a word.
    """
    if sys.platform != "linux":
        return None
    return next((cache for cache in caches if _is_locked(cache / f"{cache.name}.lock")), None)


def _is_locked(file: Path) -> bool:
    import fcntl  # noqa: PLC0415 - POSIX alone

    try:
        with file.open("rb") as opened:
            request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            answer = fcntl.fcntl(opened, fcntl.F_GETLK, request)
    except OSError:
        return False
    return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)
