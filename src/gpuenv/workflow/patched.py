"""The files that were left, as they become; what can't be changed is told with its name."""

from __future__ import annotations

from gpuenv.core import patch
from gpuenv.core.environment_file import EnvironmentFile, parse_environment_file
from gpuenv.core.left_reading import shown
from gpuenv.values.build import Platform
from gpuenv.values.errors import Because, UsageError
from gpuenv.values.left import Change, Left, LeftFile
from gpuenv.values.system_words import reason_of
from gpuenv.values.text import tr


def patched(left: Left, changes: tuple[Change, ...]) -> tuple[LeftFile, ...]:
    """Return all files in their order, changed where a change is about them; raise UsageError."""
    try:
        return patch.patched(left, changes)
    except ValueError as error:
        raise _unchangeable(tuple(one.path for one in left.files), error) from None


def environment_of(file: LeftFile, platform: Platform) -> EnvironmentFile:
    """Return what a changed environment.yml asks for; raise UsageError."""
    try:
        return parse_environment_file(file.text, platform)
    except ValueError as error:
        raise _unchangeable((file.path,), error) from None


def _unchangeable(paths: tuple[str, ...], error: ValueError) -> UsageError:
    files, reason = ", ".join(f"`{shown(path)}`" for path in paths), reason_of(error)
    return UsageError(
        tr("{files} can't be adapted: {reason}", files=files, reason=reason),
        code="bad-left-file",
        because=(Because(reason, files),),
    )
