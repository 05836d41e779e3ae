"""uv.toml: the default index, in the form uv documents.

[[index]]
url = "https://mirror.example/simple"
default = true

https://docs.astral.sh/uv/concepts/indexes/
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from gpuenv.config_edit.text import ended, line_end, without_mark
from gpuenv.i18n.messages import tr

DEFAULT = "index.default"  # the setting: the default index's address


def read_settings(text: str) -> dict[str, Any]:
    """Return the default index as `index.default`, all else as it stands; ValueError for no valid TOML."""
    document = _parse(text).unwrap()
    index = document.get("index", [])
    if not isinstance(index, list) or any(not isinstance(item, Mapping) for item in index):
        raise ValueError(tr("`index` is not a list of tables"))
    settings = {"rest": document}
    default = _default(document)
    if default is not None:
        settings[DEFAULT] = default.get("url")
    elif "index-url" in document:
        settings[DEFAULT] = document["index-url"]
    return settings


def write_settings(text: str, wanted: Mapping[str, Any]) -> str:
    """Set the default index to an address, None takes it out; everything else stays byte for byte."""
    url = wanted[DEFAULT]
    before = read_settings(text)
    if before.get(DEFAULT) == url:
        return text
    mark, rest = without_mark(text)
    changed = mark + (_take_out(rest) if url is None else _put(rest, url))
    after = read_settings(changed)
    if after.get(DEFAULT) != url or _without_default(after["rest"]) != _without_default(before["rest"]):
        raise ValueError(tr("the file cannot be changed without changing its other content"))
    return changed


def _parse(text: str) -> Any:
    import tomlkit  # noqa: PLC0415 - only where a file is changed
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    bare = without_mark(text)[1]
    try:
        document = tomlkit.parse(bare)
    except (TOMLKitError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if document.as_string() != bare:
        raise ValueError(tr("the file cannot be written back unchanged"))
    return document


def _put(text: str, url: str) -> str:
    from tomlkit.items import AoT  # noqa: PLC0415 - only where a file is changed

    document = _parse(text)
    default = _default(document)
    if default is not None:
        default["url"] = url
    elif "index-url" in document:
        document["index-url"] = url
    elif "index" in document and not isinstance(document["index"], AoT):
        document["index"].append({"url": url, "default": True})
    else:  # after everything else: a table in front would take in the keys that follow
        end = line_end(text)
        gap = end if text.strip() else ""
        return f'{ended(text)}{gap}[[index]]{end}url = "{url}"{end}default = true{end}'
    return str(document.as_string())


def _take_out(text: str) -> str:
    document = _parse(text)
    tables = document.get("index", [])
    defaults = [number for number, item in enumerate(tables) if item.get("default") is True]
    if not defaults:
        document.pop("index-url", None)
    elif len(tables) == 1:
        del document["index"]
    else:
        del tables[defaults[0]]
    return str(document.as_string())


def _default(document: MutableMapping[str, Any]) -> Any | None:
    return next((item for item in document.get("index", []) if item.get("default") is True), None)


def _without_default(document: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in document.items() if name not in ("index", "index-url")}
    others = [
        {name: value for name, value in item.items() if not (item.get("default") is True and name == "url")}
        for item in document.get("index", [])
        if not (item.get("default") is True and set(item) <= {"url", "default"})
    ]
    return rest | ({"index": others} if others else {})
