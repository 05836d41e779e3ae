"""Bootstrap scripts for tests."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from typing import Any

from gpuenv.bootstrap.model import Bootstrap, CarriedWheel, LockedWheel, ScriptEnvironment, Word
from gpuenv.bootstrap.render import TEMPLATE, render_bootstrap

TARGETS = tuple(
    f"3.{minor}/{platform}" for platform in ("linux-64", "linux-aarch64") for minor in range(10, 16)
)


def template() -> str:
    return files("gpuenv.bootstrap").joinpath(TEMPLATE).read_text(encoding="utf-8")


def environment(name: str, *arguments: Word, **facts: Any) -> ScriptEnvironment:
    return ScriptEnvironment(name, arguments, **facts)


def carried(content: bytes = b"gpuenv's own", version: str = "1.2.3") -> CarriedWheel:
    """Return a wheel of gpuenv's for a script to carry."""
    name = f"gpuenv-{version}-py3-none-any.whl"
    return CarriedWheel(name, version, sha256(content).hexdigest(), content, ())


def needed(filename: str, content: bytes = b"", targets: tuple[str, ...] = TARGETS) -> LockedWheel:
    """Return a wheel that gpuenv needs, by the hash of its content."""
    return LockedWheel(filename, sha256(content).hexdigest(), len(content), targets)


NEEDED = needed("idna-3.10-py3-none-any.whl", b"idna")


def asked(*environments: ScriptEnvironment, **facts: Any) -> Bootstrap:
    """Return what a script for some environments is made of: `paper`, with torch, if none is given."""
    given: dict[str, Any] = {
        "made_by": "gpuenv 1.2.3", "gpuenv": carried(), "wheels": (NEEDED,), "indexes": (), "channels": (),
        "micromamba": (), "pythons": ("3.12",), "asked": (), "launcher": False, **facts,
    }  # fmt: skip
    return Bootstrap(environments=environments or (environment("paper", "torch==2.14.*"),), **given)


def script(*environments: ScriptEnvironment, **facts: Any) -> str:
    return render_bootstrap(asked(*environments, **facts), template())
