"""Parse why a conda tool failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, cast, get_args

from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.installers.conda.json_output import last_document

Kind = Literal[
    "missing", "unsatisfiable", "no-gpu", "channel", "terms", "disk-full", "corrupt", "lock", "existing",
    "interrupted", "usage", "other",
]  # fmt: skip

_EMBEDDED = "rattler"
_LONGEST = 4000
_EMPTY = ("", "()", "None")  # what conda makes of errors that say nothing
_LEVEL = re.compile(r"^(?:critical|error|warning)\s+libmamba ?", re.MULTILINE)
_DEBUG = re.compile(r"^(?:info|debug|trace)\s+libmamba .*\n?", re.MULTILINE)
_URL = re.compile(r"(?:https?|file|s3|oci)://[^\s<>'\"\])]+")


class FailureWords(Struct, frozen=True):
    """Exceptions and messages by kind, the first match counts; `advice` is printed with every failure."""

    exceptions: tuple[tuple[str, Kind], ...]
    texts: tuple[tuple[Kind, re.Pattern[str]], ...]
    advice: tuple[re.Pattern[str], ...] = ()

    def of_exception(self, name: str | None) -> Kind | None:
        """Return the kind of an exception of conda, None for an unknown one."""
        return dict(self.exceptions).get(name or "")

    def of_text(self, text: str) -> Kind:
        """Return the kind of a message, `other` for an unknown one."""
        return next((kind for kind, pattern in self.texts if pattern.search(text)), "other")


def parse_failure_words(rows: Iterable[Mapping[str, Any]], *, embedded: bool = False) -> FailureWords:
    r"""Parse such rows of matrices/conda-tools.json, of py-rattler (`embedded`) or of the tools; ValueError.

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


class CondaFailure(Struct, frozen=True):
    """Why a tool failed: kind, message, the URL in it, and commands that accept terms of service."""

    kind: Kind
    reason: str
    url: str | None = None
    commands: tuple[str, ...] = ()


def parse_failure(text: str, known: FailureWords) -> CondaFailure:
    """Parse the output of a failed tool, JSON or text.

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
        name, message = _exception(last_document(text), known)
    except ValueError:
        name, message = None, text
    reason = _plain(message, known)
    kind = _kind(name, message, known)
    if kind == "unsatisfiable" and known.of_text(message) == "no-gpu":
        kind = "no-gpu"
    match = _URL.search(reason) if kind in {"channel", "corrupt", "terms"} else None
    url = match[0].rstrip(".,;:") if match else None
    accepting = (pattern for _, pattern in known.texts if "command" in pattern.groupindex)
    commands = tuple(match["command"] for pattern in accepting for match in pattern.finditer(message))
    return CondaFailure(kind, reason or _silent(), url, commands)


def explain(stdout: str, stderr: str, known: FailureWords) -> CondaFailure:
    """Return why a tool failed, by its JSON output, else by its stderr."""
    from_json = parse_failure(stdout, known) if "{" in stdout else None
    from_text = parse_failure(stderr, known)
    if from_json is None or (from_json.kind == "other" and from_text.reason != _silent()):
        return from_text
    return from_json


def _silent() -> str:
    return tr("it printed nothing")


def _exception(document: dict[str, Any], known: FailureWords) -> tuple[str | None, str]:
    """Return the name of conda's exception, and the message; of several the known one is first."""
    errors = [_name_and_message(item) for item in _inner(document)]
    if errors:
        errors.sort(key=lambda error: _kind(error[0], error[1], known) == "other")
        return errors[0][0], "\n".join(
            dict.fromkeys(message for _, message in errors if message not in _EMPTY)
        )
    problems = document.get("solver_problems")
    if isinstance(problems, list):
        return None, "\n".join(str(problem) for problem in problems)
    return _name_and_message(document)


def _inner(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the errors in a CondaMultiError, which may be such errors themselves."""
    errors = document.get("errors")
    for item in errors if isinstance(errors, list) else ():
        if isinstance(item, dict):
            yield from _inner(item) if item.get("errors") else (item,)


def _kind(name: str | None, message: str, known: FailureWords) -> Kind:
    return known.of_exception(name) or known.of_text(message)


def _name_and_message(error: Any) -> tuple[str | None, str]:
    if not isinstance(error, dict):
        return None, ""
    name, message = error.get("exception_name"), error.get("message") or error.get("error") or ""
    return name if isinstance(name, str) else None, str(message)


def _plain(message: str, known: FailureWords) -> str:
    """Remove levels, debug output, general advice, and the first line that mamba repeats at the end."""
    message = _LEVEL.sub("", _DEBUG.sub("", message))
    for pattern in known.advice:
        message = pattern.sub("", message)
    lines = [line.rstrip() for line in message.splitlines() if line.strip()]
    if len(lines) > 1 and lines[-1] == lines[0]:
        lines.pop()
    return "\n".join(lines)[:_LONGEST]
