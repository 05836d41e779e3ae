"""What an installer says when an index failed it, read from the last lines it printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from gpuenv.i18n.messages import tr

MISSING = "missing"  # the fault of an index that may only not have what was asked for
_GLYPHS = re.compile(r"[╰├─▶│×]")
_LONGEST = 64 << 10  # letters that are searched


class InstallerFault(Struct, frozen=True):
    """One text by which an installer tells that an index failed it, and what that means."""

    fault: str
    pattern: re.Pattern[str]
    problem: str  # a template for `tr`, with names of groups in it


class FoundFault(Struct, frozen=True):
    """What an index did; `url` or `host` (with its port) where the text names it."""

    fault: str
    problem: str
    url: str | None = None
    host: str | None = None


def parse_installer_fault(row: Mapping[str, Any]) -> InstallerFault:
    r"""Parse one row of matrices/installer-faults.json; raise ValueError.

    {"fault": "status", "tool": "pip", "pattern": "HTTP error (?P<status>\\d{3}) while getting (?P<url>\\S+)",
     "problem": "answered {status} for {file}", "source": "..."}
    """
    try:
        return InstallerFault(str(row["fault"]), re.compile(row["pattern"]), str(row["problem"]))
    except (KeyError, TypeError, re.error) as error:
        raise ValueError(tr("is not a valid row of installer faults: {error}", error=error)) from None


def find_fault(text: str, faults: Iterable[InstallerFault]) -> FoundFault | None:
    """Return the first fault whose pattern the text has, None for what no index is to blame for.

    Lines are joined: uv wraps them and draws a tree around them.
    """
    words = " ".join(_GLYPHS.sub(" ", text[-_LONGEST:]).split())
    for fault in faults:
        match = fault.pattern.search(words)
        if match:
            return _fault_of(fault, {name: value for name, value in match.groupdict().items() if value})
    return None


def _fault_of(fault: InstallerFault, groups: dict[str, str]) -> FoundFault:
    url = groups.get("url", "").rstrip(".,;:`") or None
    facts = {"file": groups.get("file") or _file_of(url), "status": groups.get("status", "")}
    host = f"{groups['host']}:{groups['port']}" if "port" in groups else groups.get("host")
    return FoundFault(fault.fault, tr(fault.problem, **facts), url, host)


def _file_of(url: str | None) -> str:
    """The last part of an address: a file, or the project of a page."""
    try:
        path = urlsplit(url or "").path
    except ValueError:
        return ""
    return unquote(path.rstrip("/").rpartition("/")[2])
