"""Which mirror a word or an address means."""

from __future__ import annotations

from difflib import get_close_matches
from urllib.parse import urlsplit

from gpuenv.values.mirror import Mirror


def find_mirror(name: str, mirrors: tuple[Mirror, ...]) -> Mirror | None:
    """Return the mirror that a name, an alias or a host means, in any case; None for any other word."""
    word = name.strip().lower()
    for words in (_name, _aliases, _hosts):
        for mirror in mirrors:
            if word in words(mirror):
                return mirror
    return None


def _name(mirror: Mirror) -> tuple[str, ...]:
    return (mirror.name,)


def _aliases(mirror: Mirror) -> tuple[str, ...]:
    return tuple(alias.lower() for alias in mirror.aliases)


def _hosts(mirror: Mirror) -> tuple[str, ...]:
    return (*mirror.hosts, *mirror.intranet)


def near_names(name: str, mirrors: tuple[Mirror, ...]) -> tuple[str, ...]:
    """Return the names that a misspelt one may mean, the likeliest first."""
    words = {word: mirror.name for mirror in mirrors for word in (*_name(mirror), *_aliases(mirror))}
    return tuple(dict.fromkeys(words[word] for word in get_close_matches(name.strip().lower(), words)))


def mirror_of_url(url: str, mirrors: tuple[Mirror, ...]) -> Mirror | None:
    """Return the mirror that an address lies on: by its host, of several the one with the longest path."""
    parts = urlsplit(url)
    on_host = [mirror for mirror in mirrors if _is_on(parts.netloc, parts.hostname, mirror)]
    return max(on_host, key=lambda mirror: _shared(url, mirror), default=None)


def _is_on(place: str, host: str | None, mirror: Mirror) -> bool:
    own = {urlsplit(address).netloc for address in _addresses(mirror)}
    return place in own or host in _hosts(mirror)


def _shared(url: str, mirror: Mirror) -> int:
    return max(
        (len(address) for address in _addresses(mirror) if url.startswith(address.partition("{")[0])),
        default=0,
    )


def _addresses(mirror: Mirror) -> tuple[str, ...]:
    pypi, torch, conda = mirror.pypi, mirror.torch, mirror.conda
    found = (
        *((pypi.simple, *pypi.aliases, *pypi.wrong) if pypi else ()),
        *((torch.address, *torch.wrong) if torch else ()),
        *((conda.root,) if conda else ()),
        *mirror.bogus,
    )
    return tuple(one for one in found if one)


def correction(url: str, mirrors: tuple[Mirror, ...]) -> str | None:
    """Return the right address for one that is known to be wrong; None for any other.

    PyPI's part is matched whole, torch's by its beginning: the variant's folder is kept.
    """
    wanted = _plain(url)
    for mirror in mirrors:
        if mirror.pypi and mirror.pypi.simple and wanted in map(_plain, mirror.pypi.wrong):
            return mirror.pypi.simple
        if mirror.torch and wanted in map(_plain, mirror.torch.wrong):
            return mirror.torch.of_variant(wanted.rpartition("/")[2])
    return None


def is_bogus(url: str, mirrors: tuple[Mirror, ...]) -> Mirror | None:
    """Return the mirror that is said to have torch at this address and never had; None for any other."""
    wanted = _plain(url)
    return next(
        (one for one in mirrors for bad in one.bogus if f"{wanted}/".startswith(f"{_plain(bad)}/")), None
    )


def _plain(url: str) -> str:
    return url.strip().rstrip("/").lower()
