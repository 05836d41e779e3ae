"""Find the mirror that a word or a URL means."""

from __future__ import annotations

from difflib import get_close_matches
from urllib.parse import urlsplit

from gpuenv.i18n.messages import tr
from gpuenv.model.mirror import Mirror, TorchPart
from gpuenv.model.variant import Variant

_VARIANT = "{variant}"
_ANY = "auto"  # as a name: whichever answers


def find_mirror(name: str, mirrors: tuple[Mirror, ...]) -> Mirror | None:
    """Return the mirror of a name, an alias or a host, whatever its case; None for any other word."""
    word = name.strip().lower()
    kinds = (lambda mirror: (mirror.name,), _names, _hosts)
    return next((mirror for words in kinds for mirror in mirrors if word in words(mirror)), None)


def _names(mirror: Mirror) -> tuple[str, ...]:
    return (mirror.name, *(alias.lower() for alias in mirror.aliases))


def _hosts(mirror: Mirror) -> tuple[str, ...]:
    return (*mirror.hosts, *mirror.intranet)


def check_words(own: tuple[Mirror, ...], shipped: tuple[Mirror, ...]) -> None:
    """Raise ValueError for an ambiguous name of the user's own mirrors, which may hide shipped aliases."""
    names = [mirror.name for mirror in own]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ValueError(tr("the mirror `{name}` is defined twice", name=twice))
    owners = {mirror.name: mirror.name for mirror in (*shipped, *own)}
    for mirror in own:
        for word in _names(mirror):
            if word == _ANY:
                raise ValueError(tr("`{word}` is already a word of --mirror", word=word))
            owner = owners.setdefault(word, mirror.name)
            if owner != mirror.name:
                facts = {"word": word, "first": owner, "second": mirror.name}
                raise ValueError(tr("`{word}` means both `{first}` and `{second}`", **facts))


def near_names(name: str, mirrors: tuple[Mirror, ...]) -> tuple[str, ...]:
    """Return the names that are similar to a misspelt one, the closest first."""
    words = {word: mirror.name for mirror in mirrors for word in _names(mirror)}
    return tuple(dict.fromkeys(words[word] for word in get_close_matches(name.strip().lower(), words)))


def mirror_of_url(url: str, mirrors: tuple[Mirror, ...]) -> Mirror | None:
    """Return the mirror of a URL, by its host, of several by the longest path; None for any other."""
    try:
        server, host, folders = _server(url), urlsplit(url).hostname, _folders(url)
    except ValueError:
        return None

    def shared_folders(mirror: Mirror) -> int:
        owned = [_folders(address) for address in _addresses(mirror) if _server(address) == server]
        return max((len(own) + 1 for own in owned if folders[: len(own)] == own), default=0)

    on_host = [item for item in mirrors if host in _hosts(item) or server in map(_server, _addresses(item))]
    return max(on_host, key=shared_folders, default=None)


def mirror_at(url: str, mirrors: tuple[Mirror, ...]) -> Mirror | None:
    """Return the mirror of a URL, also where its host only serves that mirror's files."""
    host = host_of(url)
    for_files = (
        mirror for mirror in mirrors for part in (mirror.pypi, mirror.torch) if part and host in part.files
    )
    return mirror_of_url(url, mirrors) or next(for_files, None)


def host_of(url: str) -> str | None:
    """Return the host of a URL, None if it is invalid."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _server(url: str) -> str:
    """Return the host and port of a URL, without the user."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def _folders(url: str) -> tuple[str, ...]:
    """Return the folders of a URL up to that of the variant."""
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
    """Return the right URL for one that is known to be wrong, of torch in any variant; None for any other."""
    wanted = _plain(url)
    for mirror in mirrors:
        if mirror.pypi and mirror.pypi.simple and wanted in map(_plain, mirror.pypi.wrong):
            return mirror.pypi.simple
        for bad in mirror.torch.wrong if mirror.torch else ():
            stem, _ = _split_variant(_plain(bad))
            if mirror.torch and wanted == stem:
                return mirror.torch.address.partition(f"/{_VARIANT}")[0]
            if mirror.torch and _split_variant(wanted)[0] == stem:
                return _torch_url(mirror.torch, _split_variant(wanted)[1])
    return None


def _torch_url(part: TorchPart, variant: str) -> str:
    if part.layout == "page":
        return part.address
    return part.of_variant(variant) if _VARIANT in part.address else f"{part.address}/{variant}"


def is_bogus(url: str, mirrors: tuple[Mirror, ...]) -> Mirror | None:
    """Return the mirror that is wrongly said to have torch at or above this URL; None for any other."""
    wanted = _plain(url)
    return next(
        (mirror for mirror in mirrors for bad in mirror.bogus if _is_below(wanted, _plain(bad))), None
    )


def _is_below(wanted: str, bad: str) -> bool:
    stem, variant = _split_variant(bad)
    if not variant:
        return f"{wanted}/".startswith(f"{bad}/")
    folder = wanted.removeprefix(f"{stem}/").partition("/")[0]
    return wanted == stem or (wanted.startswith(f"{stem}/") and Variant(folder).is_known)


def _split_variant(address: str) -> tuple[str, str]:
    """Split `https://…/whl/cu126` into `https://…/whl` and `cu126`, which is empty without a variant."""
    above, _, last = address.rpartition("/")
    return (above, last) if Variant(last).is_known else (address, "")


def _plain(url: str) -> str:
    return url.strip().rstrip("/").lower()
