"""Read the user's configuration of pip and uv: variables first, then files, as the two do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.keyring import Keyring
from gpuenv.indexes.configuration.locations import ConfigurationFolders
from gpuenv.indexes.configuration.pip import option_name, parse_pip_boolean, parse_pip_configuration
from gpuenv.indexes.configuration.uv import (
    NamedIndex,
    UvConfiguration,
    parse_insecure_host,
    parse_named_index,
    parse_uv_configuration,
    with_login_of,
)
from gpuenv.indexes.urls import Role, guess_source, is_remote
from gpuenv.model.access import Access, with_scheme
from gpuenv.model.index import IndexConfiguration, IndexSource
from gpuenv.secrets.url_credentials import redact_credentials

T = TypeVar("T")

_Option = tuple[str, str]  # value and origin

_PIP_PREFIX = "PIP_"
_SYSTEM_CERTS = ("UV_SYSTEM_CERTS", "UV_NATIVE_TLS")
_UV_YES = ("1", "y", "yes", "t", "true", "on")
_KEYRING = "subprocess"
_PIP_KEYRINGS = (_KEYRING, "import")  # a new environment has nothing to import


class _Collected(Struct):
    """The settings of all variables and files; the first default index counts."""

    home: Path
    environ: Mapping[str, str]
    defaults: list[IndexSource] = field(default_factory=list)
    extra: list[IndexSource] = field(default_factory=list)
    find_links: list[IndexSource] = field(default_factory=list)
    no_index: bool = False
    strategies: list[tuple[str, str]] = field(default_factory=list)
    insecure_hosts: list[str] = field(default_factory=list)
    system_certs: bool = False
    keyrings: list[str] = field(default_factory=list)
    proxies: dict[str, str] = field(default_factory=dict)
    no_proxy: str | None = None
    warnings: list[str] = field(default_factory=list)

    def source(self, index: NamedIndex, origin: str, base: Path, role: Role = "index") -> IndexSource:
        """Return an index as a source; `base` is what a relative path is relative to."""
        url = index.url.strip()
        if not is_remote(url) and not url.lower().startswith("file:"):
            url = str(base / _expanded(url, self.home))
        url = with_login_of(index.name, url, self.environ) if index.name else url
        return guess_source(url, origin, role=role, name=index.name)


def read_configuration(
    environ: Mapping[str, str],
    *,
    home: Path,
    cwd: Path,
    root: Path = Path("/"),
    prefix: Path | None = None,
    platform: str = sys.platform,
) -> IndexConfiguration:
    """Read the indexes and wheelhouses of pip's and uv's variables and files.

    The default index is the first that is set of UV_DEFAULT_INDEX, UV_INDEX_URL, PIP_INDEX_URL, uv.toml and
    pip's files; all extra indexes and wheelhouses count. A file that cannot be read is a warning. Paths are
    relative to `cwd`, in a file to its folder. `prefix` is the environment if none is active.
    """
    active = environ.get("VIRTUAL_ENV")
    environment = Path(active) if active else prefix or Path(sys.prefix)
    folders = ConfigurationFolders(environ, home, root, environment, platform)
    hit = _Collected(home, environ)
    pip = _read_pip(folders, hit)
    _take_uv(_uv_variables(environ), None, cwd, hit)
    _take_pip({name: pair for name, pair in pip.items() if pair[1].startswith(_PIP_PREFIX)}, cwd, hit)
    for path in folders.uv_files():
        read = _read_file(path, parse_uv_configuration, hit)
        if read is not None:
            _take_uv(read, str(path), path.absolute().parent, hit)
    _take_pip({name: pair for name, pair in pip.items() if not pair[1].startswith(_PIP_PREFIX)}, cwd, hit)
    return IndexConfiguration(
        index_url=hit.defaults[0] if hit.defaults and not hit.no_index else None,
        extra_index_urls=() if hit.no_index else _distinct(hit.extra),
        find_links=_distinct(hit.find_links),
        no_index=hit.no_index,
        access=_access(hit, pip, cwd),
        warnings=tuple(hit.warnings),
        index_strategy=hit.strategies[0] if hit.strategies else None,
    )


def _access(hit: _Collected, pip: Mapping[str, _Option], cwd: Path) -> Access:
    cert = pip.get("cert")
    hosts = (*hit.insecure_hosts, *(host for host, _ in _words(pip, "trusted-host")))
    sources = (*hit.defaults, *hit.extra, *hit.find_links)
    keyring = Keyring(hit.environ).including(tuple(source.url for source in sources))
    asks = hit.keyrings[:1] == [_KEYRING] or pip.get("keyring-provider", ("",))[0] in _PIP_KEYRINGS
    proxies = dict.fromkeys(("http", "https"), pip["proxy"][0]) if "proxy" in pip else hit.proxies
    return Access(
        ca_bundle=str(_base(cert[1], cwd) / _expanded(cert[0], hit.home)) if cert else None,
        insecure_hosts=tuple(dict.fromkeys(parse_insecure_host(host) for host in hosts)),
        system_certs=hit.system_certs,
        proxies=tuple((scheme, with_scheme(url.strip())) for scheme, url in proxies.items()),
        no_proxy=hit.no_proxy,
        logins=keyring if asks else None,
    )


def without_folders(configuration: IndexConfiguration) -> IndexConfiguration:
    """Leave out local folders, for files that are used on other machines."""

    def remote(sources: Iterable[IndexSource]) -> tuple[IndexSource, ...]:
        return tuple(source for source in sources if source.kind != "directory")

    index = configuration.index_url
    return replace(
        configuration,
        index_url=next(iter(remote((index,))), None) if index else None,
        extra_index_urls=remote(configuration.extra_index_urls),
        find_links=remote(configuration.find_links),
    )


def _read_pip(folders: ConfigurationFolders, hit: _Collected) -> dict[str, _Option]:
    """Merge pip's options as pip does; empty ones are left out."""
    merged: dict[str, _Option] = {}
    for path in folders.pip_files():
        options = _read_file(path, parse_pip_configuration, hit) or {}
        merged |= {name: (value, str(path)) for name, value in options.items()}
    for variable, value in folders.environ.items():
        if variable.startswith(_PIP_PREFIX):
            merged[f":env:.{option_name(variable[len(_PIP_PREFIX) :])}"] = (value, variable)
    effective: dict[str, _Option] = {}
    for section in ("global.", "install.", ":env:."):
        for name, pair in merged.items():
            if name.startswith(section) and pair[0]:
                effective[name.removeprefix(section)] = pair
    return effective


def _take_pip(options: Mapping[str, _Option], cwd: Path, hit: _Collected) -> None:
    for url, origin in _words(options, "index-url", many=False):
        hit.defaults.append(hit.source(NamedIndex(url), origin, _base(origin, cwd)))
    for url, origin in _words(options, "extra-index-url"):
        hit.extra.append(hit.source(NamedIndex(url), origin, _base(origin, cwd)))
    for url, origin in _words(options, "find-links"):
        hit.find_links.append(hit.source(NamedIndex(url), origin, _base(origin, cwd), "find-links"))
    for word, origin in _words(options, "no-index", many=False):
        hit.no_index = _is_yes(word, origin, hit) or hit.no_index


def _is_yes(word: str, origin: str, hit: _Collected) -> bool:
    try:
        return parse_pip_boolean(word)
    except ValueError as error:
        hit.warnings.append(_unreadable(origin, error))
        return False


def _base(origin: str, cwd: Path) -> Path:
    """Return what paths are relative to: a file's own folder, else the current one."""
    return cwd if origin.startswith(_PIP_PREFIX) else Path(origin).absolute().parent


def _words(options: Mapping[str, _Option], name: str, *, many: bool = True) -> list[_Option]:
    value, origin = options.get(name, ("", ""))
    return [(word, origin) for word in (value.split() if many else [value.strip()]) if word]


def _uv_variables(environ: Mapping[str, str]) -> UvConfiguration:
    """Read uv's variables: indexes are separated by blanks, wheelhouses by commas."""
    default = environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL") or ""
    extra = f"{environ.get('UV_INDEX', '')} {environ.get('UV_EXTRA_INDEX_URL', '')}"
    return UvConfiguration(
        default=parse_named_index(default.strip()) if default.strip() else None,
        extra=tuple(parse_named_index(word) for word in extra.split()),
        find_links=tuple(filter(None, map(str.strip, environ.get("UV_FIND_LINKS", "").split(",")))),
        index_strategy=environ.get("UV_INDEX_STRATEGY") or None,
        insecure_hosts=tuple(environ.get("UV_INSECURE_HOST", "").split()),
        system_certs=any(environ.get(name, "").lower() in _UV_YES for name in _SYSTEM_CERTS),
        keyring=environ.get("UV_KEYRING_PROVIDER") or None,
    )


def _take_uv(read: UvConfiguration, origin: str | None, base: Path, hit: _Collected) -> None:
    if read.default:
        hit.defaults.append(hit.source(read.default, origin or "UV_DEFAULT_INDEX", base))
    hit.extra += [hit.source(index, origin or "UV_INDEX", base) for index in read.extra]
    for link in read.find_links:
        hit.find_links.append(hit.source(NamedIndex(link), origin or "UV_FIND_LINKS", base, "find-links"))
    if read.index_strategy:
        hit.strategies.append((read.index_strategy, origin or "UV_INDEX_STRATEGY"))
    hit.no_index = hit.no_index or read.no_index
    hit.insecure_hosts += read.insecure_hosts
    hit.system_certs = hit.system_certs or read.system_certs
    hit.proxies = {**dict(read.proxies), **hit.proxies}
    hit.no_proxy = hit.no_proxy or read.no_proxy
    hit.keyrings += [read.keyring] if read.keyring else []


def _read_file(path: Path, parse: Callable[[str], T], hit: _Collected) -> T | None:
    try:
        return parse(read_limited_text(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        hit.warnings.append(_unreadable(str(path), error))
        return None


def _unreadable(location: str, error: Exception) -> str:
    reason = redact_credentials(reason_of(error))
    return tr("`{place}` could not be read: {reason}", place=location, reason=reason)


def _expanded(path: str, home: Path) -> str:
    """Expand a leading `~` to the home directory, as pip does."""
    return str(home / path[2:]) if path.startswith(("~/", f"~{os.sep}")) else path


def _distinct(sources: Iterable[IndexSource]) -> tuple[IndexSource, ...]:
    """Return the first source of each URL."""
    by_url: dict[str, IndexSource] = {}
    for source in sources:
        by_url.setdefault(source.url, source)
    return tuple(by_url.values())
