"""D13: the kernel module and the library are of different drivers."""

from __future__ import annotations

import re

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D13"
_NUMBER = re.compile(r"\s(\d{3,4}(?:\.\d{1,4}){1,2})\s")
_FILE = re.compile(r"libcuda\.so\.(\d{3,4}(?:\.\d{1,4}){1,2})")
_TOLD = re.compile(r"NVML library version: (\d{3,4}(?:\.\d{1,4}){1,2})")  # nvidia-smi, of its own library


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare the version of the loaded module with those of the driver's library."""
    if not subject.is_posix_linux(findings):
        return skipped(tr("the driver is Windows'"))
    loaded = _NUMBER.search((findings.kernel.nvidia or "") + " ")
    module = loaded[1] if loaded else None
    files = tuple(found[1] for path in findings.kernel.libraries if (found := _FILE.search(path)))
    differ = bool(module and files) and module not in files
    if subject.has_problem(findings, "driver-mismatch"):
        told = _TOLD.search(subject.message_of(findings, "driver-mismatch"))
        return _mismatch(module, told[1] if told else " ".join(files))
    if differ and not subject.proven(findings):
        return _mismatch(module, " ".join(files))
    if module is None or not files:
        return skipped(tr("not both versions are told"))
    return ok(tr("module {module}, library {files}", module=module, files=" ".join(files)))


def _mismatch(module: str | None, library: str) -> Outcome:
    unknown = tr("of another version") if module or library else "?"
    facts = {"module": module or unknown, "library": library or unknown}
    return problem(
        "mismatch",
        tr("module {module}, library {files}", module=module or "?", files=library or "?"),
        **facts,
    )
