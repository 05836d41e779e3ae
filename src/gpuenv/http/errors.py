"""Pages, their limits, and the reasons why a request fails."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.secrets.url_credentials import without_userinfo
from gpuenv.untrusted.bounds import shortened

_NAMED_BY = "GPUENV_HTTP_TIMEOUT"
_LONGEST_S = 86400.0
MISSING = (404, 410)


class FetchLimits(Struct, frozen=True):
    """Limits of one page; `whole_s` is for all of it, name look-up included."""

    connect_s: float = 3.0
    read_s: float = 10.0
    whole_s: float = 20.0
    page_bytes: int = 64 << 20
    redirects: int = 5
    file_bytes: int = 16 << 30  # of any answer


def limits_of(environ: Mapping[str, str]) -> FetchLimits:
    """Return the limits, with GPUENV_HTTP_TIMEOUT (seconds without a byte) where it is a positive number."""
    try:
        read_s = float(environ.get(_NAMED_BY, ""))
    except ValueError:
        return FetchLimits()
    return replace(FetchLimits(), read_s=read_s) if 0 < read_s <= _LONGEST_S else FetchLimits()


class HttpProblem(Exception):  # noqa: N818 - not an error of ours: what the far side did
    """Why a URL could not be read: `reason` continues a sentence that starts with it; `status` is HTTP's."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status

    @property
    def missing(self) -> bool:
        """Whether the page does not exist."""
        return self.status in MISSING


class HttpPage(Struct, frozen=True):
    """A page; `url` is the final one, after redirects."""

    url: str
    text: str
    content_type: str


class StrayRedirectError(ValueError):
    """A redirect to what is not the URL of an index."""


def timed_out(seconds: float) -> str:
    """Say that a time limit ran out."""
    return tr("timed out after {seconds} s", seconds=f"{seconds:g}")


def describe_status(status: int, url: str, final_url: str) -> str:
    """Say which status a server sent, and which server after redirects to another."""
    location = _host(final_url)
    if location == _host(url):
        return tr("answered {status}", status=status)
    return tr("redirects to {host}, which answered {status}", host=location, status=status)


def _host(url: str) -> str:
    """Return a URL's host, without user and password."""
    return shortened(urlsplit(without_userinfo(url)).netloc)
