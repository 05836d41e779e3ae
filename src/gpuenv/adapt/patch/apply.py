"""Changes of what was left, as the new texts of its files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

from packaging.requirements import InvalidRequirement, Requirement

from gpuenv.adapt.model import DeclaredRequirement, DependencyFile, Project, RequirementChange
from gpuenv.adapt.parsers.parse import read_left_file
from gpuenv.adapt.patch.edit import Edit, apply_edits, insertion, removal, replacement
from gpuenv.adapt.patch.environment_yml import into_channels, into_pip_part
from gpuenv.i18n.messages import tr
from gpuenv.model.wheel import Platform
from gpuenv.resolution.request import STACK

_NO_PROJECTS = ("python", "cuda", "index")


def patched(left: Project, changes: tuple[RequirementChange, ...]) -> tuple[DependencyFile, ...]:
    """Return all files in their order, changed where a change is about them; a README never is.

    What no file can hold (see `unplaced`) is not in them. Each new text is read again: it says what the
    changes say and everything else as before. Raises ValueError where that can't be.
    """
    homeless = unapplied(left, changes)
    placed = [(change, _home(left, change)) for change in changes if change not in homeless]
    return tuple(
        _changed(file, left, tuple(change for change, home in placed if home == file)) for file in left.files
    )


def _changed(file: DependencyFile, left: Project, changes: tuple[RequirementChange, ...]) -> DependencyFile:
    if not changes:
        return file
    edits = list(_edits(file, left, changes))
    after = replace(file, text=apply_edits(file.text, edits))
    _check(file, after, edits)
    return after


def unapplied(left: Project, changes: tuple[RequirementChange, ...]) -> tuple[RequirementChange, ...]:
    """Return the changes that no file can hold: a README's words, a page in a setup.py, nothing to add to."""
    return tuple(change for change in changes if _home(left, change) is None)


def _home(left: Project, change: RequirementChange) -> DependencyFile | None:
    """Return the file that a change is about."""
    if change.asked is not None:
        file = _file(left, change.asked.file)
        is_option = change.project == "index" and (change.new is None or _is_option(change))
        # uv and poetry name an index in a table, which has no place for pip's pages
        return None if change.asked.hint or (file.kind == "pyproject" and is_option) else file
    anchor = _anchor(left, change)
    return _file(left, anchor.file) if anchor and change.new is not None else None


def _file(left: Project, path: str) -> DependencyFile:
    return next(file for file in left.files if file.path == path)


def _anchor(left: Project, change: RequirementChange) -> DeclaredRequirement | None:
    """Return the place beside which something new goes: the torch stack's last, else the last of its list."""
    own = [one for one in left.asked if not one.hint and not one.constraint]
    if change.project in _NO_PROJECTS:
        kinds = ("requirements", "environment") if _is_option(change) else ("environment",)
        own = [one for one in own if _file(left, one.file).kind in kinds]
    if not _is_pips(change) and change.project in _NO_PROJECTS:
        own = [one for one in own if one.notation == "conda"]
    projects = [one for one in own if one.project not in _NO_PROJECTS] or own
    stack = [one for one in projects if one.project in STACK]
    found = stack or projects
    return found[-1] if found else None


def _is_option(change: RequirementChange) -> bool:
    return change.project == "index" and (change.new or "").startswith("-")


def _is_pips(change: RequirementChange) -> bool:
    """Whether something belongs to pip: an option of its own, a local version, an address."""
    if change.pip or change.project in _NO_PROJECTS:
        return change.pip or _is_option(change)
    try:
        requirement = Requirement(change.new or "")
    except InvalidRequirement:
        return False
    return requirement.url is not None or any("+" in one.version for one in requirement.specifier)


def _edits(file: DependencyFile, left: Project, changes: tuple[RequirementChange, ...]) -> Iterator[Edit]:
    to_pip: list[tuple[str, str]] = []
    for change in changes:
        asked, new = change.asked, change.new
        if asked is not None and new is None:
            yield removal(file, asked)
        elif (
            asked is not None
            and new is not None
            and not (_is_yaml_of_condas(file, asked) and _is_pips(change))
        ):
            yield replacement(file, asked, new)
        elif new is not None and (asked is not None or _goes_to_pip(file, left, change)):
            if asked is not None:
                yield removal(file, asked)
            to_pip.append((change.project, _plain_line(new)))
        elif _is_channel(file, change):
            yield into_channels(file, _plain_line(new or ""))
        else:
            anchor = _anchor(left, change)
            assert anchor is not None  # noqa: S101 - it has a home
            yield insertion(file, anchor, change)
    if to_pip:
        yield from into_pip_part(file, tuple(to_pip))


def _is_yaml_of_condas(file: DependencyFile, asked: DeclaredRequirement) -> bool:
    return file.kind == "environment" and asked.notation == "conda" and asked.project not in _NO_PROJECTS


def _goes_to_pip(file: DependencyFile, left: Project, change: RequirementChange) -> bool:
    """Whether something new goes to the pip part of an environment.yml; torch's friends go where torch is."""
    if file.kind != "environment":
        return False
    anchor = _anchor(left, change)
    is_project = change.project not in _NO_PROJECTS
    return _is_pips(change) or (is_project and anchor is not None and anchor.notation == "pip")


def _is_channel(file: DependencyFile, change: RequirementChange) -> bool:
    return file.kind == "environment" and change.project == "index"


def _plain_line(text: str) -> str:
    """Return a line as a plain scalar of YAML can hold it; raise ValueError for another."""
    plain = text.replace(" ; ", "; ")
    if not plain.isprintable() or " #" in plain or ": " in plain or plain.endswith(":"):
        raise ValueError(tr("`{text}` is not a valid requirement", text=text))
    return plain


def _check(before: DependencyFile, after: DependencyFile, edits: list[Edit]) -> None:
    """Raise ValueError unless the file says what it said, but for the edits, on every platform."""
    for platform in get_args(Platform):
        asked = {(one.start, one.end): one for one in read_left_file(before, platform).asked}
        here = [edit for edit in edits if edit.asked is None or edit.asked in asked]
        gone = {edit.asked for edit in here}
        kept = [(one.project, one.text) for place, one in asked.items() if place not in gone]
        new = [one for edit in here for one in edit.said]
        found = [(one.project, one.text) for one in read_left_file(after, platform).asked]
        if sorted([*kept, *new]) != sorted(found):
            raise ValueError(tr("the file cannot be changed without changing its other content"))
