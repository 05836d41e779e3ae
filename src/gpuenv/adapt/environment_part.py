"""What the adapted files ask of a conda tool, and of pip beside it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from gpuenv.adapt.model import NO_PROJECTS, DeclaredRequirement, DependencyFile, Project, RequirementChange
from gpuenv.adapt.nearest.constraint_lines import constrained
from gpuenv.adapt.nearest.request import is_condas_pip, requirement_of
from gpuenv.adapt.parsers.parse import parse_file
from gpuenv.adapt.patch.apply import adapted_files, unchangeable
from gpuenv.model.conda import EnvironmentFile
from gpuenv.model.match_spec import parse_match_spec
from gpuenv.model.wheel import Platform
from gpuenv.resolution.conda.environment_yml import NO_CHANNELS, WITH_TORCH, parse_kept_keys
from gpuenv.resolution.request import STACK


def environment_of(
    project: Project, changes: tuple[RequirementChange, ...], platform: Platform
) -> EnvironmentFile:
    """Return what the files ask for once they are changed: pip's part has what `-r` names, too.

    Lines that are not understood are not in it: their readers told of them. Raises UsageError where a file
    can't be changed as it must be.
    """
    files = adapted_files(project, changes)
    constraints = {declared.file for declared in project.declared if declared.constraint}
    lines: list[DeclaredRequirement] = []
    for file in files:
        if file.kind != "readme":
            lines += parse_file(file, platform, constraint=file.path in constraints).declared
    lines += _of_install_lines(project, changes)
    of_conda = [line for line in lines if line.notation == "conda"]
    channels = (line.text.strip() for line in of_conda if line.project == "index")
    return EnvironmentFile(
        specs=tuple(dict.fromkeys(line.text for line in of_conda if _is_spec(line))),
        pip=tuple(_of_pip(lines)),
        channels=tuple(dict.fromkeys(name for name in channels if name not in NO_CHANNELS)),
        kept=_kept([file for file in files if file.kind == "environment"]),
    )


def _of_install_lines(
    project: Project, changes: tuple[RequirementChange, ...]
) -> Iterator[DeclaredRequirement]:
    """Yield the packages of install lines that are followed, as changed; those of conda's are told."""
    readmes = {file.path for file in project.files if file.kind == "readme"}
    changed = {id(change.declared): change for change in changes}
    for line in project.declared:
        if line.file in readmes and not line.hint and line.notation != "conda":
            change = changed.get(id(line))
            if change is None or change.new is not None:
                yield replace(line, requirement=change.new) if change else line


def _is_spec(line: DeclaredRequirement) -> bool:
    """Whether a line of conda's is none of those that say which torch, which Python and which CUDA."""
    if line.project in (*NO_PROJECTS, *STACK) or is_condas_pip(line):
        return False
    return parse_match_spec(line.text).name not in WITH_TORCH


def _of_pip(lines: list[DeclaredRequirement]) -> Iterator[str]:
    read = [(line, requirement_of(line)) for line in lines if line.notation != "conda"]
    asked = (item for line, item in read if item is not None and not line.constraint)
    bounds = (item for line, item in read if item is not None and line.constraint)
    return map(str, constrained(asked, bounds))


def _kept(files: list[DependencyFile]) -> tuple[tuple[str, object], ...]:
    if not files:
        return ()
    try:
        return parse_kept_keys(files[0].text)
    except ValueError as error:
        raise unchangeable((files[0].path,), error) from None
