"""D43: a Python that torch has no wheels for."""

from __future__ import annotations

from packaging.version import Version

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D43"
_BITS = 64


def check(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Compare the Python with the tags of all known builds for this platform."""
    python, platform = findings.python, subject.platform_of(findings)
    version = subject.version_of(python.version)
    if version is None or platform is None:
        return skipped(tr("the Python's version, or this platform's builds, are not known"))
    if python.bits is not None and python.bits != _BITS:
        return problem("bits", tr("{bits} bits", bits=python.bits), bits=python.bits)
    if subject.has_torch(findings):
        return ok(tr("Python {version} has a torch", version=version))
    tag = f"cp{version.major}{version.minor}{'t' if python.free_threaded else ''}"
    builds = [build for build in knowledge.builds_of(platform) if tag in build.pythons]
    if not builds and knowledge.builds_of(platform):
        return problem("no-wheel", tag, tag=tag, version=version, newest=_newest(knowledge, platform))
    return ok(tag)


def _newest(knowledge: Knowledge, platform: str) -> str:
    tags = {tag for build in knowledge.builds if build.platform == platform for tag in build.pythons}
    versions = [Version(f"{tag[2]}.{tag[3:]}") for tag in tags if tag[3:].isdigit() and tag.startswith("cp3")]
    return str(max(versions, default="?"))
