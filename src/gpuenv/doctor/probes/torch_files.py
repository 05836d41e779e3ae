"""What a torch is, by its files and without importing it, and where the loader looks for its libraries."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from gpuenv.environments.interpreter import is_environments
from gpuenv.host.executables import is_there, read_text
from gpuenv.i18n.messages import tr
from gpuenv.model.findings import Interpreter, TorchFiles
from gpuenv.wheels.cuda_architectures import FlagFinder
from gpuenv.wheels.elf import LinkedLibraries, parse_needs
from gpuenv.wheels.metadata import parse_version_file

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
_CONFIGURATION = "etc/ld.so.conf"
_MOST_FILES = 200
_MOST_LINES = 200


def read_torch(python: Interpreter, environ: Mapping[str, str], root: Path) -> TorchFiles | None:
    """Return the environment's own torch, None where it has none; what is foreign is not looked for.

    The user site is the own of a Python that is in no environment.
    """
    path = next((file for file in _own_places(python) if _has_torch(file)), None)
    if path is None:
        return None
    version, variant, problem = _version(path / "torch/version.py")
    needs, finds_own, named = _linked(path / "torch/lib")
    flags = (_read_flags(path / "torch/lib" / name) for name in _FLAG_LIBRARIES)
    folders = (*named, *_places(path, python, environ, root))
    return TorchFiles(
        place=str(path),
        version=version,
        variant=variant,
        architectures=next(filter(None, flags), ()),
        needs=needs,
        lacking=tuple(name for name in needs if not any(is_there(folder / name) for folder in folders)),
        finds_own=finds_own,
        problem=problem,
    )


def _own_places(python: Interpreter) -> Iterator[Path]:
    yield from map(Path, python.packages)
    if python.user_site and python.uses_user_site and not is_environments(python):
        yield Path(python.user_site)


def _has_torch(path: Path) -> bool:
    return is_there(path / "torch/version.py") or is_there(path / "torch/__init__.py")


def _version(file: Path) -> tuple[str | None, str | None, str | None]:
    text = read_text(file, _VERSION_FILE)
    if text is None:
        return None, None, tr("torch/version.py cannot be read")
    try:
        version_file = parse_version_file(text)
    except ValueError as error:
        return None, None, tr("torch/version.py {error}", error=error)
    variant = str(version_file.variant) if version_file.variant else None
    if version_file.version is None and variant is None:
        return None, None, tr("torch/version.py has neither the version nor CUDA")
    return str(version_file.version) if version_file.version else None, variant, None


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
        architectures = finder.feed(chunk)
        seen += len(chunk)
        if architectures or seen > _LARGEST:
            return tuple(map(str, architectures or ()))
    return tuple(map(str, finder.finish() or ()))


def _linked(folder: Path) -> tuple[tuple[str, ...], bool, tuple[Path, ...]]:
    """Return the libraries of CUDA that torch's own need, whether they say where to look first, and where."""
    read = [needs for name in _LINKED if (needs := _needs(folder / name))]
    libraries = dict.fromkeys(chain.from_iterable(needs.libraries for needs in read))
    names = (name for name in libraries if name.startswith(_CUDA) and not name.startswith(_DRIVERS))
    first = bool(read) and all(needs.rpath and not needs.runpath for needs in read)
    places = tuple(dict.fromkeys(path for needs in read for path in own_folders(needs, folder)))
    return tuple(names), first, places


def _needs(library: Path) -> LinkedLibraries | None:
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


def library_folders(path: Path) -> tuple[Path, ...]:
    """Return the folders of bundled libraries: torch's own, `nvidia/cudnn/lib`, `nvidia/cu13/lib`."""
    try:
        beside = sorted((path / "nvidia").glob("*/lib"))[:100]
    except OSError:
        beside = []
    return (path / "torch/lib", *beside)


def _places(file: Path, python: Interpreter, environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    """Yield where the loader looks besides what a library itself names."""
    yield from library_folders(file)
    yield from (Path(path) for path in environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if path)
    yield from (root / folder.lstrip("/") for folder, _ in configured_folders(root))
    yield from (root / folder for folder in _SYSTEM)
    yield from (Path(prefix, "lib") for prefix in (python.prefix, python.base_prefix) if prefix)


def read_unread(python: Interpreter) -> tuple[str, ...]:
    """Return the directories of packages, of torch and of its metadata that are there and can't be read."""
    places = (*python.packages, python.user_site if python.uses_user_site else None)
    return tuple(str(path) for location in places if location for path in _closed(Path(location)))


def _closed(file: Path) -> Iterator[Path]:
    if _is_closed(file):
        yield file
        return
    try:
        beside = sorted(file.glob("torch-*.dist-info"))
    except OSError:
        return
    yield from (path for path in (file / "torch", *beside) if _is_closed(path))


def _is_closed(folder: Path) -> bool:
    """Tell whether permission is what is missing; tried, since lists and servers say more than modes do."""
    try:
        next(folder.iterdir(), None)
        os.stat(f"{folder}{os.sep}.")  # noqa: PTH116 - whether it may be entered; pathlib drops the dot
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def configured_folders(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the directories that the loader's configuration names, and the file in /etc that names each.

    Samples of lines: `/usr/local/cuda/lib64`, `include /etc/ld.so.conf.d/*.conf`, `# a comment`.
    """
    main = root / _CONFIGURATION
    patterns = ["ld.so.conf.d/*.conf"]
    for line in _lines(main):
        words = line.split()
        if words[0] == "include":
            patterns += (word.removeprefix("/etc/") for word in words[1:])
        elif line.startswith("/"):
            yield line, main.name
    for file in dict.fromkeys(file for pattern in patterns for file in _matching(main.parent, pattern)):
        for line in _lines(file):
            if line.startswith("/"):
                yield line, file.relative_to(main.parent).as_posix()


def _matching(folder: Path, pattern: str) -> list[Path]:
    if pattern.startswith("/") or ".." in pattern or "**" in pattern:
        return []
    try:
        return sorted(folder.glob(pattern))[:_MOST_FILES]
    except (OSError, ValueError):
        return []


def _lines(file: Path) -> Iterator[str]:
    for line in (read_text(file) or "").splitlines()[:_MOST_LINES]:
        message = line.partition("#")[0].strip()
        if message:
            yield message


def own_folders(needs: LinkedLibraries, file: Path) -> Iterator[Path]:
    """Yield the directories that a library in `file` itself names: `$ORIGIN/../../nvidia/cudnn/lib`."""
    for path in (needs.rpath, needs.runpath):
        for entry in (path or "").split(":"):
            message = entry.replace("${ORIGIN}", str(file)).replace("$ORIGIN", str(file))
            if message.startswith("/"):
                yield Path(message)
