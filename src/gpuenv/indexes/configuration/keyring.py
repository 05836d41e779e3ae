"""Passwords from the program `keyring`, for the indexes of a user whose pip or uv is told to ask it.

    $ keyring get https://pypi.example/simple ada
    $ keyring get https://pypi.example/simple --mode creds
    ada
    hunter2

https://docs.astral.sh/uv/concepts/authentication/http/ and https://pip.pypa.io/en/stable/topics/authentication/
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from gpuenv.indexes.urls import is_remote
from gpuenv.process import subprocesses as process
from gpuenv.secrets.url_credentials import has_hidden_path, without_userinfo

_LIMIT_S = 15.0  # it may have to be unlocked by hand; a page is waited for 20 s
_LARGEST = 1 << 16
_PORTS = {"https": 443, "http": 80}

Login = tuple[str, str]


@dataclass
class _Known:
    """What keyrings have told this process; each is asked once for each name."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    answers: dict[tuple[str, ...], str | None] = field(default_factory=dict)


_KNOWN = _Known()


@dataclass(frozen=True)
class Keyring:
    """The keyring on the user's PATH, asked for the passwords of these indexes and of no other server."""

    environ: Mapping[str, str] = field(compare=False, repr=False)
    indexes: tuple[str, ...] = ()

    def including(self, urls: tuple[str, ...]) -> Keyring:
        """Return the keyring for more indexes, those that the user has typed."""
        return replace(self, indexes=(*self.indexes, *filter(is_remote, urls)))

    def find(self, url: str, user: str | None) -> Login | None:
        """Return the login for a file or page of one of the indexes, None for any other address."""
        return next(filter(None, (self._of(index, user) for index in self._serving(url))), None)

    def _serving(self, url: str) -> Iterator[str]:
        """Yield the indexes of a server: a password is for nobody else, nor for another scheme or port."""
        server = _server(url)
        return (index for index in self.indexes if server is not None and _server(index) == server)

    def _of(self, index: str, user: str | None) -> Login | None:
        parts = urlsplit(index)
        if parts.password or has_hidden_path(index):
            return None
        user = user or (unquote(parts.username) if parts.username else None)
        host = parts.netloc.rpartition("@")[2]
        names = (without_userinfo(index), host)
        return next(filter(None, (self._login(name, user) for name in names)), None)

    def _login(self, service: str, user: str | None) -> Login | None:
        if user is not None:
            password = None if user.startswith("-") else self._told("get", service, user)
            return (user, password) if password else None
        found, _, password = (self._told("get", service, "--mode", "creds") or "").partition("\n")
        return (found, password) if found and password else None

    def _told(self, *words: str) -> str | None:
        with _KNOWN.lock:
            if words not in _KNOWN.answers:
                done = process.run(
                    ("keyring", *words), timeout_s=_LIMIT_S, environ=self.environ, limit=_LARGEST
                )
                text = done.stdout.replace("\r\n", "\n").removesuffix("\n")
                _KNOWN.answers[words] = text if done.ok and text else None
            return _KNOWN.answers[words]


def _server(url: str) -> tuple[str, str, int] | None:
    try:
        parts = urlsplit(url)
        scheme = parts.scheme.lower()
        return scheme, (parts.hostname or ""), parts.port or _PORTS[scheme]
    except (ValueError, KeyError):
        return None
