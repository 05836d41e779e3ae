"""The program that is sent to machines, packed: one file that any Python from 3.8 on runs."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path

from gpuenv.verification.run import CHILD

NODE_APP = "gpuenv-node.pyz"
_GPUENV = Path(__file__).parents[1]
_PACKAGE, _SHARED = "gpuenv_node", "gpuenv/on_disk"  # the folders of `node` and `on_disk`
_SHEBANG = b"#!/usr/bin/env python3\n"
_MAIN = f"import sys\nfrom {_PACKAGE}.main import main\nsys.exit(main(sys.argv[1:]))\n"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip file knows


@cache
def node_app() -> bytes:
    """Return the zipapp, the same bytes wherever it is packed: stored, as compressors differ.

    It runs as `python3 -I gpuenv-node.pyz ACTION`, and by itself where it may be executed.
    """
    packed = io.BytesIO(_SHEBANG)
    packed.seek(0, io.SEEK_END)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(_members().items()):
            member = zipfile.ZipInfo(name, _LONG_AGO)
            member.create_system = 3  # Unix, also where it is packed on Windows
            member.external_attr = 0o100644 << 16
            archive.writestr(member, content)
    return packed.getvalue()


def _members() -> dict[str, bytes]:
    """Map the files of the zipapp to what they hold; lines end alike wherever git checked them out."""
    sources = {f"{_PACKAGE}/{file.name}": file for file in (_GPUENV / "node").glob("*.py")}
    sources |= {f"{_SHARED}/{file.name}": file for file in (_GPUENV / "on_disk").glob("*.py")}
    sources[f"{_PACKAGE}/{CHILD.name}"] = CHILD
    texts = {name: file.read_bytes().replace(b"\r\n", b"\n") for name, file in sources.items()}
    return {"__main__.py": _MAIN.encode(), "gpuenv/__init__.py": b"", **texts}
