"""D13: the kernel module and the library are of different drivers."""

from __future__ import annotations

import re

from gpuenv.core.doctor import subject
from gpuenv.core.doctor.outcome import Outcome, ok, problem, skipped
from gpuenv.core.knowledge import Knowledge
from gpuenv.values.findings import Findings
from gpuenv.values.text import tr

ID = "D13"
_NUMBER = re.compile(r"\s(\d{3,4}(?:\.\d{1,4}){1,2})\s")
_FILE = re.compile(r"libcuda\.so\.(\d{3,4}(?:\.\d{1,4}){1,2})")


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare the version of the loaded module with those in the names of libcuda's files."""
    if not subject.is_posix_linux(findings):
        return skipped(tr("the driver is Windows'"))
    module = _NUMBER.search((findings.kernel.nvidia or "") + " ")
    files = tuple(found[1] for path in findings.kernel.libraries if (found := _FILE.search(path)))
    differ = bool(module and files) and (module[1] if module else "") not in files
    read = tr(
        "module {module}, library {files}", module=module[1] if module else "?", files=" ".join(files) or "?"
    )
    if subject.has_problem(findings, "driver-mismatch") or (differ and not subject.proven(findings)):
        facts = {"module": module[1] if module else "?", "library": " ".join(files) or "?"}
        return problem("mismatch", read, **facts)
    if module is None or not files:
        return skipped(tr("not both versions are told"))
    return ok(read)
