"""uv's configuration files.

index-url = "https://example.com/simple"        # the older spelling
find-links = ["/opt/wheels"]
[[index]]
name = "inner"
url = "https://inner.example.com/simple"
default = true
allow-insecure-host = ["inner.example.com"]
keyring-provider = "subprocess"
[pip]                                           # counts before the top level for `uv pip`
extra-index-url = ["https://two.example.com/simple"]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.untrusted.documents import load_toml


class NamedIndex(Struct, frozen=True):
    """An index's address, and its name if it has one."""

    url: str
    name: str | None = None


class UvConfiguration(Struct, frozen=True):
    """The settings of one uv.toml, or of uv's variables."""

    default: NamedIndex | None = None
    extra: tuple[NamedIndex, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    index_strategy: str | None = None
    insecure_hosts: tuple[str, ...] = ()
    system_certs: bool = False
    keyring: str | None = None
    proxies: tuple[tuple[str, str], ...] = ()
    no_proxy: str | None = None


def parse_uv_configuration(text: str) -> UvConfiguration:
    """Read a uv.toml; ValueError for invalid TOML and types that uv does not accept."""
    table = load_toml(text.removeprefix("\ufeff"))
    pip = _typed(table, "pip", dict, {})
    levels = (pip, table)
    indexes = [index for index in _typed(table, "index", list, []) if not _flag(index, "explicit")]
    simple = [index for index in indexes if index.get("format") != "flat"]
    no_proxy = table.get("no-proxy")
    defaults = [_named(index) for index in simple if _flag(index, "default")]
    defaults += [NamedIndex(level["index-url"]) for level in levels if _typed(level, "index-url", str, "")]
    return UvConfiguration(
        default=defaults[0] if defaults else None,
        extra=(
            *(_named(index) for index in simple if not _flag(index, "default")),
            *(NamedIndex(url) for level in levels for url in _texts(level, "extra-index-url")),
        ),
        find_links=(
            *(_named(index).url for index in indexes if index.get("format") == "flat"),
            *(location for level in levels for location in _texts(level, "find-links")),
        ),
        no_index=any(_flag(level, "no-index") for level in levels),
        index_strategy=_first(levels, "index-strategy"),
        insecure_hosts=tuple(_texts(table, "allow-insecure-host")),
        system_certs=_flag(table, "system-certs") or _flag(table, "native-tls"),
        proxies=tuple(
            (item, url) for item in ("http", "https") if (url := _first((table,), f"{item}-proxy"))
        ),
        no_proxy=(
            ",".join(map(str, no_proxy)) if isinstance(no_proxy, list) else _first((table,), "no-proxy")
        ),
        keyring=_first(levels, "keyring-provider"),
    )


def parse_named_index(text: str) -> NamedIndex:
    """Read `https://example.com/simple` or `inner=https://example.com/simple`."""
    name, is_named, url = text.partition("=")
    if is_named and name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        return NamedIndex(url, name)
    return NamedIndex(text)


def with_login_of(name: str, url: str, environ: Mapping[str, str]) -> str:
    """Return an index's URL with the user and password of its variables, unless it has its own.

    https://docs.astral.sh/uv/concepts/indexes/#providing-credentials-directly
    """
    start = f"UV_INDEX_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
    user, password = (environ.get(f"{start}_{what}") for what in ("USERNAME", "PASSWORD"))
    parts = urlsplit(url)
    if not parts.netloc or (user is None and password is None) or parts.password:
        return url
    user = quote(user, safe="") if user is not None else parts.netloc.rpartition("@")[0]
    login = user if password is None else f"{user}:{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc.rpartition('@')[2]}"))


def parse_insecure_host(text: str) -> str:
    """Read `host`, `host:port`, `https://host` or `*` as `host[:port]`."""
    return text.strip().lower().removeprefix("https://").removeprefix("http://").rstrip("/")


def _named(index: dict[str, Any]) -> NamedIndex:
    url, name = index.get("url"), index.get("name")
    if not isinstance(url, str):
        raise ValueError(tr("an `[[index]]` has no `url`"))
    return NamedIndex(url, name if isinstance(name, str) else None)


def _flag(table: Any, key: str) -> bool:
    if not isinstance(table, dict):
        raise ValueError(tr("`index` is not an array of tables"))
    return table.get(key) is True


def _first(levels: tuple[dict[str, Any], ...], key: str) -> str | None:
    return next(filter(None, (_typed(level, key, str, "") for level in levels)), None)


def _texts(table: dict[str, Any], key: str) -> Iterator[str]:
    for text in _typed(table, key, list, []):
        if not isinstance(text, str):
            raise ValueError(tr("`{key}` contains something other than text", key=key))
        yield text


def _typed(table: dict[str, Any], key: str, kind: type, default: Any) -> Any:
    value = table.get(key, default)
    if not isinstance(value, kind):
        raise ValueError(tr("`{key}` has a type that uv does not accept", key=key))
    return value
