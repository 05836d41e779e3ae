"""D29: extensions that were built for another torch."""

from __future__ import annotations

import re

from packaging.version import Version

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Dist, Findings
from gpuenv.resolution.request import STACK

ID = "D29"
# `0.6.3+pt21cu121`, `2.8.3+cu12torch2.3cxx11abiFALSE`, `0.17.1+torch240cu121`
_TORCH = re.compile(r"(?:pt|torch)(\d)(\.?)(\d{1,3})")
_CUDA = re.compile(r"cu(\d{2})\d?")


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare the torch and CUDA that local versions name with those that are here."""
    torch, cuda = subject.torch_version(findings), subject.cuda_of(findings)
    if torch is None:
        return skipped(tr("torch is not installed"))
    seen = []
    for dist in findings.dists:
        version = subject.version_of(dist.version)
        if version is None or not version.local or dist.name in STACK or not _is_extension(dist, version):
            continue
        seen.append(f"{dist.name} {version}")
        other = _other_torch(version, torch) or _other_cuda(version, str(cuda.major) if cuda else None)
        if other:
            facts = {"name": dist.name, "version": version, "built": other}
            return problem("other-torch", seen[-1], torch=subject.torch_label(findings), **facts)
    return ok(", ".join(seen) or tr("no extension tells what it was built for"))


def _is_extension(dist: Dist, version: Version) -> bool:
    local = version.local or ""
    return bool(
        _TORCH.search(local) or (_CUDA.match(local) and any("torch" in line for line in dist.requires))
    )


def _other_torch(version: Version, torch: Version) -> str | None:
    found = _TORCH.search(version.local or "")
    if not found:
        return None
    minors = _minors(found[3], dotted=bool(found[2]))
    if torch.release[:2] in {(int(found[1]), minor) for minor in minors}:
        return None
    return f"torch {found[1]}.{minors[0]}"


def _minors(digits: str, *, dotted: bool) -> tuple[int, ...]:
    """Return what the digits behind the major may mean: `24`, `240` and `2100` have no dots."""
    if dotted or len(digits) == 1:
        return (int(digits),)
    likely = (int(digits[:1]), int(digits[:2]))
    return likely if digits.endswith("0") else likely[::-1]


def _other_cuda(version: Version, major: str | None) -> str | None:
    found = _CUDA.search(version.local or "")
    return f"CUDA {found[1]}" if found and major and found[1] != major else None
