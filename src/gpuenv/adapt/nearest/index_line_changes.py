"""The lines that say where torch comes from: those that lead to another build change, go, or are added."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import zip_longest

from gpuenv.adapt.model import DeclaredRequirement, RequirementChange
from gpuenv.adapt.nearest.request import Wishes, is_page_of_torch, variant_of_page
from gpuenv.adapt.nearest.resolves_to import is_condas
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import STACK
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules.torch_bound import page_for


def index_changes(
    question: ResolutionInput, solution: Solution, wishes: Wishes, stack: tuple[RequirementChange, ...]
) -> Iterator[RequirementChange]:
    """Yield the changes of the pages that lead to another build of torch, or to nothing.

    Without a change of the stack a page is only added, where none leads to a local version. conda's channels
    are named in full only where torch's is missing: then it belongs in front of them.
    """
    lines = wishes.lines.get("index", ())
    if solution.candidate.kind == "conda":
        yield from _channel(solution, lines)
        return
    of_torch = [line for line in lines if is_page_of_torch(address_of(line))]
    if stack or not (is_condas(wishes) or any(_leads(line, solution) for line in of_torch)):
        yield from _of_torch(solution, of_torch)
    if stack:
        yield from _of_bound(question, solution, lines)


def address_of(line: DeclaredRequirement) -> str:
    """Return the address that an index line names."""
    return line.requirement or line.text


def _channel(solution: Solution, lines: tuple[DeclaredRequirement, ...]) -> Iterator[RequirementChange]:
    name = solution.candidate.files[0].listing.source.name if solution.candidate.files else None
    named = [line for line in lines if line.notation == "conda"]
    if name and named and name not in map(address_of, named):
        text = tr("{build} is on the channel `{channel}`", build=solution.candidate.label, channel=name)
        yield RequirementChange("index", None, None, name, text, solution.candidate.source)


def _of_torch(solution: Solution, lines: list[DeclaredRequirement]) -> Iterator[RequirementChange]:
    files = (item for item in solution.files if item.file.name in STACK)
    pages = list(dict.fromkeys(item.listing.page for item in files if item.file.variant))  # not PyPI's
    kept = [line for line in lines if pages and _leads(line, solution)]
    gone = [line for line in lines if line not in kept and (not kept or variant_of_page(address_of(line)))]
    missing = [] if kept else pages
    reason = Because(tr("{build} is there", build=solution.candidate.label), solution.candidate.source)
    for line, page in zip_longest(gone, missing):
        yield _change(line, page, reason if page else _misleads(solution))


def _leads(line: DeclaredRequirement, solution: Solution) -> bool:
    """Whether a page has the choice: one of its variant, an index of all, one that its build was read on."""
    address = address_of(line)
    variant = variant_of_page(address)
    if variant is not None:
        return variant == solution.candidate.variant
    name = address.split("#")[0].rstrip("/").rpartition("/")[2]
    return not name.endswith(".html") or bool(
        solution.candidate.row and name in solution.candidate.row.source
    )


def _misleads(solution: Solution) -> Because:
    text = tr("it resolves to builds other than {build}", build=solution.candidate.label)
    return Because(text, solution.candidate.source)


def _of_bound(
    question: ResolutionInput, solution: Solution, lines: tuple[DeclaredRequirement, ...]
) -> Iterator[RequirementChange]:
    """Yield the pages of projects bound to torch that are for another build of it: they go."""
    for wheels in filter(None, map(question.knowledge.ecosystem.set_of, question.request.extensions)):
        root = wheels.page.partition("{")[0]
        own = page_for(wheels, solution.candidate)
        for line in dict.fromkeys(lines):
            if address_of(line).startswith(root) and address_of(line) != own and not wheels.by_version:
                yield _change(line, None, _misleads(solution))


def _change(line: DeclaredRequirement | None, page: str | None, because: Because) -> RequirementChange:
    old = line.text.strip() if line else None
    new = None if page is None else f"--find-links {shlex.quote(page)}"
    return RequirementChange("index", line, old, new, because.text, because.source)
