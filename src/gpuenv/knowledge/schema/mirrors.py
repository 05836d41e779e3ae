"""The fields of a mirror: of a row of mirrors.json, and of an entry of the user's configuration file."""

from __future__ import annotations

from typing import Any, get_args
from urllib.parse import urlsplit

from gpuenv.i18n.messages import N_, tr
from gpuenv.knowledge.schema.field_types import (
    FLAG,
    NUMBER,
    TEXT,
    TEXTS,
    Fields,
    FieldType,
    list_of,
    mapping,
    matching,
    object_of,
    one_of,
    optional,
    or_null,
)
from gpuenv.model.mirror import MirrorStatus, TorchLayout

_VARIANT = "{variant}"


def _check_address(value: Any) -> None:
    TEXT.check(value)
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            tr("`{value}` is not a valid address (example: https://mirror.example/simple)", value=value)
        )
    if value.endswith("/"):
        raise ValueError(tr("`{value}` has a trailing slash", value=value))


def _check_torch(value: Any) -> None:
    _TORCH.check(value)
    if value["layout"] == "flat" and _VARIANT not in value["address"]:
        raise ValueError(tr("a flat listing needs `{variant}` in its address", variant=_VARIANT))


_ADDRESS = FieldType(_check_address, {"type": "string", "pattern": "^https?://.+[^/]$"})
_ADDRESSES = optional(list_of(_ADDRESS))
_HOSTS = optional(TEXTS)
_PYPI = object_of({"simple": or_null(_ADDRESS), "aliases": _ADDRESSES, "wrong": _ADDRESSES, "files": _HOSTS})
_TORCH = object_of(
    {
        "address": _ADDRESS,
        "layout": one_of(*get_args(TorchLayout)),
        "hashes": optional(FLAG),
        "files": _HOSTS,
        "wrong": _ADDRESSES,
    }
)
_CONDA = object_of(
    {
        "root": _ADDRESS,
        "pkgs": _HOSTS,
        "cloud": _HOSTS,
        "missing": _HOSTS,
        "elsewhere": optional(mapping(_ADDRESS)),
        "shards": optional(FLAG),
    }
)
_FAULT = object_of({"code": or_null(TEXT), "text": TEXT, "source": TEXT})

# what a row that gpuenv ships needs; an entry of the configuration file needs its name and one part alone
SHIPPED_FIELDS: Fields = {
    "name": matching(r"[a-z0-9][a-z0-9_-]*", N_("name of a mirror such as tuna")),
    "title": TEXT,
    "kind": TEXT,
    "status": one_of(*get_args(MirrorStatus)),
    "aliases": TEXTS,
    "hosts": TEXTS,
    "intranet": _HOSTS,
    "pypi": optional(_PYPI),
    "torch": optional(FieldType(_check_torch, _TORCH.schema)),
    "conda": optional(_CONDA),
    "bogus": _ADDRESSES,
    "missing_status": list_of(NUMBER),
    "faults": list_of(_FAULT),
    "source": TEXT,
    "evidence": optional(TEXT),
}
OWN_FIELDS = {name: field if name == "name" else optional(field) for name, field in SHIPPED_FIELDS.items()}
