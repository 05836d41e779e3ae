"""Leave out the constraints of the active environment, which do not apply to another one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gpuenv.files.read_limited import read_regular
from gpuenv.formats.torch_constraints import CONSTRAINTS_HEAD

_VARIABLES = ("PIP_CONSTRAINT", "UV_CONSTRAINT")


def without_active_hold(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without the constraints that gpuenv's active environments set."""
    variables = dict(environ)
    for name in _VARIABLES:
        if name in variables:
            own = " ".join(own_constraints(variables.pop(name)))
            variables |= {name: own} if own else {}
    return variables


def own_constraints(value: str) -> tuple[str, ...]:
    """Return the user's own files of PIP_CONSTRAINT or UV_CONSTRAINT, which are separated by blanks."""
    return tuple(word for word in value.split() if not _is_of_environment(word))


def _is_of_environment(word: str) -> bool:
    parts = urlsplit(word)
    if parts.scheme != "file":
        return False
    path = unquote(parts.path, errors="surrogateescape")
    try:  # Windows: file:///C:/...
        text = read_regular(Path(path.lstrip("/") if os.name == "nt" else path)).decode("utf-8")
        return text.partition("\n")[0] == CONSTRAINTS_HEAD
    except (OSError, ValueError):
        return False
