"""D27: too little shared memory, or too few files, for the workers of a DataLoader."""

from __future__ import annotations

from gpuenv.doctor.checks.outcome import Outcome, ok, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D27"
_MIB = 1 << 20
_LITTLE = 512 * _MIB  # docker gives 64 MiB where nothing is said
_FILES = 1024


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look at the size of /dev/shm and at how many files may be open: neither keeps torch from the GPU."""
    size, files = findings.limits.shared_memory, findings.limits.open_files
    if size is None:
        return skipped(tr("there is no /dev/shm"))
    read = tr("{size} MiB of shared memory, {files} open files", size=size // _MIB, files=files or "?")
    inside = findings.machine.system.container is not None
    if inside and size <= _LITTLE:
        return warning("small", read, size=size // _MIB)
    if files is not None and files < _FILES:
        return warning("files", read, files=files)
    return ok(read)
