"""One change of one file as the characters that go and those that come; channels and pip part of conda's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from packaging.utils import canonicalize_name

from gpuenv.adapt.model import NO_PROJECTS, DeclaredRequirement, DependencyFile, RequirementChange
from gpuenv.adapt.parsers.environment_yml import compose
from gpuenv.adapt.patch.notation import added, quoted_within, rendered
from gpuenv.config_edit.text import line_end
from gpuenv.i18n.messages import tr

# what may stand around a requirement where a line has nothing else
_BEFORE = re.compile(r"[ \t]*(?:-[ \t]+)?[\"']?")
_KEY_BEFORE = re.compile(r"[ \t]*[\w.\"'-]+[ \t]*=[ \t]*(?:\{.*)?[\"']?")
_AFTER = re.compile(r"[\"']?[ \t]*,?[ \t\\]*(?:#.*)?\r?")
_DEEPER = "  "
Said = tuple[str, str]  # a project, and the line that says it


class Edit(Struct, frozen=True):
    """Replace the characters from `start` to `end`.

    `replaced` is the span that the change is about, None where something is added; `expected` are the
    projects and their texts that a parser finds there afterwards.
    """

    start: int
    end: int
    text: str
    replaced: tuple[int, int] | None
    expected: tuple[tuple[str, str], ...] = ()


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits done; raise ValueError for two of one place."""
    last = len(text) + 1
    for edit in sorted(edits, key=lambda item: (item.start, item.end), reverse=True):
        if edit.end > last:
            raise ValueError(tr("two changes apply to the same place"))
        text, last = text[: edit.start] + edit.text + text[edit.end :], edit.start
    return text


def replacement(
    file: DependencyFile, declared: DeclaredRequirement, new: str, channel: str | None = None
) -> Edit:
    """Return the edit that lets a place say `new`, of a channel; raise ValueError where it can't."""
    text = rendered(declared, new, channel)
    quote = _quote_around(file.text, declared)
    if quote:
        text = quoted_within(text, quote)
    if len(text.splitlines()) != 1:
        raise ValueError(tr("`{text}` is not a valid requirement", text=text))
    start, end = declared.start, declared.end
    said = text.strip('"') if declared.text.startswith("{") else text  # poetry's table becomes a string
    if declared.project == "index" and text.startswith("-") and not declared.text.startswith("-"):
        raise ValueError(tr("`{text}` is not a valid requirement", text=text))
    return Edit(start, end, text, (start, end), ((_project_of(declared, new), said),))


def _project_of(declared: DeclaredRequirement, new: str) -> str:
    """Return what a line of pip's is about then: a family of wheels has another name for another CUDA."""
    if declared.notation != "pip" or declared.project in NO_PROJECTS:
        return declared.project
    name = re.match(r"[A-Za-z0-9][\w.-]*", new)
    return canonicalize_name(name[0]) if name else declared.project


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
        return Edit(start, end, "", location)
    if file.kind == "requirements" or (
        declared.text.startswith("-") and not _quote_around(file.text, declared)
    ):
        blanks = len(before) - len(before.rstrip(" \t"))
        return Edit(declared.start - blanks, declared.end, "", location)
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
    return Edit(start, end, "", (declared.start, declared.end))


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
    if anchor.notation == "poetry":
        declared = DeclaredRequirement(change.project, None, file.path, 0, 0, 0, "*", "poetry")
        value = rendered(declared, text)
        line = f'{change.project} = "{quoted_within(value, chr(34))}"'
        return new_lines(file, end, [line], ((change.project, value),))
    before, after = file.text[start : anchor.start], file.text[anchor.end : end].removesuffix("\n")
    lead = before.removeprefix("\ufeff")
    own_line = _BEFORE.fullmatch(lead) and _AFTER.fullmatch(after)
    if not own_line and file.kind == "requirements":
        lead = ""
    quote = _quote_around(file.text, anchor)
    entry = f"{quote}{quoted_within(text, quote)}{quote}" if quote else text
    expected = ((change.project, entry[1:-1] if quote else entry),)
    if not own_line and file.kind != "requirements":
        at = anchor.end + len(quote)
        return Edit(at, at, f", {entry}", None, expected)
    lead = lead.removesuffix(quote) if quote else lead
    listed = file.kind in ("pyproject", "setup") and bool(quote)
    if listed and not after[1:].lstrip().startswith(","):
        at = anchor.end + 1
        return Edit(at, at, f",{line_end(file.text)}{lead}{entry}", None, expected)
    # pages stand before what comes from them, channels before those of lower priority
    at = start + before.startswith("\ufeff") if change.project == "index" else end
    return new_lines(file, at, [f"{lead}{entry}{',' if listed else ''}"], expected)


def new_lines(file: DependencyFile, at: int, lines: list[str], expected: tuple[tuple[str, str], ...]) -> Edit:
    """Return the edit that adds lines where a line begins, or at the end of the file."""
    newline = line_end(file.text)
    text = newline.join(lines)
    unended = at and at == len(file.text) and file.text[at - 1] != "\n"
    return Edit(at, at, f"{newline}{text}" if unended else f"{text}{newline}", None, expected)


def into_pip_part(file: DependencyFile, said: tuple[Said, ...]) -> Iterator[Edit]:
    """Yield the edits that put lines into the pip part, pages first; raise ValueError if they can't go."""
    listed = _list(file, "dependencies")
    pip = next((part for item in listed.value for part in _pip_lists(item)), None)
    pages = tuple(item for item in said if item[0] == "index")
    others = tuple(item for item in said if item[0] != "index")
    if pip is None:
        scalars = (item.value for item in listed.value if item.id == "scalar")
        named = any(text.split("=")[0].strip() == "pip" for text in scalars)
        if listed.flow_style:  # dependencies: [python=3.9, numpy]
            part = f"{{pip: [{', '.join(_in_flow((*pages, *others)))}]}}"
            entries = [*([] if named else ["pip"]), part]
            yield _behind(file, listed, entries, said)
            return
        entries = [*([] if named else ["- pip"]), "- pip:"]
        entries += [f"{_DEEPER}- {text}" for _, text in (*pages, *others)]
        lines = [f"{' ' * listed.start_mark.column}{entry}" for entry in entries]
        yield _below(file, listed, lines, said)
    elif pip.flow_style:  # pip: [timm, einops]
        if pages:
            at = _at(file, pip.start_mark) + 1
            yield Edit(at, at, "".join(f"{text}, " for text in _in_flow(pages)), None, pages)
        if others:
            yield _behind(file, pip, _in_flow(others), others)
    else:
        indent = " " * pip.start_mark.column
        if pages:
            at = _line_start(file.text, _at(file, pip.value[0].start_mark))
            yield new_lines(file, at, [f"{indent}- {text}" for _, text in pages], pages)
        if others:
            yield _below(file, pip, [f"{indent}- {text}" for _, text in others], others)


def _in_flow(said: tuple[Said, ...]) -> list[str]:
    """Quote lines so that they can stand between commas."""
    return [f"'{quoted_within(text, chr(39))}'" for _, text in said]


def _behind(file: DependencyFile, node: Any, entries: list[str], said: tuple[Said, ...]) -> Edit:
    at = _at(file, _last_end(node))
    if node.value[-1].id != "scalar":  # behind the brackets of `{pip: [timm]}`
        at = file.text.rindex("]", 0, _at(file, node.end_mark))
    return Edit(at, at, "".join(f", {entry}" for entry in entries), None, said)


def into_channels(file: DependencyFile, channel: str) -> Edit:
    """Return the edit that makes a channel the first; raise ValueError where it can't be."""
    said = (("index", channel),)
    keys = {key.value: (key, value) for key, value in compose(file.text).value}
    if "channels" in keys:
        written = keys["channels"][1]
        if written.id == "sequence" and written.flow_style:  # channels: [pytorch, nvidia]
            at = _at(file, written.start_mark) + 1
            return Edit(at, at, f"{channel}, " if written.value else channel, None, said)
        listed = _list(file, "channels")
        at = _line_start(file.text, _at(file, listed.value[0].start_mark))
        return new_lines(file, at, [f"{' ' * listed.start_mark.column}- {channel}"], said)
    _list(file, "dependencies")
    at = _line_start(file.text, _at(file, keys["dependencies"][0].start_mark))
    return new_lines(file, at, ["channels:", f"{_DEEPER}- {channel}"], said)


def _list(file: DependencyFile, name: str) -> Any:
    """The node of a list that has something in it."""
    entries = {key.value: value for key, value in compose(file.text).value}
    node = entries.get(name)
    if node is None or node.id != "sequence" or not node.value:
        raise ValueError(tr("`{key}` in {file} is not a list of lines", key=name, file=file.path))
    return node


def _pip_lists(item: Any) -> Iterator[Any]:
    entries = item.value if item.id == "mapping" else ()
    return (value for key, value in entries if key.value == "pip" and value.id == "sequence" and value.value)


def _at(file: DependencyFile, mark: Any) -> int:
    return int(mark.index) + file.text.startswith("\ufeff")


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at) + 1, 1 if text.startswith("\ufeff") else 0)


def _last_end(node: Any) -> Any:
    """The mark behind the last scalar: a list's own is behind the comments that follow it."""
    while node.id != "scalar" and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node.end_mark


def _below(file: DependencyFile, node: Any, lines: list[str], said: tuple[Said, ...]) -> Edit:
    end = file.text.find("\n", _at(file, _last_end(node)))
    return new_lines(file, len(file.text) if end < 0 else end + 1, lines, said)
