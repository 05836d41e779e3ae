"""How much larger packages are unpacked than as they are downloaded: repodata do not tell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from gpuenv.environments.conda.package_cache import package_folders
from gpuenv.files.read_limited import read_limited_text

_ASSUMED = 2.0  # of packages of code; few are smaller unpacked, CUDA's libraries hardly larger
_MOST = 40  # packages that are looked at
_LEAST = 1_000_000  # bytes, below which packages tell too little


def unpack_factor(caches: tuple[Path, ...], subdir: str) -> float:
    """Return how many times their download packages take, by those that lie unpacked in the caches.

    `info/repodata_record.json` has the size of the download, `info/paths.json` those of the files:

        {"paths": [{"_path": "lib/libtorch.so", "size_in_bytes": 340, "path_type": "hardlink", ...}]}
    """
    sizes = list(islice(_sizes(caches, subdir), _MOST))
    downloaded, unpacked = (sum(pair[index] for pair in sizes) for index in (0, 1))
    return unpacked / downloaded if downloaded >= _LEAST else _ASSUMED


def _sizes(caches: tuple[Path, ...], subdir: str) -> Iterator[tuple[int, int]]:
    for cache in caches:
        for folder in package_folders(cache, frozenset((subdir,))):
            for record in sorted(folder.glob("*/info/repodata_record.json")):
                with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                    paths = _read(record.with_name("paths.json"))["paths"]
                    yield int(_read(record)["size"]), sum(int(path["size_in_bytes"]) for path in paths)


def _read(file: Path) -> Any:
    return json.loads(read_limited_text(file))
