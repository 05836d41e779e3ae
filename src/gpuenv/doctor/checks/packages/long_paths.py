"""D46: Windows refuses long paths."""

from __future__ import annotations

from gpuenv.doctor.checks.outcome import Outcome, ok, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D46"
_LONGEST_MEMBER = 160  # the longest paths within torch's wheel
_LIMIT = 260


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare the length of the environment's path with what Windows takes."""
    windows = findings.windows
    if windows is None or windows.long_paths is None:
        return skipped(tr("this is not Windows"))
    place = max(findings.python.packages, key=len, default=findings.environment)
    if windows.long_paths or len(place) + _LONGEST_MEMBER <= _LIMIT:
        return ok(tr("{count} characters", count=len(place)))
    return warning("too-long", place, place=place, count=len(place))
