"""Pages on disk, each in a file of its own, in the form in which they are used.

A file is a digest, a line of JSON about the answer, and the content. What is damaged, too large or of another
version counts as absent. Secrets of an address stand neither in the name nor in the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from gpuenv.files.private import replace_private
from gpuenv.files.read_limited import read_limited
from gpuenv.http.freshness import Validators, validators_of
from gpuenv.secrets.url_credentials import has_userinfo, without_userinfo

FOLDER = "pages"
_VERSION = "gpuenv page 1"  # a file of another version has another name
_DIGEST_BYTES = sha256().digest_size
_LARGEST = 128 << 20  # bytes of a file


class KeptPage(Struct, frozen=True):
    """A page as it was kept: `content` in the form of its name, `read_at` in seconds since the epoch."""

    url: str  # the final one
    status: int
    headers: Mapping[str, str]
    read_at: float
    fresh_s: float
    content: bytes

    @property
    def validators(self) -> Validators:
        """What a conditional request names."""
        return validators_of(self.headers)

    def is_fresh(self, now: float) -> bool:
        """Whether it may be used without asking; not where the clock was set back."""
        return 0 <= now - self.read_at < self.fresh_s


class KnownPages:
    """What is known of the pages on the way of one request, redirects included; `asked` is of its address."""

    def __init__(self, asked: KeptPage | None, find: Callable[[str], KeptPage | None]) -> None:
        self._asked = asked
        self._find = find
        self._first: str | None = None
        self.current: KeptPage | None = None

    def at(self, url: str) -> KeptPage | None:
        """Return what is known of an address, which becomes the current one."""
        self._first = self._first or url
        self.current = self._asked if url == self._first else self._find(url)
        return self.current


class PageStore:
    """Reads and writes kept pages; a disk that fails is one that has none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, url: str, accept: str, form: str) -> KeptPage | None:
        """Return the intact page of an address, in a form of this name."""
        try:
            content = read_limited(self._path(url, accept, form), _LARGEST)
        except (OSError, ValueError):
            return None
        body = content[_DIGEST_BYTES:]
        if sha256(body).digest() != content[:_DIGEST_BYTES]:
            return None
        line, _, rest = body.partition(b"\n")
        facts = json.loads(line)
        return KeptPage(facts["url"] or url, facts["status"], facts["headers"], facts["read_at"],
                        facts["fresh_s"], rest)  # fmt: skip

    def keep(self, url: str, accept: str, form: str, page: KeptPage) -> None:
        """Keep a page, if the disk allows it. With a secret in its address it is never fresh.

        Another secret may open another page, which the server is asked about.
        """
        secret = has_userinfo(url) or has_userinfo(page.url)
        facts = {
            "url": "" if secret or page.url == url else page.url,
            "status": page.status,
            "headers": dict(page.headers),
            "read_at": page.read_at,
            "fresh_s": 0.0 if secret else page.fresh_s,
        }
        body = json.dumps(facts).encode() + b"\n" + page.content
        with suppress(OSError):
            replace_private(self._path(url, accept, form), sha256(body).digest() + body)

    def drop(self, url: str, accept: str, form: str) -> None:
        """Remove a page."""
        with suppress(OSError):
            self._path(url, accept, form).unlink(missing_ok=True)

    def _path(self, url: str, accept: str, form: str) -> Path:
        address = without_userinfo(url.partition("#")[0])
        name = f"{_VERSION}\n{form}\n{accept}\n{address}"
        return self._folder / sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
