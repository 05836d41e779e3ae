"""The list in which conda tools look for environments that lie outside of their own folders.

`~/.conda/environments.txt` has one absolute path a line; conda and mamba add to it what they make.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gpuenv.files.read_limited import read_limited_text

_OFF = ("false", "no", "off", "0")


def register_environment(prefix: Path, environ: Mapping[str, str]) -> None:
    """Add an environment to the list, where the user lets tools do so (conda's `register_envs`)."""
    file = _list_of(environ)
    if file is None:
        return
    with suppress(OSError, UnicodeError):  # the environment works without
        listed = _read(file)
        if str(prefix) in listed:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as appended:
            appended.write(("" if not listed or listed[-1] == "" else "\n") + f"{prefix}\n")


def unregister_environment(prefix: Path, environ: Mapping[str, str]) -> None:
    """Take an environment out of the list; all other lines stay as they are."""
    file = _list_of(environ)
    if file is None:
        return
    with suppress(OSError, UnicodeError):
        listed = _read(file)
        if str(prefix) in listed:
            new = file.with_name(f"{file.name}.{os.getpid()}")
            new.write_text("\n".join(line for line in listed if line != str(prefix)), encoding="utf-8")
            new.replace(file)


def _list_of(environ: Mapping[str, str]) -> Path | None:
    home = environ.get("USERPROFILE") if os.name == "nt" else environ.get("HOME")
    refused = environ.get("CONDA_REGISTER_ENVS", "").strip().lower() in _OFF
    return Path(home, ".conda", "environments.txt") if home and not refused else None


def _read(file: Path) -> list[str]:
    """Return the lines; the last one is empty where the file ends in a line break."""
    return read_limited_text(file).split("\n") if file.exists() else []
