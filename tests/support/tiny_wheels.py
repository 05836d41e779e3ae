"""Tiny real wheels: they install anywhere, and a torch among them can be put to work."""

from __future__ import annotations

import base64
import hashlib
import platform
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

PYTHON = f"cp{sys.version_info[0]}{sys.version_info[1]}"
TAG = f"{PYTHON}-{PYTHON}-manylinux_2_28_{platform.machine()}"
_FAKES = Path(__file__).parents[1] / "boundary"


def tiny_wheel(
    directory: Path,
    name: str,
    version: str,
    *,
    requires: tuple[str, ...] = (),
    tag: str = "py3-none-any",
    files: Mapping[str, str] | None = None,
    extras: tuple[str, ...] = (),
) -> Path:
    """Write a wheel; `files` are its modules, by path."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Provides-Extra: {extra}\n" for extra in extras)
    needs += "".join(f"Requires-Dist: {require}\n" for require in requires)
    members = {
        **(files or {f"{name}/__init__.py": f"__version__ = {version!r}\n"}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tag}\n",
    }
    record = "".join(
        f"{path},sha256={_digest(text)},{len(text.encode())}\n" for path, text in members.items()
    )
    directory.mkdir(parents=True, exist_ok=True)
    wheel = directory / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for member, text in (*members.items(), (f"{info}/RECORD", f"{record}{info}/RECORD,,\n")):
            archive.writestr(member, text)
    return wheel


def tiny_torch(
    directory: Path,
    version: str,
    *,
    cuda: str | None = None,
    architectures: tuple[str, ...] = (),
    requires: tuple[str, ...] = (),
    tag: str = TAG,
    extras: tuple[str, ...] = (),
) -> Path:
    """Write a torch for this Python and machine; FAKE_TORCH tells it how to behave when it runs."""
    files = _modules(_FAKES / "fake_torch")
    main = files["torch/__init__.py"]
    files["torch/__init__.py"] = (
        main.replace('"2.14.1+cpu"', repr(version))
        .replace('"cuda": None', f'"cuda": {cuda!r}')
        .replace('"architectures": []', f'"architectures": {list(architectures)!r}')
    )
    files["torch/version.py"] = f"__version__ = {version!r}\ncuda = {cuda!r}\n"
    return tiny_wheel(directory, "torch", version, tag=tag, files=files, requires=requires, extras=extras)


def tiny_torchvision(directory: Path, version: str) -> Path:
    return tiny_wheel(directory, "torchvision", version, tag=TAG, files=_modules(_FAKES / "fake_torchvision"))


def _modules(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in root.rglob("*.py")
    }


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
