"""Bootstrap scripts for tests."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from gpuenv.core import render
from gpuenv.core.render.bootstrap import TEMPLATE, render_bootstrap
from gpuenv.values.bootstrap import Bootstrap, ScriptEnvironment, Word


def template() -> str:
    return (files(render) / TEMPLATE).read_text(encoding="utf-8")


def environment(name: str, *arguments: Word, **facts: Any) -> ScriptEnvironment:
    return ScriptEnvironment(name, arguments, **facts)


def asked(*environments: ScriptEnvironment, **facts: Any) -> Bootstrap:
    """Return what a script for some environments is made of: `paper`, with torch, if none is given."""
    given: dict[str, Any] = {
        "made_by": "gpuenv 1.2.3", "gpuenv": "gpuenv==1.2.3", "wheel": None, "indexes": (), "channels": (),
        "micromamba": (), "pythons": ("3.12",), "asked": (), "launcher": False, **facts,
    }  # fmt: skip
    return Bootstrap(environments=environments or (environment("paper", "torch==2.14.*"),), **given)


def script(*environments: ScriptEnvironment, **facts: Any) -> str:
    return render_bootstrap(asked(*environments, **facts), template())
