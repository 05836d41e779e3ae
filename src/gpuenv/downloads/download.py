"""One large file from one server to disk: resumed where it broke off, checked when it is whole."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from gpuenv.downloads.expected import Expected
from gpuenv.downloads.kept_file import KeptFile
from gpuenv.downloads.pace import Sharing
from gpuenv.downloads.reading import Source
from gpuenv.downloads.transfer import Transfer
from gpuenv.http.client import HttpClient
from gpuenv.http.errors import HttpProblem
from gpuenv.http.file_reader import FileReader
from gpuenv.http.ranges import BrokenFileError
from gpuenv.http.timeouts import Patience, StoppedError, Watch


def download(
    client: HttpClient,
    url: str,
    part: Path,
    expected: Expected,
    *,
    patience: Patience | None = None,
    watch: Watch | None = None,
    sharing: Sharing | None = None,
) -> str:
    """Read a file into `part`, going on at its end, and return its sha256 once it is whole and right.

    What is in `part` already counts as received. A slow server is read by several connections, as long as
    each makes it faster (`sharing`) and the client's allowance has any. A file without a digest to check it
    by must at least be a whole zip, and is read from its start. Raises HttpProblem where the server can't be
    read to the end (then `part` stays, to go on from, if the digest is known), BrokenFileError where it sent
    something else (then `part` is gone), StoppedError, and OSError for the disk.
    """
    if expected.sha256 is None:
        part.unlink(missing_ok=True)
    source = Source(
        connect=lambda: FileReader(client, url),
        allowance=client.allowance,
        expected=expected,
        most_bytes=client.limits.file_bytes,
        sharing=sharing or Sharing(),
    )
    try:
        with part.open("a+b") as sink:
            return _fill(sink, part, source, patience or Patience(), watch or Watch())
    except BrokenFileError:
        part.unlink(missing_ok=True)
        raise
    except (HttpProblem, StoppedError):
        if expected.sha256 is None:
            part.unlink(missing_ok=True)
        raise


def _fill(sink: IO[bytes], part: Path, source: Source, patience: Patience, watch: Watch) -> str:
    """Read the file to its end and judge it; a wrong one that was put together is read once more."""
    file = KeptFile(sink)
    watch.received(file.size)
    together = _read_missing(file, source, patience, watch, alone=False)
    if together and source.expected.sha256 not in (None, file.sha256):
        watch.received(-file.size)
        file.empty()
        _read_missing(file, source, patience, watch, alone=True)
    source.expected.check_digest(file.sha256)
    if source.expected.sha256 is None:
        _check_zip(part)
    return file.sha256


def _read_missing(file: KeptFile, source: Source, patience: Patience, watch: Watch, *, alone: bool) -> bool:
    """Read until nothing is missing; return whether it came in more than one answer."""
    if source.expected.size is not None and file.size >= source.expected.size:
        return file.inherited > 0
    transfer = Transfer(source, file, patience, watch, alone=alone)
    transfer.run()
    file.flush()
    return file.inherited > 0 or transfer.answers > 1


def _check_zip(part: Path) -> None:
    from gpuenv.wheels.archive import WheelProblem, open_local_wheel  # noqa: PLC0415 - without a digest alone

    try:
        open_local_wheel(part).close()
    except WheelProblem as problem:
        raise BrokenFileError(problem.reason) from None
