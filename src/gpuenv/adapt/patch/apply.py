"""Changes of a project, as the new texts of its files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement

from gpuenv.adapt.model import NO_PROJECTS, DeclaredRequirement, DependencyFile, Project, RequirementChange
from gpuenv.adapt.parsers.collector import shown
from gpuenv.adapt.parsers.parse import parse_file
from gpuenv.adapt.patch.edit import (
    Edit,
    apply_edits,
    insertion,
    into_channels,
    into_pip_part,
    removal,
    replacement,
)
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import series, tr
from gpuenv.model.errors import Because, UsageError
from gpuenv.model.wheel import Platform
from gpuenv.resolution.request import STACK


def patched(project: Project, changes: tuple[RequirementChange, ...]) -> tuple[DependencyFile, ...]:
    """Return all files in their order, changed where a change is about them; a README never is.

    What no file can hold (see `unapplied`) is not in them. Each new text is read again: it says what the
    changes say and everything else as before. Raises ValueError where that is not possible.
    """
    homes = [(change, _home(project, change)) for change in changes]
    return tuple(
        _changed(file, project, tuple(change for change, home in homes if home == file))
        for file in project.files
    )


def adapted_files(project: Project, changes: tuple[RequirementChange, ...]) -> tuple[DependencyFile, ...]:
    """Return what `patched` does; raise UsageError where that is not possible."""
    try:
        return patched(project, changes)
    except ValueError as error:
        raise unchangeable(tuple(file.path for file in project.files), error) from None


def unchangeable(paths: tuple[str, ...], error: ValueError) -> UsageError:
    """Return the error of files that cannot be changed as they must be."""
    files, reason = series(f"`{shown(path)}`" for path in paths), reason_of(error)
    return UsageError(
        tr("{files} cannot be adapted: {reason}", files=files, reason=reason),
        code="bad-left-file",
        because=(Because(reason, files),),
    )


def _changed(
    file: DependencyFile, project: Project, changes: tuple[RequirementChange, ...]
) -> DependencyFile:
    if not changes:
        return file
    edits = list(_edits(file, project, changes))
    after = replace(file, text=apply_edits(file.text, edits))
    _check(file, after, edits)
    return after


def unapplied(project: Project, changes: tuple[RequirementChange, ...]) -> tuple[RequirementChange, ...]:
    """Return the changes that no file can hold: a README's words, a page in a setup.py, nothing to add to."""
    return tuple(change for change in changes if _home(project, change) is None)


def _home(project: Project, change: RequirementChange) -> DependencyFile | None:
    """Return the file that a change is about."""
    if change.declared is not None:
        file = _file(project, change.declared.file)
        is_option = change.project == "index" and (change.new is None or _is_option(change))
        # uv and poetry name an index in a table, which has no place for pip's pages
        is_fixed = file.kind == "readme" or change.declared.hint
        return None if is_fixed or (file.kind == "pyproject" and is_option) else file
    anchor = _anchor(project, change)
    return _file(project, anchor.file) if anchor and change.new is not None else None


def _file(project: Project, path: str) -> DependencyFile:
    return next(file for file in project.files if file.path == path)


def _anchor(project: Project, change: RequirementChange) -> DeclaredRequirement | None:
    """Return the place beside which something new goes: the torch stack's last, else the last of its list."""
    readmes = {file.path for file in project.files if file.kind == "readme"}
    own = [item for item in project.declared if not (item.hint or item.constraint or item.file in readmes)]
    if change.project in NO_PROJECTS:
        kinds = ("requirements", "environment") if _is_option(change) else ("environment",)
        own = [declared for declared in own if _file(project, declared.file).kind in kinds]
    if not _is_pips(change) and change.project in NO_PROJECTS:
        own = [declared for declared in own if declared.notation == "conda"]
    projects = [declared for declared in own if declared.project not in NO_PROJECTS] or own
    stack = [declared for declared in projects if declared.project in STACK]
    declarations = stack or projects
    return declarations[-1] if declarations else None


def _is_option(change: RequirementChange) -> bool:
    return change.project == "index" and (change.new or "").startswith("-")


def _is_pips(change: RequirementChange) -> bool:
    """Whether something belongs to pip: an option of its own, a local version, an address."""
    if change.pip or change.project in NO_PROJECTS:
        return change.pip or _is_option(change)
    try:
        requirement = Requirement(change.new or "")
    except InvalidRequirement:
        return False
    return requirement.url is not None or any("+" in specifier.version for specifier in requirement.specifier)


def _edits(file: DependencyFile, project: Project, changes: tuple[RequirementChange, ...]) -> Iterator[Edit]:
    to_pip: list[tuple[str, str]] = []
    for change in changes:
        declared, new = change.declared, change.new
        if declared is not None and new is not None and not _moves_to_pip(file, declared, change):
            yield replacement(file, declared, new, change.channel)
            continue
        if declared is not None:
            yield removal(file, declared)
        if new is None:
            continue
        if declared is not None or _goes_to_pip(file, project, change):
            to_pip.append((change.project, _plain_line(new)))
        elif file.kind == "environment" and change.project == "index":
            yield into_channels(file, _plain_line(new))
        else:
            anchor = _anchor(project, change)
            assert anchor is not None  # noqa: S101 - it has a home
            yield insertion(file, anchor, change)
    if to_pip:
        yield from into_pip_part(file, tuple(to_pip))


def _moves_to_pip(file: DependencyFile, declared: DeclaredRequirement, change: RequirementChange) -> bool:
    is_condas = declared.notation == "conda" and declared.project not in NO_PROJECTS
    return file.kind == "environment" and is_condas and _is_pips(change)


def _goes_to_pip(file: DependencyFile, project: Project, change: RequirementChange) -> bool:
    """Whether something new goes to the pip part of an environment.yml; torch's friends go where torch is."""
    if file.kind != "environment":
        return False
    anchor = _anchor(project, change)
    is_project = change.project not in NO_PROJECTS
    return _is_pips(change) or (is_project and anchor is not None and anchor.notation == "pip")


def _plain_line(text: str) -> str:
    """Return a line as a plain scalar of YAML can hold it; raise ValueError for another."""
    plain = text.replace(" ; ", "; ")
    if not plain.isprintable() or " #" in plain or ": " in plain or plain.endswith(":"):
        raise ValueError(tr("`{text}` is not a valid requirement", text=text))
    return plain


def _check(before: DependencyFile, after: DependencyFile, edits: list[Edit]) -> None:
    """Raise ValueError unless the file says what it said, but for the edits, on every platform."""
    platforms = get_args(Platform)
    for platform in platforms if before.kind == "environment" else platforms[:1]:  # others know no platform
        declarations = {(item.start, item.end): item for item in parse_file(before, platform).declared}
        here = [edit for edit in edits if edit.replaced is None or edit.replaced in declarations]
        gone = {edit.replaced for edit in here}
        expected = [(item.project, item.text) for span, item in declarations.items() if span not in gone]
        expected += [item for edit in here for item in edit.expected]
        results = [(item.project, item.text) for item in parse_file(after, platform).declared]
        if sorted(expected) != sorted(results):
            raise ValueError(tr("the file cannot be changed without changing its other content"))
