"""The lines that say where torch comes from: those that lead to another build change, go, or are added."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gpuenv.adapt.model import DeclaredRequirement, RequirementChange
from gpuenv.adapt.nearest.index_pages import is_page_of_torch, variant_of_page
from gpuenv.adapt.nearest.request import Wishes
from gpuenv.adapt.nearest.resolves_to import is_condas
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because
from gpuenv.resolution.request import STACK
from gpuenv.resolution.resolve import ResolutionInput, Solution
from gpuenv.resolution.rules.torch_bound import page_for


def index_changes(
    question: ResolutionInput, choice: Solution, wishes: Wishes, stack: tuple[RequirementChange, ...]
) -> Iterator[RequirementChange]:
    """Yield the changes of the pages that lead to another build of torch, or to nothing.

    Without a change of the stack a page is only added, where none leads to a local version. conda's channels
    are named in full only where torch's is missing: then it belongs in front of them.
    """
    lines = wishes.lines.get("index", ())
    if choice.case.kind == "conda":
        yield from _channel(choice, lines)
        return
    of_torch = [line for line in lines if is_page_of_torch(address_of(line))]
    if stack or not (is_condas(wishes) or any(_leads(line, choice) for line in of_torch)):
        yield from _of_torch(choice, of_torch)
    if stack:
        yield from _of_bound(question, choice, lines)


def address_of(line: DeclaredRequirement) -> str:
    """Return the address that an index line names."""
    return line.requirement or line.text


def _channel(choice: Solution, lines: tuple[DeclaredRequirement, ...]) -> Iterator[RequirementChange]:
    name = choice.case.found[0].listing.source.name if choice.case.found else None
    named = [line for line in lines if line.notation == "conda"]
    if name and named and name not in map(address_of, named):
        text = tr("{build} is on the channel `{channel}`", build=choice.case.label, channel=name)
        yield RequirementChange("index", None, None, name, text, choice.case.source)


def _of_torch(choice: Solution, lines: list[DeclaredRequirement]) -> Iterator[RequirementChange]:
    pages = _pages(choice)
    kept = [line for line in lines if pages and _leads(line, choice)]
    gone = [line for line in lines if line not in kept and (not kept or variant_of_page(address_of(line)))]
    missing = [] if kept else pages
    found = Because(tr("{build} is there", build=choice.case.label), choice.case.source)
    for number, line in enumerate(gone):
        page = missing[number] if number < len(missing) else None
        yield _change(line, page, found if page else _misleads(choice))
    for page in missing[len(gone) :]:
        yield RequirementChange("index", None, None, _option(page), found.text, found.source)


def _pages(choice: Solution) -> list[str]:
    """The pages of the stack's files that PyPI does not have."""
    files = (item for item in choice.files if item.file.name in STACK)
    return list(dict.fromkeys(item.listing.page for item in files if item.file.variant))


def _leads(line: DeclaredRequirement, choice: Solution) -> bool:
    """Whether a page has the choice: one of its variant, an index of all, one that its build was read on."""
    address = address_of(line)
    variant = variant_of_page(address)
    if variant is not None:
        return variant == choice.case.variant
    name = address.split("#")[0].rstrip("/").rpartition("/")[2]
    return not name.endswith(".html") or bool(choice.case.row and name in choice.case.row.source)


def _misleads(choice: Solution) -> Because:
    text = tr("it resolves to builds other than {build}", build=choice.case.label)
    return Because(text, choice.case.source)


def _of_bound(
    question: ResolutionInput, choice: Solution, lines: tuple[DeclaredRequirement, ...]
) -> Iterator[RequirementChange]:
    """Yield the pages of projects bound to torch that are for another build of it: they go."""
    for wheels in filter(None, map(question.knowledge.ecosystem.set_of, question.request.bound)):
        root = wheels.page.partition("{")[0]
        own = page_for(wheels, choice.case)
        for line in dict.fromkeys(lines):
            if address_of(line).startswith(root) and address_of(line) != own and not wheels.by_version:
                yield _change(line, None, _misleads(choice))


def _change(line: DeclaredRequirement, page: str | None, because: Because) -> RequirementChange:
    new = None if page is None else _option(page)
    return RequirementChange("index", line, line.text.strip(), new, because.text, because.source)


def _option(page: str) -> str:
    return f"--find-links {shlex.quote(page)}"
