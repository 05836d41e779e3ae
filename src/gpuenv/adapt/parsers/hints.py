"""What of a README's words counts beside files that say it themselves."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement

from gpuenv.adapt.model import DeclaredRequirement


def without_answered(
    hints: tuple[DeclaredRequirement, ...], asked: tuple[DeclaredRequirement, ...]
) -> tuple[DeclaredRequirement, ...]:
    """Return the hints about what the files leave open: a project without a version, the Python, the CUDA."""
    said = {one.project for one in asked if not _is_open(one)}
    left = tuple(one for one in hints if one.project not in said)
    if any(one.project == "torch" for one in left):
        return left
    return tuple(one for one in left if one.project not in ("index", "cuda"))  # they were torch's


def _is_open(asked: DeclaredRequirement) -> bool:
    """Whether a line leaves the version to whoever reads it; one that is not understood does not."""
    if asked.project in ("python", "cuda", "index"):
        return asked.requirement == ""
    if asked.requirement is None:
        return False
    try:
        requirement = Requirement(asked.requirement)
    except InvalidRequirement:
        return False
    return not requirement.specifier and requirement.url is None
