"""Keep passwords out of arguments, which every user of a machine can read.

uv and pip get them by variables, which only the process's own user can read, or in a requirements file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from urllib.parse import quote, unquote

from msgspec import Struct

from gpuenv.secrets.url_credentials import has_hidden_path, has_userinfo, without_userinfo

_NAMED = re.compile(r"([A-Za-z0-9][\w.-]*)=(.+)", re.DOTALL)
_LOGIN = re.compile(r"://([^/?#]*)@")
_UV_INDEXES = {"--default-index": "UV_DEFAULT_INDEX", "--index": "UV_INDEX"}
_UV_LINKS = ("--find-links", "UV_FIND_LINKS")
_PIP_PLACES = {
    "--index-url": "PIP_INDEX_URL",
    "--extra-index-url": "PIP_EXTRA_INDEX_URL",
    "--find-links": "PIP_FIND_LINKS",
}
_PIP_LISTS = ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS")
_PYTHONS = ("-m", "pip")


class Concealed(Struct, frozen=True):
    """A command without passwords, variables to run it with, and requirements for a private file."""

    argv: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    requirements: tuple[str, ...] = ()


def conceal(argv: tuple[str, ...], environ: Mapping[str, str]) -> Concealed:
    """Remove the passwords from a command of uv or pip; others are returned as they are."""
    if not any(map(has_userinfo, argv)):
        return Concealed(argv)
    if any(argv[number : number + 2] == _PYTHONS for number in range(1, 5)):
        return _by_requirements(_of_pip(argv, environ))
    return _by_requirements(_of_uv(argv)) if "pip" in argv[1:3] else Concealed(argv)


def _of_uv(argv: tuple[str, ...]) -> Concealed:
    """Name the indexes: uv reads UV_INDEX_NAME_USERNAME and UV_INDEX_NAME_PASSWORD for a named index.

    https://docs.astral.sh/uv/concepts/indexes/#providing-credentials-directly
    """
    options = _options(argv)
    variables = _hidden_indexes(options)
    options = [words for words in options if _UV_INDEXES.get(words[0]) not in variables]
    links = [words[-1] for words in options if words[0] == _UV_LINKS[0]]
    are_moved = any(map(has_userinfo, links))
    if are_moved:  # one variable for all: uv reads it only where no option names any
        variables[_UV_LINKS[1]] = ",".join(_without_comma(link) for link in links)
    kept: list[str] = []
    for words in options:
        option, value = words[0], words[-1]
        if option in _UV_INDEXES and has_userinfo(value):
            named = _NAMED.fullmatch(value)
            name, url = (named[1], named[2]) if named else (f"gpuenv{len(variables)}", value)
            variables |= _login(name, url)
            kept += [option, f"{name}={without_userinfo(url)}"]
        elif not (option == _UV_LINKS[0] and are_moved):
            kept += words
    return Concealed(tuple(kept), tuple(variables.items()))


def _hidden_indexes(options: list[tuple[str, ...]]) -> dict[str, str]:
    """Return variables for the indexes whose path or query is secret: all of a kind, as options go first."""
    indexes = [(_UV_INDEXES[words[0]], words[-1]) for words in options if words[0] in _UV_INDEXES]
    hidden = sorted({name for name, url in indexes if has_hidden_path(url)})
    return {
        variable: " ".join(url.replace(" ", "%20") for name, url in indexes if name == variable)
        for variable in hidden
    }


def _login(name: str, url: str) -> dict[str, str]:
    start = f"UV_INDEX_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
    match = _LOGIN.search(url)
    user, has_password, password = match[1].partition(":") if match else ("", "", "")
    login = {f"{start}_USERNAME": unquote(user)}
    return login | {f"{start}_PASSWORD": unquote(password)} if has_password else login


def _without_comma(location: str) -> str:
    """Encode the commas of a location for a list; a path becomes a URL."""
    if "," not in location:
        return location
    return quote(location, safe="/:%@+~=&?#!$*;()[]'") if "://" in location else f"file://{quote(location)}"


def _of_pip(argv: tuple[str, ...], environ: Mapping[str, str]) -> Concealed:
    """Move the URLs with passwords into variables, after those that the user's own variables name."""
    variables: dict[str, str] = {}
    kept: list[str] = []
    for words in _options(argv):
        name, value = _PIP_PLACES.get(words[0]), words[-1]
        if name is None or not has_userinfo(value):
            kept += words
        elif name in _PIP_LISTS:
            before = variables.get(name, environ.get(name, ""))
            variables[name] = f"{before} {value.replace(' ', '%20')}".strip()
        else:
            variables[name] = value
    return Concealed(tuple(kept), tuple(variables.items()))


_VALUED = frozenset((*_UV_INDEXES, *_PIP_PLACES))


def _options(argv: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Split a command into words, options for indexes and links together with their values."""
    words = iter(argv)
    return [(word, *islice(words, 1 if word in _VALUED else 0)) for word in words]


def _by_requirements(command: Concealed) -> Concealed:
    """Move requirements with a password (`name @ https://me:secret@host/x.whl`) out of the arguments."""
    secret = tuple(word for word in command.argv if has_userinfo(word))
    kept = tuple(word for word in command.argv if word not in secret)
    return Concealed(kept, command.variables, secret)
