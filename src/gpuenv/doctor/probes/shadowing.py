"""What stands before an environment's own torch and libraries on the search paths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuenv.doctor.probes.torch_files import configured_folders
from gpuenv.environments.contents.dists import recorded_libraries
from gpuenv.environments.interpreter import is_virtual
from gpuenv.host.executables import find_executable, is_there
from gpuenv.model.findings import Dist, ForeignLibrary, Interpreter, KernelFindings, TorchFiles

_VIA = "LD_LIBRARY_PATH"
_CUDA = ("libcu", "libnccl", "libnv")
_NUMBERED = re.compile(r"\.so\.(\d+(?:\.\d+)+)$")
_DRIVER = ("libcuda.so.1", "libcuda.so")
_MOST = 4000


def _search_path(environ: Mapping[str, str]) -> tuple[Path, ...]:
    entries = environ.get(_VIA, "").split(os.pathsep)
    return tuple(dict.fromkeys(Path(entry) for entry in entries if entry))


def read_foreign_libraries(
    torch: TorchFiles | None, dists: tuple[Dist, ...], environ: Mapping[str, str]
) -> tuple[ForeignLibrary, ...]:
    """Return libraries on LD_LIBRARY_PATH that are called as bundled ones are, and are not the same files."""
    if torch is None or not environ.get(_VIA):
        return ()
    bundled = dict(_bundled(Path(torch.place), dists))
    return tuple(
        ForeignLibrary(name, str(folder / name), _VIA, _version_of(folder / name), bundled[name][1])
        for folder in _search_path(environ)
        for name in _names(folder)
        if name in bundled and os.path.realpath(folder / name) != os.path.realpath(bundled[name][0])
    )[:50]


def _bundled(file: Path, dists: tuple[Dist, ...]) -> Iterator[tuple[str, tuple[Path, str | None]]]:
    """Yield the libraries that torch brings: name, path, version by the package that they belong to."""
    for name in _names(file / "torch/lib"):
        yield name, (file / "torch/lib" / name, None)
    for dist, path in recorded_libraries(dists):
        yield path.name, (path, dist.version)


def _names(folder: Path) -> tuple[str, ...]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(_MOST), entries, strict=False)]
    except OSError:
        return ()
    libraries = (name for name in names if name.startswith(_CUDA) and ".so" in name)
    return tuple(sorted(name for name in libraries if name not in _DRIVER))


def _version_of(path: Path) -> str | None:
    match = _NUMBERED.search(os.path.realpath(path))
    return match[1] if match else None


def read_driver_libraries(
    kernel: KernelFindings, environ: Mapping[str, str], root: Path
) -> tuple[tuple[str, str], ...]:
    """Return libcuda files that are found before the driver's: (path, what leads there)."""
    own = {os.path.realpath(root / path.lstrip("/")) for path in kernel.libraries}
    places = [(folder, _VIA) for folder in _search_path(environ)]
    places += [
        (root / folder.lstrip("/"), f"/etc/{name}")
        for folder, name in configured_folders(root)
        if "compat" in folder or "stubs" in folder  # of CUDA's compatibility packages and toolkit
    ]
    results = ((folder / _DRIVER[0], via) for folder, via in places if is_there(folder / _DRIVER[0]))
    return tuple((str(path), via) for path, via in results if not _is_the_drivers(path, own, kernel))[:10]


def _is_the_drivers(path: Path, own: set[str], kernel: KernelFindings) -> bool:
    real = os.path.realpath(path)
    number = _NUMBERED.search(real)
    return real in own or bool(number and kernel.nvidia and number[1] in kernel.nvidia.split())


def read_foreign_torch(
    python: Interpreter, torch: TorchFiles | None, environ: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Return torches that are imported before the environment's own: (path, `pythonpath`, `user-site`)."""
    own = {os.path.realpath(package) for package in python.packages}
    results = [
        (str(path), "pythonpath")
        for entry in environ.get("PYTHONPATH", "").split(os.pathsep)
        if entry and os.path.realpath(entry) not in own and (path := _torch_in(Path(entry)))
    ]
    there = _torch_in(Path(python.user_site)) if python.user_site and python.uses_user_site else None
    if there and not _comes_before_user_site(torch, python):
        results.append((str(there), "user-site" if torch else "user-only"))
    return tuple(results)


def _comes_before_user_site(torch: TorchFiles | None, python: Interpreter) -> bool:
    """Tell whether a torch goes before the user site's: it is that one, or a virtual environment's.

    There its own packages come first, then the user site, then the base's; elsewhere the user site is first.
    """
    if torch is None:
        return False
    within = is_virtual(python) and Path(torch.place).is_relative_to(python.prefix or "")
    return within or torch.place == python.user_site


def _torch_in(folder: Path) -> Path | None:
    names = ("torch/__init__.py", "torch.py")
    return next((folder / name for name in names if is_there(folder / name)), None)


def read_here(directory: Path, python: Interpreter) -> tuple[str, ...]:
    """Return files of a directory that a program started there imports in place of packages.

    There are none in the directory that the packages themselves lie in.
    """
    own = (*python.packages, python.user_site if python.uses_user_site else None)
    if os.path.realpath(directory) in {os.path.realpath(location) for location in own if location}:
        return ()
    names = ("torch.py", "torch/__init__.py", "torchvision.py", "torchaudio.py", "numpy.py")
    return tuple(name for name in names if is_there(directory / name))


def first_python(environ: Mapping[str, str]) -> str | None:
    """Return what `python` means on PATH."""
    names = ("python", "python3")
    paths = (find_executable(name, environ) for name in names)
    return next((str(path) for path in paths if path), None)


def schedulers(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the programs on PATH that send jobs to other machines."""
    return tuple(name for name in ("srun", "qsub", "bsub") if find_executable(name, environ))
