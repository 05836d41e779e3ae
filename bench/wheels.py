"""Tiny wheels: real enough to be resolved and installed, whatever their names claim."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import zipfile

_WHEEL = "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: {tag}\n"
_LONG_AGO = (2020, 1, 1, 0, 0, 0)


def make_wheel(filename: str, metadata: str, weight_mb: int = 0, members: int = 0) -> bytes:
    """Return a wheel of that name; megabytes of noise stand for the libraries of a real one.

    `members` are how many small files it has besides.
    """
    name, version, *_, tag = filename.removesuffix(".whl").split("-", 2)
    info = f"{name}-{version}.dist-info"
    content = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n".encode(),
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": _WHEEL.format(tag=tag).encode(),
    }
    if weight_mb:
        content[f"{name}/lib/weight.so"] = os.urandom(1 << 20) * weight_mb
    members_of = (f"{name}/include/{number // 100}/{number}.h" for number in range(members))
    content |= {path: path.encode() for path in members_of}
    record = "".join(f"{path},sha256={_digest(body)},{len(body)}\n" for path, body in content.items())
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    return _zip(content)


def _zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, body in members.items():
            archive.writestr(zipfile.ZipInfo(path, _LONG_AGO), body)
    return buffer.getvalue()


def _digest(body: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
