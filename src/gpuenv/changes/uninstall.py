"""`gpuenv uninstall`: remove packages from an environment, with a warning of what would break."""

from __future__ import annotations

import difflib

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, is_normalized_name

from gpuenv.changes.conda_packages import check_removable
from gpuenv.changes.dependents import dependents, unneeded_without
from gpuenv.changes.open_environment import Opened
from gpuenv.changes.resolve import ChangeRequest, PlannedChange
from gpuenv.i18n.messages import series, tr
from gpuenv.installers.dry_run import PackageChange
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.plan import PlanWarning, Sources
from gpuenv.resolution.request import STACK

_PIP = ("pip", "setuptools", "wheel")


class PlannedRemoval(Struct, frozen=True):
    """What is removed, and what is no longer needed afterwards but stays."""

    change: PlannedChange
    unneeded: tuple[str, ...]


def plan_uninstall(
    opened: Opened, packages: tuple[str, ...], *, torch: bool = False, prune: bool = False
) -> PlannedRemoval:
    """Return what removes the packages; `prune`: what was installed for them alone, too.

    Raises UsageError for what is not installed, for torch unless `torch` says so, for what torch needs, and
    for what belongs to conda.
    """
    names = tuple(dict.fromkeys(canonicalize_name(package) for package in packages))
    _check_installed(opened, names)
    check_removable(opened, names)
    if "torch" in names and not torch:
        raise _torch_stays(opened)
    broken = dependents(names, opened.needs)
    needed = {name: others for name, others in broken.items() if set(others) & set(STACK)}
    if needed:
        raise _torch_needs(needed)
    requested = {canonicalize_name(Requirement(text).name) for text in opened.original.requirements}
    keep = (*(requested - set(names)), *(name for name in STACK if name not in names), *_PIP)
    unneeded = unneeded_without(names, opened.needs, keep)
    out = (*names, *unneeded) if prune else names
    sizes = {package.name: package.size for package in opened.installed}
    versions = opened.versions
    changes = tuple(PackageChange(name, versions[name], None, size=sizes[name]) for name in sorted(out))
    request = ChangeRequest(pins={}, requirements={}, sources=Sources(None, (), ()))
    still = tuple(
        text for text in opened.original.requirements if canonicalize_name(Requirement(text).name) not in out
    )
    warnings = tuple(
        PlanWarning("breaks", tr("{name} is required by {others}", name=name, others=series(others)))
        for name, others in broken.items()
    )
    change = PlannedChange(opened, request, changes, still, warnings=warnings)
    return PlannedRemoval(change, () if prune else unneeded)


def _check_installed(opened: Opened, names: tuple[str, ...]) -> None:
    for name in names:
        if name in opened.versions:
            continue
        close = difflib.get_close_matches(name, opened.versions, n=3, cutoff=0.6)
        meant = Fix(tr("did you mean {names}?", names=series(f"`{item}`" for item in close)))
        message = tr("`{name}` is not installed in `{environment}`", name=name, environment=opened.paths.name)
        code = "not-installed"
        if not is_normalized_name(name):
            message, code = tr("`{name}` is not a valid package name", name=name), "bad-package"
        raise UsageError(message, code=code, fixes=(meant,) * bool(close))


def _torch_stays(opened: Opened) -> UsageError:
    return UsageError(
        tr(
            "`{name}` is an environment for torch: without torch there is nothing left to verify",
            name=opened.paths.name,
        ),
        code="torch-stays",
        fixes=(
            Fix(tr("remove the whole environment"), f"gpuenv remove {opened.word}"),
            Fix(tr("or allow torch to change: --torch")),
        ),
    )


def _torch_needs(needed: dict[str, tuple[str, ...]]) -> UsageError:
    return UsageError(
        tr("torch would no longer work without {names}", names=series(needed)),
        code="torch-needs-it",
        because=tuple(
            Because(tr("{name} is required by {others}", name=name, others=series(others)), "METADATA")
            for name, others in needed.items()
        ),
    )
