"""D30: CUDA's libraries are missing."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings
from gpuenv.resolution.markers import marker_environment

ID = "D30"
_OURS = ("nvidia-", "triton", "cuda-toolkit", "cuda-bindings")


def wanted(findings: Findings) -> tuple[Requirement, ...]:
    """Return what the torch's metadata asks for of CUDA's libraries, on this platform and Python."""
    platform, torch = subject.platform_of(findings), subject.dist_of(findings, "torch")
    if platform is None or torch is None or not findings.python.version:
        return ()
    environment = marker_environment(platform, findings.python.version)
    parsed = (_parse(line) for line in torch.requires)
    return tuple(
        item
        for item in parsed
        if item
        and item.name.lower().startswith(_OURS)
        and (item.marker is None or item.marker.evaluate({**environment, "extra": ""}))
    )


def _parse(line: str) -> Requirement | None:
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare what torch asks for, and is linked with, with what is there."""
    torch, files = subject.dist_of(findings, "torch"), findings.torch
    if torch is None or subject.cuda_of(findings) is None:
        return skipped(tr("no torch for CUDA"))
    if files and files.lacking and not subject.proven(findings):
        return problem("library", " ".join(files.lacking), library=files.lacking[0])
    if torch.installer == "conda":
        return ok(tr("conda's packages bring them"))
    asked = wanted(findings)
    missing = [item for item in asked if subject.dist_of(findings, canonicalize_name(item.name)) is None]
    if missing:
        names = " ".join(item.name for item in missing)
        make = warning if subject.proven(findings) else problem
        return make("missing", names, names=names, name=missing[0].name)
    for item in asked:
        found = subject.installed(findings, canonicalize_name(item.name))
        if found and not item.specifier.contains(found, prereleases=True):
            return warning(
                "other-version", f"{item.name} {found}", name=item.name, found=found, needs=item.specifier
            )
    return ok(tr("{count} packages", count=len(asked)) if asked else tr("they lie in torch itself"))
