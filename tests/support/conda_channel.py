"""Channels of real packages, in a directory or on a server: repodata plain, compressed and in shards."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgpack
from conda_packages import CondaPackage
from serving import Site

from gpuenv.model.conda import CondaChannel

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SHARDS = "repodata_shards.msgpack.zst"
FORMATS = ("repodata.json", "repodata.json.zst", SHARDS)


def folders(packages: Iterable[CondaPackage]) -> dict[str, list[CondaPackage]]:
    """Sort packages by platform; every channel has `noarch`."""
    sorted_ = defaultdict(list, {"noarch": []})
    for package in packages:
        sorted_[package.subdir].append(package)
    return dict(sorted_)


def repodata(subdir: str, packages: Iterable[CondaPackage], **info: str) -> dict[str, Any]:
    """Return a folder's repodata."""
    packages = tuple(packages)
    return {
        "info": {"subdir": subdir, **info},
        "packages": {package.filename: package.entry for package in packages if package.ending == ".tar.bz2"},
        "packages.conda": {
            package.filename: package.entry for package in packages if package.ending == ".conda"
        },
        "removed": [],
        "repodata_version": 1,
    }


def shards(document: Mapping[str, Any], base: str = "./shards/") -> dict[str, bytes]:
    """Return the index of the shards and the shards of a folder's repodata, by path."""
    by_name: dict[str, dict[str, Any]] = {}
    for key in ("packages", "packages.conda"):
        for filename, entry in document[key].items():
            empty = {"packages": {}, "packages.conda": {}, "removed": []}
            hashes = {name: bytes.fromhex(entry[name]) for name in ("md5", "sha256") if name in entry}
            by_name.setdefault(entry["name"], empty)[key][filename] = {**entry, **hashes}
    files, digests = {}, {}
    for name, shard in by_name.items():
        packed = zstd.compress(msgpack.packb(shard), 1)
        digests[name] = hashlib.sha256(packed).digest()
        files[f"shards/{digests[name].hex()}.msgpack.zst"] = packed
    info = {"base_url": "", **document["info"], "shards_base_url": base, "created_at": "2026-01-01T00:00:00Z"}
    index = {"version": 1, "info": info, "shards": digests}
    return {SHARDS: zstd.compress(msgpack.packb(index), 1), **files}


def channel_files(
    packages: Iterable[CondaPackage], formats: tuple[str, ...] = FORMATS, *, contents: bool = True
) -> Iterator[tuple[str, bytes]]:
    """Yield all that a channel serves, by path: `linux-64/repodata.json`."""
    for subdir, there in folders(packages).items():
        document = repodata(subdir, there)
        text = json.dumps(document).encode()
        if "repodata.json" in formats:
            yield f"{subdir}/repodata.json", text
        if "repodata.json.zst" in formats:
            yield f"{subdir}/repodata.json.zst", zstd.compress(text, 1)
        if SHARDS in formats:
            yield from ((f"{subdir}/{path}", data) for path, data in shards(document).items())
        if contents:
            yield from ((f"{subdir}/{item.filename}", item.content) for item in there)


def write_channel(
    directory: Path, packages: Iterable[CondaPackage], formats: tuple[str, ...] = FORMATS
) -> str:
    """Write a channel and return its `file:` address."""
    for path, data in channel_files(packages, formats):
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return directory.absolute().as_uri()


class ChannelServer:
    """Channels under the paths of a Site (serving.py); `asked` there tells what was asked for."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def publish(
        self,
        name: str,
        packages: Iterable[CondaPackage],
        formats: tuple[str, ...] = FORMATS,
        *,
        under: str = "",
    ) -> CondaChannel:
        """Serve a channel at `{under}/{name}`; what it served there before and is no more is gone."""
        root = f"{under}/{name}"
        for path in [path for path in self._site.routes if path.startswith(f"{root}/")]:
            del self._site.routes[path]
        for path, data in channel_files(packages, formats):
            put(self._site, f"{root}/{path}", data)
        return CondaChannel(name, (f"{self._site.url}{root}",))


def put(site: Site, path: str, data: bytes, **headers: str) -> None:
    """Serve a file, with an ETag."""
    tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
    site.page(path, data, Content_Type="application/octet-stream", ETag=tag, **headers)
