"""Parse why py-rattler failed."""

from __future__ import annotations

import re

from gpuenv.i18n.messages import tr
from gpuenv.installers.conda.failure import CondaFailure, FailureWords

_LINES = 12
_URL = re.compile(r"(?:https?|file)://[^\s()'\"<>]+")
_PASSWORD = re.compile(r"(?<=://)[^/?#\s]*@")
_FIRST = frozenset({"missing", "no-gpu", "disk-full"})  # by the text, whatever the exception


def parse_rattler_failure(exception: str, text: str, known: FailureWords) -> CondaFailure:
    """Parse an exception's name and text, of which only the first lines are kept.

    SolverError:

        Cannot solve the request because of: pytorch ==2.8.0 cuda* cannot be installed because there are …:
        └─ pytorch 2.8.0 would require
           └─ __cuda *, for which no candidates were found.

    GatewayError, InstallerError:

        could not find subdir 'noarch' in channel 'https://conda.example.com/nvidia/'
        Caused by: HTTP status client error (404 Not Found) for url (https://…/noarch/repodata.json)
    """
    kind = known.of_text(text)
    if kind not in _FIRST:
        kind = known.of_exception(exception) or kind
    urls = _URL.findall(text)
    lines = [line.rstrip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) > _LINES:
        lines[_LINES:] = [tr("… ({count} more lines)", count=len(lines) - _LINES)]
    reason = _PASSWORD.sub("", "\n".join(lines))
    return CondaFailure(kind, reason or exception, urls[-1].rstrip(".,;:") if urls else None)
