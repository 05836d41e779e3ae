"""The default index of the installer itself, so that PyPI's URL need not be hard-coded."""

from __future__ import annotations

import json
import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from gpuenv.files.private import replace_private
from gpuenv.files.read_limited import read_own
from gpuenv.process import subprocesses as process
from gpuenv.process.surroundings import cache_root
from gpuenv.process.uv_binary import find_embedded_uv
from gpuenv.untrusted.documents import load_json

DEFAULT_INDEX_FILE = "default-index.json"  # in the cache

_TIMEOUT_S = 20.0
_KEPT = (
    "PATH",
    "HOME",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "XDG_CACHE_HOME",
    "UV_CACHE_DIR",
)
_MEMBER = "pip/_internal/models/index.py"
_STORAGE = re.compile(
    r"""\bPyPI\s*=\s*PackageIndex\([^)]*file_storage_domain\s*=\s*["']([\w.-]+)["']""", re.DOTALL
)
_EMITTED = re.compile(r"^(?:-i|--index-url)[ =](https?://\S+)\s*$", re.MULTILINE)


def default_index(environ: Mapping[str, str], *, uv: str | None = None) -> str | None:
    """Return the index that uv, by default the embedded one, or pip uses without any configuration."""
    if uv is not None:
        return _ask_uv(environ, uv) or _ask_pip()
    embedded = find_embedded_uv()
    return (_kept_index(environ, embedded) if embedded else None) or _ask_pip()


def _kept_index(environ: Mapping[str, str], uv: str) -> str | None:
    """Return the index built into the embedded uv: the same for as long as it is the same file."""
    file, key = cache_root(environ) / DEFAULT_INDEX_FILE, None
    with suppress(OSError, ValueError, KeyError, TypeError):
        status = Path(uv).stat()
        key = [uv, status.st_mtime_ns, status.st_size]
        document = load_json(read_own(file).decode())
        if document["uv"] == key and (known := parse_emitted_index(f"-i {document['index']}")):
            return known
    index = _ask_uv(environ, uv)
    if index and key:
        with suppress(OSError):  # then it is asked the next time too
            replace_private(file, json.dumps({"uv": key, "index": index}))
    return index


def _ask_uv(environ: Mapping[str, str], uv: str) -> str | None:
    # uv's cache, which may be read-only, remembers the interpreter, which it would run every time without
    return next(filter(None, (_emitted(environ, uv, *options) for options in ((), ("--no-cache",)))), None)


def parse_emitted_index(text: str) -> str | None:
    """Read the index from what uv prints with `--emit-index-url`: `--index-url https://example.com/simple`."""
    match = _EMITTED.search(text)
    return match[1].rstrip("/") if match else None


def _emitted(environ: Mapping[str, str], uv: str, *options: str) -> str | None:
    argv = [uv, "pip", "compile", "--no-config", "--offline", *options, "--no-header", "--emit-index-url"]
    completed = process.run(
        [*argv, "--python", sys.executable, "--quiet", "-"],  # an empty list of requirements on stdin
        timeout_s=_TIMEOUT_S,
        environ={name: environ[name] for name in _KEPT if name in environ},
        stdin=os.linesep,
    )
    return parse_emitted_index(completed.stdout) if completed.ok else None


def _ask_pip() -> str | None:
    try:
        from pip._internal.models.index import PyPI  # noqa: PLC0415 - only where uv cannot be run
    except ImportError:
        return None
    return str(PyPI.simple_url)


def default_file_host() -> str | None:
    """Return the host of PyPI's files, as the pip next to gpuenv or that of ensurepip knows it."""
    try:
        from pip._internal.models.index import PyPI  # noqa: PLC0415 - only where a lock is written
    except ImportError:
        values = (_host_in(wheel) for wheel in _bundled_pips())
        return next((host for host in values if host), None)
    return str(PyPI.file_storage_domain)


def _bundled_pips() -> Iterator[Path]:
    """Yield the wheels of pip of ensurepip, or where a Linux distribution has moved them."""
    standard = Path(sysconfig.get_path("stdlib")) / "ensurepip" / "_bundled"
    folders = (standard, *(Path(name) for name in (sysconfig.get_config_var("WHEEL_PKG_DIR"),) if name))
    for folder in folders:
        with suppress(OSError):
            yield from sorted(folder.glob("pip-*.whl"))


def _host_in(wheel: Path) -> str | None:
    try:
        with ZipFile(wheel) as archive:
            return parse_file_host(archive.read(_MEMBER).decode())
    except (OSError, BadZipFile, KeyError, ValueError):
        return None


def parse_file_host(text: str) -> str | None:
    """Read `PyPI = PackageIndex("https://…/", file_storage_domain="files.example.com")` of pip's source."""
    match = _STORAGE.search(text)
    return match[1] if match else None
