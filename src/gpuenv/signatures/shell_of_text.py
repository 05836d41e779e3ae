"""What a fix sets in the environment, as the shell of the text's system has it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuenv.signatures.lazy_regex import LazyRegex

_EXPORT = LazyRegex(r"\bexport ((?:[A-Za-z_]\w*=[^\s`;,]+ ?)+)")
_WINDOWS = "windows"


def in_its_shell(fix: str, facts: Mapping[str, str]) -> str:
    """Return a fix whose `export A=1 B=2` is `set "A=1" & set "B=2"` where the text is from Windows."""
    if facts.get("system") != _WINDOWS or "export " not in fix:
        return fix
    return _EXPORT.pattern.sub(_as_set, fix)


def _as_set(match: re.Match[str]) -> str:
    space = " " if match[1].endswith(" ") else ""
    return " & ".join(f'set "{pair}"' for pair in match[1].split()) + space
