"""`gpuenv bootstrap -o DIR/`: the script with all that it needs beside it, for machines without an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from gpuenv.bootstrap.bootstrap import Script
from gpuenv.bootstrap.model import BesideFile
from gpuenv.downloads.download import download
from gpuenv.downloads.expected import Expected
from gpuenv.environments.wheel_cache import digest_of
from gpuenv.files.disk_space import check_free_space
from gpuenv.files.write_output import make_folder, write_file
from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.ranges import BrokenFileError
from gpuenv.http.timeouts import Watch
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.model.errors import Because, Fix, Unreachable, UsageError
from gpuenv.secrets.url_credentials import redact_credentials

WHEELS = "wheels"
SCRIPT = "bootstrap.sh"
_MAY_RUN = 0o111


class WriteProgress(Struct, frozen=True):
    """How writing a folder is followed: what is to come (files, bytes), and the bytes that came."""

    begin: Callable[[int, int], None] = lambda _, __: None
    received: Callable[[int], None] = lambda _: None


def write_folder(folder: Path, script: Script, environ: Mapping[str, str], follow: WriteProgress) -> None:
    """Write the script and all it needs; existing files with the right hash are kept.

    The script comes last, so that a folder that has it is whole. Raises UsageError for the disk, Unreachable
    where a file can be fetched from none of its URLs.
    """
    wheels = folder / WHEELS
    make_folder(wheels)
    try:
        missing = tuple(file for file in script.beside if not _has(wheels / file.filename, file.sha256))
        size = sum(file.size or 0 for file in missing)
        follow.begin(len(missing), size)
        check_free_space(wheels, size, tr("name another folder with -o"))
        _replace(wheels / script.gpuenv.filename, script.gpuenv.content)
        with HttpClient(environ, access=script.access) as client:
            for file in missing:
                _fetch(file, wheels, client, Watch(follow.received))
    except OSError as error:
        raise UsageError(
            tr("{path} cannot be written: {reason}", path=wheels, reason=reason_of(error)),
            code="unwritable",
            fixes=(Fix(tr("name another folder with -o")),),
        ) from None
    write_file(folder / SCRIPT, script.text)
    written = folder / SCRIPT
    written.chmod(written.stat().st_mode | _MAY_RUN)


def _has(path: Path, sha256: str) -> bool:
    return path.is_file() and digest_of(path, Watch(lambda _: None)) == sha256


def _replace(path: Path, content: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.replace(path)


def _fetch(file: BesideFile, wheels: Path, client: HttpClient, watch: Watch) -> None:
    part = wheels / f"{file.filename}.part"
    tried: list[Because] = []
    for url in file.urls:
        reason = _read(url, file, part, client, watch)
        if reason is None:
            part.replace(wheels / file.filename)
            return
        tried.append(Because(reason, redact_credentials(url)))
    raise Unreachable(
        tr("`{name}` could not be fetched from any index", name=file.filename),
        code="index-unreachable",
        because=tuple(tried),
        fixes=(
            Fix(
                tr(
                    "name an index that has it with --mirror, and run the command again: finished downloads "
                    "are kept"
                )
            ),
        ),
    )


def _read(url: str, file: BesideFile, part: Path, client: HttpClient, watch: Watch) -> str | None:
    """Read a file into `part`; return why it is not the one that is meant."""
    try:
        if is_remote(url):
            download(client, url, part, Expected(file.sha256, file.size), watch=watch)
        else:
            part.write_bytes(local_path(url).read_bytes())
    except HttpProblem as problem:
        return problem.reason
    except BrokenFileError as problem:
        return str(problem)
    if _has(part, file.sha256):
        return None
    part.unlink()
    return tr("it is not the expected file")
