"""What uv would obey in the folder one stands in, and gpuenv does not: said, so that nobody wonders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuenv.host.executables import read_text
from gpuenv.i18n.messages import tr
from gpuenv.model.plan import PlanWarning
from gpuenv.untrusted.documents import load_toml

_DECIDING = (
    "index", "index-url", "extra-index-url", "find-links", "no-index", "index-strategy", "pip",
    "override-dependencies", "constraint-dependencies", "exclude-dependencies", "exclude-newer",
)  # fmt: skip


def warn_of_folder(environ: Mapping[str, str]) -> tuple[PlanWarning, ...]:
    """Warn of the nearest uv.toml or `[tool.uv]` with settings that would change a plan, were they obeyed."""
    if environ.get("UV_NO_CONFIG") or environ.get("UV_CONFIG_FILE"):
        return ()  # uv itself would not look there
    here = Path(os.path.abspath("."))  # noqa: PTH100 - as it was entered
    file = next((path for folder in (here, *here.parents) if (path := _settings_in(folder))), None)
    if file is None:
        return ()
    text = tr(
        "{file} is ignored: the current directory does not configure gpuenv; to use its indexes "
        "give them with --mirror or GPUENV_MIRROR, to use all of it set UV_CONFIG_FILE to a "
        "uv.toml",
        file=file,
    )
    return (PlanWarning("folder-configuration-ignored", text),)


def _settings_in(folder: Path) -> Path | None:
    for name in ("uv.toml", "pyproject.toml"):
        text = read_text(folder / name, limit=1 << 20)
        if text is not None and parse_deciding(name, text):
            return folder / name
    return None


def parse_deciding(name: str, text: str) -> tuple[str, ...]:
    """Return the keys of a file that would change what uv resolves; none for what is no TOML."""
    try:
        table: Any = load_toml(text)
        if name == "pyproject.toml":
            table = table.get("tool", {}).get("uv", {})
        return tuple(key for key in _DECIDING if key in table)
    except (ValueError, AttributeError, TypeError):
        return ()
