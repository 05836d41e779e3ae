"""Which mirror a word or an address means."""

from __future__ import annotations

from difflib import get_close_matches
from urllib.parse import urlsplit

from gpuenv.i18n.messages import tr
from gpuenv.model.mirror import Mirror, TorchPart
from gpuenv.model.variant import Variant

_VARIANT = "{variant}"
_ANY = "auto"  # as a name: whichever answers


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


def check_words(own: tuple[Mirror, ...], shipped: tuple[Mirror, ...]) -> None:
    """Raise ValueError for a word of the user's own mirrors that means something else as well.

    An alias may be one that a shipped mirror has: the user's goes before it.
    """
    names = [mirror.name for mirror in own]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ValueError(tr("the mirror `{name}` is defined twice", name=twice))
    owners = {mirror.name: mirror.name for mirror in (*shipped, *own)}
    for mirror in own:
        for word in (*_name(mirror), *_aliases(mirror)):
            if word == _ANY:
                raise ValueError(tr("`{word}` is already a word of --mirror", word=word))
            owner = owners.setdefault(word, mirror.name)
            if owner != mirror.name:
                facts = {"word": word, "first": owner, "second": mirror.name}
                raise ValueError(tr("`{word}` means both `{first}` and `{second}`", **facts))


def near_names(name: str, mirrors: tuple[Mirror, ...]) -> tuple[str, ...]:
    """Return the names that a misspelt one may mean, the likeliest first."""
    words = {word: mirror.name for mirror in mirrors for word in (*_name(mirror), *_aliases(mirror))}
    return tuple(dict.fromkeys(words[word] for word in get_close_matches(name.strip().lower(), words)))


def mirror_of_url(url: str, mirrors: tuple[Mirror, ...]) -> Mirror | None:
    """Return the mirror that an address lies on: by its host, of several the one with the longest path.

    None for an address that lies on none, and for what is no address.
    """
    try:
        location, host, folders = _place(url), urlsplit(url).hostname, _folders(url)
    except ValueError:
        return None
    on_host = [mirror for mirror in mirrors if _is_on(location, host, mirror)]
    return max(on_host, key=lambda mirror: _shared(location, folders, mirror), default=None)


def mirror_at(url: str, mirrors: tuple[Mirror, ...]) -> Mirror | None:
    """Return the mirror that an address lies on, also where it is a host of that mirror's files."""
    mirror = mirror_of_url(url, mirrors)
    host = host_of(url)
    return mirror or next((item for item in mirrors if host in _file_hosts(item)), None)


def host_of(url: str) -> str | None:
    """Return the host of an address, None for what is none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _file_hosts(mirror: Mirror) -> tuple[str, ...]:
    return tuple(host for part in (mirror.pypi, mirror.torch) if part for host in part.files)


def _is_on(location: str, host: str | None, mirror: Mirror) -> bool:
    return any(location == _place(address) for address in _addresses(mirror)) or host in _hosts(mirror)


def _shared(location: str, folders: tuple[str, ...], mirror: Mirror) -> int:
    """How many folders of a mirror's address, 1 for the root, an address lies below; 0 for none."""
    owned = [_folders(address) for address in _addresses(mirror) if _place(address) == location]
    return max((len(own) + 1 for own in owned if folders[: len(own)] == own), default=0)


def _place(url: str) -> str:
    """The host and port of an address, without the user's name."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def _folders(url: str) -> tuple[str, ...]:
    """The folders of an address, without that of the variant and what follows it."""
    path = urlsplit(url).path.partition("{")[0]
    return tuple(folder for folder in path.split("/") if folder)


def _addresses(mirror: Mirror) -> tuple[str, ...]:
    pypi, torch, conda = mirror.pypi, mirror.torch, mirror.conda
    values = (
        *((pypi.simple, *pypi.aliases, *pypi.wrong) if pypi else ()),
        *((torch.address, *torch.wrong) if torch else ()),
        *((conda.root,) if conda else ()),
        *mirror.bogus,
    )
    return tuple(item for item in values if item)


def correction(url: str, mirrors: tuple[Mirror, ...]) -> str | None:
    """Return the right address for one that is known to be wrong; None for any other.

    PyPI's part is matched whole. Where torch's ends in a variant's folder, every variant's is wrong, and the
    one asked for is kept.
    """
    wanted = _plain(url)
    for mirror in mirrors:
        if mirror.pypi and mirror.pypi.simple and wanted in map(_plain, mirror.pypi.wrong):
            return mirror.pypi.simple
        for bad in mirror.torch.wrong if mirror.torch else ():
            stem, _ = _apart(_plain(bad))
            if mirror.torch and wanted == stem:
                return mirror.torch.address.partition(f"/{_VARIANT}")[0]
            if mirror.torch and _apart(wanted)[0] == stem:
                return _right(mirror.torch, _apart(wanted)[1])
    return None


def _right(part: TorchPart, variant: str) -> str:
    if part.layout == "page":
        return part.address
    return part.of_variant(variant) if _VARIANT in part.address else f"{part.address}/{variant}"


def is_bogus(url: str, mirrors: tuple[Mirror, ...]) -> Mirror | None:
    """Return the mirror that is said to have torch at this address and never had; None for any other.

    What lies below such an address counts, and beside a variant's folder those of the other variants.
    """
    wanted = _plain(url)
    return next((mirror for mirror in mirrors for bad in mirror.bogus if _lies_at(wanted, _plain(bad))), None)


def _lies_at(wanted: str, bad: str) -> bool:
    stem, variant = _apart(bad)
    if not variant:
        return f"{wanted}/".startswith(f"{bad}/")
    folder = wanted.removeprefix(f"{stem}/").partition("/")[0]
    return wanted == stem or (wanted.startswith(f"{stem}/") and Variant(folder).is_known)


def _apart(address: str) -> tuple[str, str]:
    """`https://…/whl/cu126` as `https://…/whl` and `cu126`; an address without a variant stays whole."""
    above, _, last = address.rpartition("/")
    return (above, last) if Variant(last).is_known else (address, "")


def _plain(url: str) -> str:
    return url.strip().rstrip("/").lower()
