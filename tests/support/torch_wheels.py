"""Hand-made wheels of torch and its companions."""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Mapping

MAGIC = 0xBA55ED50


def library(flags: str | None, *, size: int = 400_000) -> bytes:
    """Make a `libtorch_python` that can't be compressed, with its flags past the middle."""
    noise = random.Random(size).randbytes(size)  # noqa: S311 - bytes, no secret
    middle = size * 6 // 10
    middle_bytes = b"\0" + flags.encode() + b"\0" if flags is not None else b""
    return b"\x7fELF" + noise[:middle] + middle_bytes + noise[middle:]


def fatbin(*codes: tuple[int, int]) -> bytes:
    """Make a fat binary of (kind, capability): kind 1 is PTX, 2 machine code."""
    entries = b"".join(
        struct.pack("<HHIQ12xI", kind, 0x101, 64, 8, capability).ljust(64, b"\0") + b"\x01" * 8
        for kind, capability in codes
    )
    return struct.pack("<IHHQ", MAGIC, 1, 16, len(entries)) + entries


def bundle(*targets: str) -> bytes:
    """Make a plain bundle of code objects, as clang-offload-bundler does."""
    names = ["host-x86_64-unknown-linux--", *(f"hipv4-amdgcn-amd-amdhsa--{target}" for target in targets)]
    entries = b"".join(struct.pack("<QQQ", 4096, 0, len(name)) + name.encode() for name in names)
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(names)) + entries


def packed_bundle(*targets: str, version: int = 3, method: int = 0, body: bytes | None = None) -> bytes:
    """Make a packed bundle; `body` is the packed data, by default zlib's."""
    plain = bundle(*targets)
    packed = zlib.compress(plain) if body is None else body
    sizes = {
        1: struct.pack("<I", len(plain)),
        2: struct.pack("<II", len(packed) + 24, len(plain)),
        3: struct.pack("<QQ", len(packed) + 32, len(plain)),
    }[version]
    return b"CCOB" + struct.pack("<HH", version, method) + sizes + struct.pack("<Q", 7) + packed


def metadata(name: str, version: str, *requires: str, python: str = ">=3.10") -> str:
    lines = [f"Name: {name}", f"Version: {version}", f"Requires-Python: {python}"]
    return "\n".join(
        ["Metadata-Version: 2.1", *lines, *(f"Requires-Dist: {require}" for require in requires), ""]
    )


def wheel_bytes(
    name: str = "torch",
    version: str = "3.0.0",
    *,
    variant: str | None = "cu140",
    flags: str | None = "sm_80 sm_90 compute_90",
    requires: tuple[str, ...] = ('nvidia-cudnn-cu14==10.1.0.2; platform_system == "Linux"', "triton==4.0.0"),
    members: Mapping[str, bytes | str | None] | None = None,
    padding: int = 0,
) -> bytes:
    """Make a wheel; `members` are added, or left out where they are None; `padding` more small members."""
    info = f"{name}-{version}.dist-info"
    content: dict[str, bytes | str | None] = {f"{name}/__init__.py": ""}
    content |= {f"{name}/a_{number:05}_{'x' * 40}.py": "" for number in range(padding)}
    local = f"+{variant}" if variant else ""
    cuda = f"{variant[2:-1]}.{variant[-1]}" if variant and variant.startswith("cu") else None
    message = f"cuda: Optional[str] = {cuda!r}\n" if name == "torch" else ""
    if name == "torch" and variant and variant.startswith("rocm"):
        message += f"hip: Optional[str] = '{variant[4:]}.26015'\n"
    if name == "torch" and variant == "xpu":
        message += "xpu: Optional[str] = '20260000'\n"
    content[f"{name}/version.py"] = f"__version__ = '{version}{local}'\n{message}"
    if name == "torch":
        content["torch/lib/libtorch_python.so"] = library(flags)
    content[f"{info}/METADATA"] = metadata(name, version, *requires)
    content[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_28_x86_64\n"
    content |= members or {}
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in content.items():
            if data is not None:
                archive.writestr(member, data)
    return written.getvalue()


def garble(content: bytes, member: str) -> bytes:
    """Break the compressed bytes of a member."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        info = archive.getinfo(member)
    start = info.header_offset + 30 + len(member)
    broken = zlib.adler32(content).to_bytes(4, "big") * ((info.compress_size // 4) + 1)
    return content[:start] + broken[: info.compress_size] + content[start + info.compress_size :]
