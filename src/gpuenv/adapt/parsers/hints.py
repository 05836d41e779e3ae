"""What of a README's words counts beside files that say it themselves."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement

from gpuenv.adapt.model import DeclaredRequirement


def without_answered(
    hints: tuple[DeclaredRequirement, ...], declarations: tuple[DeclaredRequirement, ...]
) -> tuple[DeclaredRequirement, ...]:
    """Return the hints about what the files leave open: a project without a version, the Python, the CUDA."""
    said = {declared.project for declared in declarations if not _is_open(declared)}
    left = tuple(declared for declared in hints if declared.project not in said)
    if any(declared.project == "torch" for declared in left):
        return left
    return tuple(
        declared for declared in left if declared.project not in ("index", "cuda")
    )  # they were torch's


def _is_open(declared: DeclaredRequirement) -> bool:
    """Whether a line leaves the version to whoever reads it; one that is not understood does not."""
    if declared.project in ("python", "cuda", "index"):
        return declared.requirement == ""
    if declared.requirement is None:
        return False
    try:
        requirement = Requirement(declared.requirement)
    except InvalidRequirement:
        return False
    return not requirement.specifier and requirement.url is None
