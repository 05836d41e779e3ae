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

    def user_of(self, url: str) -> str | None:
        """Return the user for an index whose address names none, as far as the keyring was asked."""
        if "@" in urlsplit(url).netloc:
            return None
        names = (name for index in self._serving(url) for name in _names(index))
        answers = (_KNOWN.answers.get(_asking(name, None)) for name in names)
        return next((answer.partition("\n")[0] for answer in answers if answer), None)

    def _serving(self, url: str) -> Iterator[str]:
        """Yield the indexes of a server: a password is for nobody else, nor for another scheme or port."""
        server = _server(url)
        return (index for index in self.indexes if server is not None and _server(index) == server)

    def _of(self, index: str, user: str | None) -> Login | None:
        parts = urlsplit(index)
        if parts.password or has_hidden_path(index):
            return None
        user = user or (unquote(parts.username) if parts.username else None)
        return next(filter(None, (self._login(name, user) for name in _names(index))), None)

    def _login(self, service: str, user: str | None) -> Login | None:
        if user is not None and user.startswith("-"):
            return None
        message = self._told(_asking(service, user)) or ""
        value, _, password = message.partition("\n") if user is None else (user, "", message)
        return (value, password) if value and password else None

    def _told(self, words: tuple[str, ...]) -> str | None:
        with _KNOWN.lock:
            if words not in _KNOWN.answers:
                done = process.run(
                    ("keyring", *words), timeout_s=_LIMIT_S, environ=self.environ, limit=_LARGEST
                )
                text = done.stdout.replace("\r\n", "\n").removesuffix("\n")
                _KNOWN.answers[words] = text if done.ok and text else None
            return _KNOWN.answers[words]


def _names(index: str) -> tuple[str, str]:
    """Return what a keyring may know an index by: its address, else its server."""
    return without_userinfo(index), urlsplit(index).netloc.rpartition("@")[2]


def _asking(service: str, user: str | None) -> tuple[str, ...]:
    return ("get", service, *(("--mode", "creds") if user is None else (user,)))


def _server(url: str) -> tuple[str, str, int] | None:
    try:
        parts = urlsplit(url)
        scheme = parts.scheme.lower()
        return scheme, (parts.hostname or ""), parts.port or _PORTS[scheme]
    except (ValueError, KeyError):
        return None
