"""Why py-rattler failed, from the name of its exception and its text."""

from __future__ import annotations

import re

from gpuenv.core.conda_failure import CondaFailure, Kind

_LINES = 12
_READING = ("GatewayError", "FetchRepoDataError", "InvalidChannelError", "InvalidUrlError")
_ASKING = ("InvalidMatchSpecError", "InvalidPackageNameError", "ConvertSubdirError", "ParseSubdirError")
_URL = re.compile(r"(?:https?|file)://[^\s()'\"<>]+")
_PASSWORD = re.compile(r"(?<=://)[^/?#\s]*@")
_MISSING = re.compile(r"Cannot solve the request because of: No candidates were found for (?!__)")
_NO_GPU = re.compile(r"__cuda\b[^\n]*for which no candidates were found|No candidates were found for __cuda")
_NETWORK = re.compile(r"HTTP status|error sending request|error decoding response|operation timed out")
_WRONG = re.compile(r"hash mismatch|checksum|[Ii]nvalid [Zz]ip|failed to (?:unpack|extract)|size mismatch")


def parse_rattler_failure(exception: str, text: str) -> CondaFailure:
    """Read why something failed; its text may have a hundred lines, of which the first are kept.

    SolverError:

        Cannot solve the request because of: pytorch ==2.8.0 cuda* cannot be installed because there are …:
        └─ pytorch 2.8.0 would require
           └─ __cuda *, for which no candidates were found.

    GatewayError, InstallerError:

        could not find subdir 'noarch' in channel 'https://conda.example.com/nvidia/'
        Caused by: HTTP status client error (404 Not Found) for url (https://…/noarch/repodata.json)
    """
    kind = _kind(exception, text)
    urls = _URL.findall(text)
    reason = _PASSWORD.sub("", _shortened(text))
    return CondaFailure(kind, reason or exception, urls[-1].rstrip(".,;:") if urls else None)


def _kind(exception: str, text: str) -> Kind:
    if exception == "SolverError":
        return "missing" if _MISSING.search(text) else "no-gpu" if _NO_GPU.search(text) else "unsatisfiable"
    if exception in _ASKING:
        return "usage"
    if "No space left on device" in text or "os error 112" in text:  # ERROR_DISK_FULL
        return "disk-full"
    if exception in _READING or _NETWORK.search(text):
        return "channel"
    return "corrupt" if _WRONG.search(text) else "other"


def _shortened(text: str) -> str:
    lines = [line.rstrip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) <= _LINES:
        return "\n".join(lines)
    return "\n".join((*lines[:_LINES], f"… ({len(lines) - _LINES} more lines)"))
