"""D44: an installation that was cut short, and disks that are full."""

from __future__ import annotations

from collections.abc import Iterator

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Dist, Findings

ID = "D44"
_LITTLE = 200 * 1000 * 1000
_REPAIRED = ("torch", "torchvision", "torchaudio", "triton")


def damaged(findings: Findings) -> tuple[str, ...]:
    """Return the names of the distributions whose files are not as their RECORD says, torch first."""
    names = [dist.name for dist in findings.dists if dist.missing or dist.changed or dist.problem]
    names += [dists[0].name for dists in _installed_over(findings)]
    names += ["torch"] if findings.torch and findings.torch.problem else []
    return tuple(sorted(dict.fromkeys(names), key=lambda name: (name not in _REPAIRED, name)))


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare the files of the torch stack with their RECORD; look for leftovers and for room."""
    if findings.unread and not subject.works(findings):
        return skipped(tr("not all of this environment can be read by this user"))
    return (
        _of_torch(findings)
        or _over_others(findings)
        or _of_dists(findings)
        or _traces(findings)
        or _room(findings)
    )


def _over_others(findings: Findings) -> Outcome | None:
    for dists in _installed_over(findings):
        # where it works all the same: what asks which version is installed is told either
        versions = ", ".join(dist.version or "?" for dist in dists)
        return problem("over-another", versions, name=dists[0].name, versions=versions, place=dists[0].place)
    return None


def _installed_over(findings: Findings) -> Iterator[tuple[Dist, ...]]:
    """Yield the records of one name that lie beside each other, as no installer leaves them on purpose."""
    for name, place in dict.fromkeys((dist.name, dist.place) for dist in findings.dists):
        dists = tuple(dist for dist in subject.dists_of(findings, name) if dist.place == place)
        # conda's beside pip's are told as mixed
        own = place in findings.python.packages and all(dist.installer != "conda" for dist in dists)
        if name in _REPAIRED and own and len({dist.version for dist in dists}) > 1:
            yield dists


def _of_dists(findings: Findings) -> Outcome | None:
    for dist in findings.dists:
        if dist.problem and dist.name in _REPAIRED:
            return problem("metadata", dist.problem, name=dist.name, reason=dist.problem)
        if dist.missing:
            # images are often made smaller by deleting what is not needed
            make = warning if subject.works(findings) else problem
            read = tr("{count} files missing", count=dist.missing)
            return make("missing", read, name=dist.name, count=dist.missing, example=dist.example)
    return None


def _of_torch(findings: Findings) -> Outcome | None:
    if findings.torch and findings.torch.problem:
        return problem("unreadable", findings.torch.problem, reason=findings.torch.problem)
    elsewhere = any(why == "user-only" for _, why in findings.foreign_torch)  # which has a check of its own
    gone = subject.dist_of(findings, "torch") and findings.torch is None and not elsewhere
    if gone and not subject.works(findings):  # one that is being developed lies elsewhere
        return problem("gone", tr("metadata of torch without its files"))
    return None


def _traces(findings: Findings) -> Outcome | None:
    changed = next((dist for dist in findings.dists if dist.changed), None)
    if changed and not subject.works(findings):
        facts = {"name": changed.name, "count": changed.changed, "example": changed.example}
        return warning("changed", changed.example or "", **facts)
    if findings.leftovers:
        return warning("leftovers", findings.leftovers[0], path=findings.leftovers[0])
    return None


def _room(findings: Findings) -> Outcome:
    for free in (findings.limits.disk_free, findings.limits.temporary_free):
        if free is not None and free < _LITTLE:
            return warning("full", tr("{free} MB are free", free=free // 1_000_000), free=free // 1_000_000)
    if not subject.has_torch(findings):
        return skipped(tr("torch is not installed"))
    return ok(tr("all files are as their RECORD says"))
