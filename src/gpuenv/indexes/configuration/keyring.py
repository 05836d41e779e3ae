"""Passwords from the program `keyring`, for indexes of users whose pip or uv is configured to use it.

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


# The answers so far: the keyring is run once for each question.
_lock = threading.Lock()
_answers: dict[tuple[str, ...], str | None] = {}


@dataclass(frozen=True)
class Keyring:
    """The keyring on PATH, asked for the passwords of these indexes and of no other server."""

    environ: Mapping[str, str] = field(compare=False, repr=False)
    indexes: tuple[str, ...] = ()

    def including(self, urls: tuple[str, ...]) -> Keyring:
        """Return the keyring for more indexes."""
        return replace(self, indexes=(*self.indexes, *filter(is_remote, urls)))

    def find(self, url: str, user: str | None) -> Login | None:
        """Return the login for a file or page of one of the indexes, None for any other URL."""
        return next(filter(None, (self._find(index, user) for index in self._serving(url))), None)

    def user_of(self, url: str) -> str | None:
        """Return the user for an index whose URL has none, if the keyring has already given it."""
        if "@" in urlsplit(url).netloc:
            return None
        names = (name for index in self._serving(url) for name in _names(index))
        answers = (_answers.get(_arguments(name, None)) for name in names)
        return next((answer.partition("\n")[0] for answer in answers if answer), None)

    def _serving(self, url: str) -> Iterator[str]:
        """Yield the indexes of the same scheme, host and port, for which alone a password is valid."""
        server = _server(url)
        return (index for index in self.indexes if server is not None and _server(index) == server)

    def _find(self, index: str, user: str | None) -> Login | None:
        parts = urlsplit(index)
        if parts.password or has_hidden_path(index):
            return None
        user = user or (unquote(parts.username) if parts.username else None)
        return next(filter(None, (self._login(name, user) for name in _names(index))), None)

    def _login(self, service: str, user: str | None) -> Login | None:
        if user is not None and user.startswith("-"):
            return None
        answer = self._ask(_arguments(service, user)) or ""
        name, _, password = answer.partition("\n") if user is None else (user, "", answer)
        return (name, password) if name and password else None

    def _ask(self, arguments: tuple[str, ...]) -> str | None:
        with _lock:
            if arguments not in _answers:
                argv = ("keyring", *arguments)
                done = process.run(argv, timeout_s=_LIMIT_S, environ=self.environ, limit=_LARGEST)
                text = done.stdout.replace("\r\n", "\n").removesuffix("\n")
                _answers[arguments] = text if done.ok and text else None
            return _answers[arguments]


def _names(index: str) -> tuple[str, str]:
    """Return the names under which a keyring may know an index: its URL, else its server."""
    return without_userinfo(index), urlsplit(index).netloc.rpartition("@")[2]


def _arguments(service: str, user: str | None) -> tuple[str, ...]:
    return ("get", service, *(("--mode", "creds") if user is None else (user,)))


def _server(url: str) -> tuple[str, str, int] | None:
    try:
        parts = urlsplit(url)
        scheme = parts.scheme.lower()
        return scheme, (parts.hostname or ""), parts.port or _PORTS[scheme]
    except (ValueError, KeyError):
        return None
