"""What is installed, by its metadata and the lists of its files: bounded reads, and nothing is run."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from email.parser import HeaderParser
from itertools import islice
from pathlib import Path

from packaging.utils import canonicalize_name

from gpuenv.host.executables import read_text
from gpuenv.i18n.messages import tr
from gpuenv.model.findings import Dist, SharedFile
from gpuenv.resolution.request import STACK

_METADATA = 1 << 20  # bytes
_RECORD = 32 << 20
_MOST_FILES = 200_000
_MOST_DISTS = 5000
_INFO = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)\.(?:dist-info|egg-info)")
_FLEETING = (".pyc", "RECORD", "INSTALLER", "direct_url.json", "REQUESTED")
_WHOLE = ("torch", "torchvision", "torchaudio", "triton", "numpy")  # whose files are compared with RECORD


def read_dists(folders: tuple[str, ...]) -> tuple[Dist, ...]:
    """Return the distributions in these directories, in the order in which they would be imported."""
    return tuple(dist for location in folders for dist in islice(_in_place(Path(location)), _MOST_DISTS))


def _in_place(path: Path) -> Iterator[Dist]:
    for info in _folders(path):
        dist = _read(path, info)
        if dist is not None:
            yield dist


def _folders(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as entries:
            names = sorted(
                entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))
            )
    except OSError:
        return []
    return [path / name for name in names if not name.startswith("~")]


def _read(path: Path, info: Path) -> Dist | None:
    named = _INFO.fullmatch(info.name)
    name = canonicalize_name(named["name"]) if named else ""
    files = (info / "METADATA", info / "PKG-INFO", info)  # an egg-info may be a file itself
    text = next((text for file in files if (text := read_text(file, _METADATA))), "")
    try:
        name, version, requires = parse_headers(text)
    except ValueError as error:
        return (
            Dist(name, named["version"] if named else None, str(path), problem=str(error)) if name else None
        )
    keeps = name in STACK or any(re.match(r"torch\b", line) for line in requires)
    installer = (read_text(info / "INSTALLER", 64) or "").strip() or None
    # conda writes its own paths into files, and RECORD keeps the sizes from before
    whole = installer != "conda" and (name in _WHOLE or _is_nvidia(name))
    missing, changed, example = _compare(path, info) if whole else (0, 0, None)
    return Dist(
        name=name,
        version=version,
        place=str(path),
        installer=installer,
        requires=requires if keeps else (),
        tags=parse_tags(read_text(info / "WHEEL", 65536) or "") if keeps else (),
        missing=missing,
        changed=changed,
        example=example,
    )


def _is_nvidia(name: str) -> bool:
    return name.startswith("nvidia-")


def parse_headers(text: str) -> tuple[str, str, tuple[str, ...]]:
    """Parse METADATA to name (normalized), version and Requires-Dist lines; raise ValueError without them."""
    headers = HeaderParser().parsestr(text)
    name, version = headers.get("Name"), headers.get("Version")
    if not name or not version or not str(name).strip() or not str(version).strip():
        raise ValueError(tr("it has no project name and version"))
    requires = tuple(" ".join(str(line).split()) for line in headers.get_all("Requires-Dist") or ())
    return canonicalize_name(str(name).strip()), str(version).strip(), requires


def parse_tags(text: str) -> tuple[str, ...]:
    """Parse a WHEEL file's tags: `Tag: cp312-cp312-manylinux_2_28_x86_64`."""
    lines = (line.partition(":") for line in text.splitlines())
    return tuple(value.strip() for key, _, value in lines if key == "Tag" and value.strip())


def parse_record(text: str) -> Iterator[tuple[str, int | None]]:
    """Yield path and size (bytes, None where not told) of a RECORD's lines; garbled ones are passed over.

    Sample: `torch/version.py,sha256=Ab3...,340`
    """
    rows = csv.reader(io.StringIO(text.replace("\0", "")))
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error:
            continue
        if len(row) == 3 and row[0]:  # noqa: PLR2004 - path, hash, size
            yield row[0], int(row[2]) if row[2].isascii() and row[2].isdigit() else None


def _recorded(info: Path) -> Iterator[tuple[str, int | None]]:
    return islice(parse_record(read_text(info / "RECORD", _RECORD) or ""), _MOST_FILES)


def _compare(file: Path, info: Path) -> tuple[int, int, str | None]:
    """Count the files of a RECORD that are missing or of another size; compiled ones come and go."""
    sizes = [
        (path, size, _size(file / path))
        for path, size in _recorded(info)
        if not path.startswith("..") and not path.endswith(_FLEETING)
    ]
    missing = [path for path, _, value in sizes if value is None]
    changed = [path for path, size, value in sizes if None not in (size, value) and size != value]
    return len(missing), len(changed), next(iter((*missing, *changed)), None)


def _size(path: Path) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - ten thousand files
    except (OSError, ValueError):
        return None


def read_shared_files(dists: tuple[Dist, ...]) -> tuple[SharedFile, ...]:
    """Return files that packages of CUDA's libraries both say are theirs, `nvidia/nccl/lib/libnccl.so.2`."""
    owners: dict[str, list[str]] = {}
    for dist, path in recorded_libraries(dists):
        owners.setdefault(path.relative_to(dist.place).as_posix(), []).append(dist.name)
    shared = ((path, tuple(dict.fromkeys(names))) for path, names in owners.items())
    return tuple(SharedFile(path, names) for path, names in shared if len(names) > 1)


def recorded_libraries(dists: tuple[Dist, ...]) -> Iterator[tuple[Dist, Path]]:
    """Yield the libraries that packages of CUDA's say are theirs."""
    for dist in dists:
        if not _is_nvidia(dist.name):
            continue
        for info in Path(dist.place).glob(f"{dist.name.replace('-', '_')}-*.dist-info"):
            for path, _ in _recorded(info):
                if (".so" in path or path.endswith(".dll")) and not path.startswith(("/", "..")):
                    yield dist, Path(dist.place, path)


def read_leftovers(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return what an interrupted pip left: `~orch`, `~umpy-1.26.4.dist-info`."""
    values = (str(path) for location in folders for path in _matching(Path(location)))
    return tuple(islice(values, 20))


def _matching(path: Path) -> list[Path]:
    try:
        return sorted(path.glob("~*"))
    except OSError:
        return []
