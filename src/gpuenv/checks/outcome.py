"""What a check is, and its outcome: a verdict, what it read, and the facts for the texts of its case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

Word = Literal["ok", "problem", "warning", "skipped"]


class Outcome(Struct, frozen=True):
    """A verdict; `case` names the texts of the matrix that explain a problem or a warning."""

    verdict: Word
    read: str
    case: str | None = None
    facts: tuple[tuple[str, str], ...] = ()


class Check(Struct, frozen=True):
    """A function that judges findings, by the id of its texts."""

    id: str
    judge: Callable[[Findings, Knowledge], Outcome]


def check(identifier: str) -> Callable[[Callable[[Findings, Knowledge], Outcome]], Check]:
    """Make a function a check, which `registry` finds in its module."""
    return lambda judge: Check(identifier, judge)


def ok(read: str) -> Outcome:
    """Return that nothing is wrong."""
    return Outcome("ok", read)


def skipped(why: str) -> Outcome:
    """Return that the check does not apply, or could not be made."""
    return Outcome("skipped", why)


def problem(case: str, read: str, **facts: object) -> Outcome:
    """Return what keeps torch from the GPU, or breaks it."""
    return _told("problem", case, read, facts)


def warning(case: str, read: str, **facts: object) -> Outcome:
    """Return what may hurt, and does not stop anything by itself."""
    return _told("warning", case, read, facts)


def _told(verdict: Word, case: str, read: str, facts: dict[str, object]) -> Outcome:
    return Outcome(verdict, read, case, tuple((name, str(value)) for name, value in facts.items()))
