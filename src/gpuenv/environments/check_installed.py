"""Look into an environment: does it hold what was planned?"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, InstallFailed
from gpuenv.model.plan import Plan, PlannedPackage
from gpuenv.model.variant import CudaVersion, Variant, parse_cuda_version
from gpuenv.on_disk.installed import installed_versions, site_packages

_CUDA = re.compile(r"""^cuda(?:\s*:[^=\n]*)?\s*=\s*(?:None|['"]([^'"\n]*)['"])""", re.MULTILINE)
_LARGEST = 1024 * 1024  # bytes; version.py has some hundred


def check_installed(plan: Plan, environment: Path, log: Path) -> None:
    """Raise InstallFailed `not-as-planned` unless each pin's very version, local part too, is installed."""
    installed = installed_versions(environment)
    for pin in plan.pins:
        problem = _mismatch(pin, installed)
        if problem:
            raise not_as_planned(problem, str(environment), log)
    _check_others(plan, environment, installed, log)
    _check_cuda(plan, environment, log)


def _check_others(plan: Plan, environment: Path, installed: dict[str, str], log: Path) -> None:
    """Compare what was resolved beside the stack, where the installer was to take just that.

    pip alone resolves by its own rules, unless it got hashes.
    """
    is_bound = plan.manager != "pip" or plan.held is not None or plan.hashed is not None
    held = plan.held.packages if plan.held else ()
    if plan.conda is not None or not ((plan.is_whole or held) and is_bound):
        return
    direct = _direct_names(environment)
    requested = {_name_of(text) for text in plan.requirements if "@" not in text}
    for item in held or plan.packages[len(plan.pins) :]:
        name = canonicalize_name(item.name)
        problem = _difference(item, installed.get(name))
        if problem is None and name in direct & requested:
            problem = tr("{name} was installed from a direct URL, not from an index", name=item.name)
        if problem:
            raise not_as_planned(problem, str(environment), log)


def _name_of(text: str) -> str:
    try:
        return canonicalize_name(Requirement(text).name)
    except InvalidRequirement:
        return ""


def _difference(item: PlannedPackage, version: str | None) -> str | None:
    if version is None:
        return tr("{name} is missing", name=item.name)
    if not item.version or _version(version) == _version(item.version):
        return None
    return tr("{name} is {found}, not {wanted}", name=item.name, found=version, wanted=item.version)


def _direct_names(environment: Path) -> frozenset[str]:
    """Return what was installed from an address or a path, as direct_url.json of its metadata says."""
    records = (
        record for path in site_packages(environment) for record in path.glob("*.dist-info/direct_url.json")
    )
    return frozenset(canonicalize_name(record.parent.name.partition("-")[0]) for record in records)


def _mismatch(pin: str, installed: dict[str, str]) -> str | None:
    try:
        requirement = Requirement(pin)
        wanted = {
            Version(specifier.version)
            for specifier in requirement.specifier
            if specifier.operator in {"==", "==="}
        }
    except (InvalidRequirement, InvalidVersion):
        return None  # `torch==2.*`: the installer alone can judge it
    value = installed.get(canonicalize_name(requirement.name))
    if value is None:
        return tr("{name} is missing", name=requirement.name)
    if wanted and _version(value) not in wanted:
        return tr("{name} is {found}, not {wanted}", name=requirement.name, found=value, wanted=min(wanted))
    return None


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _check_cuda(plan: Plan, environment: Path, log: Path) -> None:
    """A build from PyPI does not tell its variant by its version: torch/version.py does."""
    for packages in site_packages(environment):
        file = packages / "torch" / "version.py"
        if not file.is_file() or file.stat().st_size > _LARGEST:
            continue
        try:
            cuda = parse_torch_cuda(read_limited_text(file))
        except ValueError:
            continue  # not a fact that contradicts the plan
        if cuda != Variant(plan.variant).cuda:
            problem = tr("torch is for {found}, not for {wanted}", found=cuda or "cpu", wanted=plan.variant)
            raise not_as_planned(problem, str(file), log)


def torch_cuda(environment: Path) -> str | None:
    """Return the variant of an environment's torch by its version.py: `cu126`, `cpu`; None where unknown."""
    for packages in site_packages(environment):
        with suppress(OSError, ValueError):
            file = packages / "torch" / "version.py"
            if file.stat().st_size <= _LARGEST:
                cuda = parse_torch_cuda(read_limited_text(file))
                return f"cu{cuda.major}{cuda.minor}" if cuda else "cpu"
    return None


def parse_torch_cuda(text: str) -> CudaVersion | None:
    """Parse torch/version.py: `cuda = '12.6'`, `cuda: Optional[str] = None`; raise ValueError without it."""
    match = _CUDA.search(text)
    if not match:
        raise ValueError(tr("torch/version.py does not contain its CUDA version"))
    return parse_cuda_version(match[1]) if match[1] is not None else None


def not_as_planned(problem: str, where: str, log: Path) -> InstallFailed:
    """Say in what an environment differs from its plan."""
    return InstallFailed(
        tr("the installer did not install what was planned: {problem}", problem=problem),
        code="not-as-planned",
        because=(Because(problem, where),),
        fixes=(
            Fix(tr("see in {log} where it came from", log=log)),
            Fix(tr("check for pip or uv configuration that overrides the plan"), "pip config debug"),
        ),
        data={"log": str(log)},
    )
