"""A condarc: conda's and mamba's configuration, YAML.

channels:
  - defaults
show_channel_urls: true
default_channels:
  - https://mirror.example/anaconda/pkgs/main
custom_channels:
  conda-forge: https://mirror.example/anaconda/cloud

https://docs.conda.io/projects/conda/en/stable/user-guide/configuration/use-condarc.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gpuenv.config_edit.text import check_only_changed, ended, line_end, without_mark
from gpuenv.i18n.foreign_messages import translate_foreign
from gpuenv.i18n.messages import tr
from gpuenv.untrusted.documents import check_yaml

_CUSTOM = "custom_channels"
_INDENT = "  "
_LARGEST = 64 << 10  # letters; a person's has some hundred
_MISSING = object()


class _Span(Struct, frozen=True):
    """A key of a mapping with its value: from the key to the end of the value, without what follows."""

    name: str
    start: int
    value: int
    end: int


def read_settings(text: str) -> dict[str, Any]:
    """Return all settings, custom channels as `custom_channels.NAME`; ValueError for no valid file."""
    document = _load(without_mark(text)[1])
    settings = dict(document)
    custom = settings.pop(_CUSTOM, None) or {}
    if not isinstance(custom, Mapping):
        raise ValueError(tr("`{name}` is not a mapping", name=_CUSTOM))
    return settings | {f"{_CUSTOM}.{name}": value for name, value in custom.items()}


def write_settings(text: str, wanted: Mapping[str, Any]) -> str:
    """Set settings to JSON values, None takes one out; everything else stays byte for byte.

    `custom_channels.NAME` is one custom channel. Raises ValueError for a file that can't be read, or that
    can't be changed without changing more.
    """
    before = read_settings(text)
    mark, rest = without_mark(text)
    for key, value in wanted.items():
        if before.get(key, _MISSING) == (_MISSING if value is None else value):
            continue
        parent, _, name = key.rpartition(".")
        rest = _in_custom(rest, name, value) if parent == _CUSTOM else _at_top(rest, key, value)
    changed = mark + rest
    check_only_changed(before, wanted, read_settings(changed))
    return changed


def _load(text: str) -> dict[str, Any]:
    if len(text) > _LARGEST:
        raise ValueError(tr("it is larger than {size} KB", size=_LARGEST >> 10))
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - only where a file is changed

    try:
        document = _yaml().load(check_yaml(text))
    except (YAMLError, RecursionError, ValueError) as error:
        problem = getattr(error, "problem", None) or str(error)
        raise ValueError(translate_foreign(str(problem))) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ValueError(tr("the file is not a mapping"))
    return document


def _compose(text: str) -> Any:
    """The nodes of a mapping, with their places; None for an empty document."""
    _load(text)
    node = _yaml().compose(text)
    return node if isinstance(getattr(node, "value", None), list) else None


def _yaml() -> Any:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where a file is changed

    return YAML(typ="safe", pure=True)


def _at_top(text: str, key: str, value: Any) -> str:
    root = _compose(text)
    span = _span(root, key, text)
    end = line_end(text)
    if value is None:
        return text if span is None else _without(text, span, flow=root.flow_style)
    if span is None:
        if root is not None and root.flow_style:
            return _into_flow(text, root, f"{key}: {json.dumps(value)}")
        return f"{ended(text)}{_block(key, value, end)}"
    if root.flow_style:
        return text[: span.value] + json.dumps(value) + text[span.end :]
    return text[: span.start] + _block(key, value, end).rstrip("\r\n") + text[span.end :]


def _in_custom(text: str, name: str, value: str | None) -> str:
    root = _compose(text)
    entries = root.value if root is not None else ()
    custom = next((value for key, value in entries if key.value == _CUSTOM), None)
    if custom is None or not custom.value:
        made = None if value is None else {name: value}
        return _at_top(text, _CUSTOM, made) if made or custom is not None else text
    span = _span(custom, name, text)
    if span is None:
        return text if value is None else _added(text, custom, name, value)
    if value is not None:
        return text[: span.value] + _scalar(value) + text[span.end :]
    if len(custom.value) == 1:
        return _at_top(text, _CUSTOM, None)
    return _without(text, span, flow=custom.flow_style)


def _added(text: str, custom: Any, name: str, value: str) -> str:
    entry = f"{_scalar(name)}: {_scalar(value)}"
    if custom.flow_style:
        return _into_flow(text, custom, entry)
    stop = text.find("\n", _spans(custom, text)[-1].end)  # behind a comment on the last line
    position = len(text) if stop < 0 else stop + 1
    column = custom.value[0][0].start_mark.column
    return f"{ended(text[:position])}{' ' * column}{entry}{line_end(text)}{text[position:]}"


def _into_flow(text: str, node: Any, entry: str) -> str:
    close = text.rindex("}", 0, node.end_mark.index)
    comma = ", " if node.value else ""
    return f"{text[:close].rstrip()}{comma}{entry}{text[close:]}"


def _without(text: str, span: _Span, *, flow: bool) -> str:
    """Take out a key: in block style its whole lines, in flow style the comma with it."""
    if flow:
        after = text[span.end :]
        if after.lstrip().startswith(","):
            return text[: span.start] + after.lstrip()[1:].lstrip()
        return text[: span.start].rstrip().removesuffix(",") + after
    start = text.rfind("\n", 0, span.start) + 1
    stop = text.find("\n", span.end)
    return text[:start] + (text[stop + 1 :] if stop >= 0 else "")


def _span(node: Any, name: str, text: str) -> _Span | None:
    return None if node is None else next((span for span in _spans(node, text) if span.name == name), None)


def _spans(node: Any, text: str) -> list[_Span]:
    return [
        _Span(key.value, key.start_mark.index, value.start_mark.index, _end(key, value, text))
        for key, value in node.value
    ]


def _end(key: Any, value: Any, text: str) -> int:
    """The end of a value: a block's mark lies behind the comments and blank lines that follow it."""
    end = max(value.end_mark.index, key.end_mark.index)
    if not hasattr(value, "flow_style") or isinstance(value.value, str) or value.flow_style:
        return end if text[end - 1 : end] != "\n" else len(text[:end].rstrip())
    lines = text[:end].splitlines(keepends=True)
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    # a comment behind the last item stays with it
    return len("".join(lines).rstrip("\r\n"))


def _block(key: str, value: Any, end: str) -> str:
    if isinstance(value, list):
        items = "".join(f"{_INDENT}- {_scalar(item)}{end}" for item in value)
        return f"{key}:{end}{items}" if value else f"{key}: []{end}"
    if isinstance(value, Mapping):
        lines = (f"{_INDENT}{_scalar(name)}: {_scalar(inner)}{end}" for name, inner in value.items())
        return f"{key}:{end}{''.join(lines)}"
    return f"{key}: {_scalar(value)}{end}"


def _scalar(value: Any) -> str:
    """A plain scalar where that is safe, else JSON, which YAML reads too."""
    if isinstance(value, str) and re.sub(r"[-._]", "", value).isalnum():
        return json.dumps(value) if _load(f"x: {value}")["x"] != value else value
    if isinstance(value, str) and value.startswith("https://") and not set(value) & set(" #,[]{}'\"&*!|>%@`"):
        return value
    return json.dumps(value)
