"""Why py-rattler failed, from the name of its exception and its text."""

from __future__ import annotations

import re

from gpuenv.i18n.messages import tr
from gpuenv.installers.conda.failure import CondaFailure, FailureWords, Kind

_LINES = 12
_URL = re.compile(r"(?:https?|file)://[^\s()'\"<>]+")
_PASSWORD = re.compile(r"(?<=://)[^/?#\s]*@")
_FIRST = frozenset({"missing", "no-gpu", "disk-full"})  # told by the text, whatever the exception


def parse_rattler_failure(exception: str, text: str, known: FailureWords) -> CondaFailure:
    """Read why something failed; its text may have a hundred lines, of which the first are kept.

    SolverError:

        Cannot solve the request because of: pytorch ==2.8.0 cuda* cannot be installed because there are …:
        └─ pytorch 2.8.0 would require
           └─ __cuda *, for which no candidates were found.

    GatewayError, InstallerError:

        could not find subdir 'noarch' in channel 'https://conda.example.com/nvidia/'
        Caused by: HTTP status client error (404 Not Found) for url (https://…/noarch/repodata.json)
    """
    kind = _kind(exception, text, known)
    urls = _URL.findall(text)
    reason = _PASSWORD.sub("", _shortened(text))
    return CondaFailure(kind, reason or exception, urls[-1].rstrip(".,;:") if urls else None)


def _kind(exception: str, text: str, known: FailureWords) -> Kind:
    message = known.of_text(text)
    return message if message in _FIRST else known.of_exception(exception) or message


def _shortened(text: str) -> str:
    lines = [line.rstrip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) <= _LINES:
        return "\n".join(lines)
    return "\n".join((*lines[:_LINES], tr("… ({count} more lines)", count=len(lines) - _LINES)))
