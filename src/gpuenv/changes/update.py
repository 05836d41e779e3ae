"""`gpuenv update`: newer versions within what was requested, and with --torch another torch."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.changes.install import because_of
from gpuenv.changes.move_torch import move_torch
from gpuenv.changes.open_environment import ChangeOptions, Opened, sources_of
from gpuenv.changes.resolve import (
    ChangeRequest,
    PlannedChange,
    decide_changes,
    held_pins,
    special_names,
    with_files,
)
from gpuenv.i18n.messages import series, tr
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.errors import Fix, Unsatisfiable, UsageError
from gpuenv.model.plan import PlanWarning
from gpuenv.resolution.request import STACK


def plan_update(opened: Opened, options: ChangeOptions, environ: Mapping[str, str]) -> PlannedChange:
    """Return what brings newer versions; with `options.torch` the torch stack is decided anew as well.

    Raises UsageError where torch is conda's, Unsatisfiable and Unreachable.
    """
    pins = held_pins(opened, special_names(environ))
    free = tuple(name for name in opened.versions if name not in pins)
    if options.torch:
        _check_movable(opened)
        requested = opened.original.requirements
        moved = move_torch(
            opened,
            tuple(map(str, opened.requirements.values())),
            requested=requested,
            options=options,
            environ=environ,
            upgrade=free,
        )
        return with_files(replace(moved, warnings=(*moved.warnings, *_notes(opened, moved))), environ)
    request = ChangeRequest(
        pins=pins,
        requirements={name: str(requirement) for name, requirement in opened.requirements.items()},
        sources=sources_of(opened, options, environ),
        offline=options.offline,
        upgrade=free,
    )
    changes = decide_changes(opened, request, environ)
    if isinstance(changes, Unresolvable):
        raise Unsatisfiable(
            tr("the packages installed in `{name}` conflict with each other", name=opened.paths.name),
            code="requirements-conflict",
            because=because_of(changes),
            fixes=(Fix(tr("remove one of the packages named above"), f"gpuenv uninstall {opened.word} PKG"),),
        )
    return with_files(PlannedChange(opened, request, changes, opened.original.requirements), environ)


def _check_movable(opened: Opened) -> None:
    is_condas = any(package.name == "torch" and package.is_condas for package in opened.installed)
    if is_condas or opened.record.plan.get("conda"):
        raise UsageError(
            tr(
                "the torch of `{name}` was installed by conda; gpuenv does not change it in place",
                name=opened.paths.name,
            ),
            code="condas-torch",
            fixes=(Fix(tr("recreate it"), f"gpuenv create {opened.word} --force"),),
        )


def _notes(opened: Opened, moved: PlannedChange) -> tuple[PlanWarning, ...]:
    """Say what keeps torch back, and that a newer one is given up for an older."""
    held = [
        text
        for text in opened.original.requirements
        if canonicalize_name(Requirement(text).name) in STACK and Requirement(text).specifier
    ]
    notes = []
    if held:
        text = tr(
            "it was requested with {requirements}; `gpuenv install {name} torch` removes that "
            "constraint",
            requirements=series(f"`{item}`" for item in held), name=opened.word,
        )  # fmt: skip
        notes.append(PlanWarning("torch-asked", text))
    there = opened.stack.get("torch")
    planned = moved.moved.packages[0].version if moved.moved else None
    if there and planned and Version(planned) < Version(there):
        text = tr("the best torch for this machine is older than the installed torch {torch}", torch=there)
        notes.append(PlanWarning("older-torch", text))
    return tuple(notes)
