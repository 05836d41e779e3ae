"""An adaptation for a person and as data: each changed line with its reason and its risks, and the patch."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from difflib import unified_diff as lines_of_diff
from itertools import chain
from typing import Any

from msgspec import to_builtins

from gpuenv.adapt.model import (
    NO_PROJECTS,
    Adaptation,
    DeclaredRequirement,
    DependencyFile,
    Project,
    ProjectSource,
    RequirementChange,
    Risk,
    SourceFact,
)
from gpuenv.adapt.parsers.collector import shown
from gpuenv.adapt.patch.apply import unapplied
from gpuenv.adapt.patch.notation import rendered
from gpuenv.formats.fact_source import said_source
from gpuenv.formats.shell import one_line
from gpuenv.i18n.messages import series, tr
from gpuenv.resolution.request import STACK

_TOLD = (*STACK, "python", "cuda")
_WIDEST = 48  # of the paths in the table of sources
_MOST_SOURCES = 12
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def render_sources(project: Project) -> str:
    """Return what each file says of torch's stack, Python and CUDA, and which of it is not followed.

    Empty where only the adapted file says something.
    """
    said = [source for source in project.sources if any(map(_is_told, source.facts))]
    adapted = {file.path for file in project.files[:1] if file.kind != "readme"}
    if {source.path for source in said} <= adapted:
        return ""
    width = min(_WIDEST, max(len(source.path) for source in said[:_MOST_SOURCES]))
    lines = [tr("what the files say:")]
    for source in said[:_MOST_SOURCES]:
        facts = series(_fact(fact) for fact in source.facts if _is_told(fact))
        lines.append(f"  {shown(source.path):<{width}}  {one_line(facts)}")
    if len(said) > _MOST_SOURCES:
        lines.append(tr("  and {count} more, in --json", count=len(said) - _MOST_SOURCES))
    return "\n".join(lines) + "\n"


def _is_told(fact: SourceFact) -> bool:
    return fact.declared.project in _TOLD and bool(fact.declared.requirement)


def _fact(fact: SourceFact) -> str:
    declared = fact.declared
    blank = " " if declared.project == "cuda" else ""
    named = f"{declared.project}{blank}" if declared.project in NO_PROJECTS else ""
    text = shown(f"{named}{declared.requirement}")
    if not fact.contradicts:
        return tr("{text} (line {line})", text=text, line=declared.line)
    return tr("{text} (line {line}, not followed)", text=text, line=declared.line)


def render_changes(adaptation: Adaptation, *, verbose: bool = False) -> str:
    """Return the changes, each with why it is needed and what it risks; `verbose` adds the sources.

    No line could be taken for one of a patch: it may stand before one.
    """
    if not adaptation.changes:
        return tr("the project files already work here: nothing to change") + "\n"
    by_hand = unapplied(adaptation.project, adaptation.changes)
    lines: list[str] = []
    for change in adaptation.changes:
        if change in by_hand:
            place = tr("to do by hand, because it cannot be expressed in any of the files:")
        else:
            place = f"{change.declared.file}:{change.declared.line}" if change.declared else tr("new line")
        lines.append(one_line(f"{place}  {_move(change)}"))
        lines.append(f"  {one_line(_sourced(change.why, change.source, verbose=verbose))}")
        lines += (f"    {one_line(_risk(risk, verbose=verbose))}" for risk in change.risks)
    return "\n".join(lines) + "\n"


def _move(change: RequirementChange) -> str:
    old = change.declared.text if change.declared else None
    if change.new is None:
        return tr("{old} is removed", old=old or change.old)
    if change.declared is None:
        return change.new
    named = f"{change.project} " if change.declared.notation == "poetry" else ""  # a table's value: `^1.10`
    return f"{named}{old} -> {_as_written(change.declared, change.new, change.channel)}"


def _as_written(declared: DeclaredRequirement, new: str, channel: str | None) -> str:
    try:
        return rendered(declared, new, channel)
    except ValueError:  # it goes to another place: what conda can't say, to the pip part
        return new


def _risk(risk: Risk, *, verbose: bool) -> str:
    text = tr("risk: {text}", text=risk.text)
    if risk.places:
        text = tr("{text}: see {places}", text=text, places=series(risk.places))
    return _sourced(text, risk.source, verbose=verbose)


def _sourced(text: str, source: str, *, verbose: bool) -> str:
    return f"{text} [{said_source(source)}]" if verbose and source else text


def render_adaptation_data(adaptation: Adaptation) -> dict[str, Any]:
    """Return the JSON form of the project and how it changes."""
    by_hand = unapplied(adaptation.project, adaptation.changes)
    return {
        "files": [{"path": file.path, "kind": file.kind} for file in adaptation.project.files],
        "date": adaptation.project.date,
        "sources": [_source(source) for source in adaptation.project.sources],
        "changes": [_change(change, by_hand=change in by_hand) for change in adaptation.changes],
        "left_out": [to_builtins(line) for line in adaptation.left_out],
        "patch": patch_of(adaptation),
    }


def _source(source: ProjectSource) -> dict[str, Any]:
    says = [
        {
            "project": fact.declared.project,
            "requirement": fact.declared.requirement,
            "line": fact.declared.line,
            "text": shown(fact.declared.text.strip()),
            "used": fact.used,
            "contradicts": fact.contradicts,
        }
        for fact in source.facts
    ]
    return {"path": source.path, "kind": source.kind, "followed": source.followed, "says": says}


def patch_of(adaptation: Adaptation) -> str:
    """Return the changes as a unified diff that `git apply` and `patch -p1` take; empty for none."""
    return unified_diff(adaptation.project, adaptation.files)


def _change(change: RequirementChange, *, by_hand: bool) -> dict[str, Any]:
    return {
        "file": change.declared.file if change.declared else None,
        "line": change.declared.line if change.declared else None,
        "project": change.project,
        "old": change.old,
        "new": change.new,
        "why": change.why,
        "source": change.source,
        "by_hand": by_hand,
        "risks": [to_builtins(risk) for risk in change.risks],
    }


def unified_diff(project: Project, files: tuple[DependencyFile, ...]) -> str:
    """Return what changed between the files that were left and what becomes of them; empty for nothing.

    Names are relative to where the command runs, or to the folder of all files where one lies elsewhere. Line
    ends stand as they are in the files.
    """
    names = _patch_names(tuple(file.path for file in project.files))
    pairs = zip(project.files, files, strict=True)
    parts = (_diff(names[before.path], before.text, after.text) for before, after in pairs)
    return "".join(chain.from_iterable(parts))


def _patch_names(paths: tuple[str, ...]) -> dict[str, str]:
    plain = {path: posixpath.normpath(path) for path in paths}
    away = [item for item in plain.values() if item.startswith(("..", "/")) or item[1:2] == ":"]
    if not away:
        return plain
    folders = [item.rpartition("/")[0].split("/") for item in plain.values()]
    common = 0
    while all(len(parts) > common for parts in folders) and len({parts[common] for parts in folders}) == 1:
        common += 1
    return {path: "/".join(item.split("/")[common:]) for path, item in plain.items()}


def _diff(name: str, before: str, after: str) -> Iterator[str]:
    if before == after:
        return
    old, new = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    # by "\n" alone: a lone "\r" or a form feed is no end of a line to git
    removed, added = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    for line in lines_of_diff(removed, added, old, new, lineterm="\n"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _quoted(name: str) -> str:
    """Return a name as git writes it: in quotes where it has odd characters, a tab after one with blanks."""
    if not name.isprintable() or any(item in _ESCAPES for item in name):
        return f'"{"".join(_escaped(item) for item in name)}"'
    return f"{name}\t" if " " in name else name


def _escaped(item: str) -> str:
    if item.isprintable() or item in _ESCAPES:
        return _ESCAPES.get(item, item)
    return "".join(f"\\{byte:03o}" for byte in item.encode("utf-8", "surrogateescape"))
