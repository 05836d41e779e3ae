"""How far a conda tool has come: on a pipe it tells nothing, but its package cache grows."""

from __future__ import annotations

from pathlib import Path

from gpuenv.model.conda import CondaRecord

# libmamba and conda 23 to 25 collect a download in `.part`, later ones in `.partial`
_ENDINGS = ("", ".part", ".partial")


def downloaded(fetch: tuple[CondaRecord, ...], caches: tuple[str, ...]) -> int:
    """Return how many bytes of these packages lie in the package caches, half-fetched ones too."""
    return sum(_there(record, caches) for record in fetch)


def _there(record: CondaRecord, caches: tuple[str, ...]) -> int:
    sizes = (_size(path, record) for cache in caches for path in _places(Path(cache), record))
    return min(max(sizes, default=0), record.size or 0)


def _places(cache: Path, record: CondaRecord) -> tuple[Path, ...]:
    """Where a tool may put a package: newer libmamba has a folder for each address."""
    scheme, _, rest = record.url.rpartition("/")[0].partition("://")
    return (cache, cache / scheme / rest.lstrip("/")) if rest else (cache,)


def _size(folder: Path, record: CondaRecord) -> int:
    if (folder / _stem(record.filename)).is_dir():  # unpacked; the file itself may be gone
        return record.size or 0
    return max(_length(folder / f"{record.filename}{ending}") for ending in _ENDINGS)


def _stem(filename: str) -> str:
    return filename.removesuffix(".conda").removesuffix(".tar.bz2")


def _length(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
