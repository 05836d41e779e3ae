"""Which Python the wheels that files name by address or path were built for.

mamba-ssm @ file:///home/ada/mamba_ssm-1.0.1%2Bcu118-cp310-cp310-linux_x86_64.whl
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from msgspec.structs import replace
from packaging.utils import parse_wheel_filename

from gpuenv.adapt.model import NO_PROJECTS, DeclaredRequirement
from gpuenv.untrusted.bounds import check_wheel_name

_WHEEL = re.compile(r"[\w.+%~-]+\.whl(?![\w.])")
_CPYTHON = re.compile(r"cp3(\d+)")


def python_hints(declared: tuple[DeclaredRequirement, ...]) -> tuple[DeclaredRequirement, ...]:
    """Return the Pythons of compiled wheels as hints at their lines; not where a marker chooses the line."""
    hints = ((line, _python_in(line.text)) for line in declared if _counts(line))
    return tuple(
        replace(line, project="python", requirement=python, notation="pip", hint=True)
        for line, python in hints
        if python is not None
    )


def _counts(line: DeclaredRequirement) -> bool:
    return not line.hint and line.project not in NO_PROJECTS and ";" not in line.text


def _python_in(text: str) -> str | None:
    found = _WHEEL.search(text)
    try:
        tags = parse_wheel_filename(check_wheel_name(unquote(found[0])))[3] if found else frozenset()
    except ValueError:
        return None
    minors = {(int(match[1]), tag.abi) for tag in tags if (match := _CPYTHON.fullmatch(tag.interpreter))}
    if len(minors) != 1:
        return None
    (minor, abi) = minors.pop()
    return f">=3.{minor}" if abi == "abi3" else f"==3.{minor}.*"
