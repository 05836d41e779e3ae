"""What conda has installed in an environment: pip and uv leave it alone, its tool changes it."""

from __future__ import annotations

import shlex

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.changes.open_environment import Opened
from gpuenv.i18n.messages import series, tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.resolution.request import STACK, admits


def named(requirements: tuple[Requirement, ...]) -> dict[str, Requirement]:
    """Return requirements by the normalized names of their projects."""
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def shown(requirements: tuple[Requirement, ...]) -> str:
    """Return requirements as a sentence has them."""
    return series(f"`{requirement}`" for requirement in requirements)


def check_installable(opened: Opened, new: tuple[Requirement, ...]) -> None:
    """Raise UsageError for another release of what conda has installed, and for companions of its torch."""
    if not opened.is_condas:
        return
    condas = {package.name: package.version for package in opened.installed if package.is_condas}
    refused = tuple(
        requirement
        for name, requirement in named(new).items()
        if (name in condas and not admits(requirement.specifier, Version(condas[name])))
        or (name in STACK and "torch" in condas and name not in condas)
    )
    if refused:
        specs = " ".join(shlex.quote(f"{requirement.name}{requirement.specifier}") for requirement in refused)
        raise UsageError(
            tr(
                "{requirements} is managed by conda in `{name}`; gpuenv installs only packages from PyPI "
                "there",
                requirements=shown(refused),
                name=opened.paths.name,
            ),
            code="condas-package",
            fixes=(
                Fix(
                    tr("install it with the tool that created the environment, which resolves again"),
                    f"{_call(opened, 'install')} {specs}",
                ),
                Fix(tr("then see whether torch still works"), f"gpuenv verify {opened.word}"),
            ),
        )


def check_removable(opened: Opened, names: tuple[str, ...]) -> None:
    """Raise UsageError for what conda has installed."""
    condas = [package.name for package in opened.installed if package.name in names and package.is_condas]
    if condas:
        raise UsageError(
            tr("{names} was installed by conda", names=series(condas)),
            code="condas-package",
            fixes=(
                Fix(
                    tr("remove it with the tool that installed it"),
                    f"{_call(opened, 'remove')} {' '.join(condas)}",
                ),
            ),
        )


def _call(opened: Opened, verb: str) -> str:
    tool = opened.record.manager if opened.record.manager != "rattler" else "micromamba"
    return f"{shlex.quote(tool)} {verb} -p {shlex.quote(str(opened.paths.path))}"


def needs_another_torch(new: tuple[Requirement, ...], because: tuple[Because, ...]) -> UsageError:
    """Say that another torch is needed than conda's, which is not moved in place."""
    return UsageError(
        tr(
            "{requirements} needs another torch, and this one was installed by conda", requirements=shown(new)
        ),
        code="condas-torch",
        because=because,
        fixes=(
            Fix(
                tr("create an environment for it"),
                "gpuenv create NAME " + " ".join(shlex.quote(str(requirement)) for requirement in new),
            ),
        ),
    )
