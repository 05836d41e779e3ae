r"""Repodata in shards: one file for each package name, and an index of their digests.

https://conda.org/learn/ceps/cep-0016; MessagePack under Zstandard, here as JSON:

    repodata_shards.msgpack.zst
    {"version": 1, "info": {"base_url": "", "shards_base_url": "./shards/", "subdir": "linux-64"},
     "shards": {"python": b"\xad\x2c…", "pytorch": b"\x27\xea…"}}
    shards/27ea….msgpack.zst
    {"packages": {}, "packages.conda": {"pytorch-2.8.0-cuda126_mkl_py312_h1_300.conda": {…}}, "removed": []}
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgpack
from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.indexes.conda.parse_repodata import parse_base_url
from gpuenv.indexes.conda.record import Entries, package_of
from gpuenv.indexes.conda.zstd import decompress

INDEX_FILE = "repodata_shards.msgpack.zst"
_VERSION = 1  # many channels leave it out
_DIGEST_BYTES = 32
_LARGEST = 64 << 20  # decompressed; conda-forge's index has 2 MB, its largest shard as much


class ShardIndex(Struct, frozen=True):
    """The digests (hex) of the wanted names' shards, and the URLs of shards and packages."""

    shards: tuple[tuple[str, str], ...]
    shards_base_url: str
    base_url: str | None


def parse_shard_index(data: bytes, names: frozenset[str]) -> ShardIndex:
    """Read the index of the shards of `names`; raise ValueError."""
    document = _unpack(data)
    if document.get("version", _VERSION) != _VERSION or not isinstance(document.get("shards"), dict):
        raise ValueError(tr("it is not a shard index of a known version"))
    info = document.get("info")
    answer = info.get("shards_base_url") if isinstance(info, dict) else None
    digests = {name: document["shards"][name] for name in sorted(names) if name in document["shards"]}
    for digest in digests.values():
        if not isinstance(digest, bytes) or len(digest) != _DIGEST_BYTES:
            raise ValueError(tr("it has no digest of a shard"))
    return ShardIndex(
        tuple((name, digest.hex()) for name, digest in digests.items()),
        answer if isinstance(answer, str) else "",
        parse_base_url(info),
    )


def parse_shard(data: bytes, digest: str, name: str) -> Entries:
    """Read one name's shard, whose sha256 is `digest`; raise ValueError."""
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError(tr("it differs from the file that its index lists"))
    document = _unpack(data)
    removed = document.get("removed")
    gone = {item for item in removed if isinstance(item, str)} if isinstance(removed, list) else set()
    results = []
    for key in ("packages", "packages.conda"):
        entries = document.get(key, {})
        if not isinstance(entries, dict):
            raise ValueError(tr("it lists no packages"))
        results += [
            (filename, entry)
            for filename, entry in entries.items()
            if isinstance(filename, str) and filename not in gone and package_of(filename) == name
        ]
    return Entries(tuple(results))


def _unpack(data: bytes) -> dict[Any, Any]:
    content = decompress(data, _LARGEST)
    try:
        document = msgpack.unpackb(content)
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise ValueError(tr("it is not valid MessagePack: {error}", error=str(error)[:100])) from None
    if not isinstance(document, dict):
        raise ValueError(tr("it is not an object"))
    return document
