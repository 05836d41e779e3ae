"""Hashes that no page has: computed from the files, each once; and files of hashes for the installer."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from gpuenv.environments.wheel_cache import WheelStore, unwritable
from gpuenv.files.cache_lock import lock_shared
from gpuenv.files.read_limited import read_limited_text
from gpuenv.http import HttpClient, HttpProblem, fetch_size
from gpuenv.http.ranges import BrokenFileError
from gpuenv.http.timeouts import Watch
from gpuenv.i18n.messages import tr
from gpuenv.model.access import ANYBODY, Access
from gpuenv.model.errors import Fix, Unreachable
from gpuenv.model.plan import PlannedPackage
from gpuenv.on_disk.replace import replace_file
from gpuenv.process.surroundings import cache_root, writable_cache
from gpuenv.secrets.url_credentials import redact_credentials, without_userinfo
from gpuenv.untrusted.documents import load_json

_DIGEST = re.compile(r"[0-9a-f]{64}")


class HashProgress(Protocol):
    """Shows what is fetched."""

    def file(self, filename: str, size: int | None) -> None:
        """A file is about to be fetched."""

    def received(self, count: int) -> None:
        """Bytes were received; fewer than 0: they are fetched again."""


class Unwatched:
    """Shows nothing."""

    def file(self, filename: str, size: int | None) -> None:
        """Ignore it."""

    def received(self, count: int) -> None:
        """Ignore it."""


class HashFetcher(Struct, frozen=True, dict=True):
    """Fetches files for their hashes; what was fetched stays in the cache for the installer."""

    environ: Mapping[str, str]
    access: Access = ANYBODY
    follower: HashProgress = field(default_factory=Unwatched)

    def digest(self, package: PlannedPackage) -> str:
        """Return the sha256 of a remote wheel; raise Unreachable where it can't be read."""
        with HttpClient(self.environ, access=self.access) as client:
            url = package.url or ""
            size = package.size or fetch_size(client, url)
            key = f"{without_userinfo(url.partition('#')[0])} {size}"
            known = _read(self._file).get(key) if size else None
            if known:
                return known
            value = self._fetch(client, package, size)
        if size:
            _add(self._file, key, value)
        return value

    @property
    def _file(self) -> Path:
        return cache_root(self.environ) / "hashes.json"

    def _fetch(self, client: HttpClient, package: PlannedPackage, size: int | None) -> str:
        from gpuenv.downloads.download import download  # noqa: PLC0415 - where a file is fetched
        from gpuenv.downloads.expected import Expected  # noqa: PLC0415

        url, filename = package.url or "", str(package.filename)
        store = WheelStore(cache_root(self.environ))
        store.check_space(((None, size or 0),))
        watch = Watch(self.follower.received)
        key = sha256(url.encode()).hexdigest()
        with store.locked(key, watch, lambda: None):
            self.follower.file(filename, size)
            part = store.part(key)
            with _reported(filename, url):
                digest = download(client, url, part, Expected(None, size), watch=watch)
            store.keep(part, digest, filename)
        return digest


@contextmanager
def _reported(filename: str, url: str) -> Iterator[None]:
    try:
        yield
    except (HttpProblem, BrokenFileError) as problem:
        raise Unreachable(
            tr(
                "{file} could not be downloaded to compute its hash: {url} {problem}",
                file=filename,
                url=redact_credentials(url),
                problem=problem,
            ),
            code="hash-not-fetched",
            fixes=(Fix(tr("check the network, then run the command again")),),
        ) from None


def _read(path: Path) -> dict[str, str]:
    """Return the saved hashes; none from a file that is not gpuenv's."""
    try:
        read = load_json(read_limited_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(read, dict):
        return {}
    return {key: text for key, text in read.items() if isinstance(text, str) and _DIGEST.fullmatch(text)}


def _add(path: Path, key: str, digest: str) -> None:
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({**_read(path), key: digest}, file)
        Path(name).replace(path)


def keep_hashes(text: str, environ: Mapping[str, str]) -> Path:
    """Keep the file by what is in it; raise UsageError where the cache can't be written."""
    cache = writable_cache(environ)
    lock_shared(cache)
    path = cache / "locks" / f"{sha256(text.encode()).hexdigest()[:32]}.txt"
    try:
        if not _holds(path, text):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text)
    except OSError as error:
        raise unwritable(path, error) from None
    return path


def _holds(path: Path, text: str) -> bool:
    """Tell whether a file is there with this very text: to write one to the disk takes milliseconds."""
    try:
        return path.is_file() and read_limited_text(path) == text
    except (OSError, ValueError):
        return False
