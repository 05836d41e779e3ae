"""Compare what is installed with the wheel it should have come from, file by file.

Neither a cache nor an installer is taken at its word: the digests are those in the RECORD of the wheel that
was checked as a whole. https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from __future__ import annotations

import csv
import os
import stat
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from gpuenv.concurrency.background import BackgroundTask
from gpuenv.environments.check_installed import not_as_planned
from gpuenv.i18n.messages import tr
from gpuenv.model.plan import CheckedFile
from gpuenv.on_disk.installed import site_packages
from gpuenv.process import interruption
from gpuenv.wheels.local_end import read_member

_ALGORITHM = "sha256="
_CHUNK = 1 << 17  # more would cost more for each of thousands of small files
_LARGE = 4 << 20  # bytes; only while such a file is digested do other threads get on
_THREADS = 4
# a pipe in place of a file must not be waited for
_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class RecordedFile(NamedTuple):
    """A file that a wheel installs: its path in site-packages, its digest as in RECORD, its bytes."""

    path: str
    digest: str
    size: int


class FileCheck:
    """What wheels say of their files, read beside the caller's work: an environment is compared with it."""

    def __init__(self, files: Iterable[CheckedFile]) -> None:
        self._files = tuple(files)
        self._recorded = BackgroundTask(lambda: tuple(_recorded(Path(file.path)) for file in self._files))

    def compare(self, environment: Path, log: Path) -> None:
        """Raise InstallFailed `not-as-planned` for an installed file that is not the wheel's."""
        folders = tuple(str(folder) for folder in site_packages(environment))
        for file, recorded in zip(self._files, self._recorded.result(), strict=True):
            problem = _first_problem(recorded, folders)
            if problem:
                message = tr("{file}: {problem}", file=Path(file.path).name, problem=problem)
                raise not_as_planned(message, str(environment), log)


def check_files(files: Iterable[CheckedFile], environment: Path, log: Path) -> None:
    """Raise InstallFailed `not-as-planned` for an installed file that is not its wheel's."""
    FileCheck(files).compare(environment, log)


def _recorded(wheel: Path) -> tuple[RecordedFile, ...]:
    """Return the files of a wheel that are installed as they are.

    What lies in NAME.data goes elsewhere, and scripts there are rewritten.
    """
    return parse_record((read_member(wheel, _is_record) or b"").decode("utf-8"))


def _is_record(name: str) -> bool:
    folder, _, file = name.partition("/")
    return folder.endswith(".dist-info") and file == "RECORD"


def parse_record(text: str) -> tuple[RecordedFile, ...]:
    """Parse a wheel's RECORD: the paths that go into site-packages and their digests, urlsafe base64.

    torch/__init__.py,sha256=lrZvTyYpOd0ZqTIcA0cLWkmVXyRbhJ5oKzeHYvlCGlQ,108432
    torch-2.14.1+cpu.dist-info/RECORD,,
    """
    rows = (row for row in csv.reader(text.splitlines()) if len(row) >= 2)  # noqa: PLR2004 - path, digest
    return tuple(
        RecordedFile(path, digest.removeprefix(_ALGORITHM).rstrip("="), _size_of(sizes))
        for path, digest, *sizes in rows
        if digest.startswith(_ALGORITHM) and not path.partition("/")[0].endswith(".data")
    )


def _size_of(sizes: list[str]) -> int:
    return int(sizes[0]) if sizes and sizes[0].isdecimal() and len(sizes[0]) < 20 else 0  # noqa: PLR2004 - digits


def _first_problem(recorded: tuple[RecordedFile, ...], folders: tuple[str, ...]) -> str | None:
    """Return what is wrong with one of the files; the large ones are digested beside the others."""
    large = [file for file in recorded if file.size >= _LARGE]
    shares = (large[number::_THREADS] for number in range(_THREADS))
    beside = [BackgroundTask(partial(_problem_among, share, folders)) for share in shares if share]
    found = _problem_among((file for file in recorded if file.size < _LARGE), folders)
    return next(filter(None, (found, *(task.result() for task in beside))), None)


def _problem_among(recorded: Iterable[RecordedFile], folders: tuple[str, ...]) -> str | None:
    for path, expected, _ in recorded:
        interruption.check()
        digest = None
        for folder in folders:
            digest = digest or _digest_of(f"{folder}/{path}")
        if digest is None:
            return tr("{name} is missing", name=path)
        if digest != expected:
            return tr("{name} differs from the wheel's", name=path)
    return None


def _digest_of(path: str) -> str | None:
    """Return the digest of a file as RECORD spells it, None where there is no file.

    In plain calls of the system: a wheel may have 12,000 files.
    """
    try:
        descriptor = os.open(path, _READING)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a name that no system takes
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        digest, left = sha256(), status.st_size
        while left > 0 and (chunk := os.read(descriptor, _CHUNK)):
            digest.update(chunk)
            left -= len(chunk)
    finally:
        os.close(descriptor)
    return urlsafe_b64encode(digest.digest()).decode().rstrip("=")
