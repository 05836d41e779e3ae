"""One change of one file as the characters that go and those that come."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gpuenv.adapt.model import DeclaredRequirement, DependencyFile, RequirementChange
from gpuenv.adapt.patch.notation import added, quoted_within, rendered
from gpuenv.config_edit.text import line_end
from gpuenv.i18n.messages import tr

# what may stand around a requirement where a line has nothing else
_BEFORE = re.compile(r"[ \t]*(?:-[ \t]+)?[\"']?")
_KEY_BEFORE = re.compile(r"[ \t]*[\w.\"'-]+[ \t]*=[ \t]*(?:\{.*)?[\"']?")
_AFTER = re.compile(r"[\"']?[ \t]*,?[ \t\\]*(?:#.*)?\r?")


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters from `start` to `end`.

    `asked` is the place that the change is about, None where something is added; `said` are the projects and
    their texts that a reader finds there afterwards.
    """

    file: str
    start: int
    end: int
    text: str
    asked: tuple[int, int] | None
    said: tuple[tuple[str, str], ...] = ()


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits done; raise ValueError for two of one place."""
    last = len(text) + 1
    for edit in sorted(edits, key=lambda item: (item.start, item.end), reverse=True):
        if edit.end > last:
            raise ValueError(tr("two changes apply to the same place"))
        text, last = text[: edit.start] + edit.text + text[edit.end :], edit.start
    return text


def replacement(file: DependencyFile, declared: DeclaredRequirement, new: str) -> Edit:
    """Return the edit that lets a place say `new`; raise ValueError where it can't."""
    text = rendered(declared, new)
    quote = _quote_around(file.text, declared)
    if quote:
        text = quoted_within(text, quote)
    if len(text.splitlines()) != 1:
        raise ValueError(tr("`{text}` is not a valid requirement", text=text))
    start, end = declared.start, declared.end
    said = text.strip('"') if declared.text.startswith("{") else text  # poetry's table becomes a string
    if declared.project == "index" and text.startswith("-") and not declared.text.startswith("-"):
        raise ValueError(tr("`{text}` is not a valid requirement", text=text))
    return Edit(file.path, start, end, text, (start, end), ((declared.project, said),))


def _quote_around(text: str, declared: DeclaredRequirement) -> str:
    around = text[declared.start - 1 : declared.start]
    return around if around in ("'", '"') and text[declared.end : declared.end + 1] == around else ""


def removal(file: DependencyFile, declared: DeclaredRequirement) -> Edit:
    """Return the edit that takes a place out, with its line where nothing else is in it; raise ValueError."""
    start, end = _line(file.text, declared)
    before, after = file.text[start : declared.start], file.text[declared.end : end].removesuffix("\n")
    location = (declared.start, declared.end)
    key = (
        file.kind == "pyproject"
        and _KEY_BEFORE.fullmatch(before)
        and (_AFTER.fullmatch(after) or "{" in before)
    )
    if key or (_BEFORE.fullmatch(before.removeprefix("\ufeff")) and _AFTER.fullmatch(after)):
        start += before.startswith("\ufeff")
        return Edit(file.path, start, end, "", location)
    if file.kind == "requirements" or (
        declared.text.startswith("-") and not _quote_around(file.text, declared)
    ):
        blanks = len(before) - len(before.rstrip(" \t"))
        return Edit(file.path, declared.start - blanks, declared.end, "", location)
    return _out_of_list(file, declared)


def _out_of_list(file: DependencyFile, declared: DeclaredRequirement) -> Edit:
    """`["torch==1.7", "numpy"]` without torch, with the comma that it had."""
    wide = 1 if _quote_around(file.text, declared) else 0
    start, end = declared.start - wide, declared.end + wide
    comma = re.compile(r"[ \t]*,[ \t]*").match(file.text, end)
    if comma:
        end = comma.end()
    else:
        ahead = re.search(r",\s*$", file.text[:start])
        if ahead is None and not re.search(r"[\[(]\s*$", file.text[:start]):
            raise ValueError(tr("`{text}` cannot be removed from {file}", text=declared.text, file=file.path))
        start = ahead.start() if ahead else start
    return Edit(file.path, start, end, "", (declared.start, declared.end))


def _line(text: str, declared: DeclaredRequirement) -> tuple[int, int]:
    """Where the lines of a place begin and end, the last line's end among them."""
    start = text.rfind("\n", 0, declared.start) + 1
    end = text.find("\n", declared.end)
    return start, len(text) if end < 0 else end + 1


def insertion(file: DependencyFile, anchor: DeclaredRequirement, change: RequirementChange) -> Edit:
    """Return the edit that adds an entry beside another one; raise ValueError where it can't."""
    text = added(change.project, change.new or "", anchor.notation)
    if len(text.splitlines()) != 1:
        raise ValueError(tr("`{text}` is not a valid requirement", text=text))
    start, end = _line(file.text, anchor)
    before, after = file.text[start : anchor.start], file.text[anchor.end : end].removesuffix("\n")
    said = (change.project, text)
    ahead = change.project == "index"  # pages before what comes from them, channels before the lesser ones
    if anchor.notation == "poetry":
        return _new_key(file, anchor, change, text)
    own_line = _BEFORE.fullmatch(before.removeprefix("\ufeff")) and _AFTER.fullmatch(after)
    if not own_line and file.kind == "requirements":
        before = ""
    elif not own_line:
        return _into_list(file, anchor, text, said)
    quote = _quote_around(file.text, anchor)
    listed = file.kind in ("pyproject", "setup") and bool(quote)
    entry = f"{quote}{quoted_within(text, quote)}{quote}" if quote else text
    said = (change.project, entry[1:-1] if quote else entry)
    newline = line_end(file.text)
    lead = before.removeprefix("\ufeff").removesuffix(quote) if quote else before.removeprefix("\ufeff")
    if listed and not after[1:].lstrip().startswith(","):
        at = anchor.end + 1
        return Edit(file.path, at, at, f",{newline}{lead}{entry}", None, (said,))
    line = f"{lead}{entry}{',' if listed else ''}"
    if ahead:
        at = start + before.startswith("\ufeff")
        return Edit(file.path, at, at, f"{line}{newline}", None, (said,))
    ended = file.text[:end].endswith("\n")
    return Edit(file.path, end, end, f"{line}{newline}" if ended else f"{newline}{line}", None, (said,))


def _into_list(file: DependencyFile, anchor: DeclaredRequirement, text: str, said: tuple[str, str]) -> Edit:
    quote = _quote_around(file.text, anchor)
    entry = f"{quote}{quoted_within(text, quote)}{quote}" if quote else text
    at = anchor.end + len(quote)
    if quote:
        said = (said[0], entry[1:-1])
    return Edit(file.path, at, at, f", {entry}", None, (said,))


def _new_key(file: DependencyFile, anchor: DeclaredRequirement, change: RequirementChange, text: str) -> Edit:
    """Add `numpy = "<2"` below the line of poetry's that has the anchor."""
    said = rendered(DeclaredRequirement(change.project, None, file.path, 0, 0, 0, "*", "poetry"), text)
    _, end = _line(file.text, anchor)
    newline = line_end(file.text)
    line = f'{change.project} = "{quoted_within(said, chr(34))}"'
    ended = file.text[:end].endswith("\n")
    whole = f"{line}{newline}" if ended else f"{newline}{line}"
    return Edit(file.path, end, end, whole, None, ((change.project, said),))
