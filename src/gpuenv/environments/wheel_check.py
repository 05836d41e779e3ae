"""Compare what is installed with the wheel it should have come from, file by file.

Neither a cache nor an installer is taken at its word: the digests are those in the RECORD of the wheel that
was checked as a whole. https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from __future__ import annotations

import base64
import csv
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpuenv.environments.check_installed import not_as_planned
from gpuenv.environments.wheel_cache import digest_of
from gpuenv.http.timeouts import Watch
from gpuenv.i18n.messages import tr
from gpuenv.model.plan import CheckedFile
from gpuenv.on_disk.installed import site_packages
from gpuenv.process import interruption

_ALGORITHM = "sha256="


def check_files(files: Iterable[CheckedFile], environment: Path, log: Path) -> None:
    """Raise InstallFailed `not-as-planned` for the first installed file that is not the wheel's."""
    folders = site_packages(environment)
    for file in files:
        for name, digest in _recorded(Path(file.path)):
            interruption.check()
            problem = _difference(name, digest, folders)
            if problem:
                message = tr("{file}: {problem}", file=Path(file.path).name, problem=problem)
                raise not_as_planned(message, str(environment), log)


def _recorded(wheel: Path) -> Iterator[tuple[str, str]]:
    """Yield each file of a wheel that is installed as it is, with its digest.

    What lies in NAME.data goes elsewhere, and scripts there are rewritten.
    """
    with zipfile.ZipFile(wheel) as archive:
        info = next((name for name in archive.namelist() if _is_record(name)), None)
        text = archive.read(info).decode("utf-8") if info else ""
    yield from parse_record(text)


def _is_record(name: str) -> bool:
    folder, _, file = name.partition("/")
    return folder.endswith(".dist-info") and file == "RECORD"


def parse_record(text: str) -> tuple[tuple[str, str], ...]:
    """Parse a wheel's RECORD: the paths that go into site-packages and their digests, urlsafe base64.

    torch/__init__.py,sha256=lrZvTyYpOd0ZqTIcA0cLWkmVXyRbhJ5oKzeHYvlCGlQ,108432
    torch-2.14.1+cpu.dist-info/RECORD,,
    """
    rows = (row for row in csv.reader(text.splitlines()) if len(row) >= 2)  # noqa: PLR2004 - path, digest
    return tuple(
        (path, digest.removeprefix(_ALGORITHM))
        for path, digest, *_ in rows
        if digest.startswith(_ALGORITHM) and not path.partition("/")[0].endswith(".data")
    )


def _difference(name: str, digest: str, folders: tuple[Path, ...]) -> str | None:
    path = next((file / name for file in folders if (file / name).is_file()), None)
    if path is None:
        return tr("{name} is missing", name=name)
    actual = base64.urlsafe_b64encode(bytes.fromhex(digest_of(path, Watch(lambda _: None))))
    if actual.decode().rstrip("=") != digest.rstrip("="):
        return tr("{name} differs from the wheel's", name=name)
    return None
