"""D40: torchvision or torchaudio of another torch."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings
from gpuenv.model.variant import Variant
from gpuenv.resolution.request import COMPANIONS
from gpuenv.resolution.rules.companion import WITHOUT_CUDA, fits_variant, pypi_variant

ID = "D40"
_FROM_PYPI = ("pip", "uv")  # a distribution's own build has another installer, or none


def check(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Compare each companion with the matrix, its own metadata, and its variant with torch's."""
    torch = subject.torch_version(findings)
    there = [(name, version) for name in COMPANIONS if (version := subject.installed(findings, name))]
    if torch is None or not there:
        return skipped(tr("no torch, or no companion of it"))
    if torch.is_prerelease:
        return skipped(tr("torch {torch} is no release: what goes with it is not known", torch=torch))
    read = ", ".join(f"{name} {version}" for name, version in there)
    for name, version in there:
        outcome = _judge(name, version, torch, findings, knowledge, read)
        if outcome:
            return outcome
    return ok(f"torch {torch}, {read}")


def _judge(
    name: str, version: Version, torch: Version, findings: Findings, knowledge: Knowledge, read: str
) -> Outcome | None:
    facts = {"name": name, "version": version, "torch": subject.torch_label(findings)}
    paired = knowledge.companions_of(Version(torch.public)).get(name, ())
    public = Version(version.public)
    fits = tr(" or ").join(map(str, paired)) or "?"
    pinned = next(_asked_torch(findings, name), None)
    if pinned and not pinned.specifier.contains(Version(torch.public), prereleases=True):
        return problem("other-torch", read, needs=str(pinned), fits=fits, **facts)
    if paired and public not in paired and knowledge.companion_release(name, public) and not pinned:
        needs = tr("torch of {name} {version}", name=name, version=public)
        return problem("other-torch", read, needs=needs, fits=fits, **facts)
    own, wanted = _variant(name, version, torch, findings, knowledge), subject.variant_of(findings)
    if (
        own
        and own.is_known
        and wanted
        and not fits_variant(own, wanted, loose=knowledge.matches_by_major(name, public))
    ):
        return problem("other-variant", read, own=own, wanted=wanted, **facts)
    if subject.failed(findings) and ("torchvision::nms" in subject.said(findings) and name == "torchvision"):
        return warning("suspect", read, fits=fits, **facts)
    return None


def _variant(
    name: str, version: Version, torch: Version, findings: Findings, knowledge: Knowledge
) -> Variant | None:
    """Return a companion's variant: its version tells it, or it is PyPI's beside a torch that is not."""
    if version.local:
        return Variant(version.local)
    dist, platform = subject.dist_of(findings, name), subject.platform_of(findings)
    proven = subject.works(findings) and name == "torchvision"  # verify counts on its operators
    if dist is None or dist.installer not in _FROM_PYPI or not torch.local or proven:
        return None
    if platform is None or name in WITHOUT_CUDA:
        return None
    return pypi_variant(name, version, platform, knowledge)


def _asked_torch(findings: Findings, name: str) -> Iterator[Requirement]:
    """Yield what the companion's metadata asks of torch: `torch==2.14.1`; a lower bound alone says little."""
    dist = subject.dist_of(findings, name)
    for line in dist.requires if dist else ():
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        if requirement.name == "torch" and requirement.specifier:
            yield requirement
