"""What a torch is, by its files and without importing it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from gpuenv.core.compiled_for import FlagFinder
from gpuenv.core.elf import Needs, parse_needs
from gpuenv.core.wheel_facts import parse_version_file
from gpuenv.machine.executables import is_there, read_text
from gpuenv.values.findings import Interpreter, TorchFiles
from gpuenv.values.text import tr

_VERSION_FILE = 65536  # bytes
_CHUNK = 4 << 20
_FURTHEST = 1 << 48
_LARGEST = 512 << 20  # libtorch_python has some 30 MB
_FLAG_LIBRARIES = ("libtorch_python.so", "torch_python.dll", "libtorch_python.dylib")
_LINKED = ("libtorch_cuda.so", "libc10_cuda.so", "libtorch_cuda_linalg.so")
_CUDA = ("libcu", "libnccl", "libnv", "libcusparse")
_DRIVERS = ("libcuda.so", "libnvidia-ml.so")
_SYSTEM = (
    "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib", "lib64",
    "usr/local/cuda/lib64", "usr/local/lib",
)  # fmt: skip


def read_torch(python: Interpreter, environ: Mapping[str, str], root: Path) -> TorchFiles | None:
    """Return the environment's own torch, None where it has none; what is foreign is not looked for."""
    place = next((Path(place) for place in python.packages if is_there(Path(place, "torch"))), None)
    if place is None or not (is_there(place / "torch/version.py") or is_there(place / "torch/__init__.py")):
        return None
    version, variant, problem = _version(place / "torch/version.py")
    needs, finds_own = _linked(place / "torch/lib")
    return TorchFiles(
        place=str(place),
        version=version,
        variant=variant,
        architectures=_architectures(place / "torch/lib"),
        needs=needs,
        lacking=_lacking(needs, place, python, environ, root),
        finds_own=finds_own,
        problem=problem,
    )


def _version(file: Path) -> tuple[str | None, str | None, str | None]:
    text = read_text(file, _VERSION_FILE)
    if text is None:
        return None, None, tr("torch/version.py can't be read")
    try:
        told = parse_version_file(text)
    except ValueError as error:
        return None, None, tr("torch/version.py {error}", error=error)
    variant = str(told.variant) if told.variant else None
    if told.version is None and variant is None:
        return None, None, tr("torch/version.py names neither version nor CUDA")
    return str(told.version) if told.version else None, variant, None


def _architectures(folder: Path) -> tuple[str, ...]:
    found = (_read_flags(folder / name) for name in _FLAG_LIBRARIES)
    return next((flags for flags in found if flags), ())


def _read_flags(library: Path) -> tuple[str, ...]:
    try:
        if not library.is_file():
            return ()
        with library.open("rb") as file:
            return _found(iter(lambda: file.read(_CHUNK), b""))
    except OSError:
        return ()


def _found(chunks: Iterator[bytes]) -> tuple[str, ...]:
    finder, seen = FlagFinder(), 0
    for chunk in chunks:
        found = finder.feed(chunk)
        seen += len(chunk)
        if found or seen > _LARGEST:
            return tuple(map(str, found or ()))
    return tuple(map(str, finder.finish() or ()))


def _linked(folder: Path) -> tuple[tuple[str, ...], bool]:
    """Return the libraries of CUDA that torch's own need, and whether those say where to look first."""
    read = [needs for name in _LINKED if (needs := _needs(folder / name))]
    names = dict.fromkeys(one for needs in read for one in needs.libraries if one.startswith(_CUDA))
    first = bool(read) and all(needs.rpath and not needs.runpath for needs in read)
    return tuple(name for name in names if not name.startswith(_DRIVERS)), first


def _needs(library: Path) -> Needs | None:
    try:
        if not library.is_file():
            return None
        with library.open("rb") as file:
            return parse_needs(lambda offset, size: _read_at(file, offset, size))
    except (OSError, ValueError):
        return None


def _read_at(file: BinaryIO, offset: int, size: int) -> bytes:
    if not 0 <= offset < _FURTHEST:
        raise ValueError(tr("it points outside of itself"))
    file.seek(offset)
    return file.read(size)


def library_folders(place: Path) -> tuple[Path, ...]:
    """Return the folders of bundled libraries: torch's own, `nvidia/cudnn/lib`, `nvidia/cu13/lib`."""
    try:
        beside = sorted((place / "nvidia").glob("*/lib"))[:100]
    except OSError:
        beside = []
    return (place / "torch/lib", *beside)


def _lacking(
    needs: tuple[str, ...], place: Path, python: Interpreter, environ: Mapping[str, str], root: Path
) -> tuple[str, ...]:
    if not needs:
        return ()
    paths = [Path(path) for path in environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if path]
    folders = [*library_folders(place), *paths, *(root / folder for folder in _SYSTEM)]
    folders += [Path(prefix, "lib") for prefix in (python.prefix, python.base_prefix) if prefix]
    return tuple(name for name in needs if not any(is_there(folder / name) for folder in folders))
