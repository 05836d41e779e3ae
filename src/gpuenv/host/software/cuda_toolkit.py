"""Find an installed CUDA toolkit, which matters only for building extensions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from gpuenv.host.executables import find_executable, find_executables, read_text
from gpuenv.i18n.messages import tr
from gpuenv.model.machine import Problem, Toolkit
from gpuenv.model.variant import CudaVersion, parse_cuda_version
from gpuenv.process import subprocesses as process
from gpuenv.untrusted.documents import load_json

_VARIABLES = ("CUDA_HOME", "CUDA_PATH")
_USUAL_PLACE = "usr/local/cuda"
VERSION_FILES = ("version.json", "version.txt")
_TEXT = re.compile(r"CUDA Version (\d{1,2}\.\d{1,2})")
_RELEASE = re.compile(r"release (\d{1,2}\.\d{1,2}),")
_LIMIT_S = 10.0

FoundToolkit = tuple[Toolkit | None, str, tuple[Problem, ...]]


def detect_toolkit(environ: Mapping[str, str], root: Path) -> FoundToolkit:
    """Return the toolkit that torch's extension builder uses, the source of its version, and problems."""
    nvcc = next(_candidates(environ, root), None)
    if nvcc is None:
        return None, "", ()
    argv = [str(nvcc), "--version"]
    folder = _resolved(nvcc).parent.parent
    texts = {str(folder / name): read_text(folder / name) for name in VERSION_FILES}
    return toolkit_of(str(nvcc), texts, lambda: process.run(argv, timeout_s=_LIMIT_S, environ=environ).stdout)


def toolkit_of(nvcc: str, texts: Mapping[str, str | None], ask: Callable[[], str]) -> FoundToolkit:
    """Return the toolkit of an nvcc by its version files (`texts`), else by nvcc itself, as on Debian."""
    version, source = _version(nvcc, texts, ask)
    if version:
        return Toolkit(version, nvcc), source, ()
    message = tr(
        "`{nvcc}` does not report its version: reinstall the CUDA toolkit or remove it from PATH", nvcc=nvcc
    )
    return Toolkit(None, nvcc), source, (Problem("toolkit-unreadable", message),)


def _candidates(environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    for variable in _VARIABLES:
        home = environ.get(variable)
        if home and Path(home).is_absolute():
            yield from find_executables("nvcc", (Path(home, "bin"),))
    on_path = find_executable("nvcc", environ)
    if on_path:
        yield on_path
    yield from find_executables("nvcc", (root / _USUAL_PLACE / "bin",))


def _version(
    nvcc: str, texts: Mapping[str, str | None], ask: Callable[[], str]
) -> tuple[CudaVersion | None, str]:
    for location, text in texts.items():
        if text is not None and (version := _in_file(location, text)):
            return version, location
    try:
        return parse_nvcc(ask()), f"{nvcc} --version"
    except ValueError:
        return None, f"{nvcc} --version"


def _in_file(location: str, text: str) -> CudaVersion | None:
    try:
        return parse_version_json(text) if location.endswith(".json") else parse_version_text(text)
    except ValueError:
        return None


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
        return path


def parse_version_json(text: str) -> CudaVersion:
    """Parse version.json, `{"cuda": {"name": "CUDA SDK", "version": "12.4.20240301"}, ...}`; ValueError."""
    try:
        return parse_cuda_version(str(load_json(text)["cuda"]["version"]))
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(tr("it names no CUDA version")) from error


def parse_version_text(text: str) -> CudaVersion:
    """Parse version.txt of toolkits before 11.1, `CUDA Version 10.2.89`; raise ValueError otherwise."""
    return _search(_TEXT, text)


def parse_nvcc(text: str) -> CudaVersion:
    """Parse `Cuda compilation tools, release 11.5, V11.5.119` of `nvcc --version`; raise ValueError."""
    return _search(_RELEASE, text)


def _search(pattern: re.Pattern[str], text: str) -> CudaVersion:
    match = pattern.search(text)
    if not match:
        raise ValueError(tr("it names no CUDA version"))
    return parse_cuda_version(match[1])
