"""D48: Windows' runtime libraries."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D48"
_WORDS = ("winerror 126", "winerror 127", "winerror 1114", "winerror 182")
_PAGE_FILE = "winerror 1455"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for the VC++ runtime, and for the errors that tell of a missing or too old one."""
    windows = findings.windows
    if windows is None:
        return skipped(tr("this is not Windows"))
    words = subject.said(findings)
    if _PAGE_FILE in words:
        return problem("page-file", _PAGE_FILE)
    if windows.runtime is None:
        return problem("no-runtime", tr("no vcruntime140_1.dll"))
    if any(word in words for word in _WORDS):
        return problem("runtime", windows.runtime, runtime=windows.runtime)
    if windows.media_pack is False and subject.failed(findings):
        return warning("media-pack", tr("no media features"))
    return ok(windows.runtime)
