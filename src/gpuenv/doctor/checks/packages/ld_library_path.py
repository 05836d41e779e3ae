"""D31: libraries of the system stand before the bundled ones."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings, ForeignLibrary

ID = "D31"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for CUDA's libraries in LD_LIBRARY_PATH: an older one breaks the bundled ones."""
    found = tuple(one for one in findings.foreign_libraries if not _is_passed_over(one, findings))
    if not found:
        return ok(tr("no other library stands before the bundled ones"))
    older = next((one for one in found if _is_older(one)), None)
    one = older or found[0]
    facts = {"name": one.name, "path": one.path, "via": one.via}
    read = f"{one.path} ({one.version or '?'}; {one.bundled or '?'})"
    if subject.proven(findings):
        return ok(tr("{path}, and torch works with it", path=one.path))
    if older or any(item.name.split(".")[0].lower() in subject.said(findings) for item in found):
        return problem("shadows", read, have=one.version or "?", needs=one.bundled or "?", **facts)
    if all(_is_same(item) for item in found):
        return ok(read)
    return warning("before", read, **facts)


def _is_passed_over(one: ForeignLibrary, findings: Findings) -> bool:
    """Whether the loader takes torch's own all the same: an RPATH goes before LD_LIBRARY_PATH."""
    torch = findings.torch
    return torch is not None and torch.finds_own and one.name in torch.needs


def _is_older(one: ForeignLibrary) -> bool:
    have, bundled = subject.version_of(one.version), subject.version_of(one.bundled)
    return have is not None and bundled is not None and have.release[:2] < bundled.release[:2]


def _is_same(one: ForeignLibrary) -> bool:
    have, bundled = subject.version_of(one.version), subject.version_of(one.bundled)
    return have is not None and bundled is not None and have.release[:2] >= bundled.release[:2]
