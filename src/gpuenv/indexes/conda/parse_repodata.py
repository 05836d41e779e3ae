"""Read the wanted names from a channel's whole repodata in JSON.

{"info": {"subdir": "linux-64", "base_url": "https://…"},
 "packages": {"pytorch-1.12.1-py3.10_cuda11.3_cudnn8.3.2_0.tar.bz2": {"build": …}},
 "packages.conda": {"pytorch-2.8.0-cuda126_mkl_py312_h1_300.conda": {"build": …}}, "removed": […]}
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Any

from gpuenv.i18n.messages import tr
from gpuenv.indexes.conda.json_stream import JsonStream
from gpuenv.indexes.conda.record import Entries, package_of

_PACKAGES = ("packages", "packages.conda")
# The end of an entry and the start of the next; within a string its quotes would be escaped.
_NEXT = re.compile(r'\}\s*,\s*"[^"\\]{1,300}\.(?:conda|tar\.bz2)"\s*:\s*\{')
_LARGEST = 256 << 20  # characters of the wanted entries; all builds of torch and Python have some 30 MB
_MARK = "\ufeff"


def parse_repodata(pieces: Iterable[bytes], names: frozenset[str]) -> Entries:
    """Read the entries of `names` from pieces of repodata; raise ValueError.

    https://github.com/conda/schemas/blob/main/repodata-1.schema.json, base_url: CEP 15
    """
    document = JsonStream(_decoded(pieces))
    if not document.is_object():
        raise ValueError(tr("it is not a JSON object"))
    results: list[tuple[str, Any]] = []
    base_url = None
    is_repodata = False
    for key in document.keys():  # noqa: SIM118 - no dict
        if key in _PACKAGES and document.is_object():
            is_repodata = True
            results += _wanted(document, names)
        elif key == "info":
            base_url = parse_base_url(document.value())
        else:
            document.skip()
    document.finish()
    if not is_repodata:
        raise ValueError(tr("it lists no packages"))
    return Entries(tuple(results), base_url)


def parse_base_url(info: Any) -> str | None:
    """Read the folder of the files from repodata's `info`; None if they are next to it."""
    url = info.get("base_url") if isinstance(info, dict) else None
    return url if isinstance(url, str) and url else None


def _wanted(document: JsonStream, names: frozenset[str]) -> Iterator[tuple[str, Any]]:
    kept = 0
    for filename in document.keys():  # noqa: SIM118 - no dict
        if package_of(filename) in names:
            begin = document.position
            yield filename, document.value()
            kept += document.position - begin
            if kept > _LARGEST:
                raise ValueError(tr("what it says of the wanted packages is far too long"))
        else:
            document.skip_before(_NEXT)


def _decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_first = True
    for piece in pieces:
        text = decoder.decode(piece)
        yield text.removeprefix(_MARK) if is_first else text
        is_first = is_first and not text
    yield decoder.decode(b"", final=True)
