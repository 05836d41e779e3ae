"""The files that were left, as they become; what can't be changed is told with its name."""

from __future__ import annotations

from gpuenv.adapt.model import DependencyFile, Project, RequirementChange
from gpuenv.adapt.parsers.collector import shown
from gpuenv.adapt.patch import apply as patch
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, UsageError
from gpuenv.model.wheel import Platform
from gpuenv.resolution.conda.environment_yml import EnvironmentFile, parse_environment_file


def patched(project: Project, changes: tuple[RequirementChange, ...]) -> tuple[DependencyFile, ...]:
    """Return all files in their order, changed where a change is about them; raise UsageError."""
    try:
        return patch.patched(project, changes)
    except ValueError as error:
        raise _unchangeable(tuple(file.path for file in project.files), error) from None


def environment_of(file: DependencyFile, platform: Platform) -> EnvironmentFile:
    """Return what a changed environment.yml asks for; raise UsageError."""
    try:
        return parse_environment_file(file.text, platform)
    except ValueError as error:
        raise _unchangeable((file.path,), error) from None


def _unchangeable(paths: tuple[str, ...], error: ValueError) -> UsageError:
    files, reason = ", ".join(f"`{shown(path)}`" for path in paths), reason_of(error)
    return UsageError(
        tr("{files} cannot be adapted: {reason}", files=files, reason=reason),
        code="bad-left-file",
        because=(Because(reason, files),),
    )
