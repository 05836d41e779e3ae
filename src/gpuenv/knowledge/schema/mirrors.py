"""The fields of a mirror: of a row of mirrors.json, and of an entry of the user's configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlsplit

from gpuenv.i18n.messages import marked, tr
from gpuenv.knowledge.schema.field_types import (
    Check,
    Field,
    check_fields,
    is_flag,
    is_number,
    is_text,
    list_of,
    mapping,
    matching,
    one_of,
    or_null,
)
from gpuenv.model.mirror import MirrorStatus, TorchLayout

_VARIANT = "{variant}"


def is_address(value: Any) -> None:
    """Refuse what is no http(s) address, or one that ends in a slash."""
    is_text(value)
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(tr("`{value}` is no address such as https://mirror.example/simple", value=value))
    if value.endswith("/"):
        raise ValueError(tr("`{value}` ends in a slash", value=value))


def _object(fields: tuple[Field, ...]) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, Mapping):
            raise TypeError(tr("{value!r} is no object", value=value))
        for complaint in check_fields(value, fields):
            raise ValueError(complaint)

    return check


def _torch(value: Any) -> None:
    _object(_TORCH)(value)
    if value["layout"] == "flat" and _VARIANT not in value["address"]:
        raise ValueError(tr("a flat listing needs `{variant}` in its address", variant=_VARIANT))


_ADDRESSES = list_of(is_address)
_TEXTS = list_of(is_text)
_PYPI = (
    Field("simple", or_null(is_address)),
    Field("aliases", _ADDRESSES, optional=True),
    Field("wrong", _ADDRESSES, optional=True),
    Field("files", _TEXTS, optional=True),
)
_TORCH = (
    Field("address", is_address),
    Field("layout", one_of(*get_args(TorchLayout))),
    Field("hashes", is_flag, optional=True),
    Field("files", _TEXTS, optional=True),
    Field("wrong", _ADDRESSES, optional=True),
)
_CONDA = (
    Field("root", is_address),
    Field("pkgs", _TEXTS, optional=True),
    Field("cloud", _TEXTS, optional=True),
    Field("missing", _TEXTS, optional=True),
    Field("elsewhere", mapping(is_address), optional=True),
    Field("shards", is_flag, optional=True),
)
_FAULT = (Field("code", or_null(is_text)), Field("text", is_text), Field("source", is_text))

# an entry of the configuration file needs a name and one part; a row that gpuenv ships needs all of these
_NEEDED = ("name",)
_SHIPPED = ("name", "title", "kind", "status", "aliases", "hosts", "missing_status", "faults", "source")
_CHECKS: Mapping[str, Check] = {
    "name": matching(r"[a-z0-9][a-z0-9_-]*", marked("name of a mirror such as tuna")),
    "title": is_text,
    "kind": is_text,
    "status": one_of(*get_args(MirrorStatus)),
    "aliases": _TEXTS,
    "hosts": _TEXTS,
    "intranet": _TEXTS,
    "pypi": _object(_PYPI),
    "torch": _torch,
    "conda": _object(_CONDA),
    "bogus": _ADDRESSES,
    "missing_status": list_of(is_number),
    "faults": list_of(_object(_FAULT)),
    "source": is_text,
    "evidence": is_text,
}
SHIPPED_FIELDS = tuple(Field(name, check, optional=name not in _SHIPPED) for name, check in _CHECKS.items())
OWN_FIELDS = tuple(Field(name, check, optional=name not in _NEEDED) for name, check in _CHECKS.items())
