"""D45: a mirror that was shut down, a wrong address, a certificate file that is not there."""

from __future__ import annotations

from gpuenv.doctor.checks.outcome import Outcome, ok, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import ConfiguredIndex, Findings

ID = "D45"
_FAULTS = ("retired", "wrong", "bogus")


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look at what pip and uv are told of indexes; none is asked, which is `gpuenv mirrors check`'s."""
    for variable, path in findings.lost_certificates:
        return warning("certificate", f"{variable}={path}", variable=variable, path=path)
    for index in findings.indexes:
        if index.fault and index.fault in _FAULTS:
            return warning(index.fault, _named(index), **_facts(index))
    if not findings.indexes:
        return skipped(tr("no index is configured: pip and uv take their own default"))
    return ok(", ".join(map(_named, findings.indexes)))


def _named(index: ConfiguredIndex) -> str:
    return f"{index.url} [{index.origin}]"


def _facts(index: ConfiguredIndex) -> dict[str, str]:
    return {
        "url": index.url,
        "origin": index.origin,
        "mirror": index.mirror or "?",
        "instead": index.instead or "?",
    }
