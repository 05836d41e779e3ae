"""Why a conda tool failed, from what it printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from gpuenv.i18n.messages import tr
from gpuenv.installers.conda.json_output import last_document

Kind = Literal[
    "missing", "unsatisfiable", "no-gpu", "channel", "terms", "disk-full", "corrupt", "lock", "existing",
    "interrupted", "usage", "other",
]  # fmt: skip

_EMBEDDED = "rattler"
_LONGEST = 4000
_LEVEL = re.compile(r"^(?:critical|error|warning)\s+libmamba ?", re.MULTILINE)
_DEBUG = re.compile(r"^(?:info|debug|trace)\s+libmamba .*\n?", re.MULTILINE)
_URL = re.compile(r"(?:https?|file|s3|oci)://[^\s<>'\"\])]+")


@dataclass(frozen=True, slots=True)
class FailureWords:
    """By what the tools tell why they failed; of `texts` the first that is found counts.

    `advice` is what they say to every failure. A text's group `command` is what the user is to run.
    """

    exceptions: tuple[tuple[str, Kind], ...]
    texts: tuple[tuple[Kind, re.Pattern[str]], ...]
    advice: tuple[re.Pattern[str], ...] = ()

    def of_exception(self, name: str | None) -> Kind | None:
        """Return what an exception of conda means, None for one that is not known."""
        return dict(self.exceptions).get(name or "")

    def of_text(self, text: str) -> Kind:
        """Return what a text means, `other` where it says nothing that is known."""
        return next((kind for kind, pattern in self.texts if pattern.search(text)), "other")


def parse_failure_words(rows: Iterable[Mapping[str, Any]], *, embedded: bool = False) -> FailureWords:
    r"""Parse the rows of matrices/conda-tools.json that are of this, and leave the others; raise ValueError.

    `embedded`: those about py-rattler, else those about the tools that are run.

    {"kind": "exception", "tool": "conda", "name": "CondaHTTPError", "means": "channel", "source": "..."}
    {"kind": "text", "tool": "mamba", "means": "corrupt", "pattern": "incorrect downloads", "source": "..."}
    {"kind": "advice", "tool": "mamba", "pattern": "(?m)^\\s*Please try running.*\\n?", "source": "..."}
    """
    try:
        rows = tuple(row for row in rows if (row["tool"] == _EMBEDDED) == embedded)
        return FailureWords(
            tuple((str(row["name"]), _means(row)) for row in rows if row["kind"] == "exception"),
            tuple((_means(row), re.compile(row["pattern"])) for row in rows if row["kind"] == "text"),
            tuple(re.compile(row["pattern"]) for row in rows if row["kind"] == "advice"),
        )
    except (KeyError, TypeError, re.error) as error:
        raise ValueError(tr("is not a valid row of conda tools: {error}", error=error)) from None


def _means(row: Mapping[str, Any]) -> Kind:
    kind = row["means"]
    if kind not in get_args(Kind):
        raise ValueError(tr("`{kind}` is not a known kind of failure", kind=kind))
    return cast("Kind", kind)


@dataclass(frozen=True, slots=True)
class CondaFailure:
    """Why a tool failed: a kind for programs, the tool's own words, and where they name one, an address.

    `commands` are those the tool asks its user to run: the terms of service that gpuenv never accepts itself.
    """

    kind: Kind
    reason: str
    url: str | None = None
    commands: tuple[str, ...] = ()


def parse_failure(text: str, known: FailureWords) -> CondaFailure:
    """Parse what a failing tool printed, JSON or words; what says nothing gives the kind `other`.

    conda with --json:

        {"exception_name": "UnavailableInvalidChannel", "message": "HTTP 404 UNAVAILABLE OR INVALID for ...",
         "channel_url": "https://conda.example/nosuchchannel"}
        {"exception_name": "CondaMultiError", "errors": [{"exception_name": "OSError", "message": "..."}]}

    mamba and micromamba, with --json, then on stderr:

        {"solver_problems": ["nothing provides __cuda needed by pytorch-2.4.1-..."], "success": false}

        error    libmamba Could not solve for environment specs
            The following package could not be installed
            └─ nosuchpkg =* * does not exist (perhaps a typo or a missing channel).
        critical libmamba Could not solve for environment specs
    """
    try:
        name, words = _told(last_document(text), known)
    except ValueError:
        name, words = None, text
    reason = _plain(words, known)
    kind = known.of_exception(name) or known.of_text(words)
    if kind == "unsatisfiable" and known.of_text(words) == "no-gpu":
        kind = "no-gpu"
    url = _URL.search(reason) if kind in {"channel", "corrupt", "terms"} else None
    return CondaFailure(
        kind, reason or _silent(), url[0].rstrip(".,;:") if url else None,
        _commands(words, known),
    )  # fmt: skip


def _commands(words: str, known: FailureWords) -> tuple[str, ...]:
    asking = (pattern for _, pattern in known.texts if "command" in pattern.groupindex)
    return tuple(match["command"] for pattern in asking for match in pattern.finditer(words))


def explain(stdout: str, stderr: str, known: FailureWords) -> CondaFailure:
    """Return why a tool failed by what it printed as JSON, or where that says nothing, by its stderr."""
    failure = parse_failure(stdout, known) if "{" in stdout else None
    said = parse_failure(stderr, known)
    return said if failure is None or (failure.kind == "other" and said.reason != _silent()) else failure


def _silent() -> str:
    return tr("it printed nothing")


def _told(document: dict[str, Any], known: FailureWords) -> tuple[str | None, str]:
    """The name of conda's exception, and the words."""
    errors = document.get("errors")
    for item in errors if isinstance(errors, list) else ():
        name, words = _words(item)
        if known.of_exception(name) or known.of_text(words) != "other":
            return name, words
    problems = document.get("solver_problems")
    if isinstance(problems, list):
        return None, "\n".join(str(problem) for problem in problems)
    return _words(document)


def _words(error: Any) -> tuple[str | None, str]:
    if not isinstance(error, dict):
        return None, ""
    name, words = error.get("exception_name"), error.get("message") or error.get("error") or ""
    return name if isinstance(name, str) else None, str(words)


def _plain(words: str, known: FailureWords) -> str:
    """The words without levels, traces, and what the tools say to every failure; mamba ends as it begins."""
    words = _LEVEL.sub("", _DEBUG.sub("", words))
    for pattern in known.advice:
        words = pattern.sub("", words)
    lines = [line.rstrip() for line in words.splitlines() if line.strip()]
    if len(lines) > 1 and lines[-1] == lines[0]:
        lines.pop()
    return "\n".join(lines)[:_LONGEST]
