"""The lines that say where torch comes from: those that lead to another build change, go, or are added."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import zip_longest

from gpuenv.adapt.model import DeclaredRequirement, RequirementChange, changed_line
from gpuenv.adapt.nearest.cuda_lines import channel_of, named_channel
from gpuenv.adapt.nearest.request import Wishes, is_page_of_torch, variant_of_page
from gpuenv.adapt.nearest.resolves_to import is_condas
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because
from gpuenv.model.plan import Sources
from gpuenv.resolution.accelerators.sources import with_required
from gpuenv.resolution.conda.builds import CondaBuild
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import STACK
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules.torch_bound import page_for

_WITH_TORCH = ("pytorch", "conda-forge", "defaults", "main", "anaconda")  # channels that have a torch
_PYPI = "pypi"
_BASES = ("conda-forge", "defaults", "main", "anaconda")  # where Python and all else comes from


def index_changes(
    question: ResolutionInput,
    solution: Solution,
    wishes: Wishes,
    stack: tuple[RequirementChange, ...],
    build: CondaBuild | None = None,
) -> Iterator[RequirementChange]:
    """Yield the changes of the pages that lead to another build of torch, or to nothing.

    Without a change of the stack a page is only added, where none leads to a local version. conda's channels
    are named in full only where torch's is missing or stands behind one that has another torch: it belongs in
    front of them.
    """
    lines = wishes.lines.get("index", ())
    if solution.candidate.kind == "conda":
        changes = _channels(solution, lines, build)
        named = _names_channel(wishes)
        # a spec that names its channel is looked for nowhere else, whatever stands in front
        yield from (change for change in changes if not named or change.declared is None)
        return
    of_torch = [line for line in lines if is_page_of_torch(address_of(line))]
    if stack or not (is_condas(wishes) or any(_leads(line, solution) for line in of_torch)):
        yield from _of_torch(solution, of_torch)
    if stack:
        yield from _of_bound(question, solution, lines)


def address_of(line: DeclaredRequirement) -> str:
    """Return the address that an index line names."""
    return line.requirement or line.text


def _channels(
    solution: Solution, lines: tuple[DeclaredRequirement, ...], build: CondaBuild | None
) -> Iterator[RequirementChange]:
    """Yield the channel of torch where it is missing or hidden, and those that its build needs beside it.

    A solver that keeps to the order of channels looks for torch in the first that has any.
    """
    name = channel_of(solution.candidate)
    named = [line for line in lines if line.notation == "conda"]
    if name is None or not named:
        return
    names = [channel_in(line) for line in named]
    because = Because(
        tr("{build} is on the channel `{channel}`", build=solution.candidate.label, channel=name),
        solution.candidate.source,
    )
    needed = [item for item in (build.channels if build else ()) if item not in (name, *_BASES)]
    for missing in (item for item in needed if item not in names):  # in front of torch's, which comes next
        text = tr("{build} needs the channel `{channel}`", build=solution.candidate.label, channel=missing)
        yield RequirementChange("index", None, None, missing, text, solution.candidate.source)
    if name not in names:
        yield RequirementChange("index", None, None, name, because.text, because.source)
        return
    own = names.index(name)
    first = next((position for position, item in enumerate(names) if item in _WITH_TORCH), own)
    if first < own:
        yield changed_line(named[first], name, because)
        yield changed_line(named[own], names[first], because)


def _names_channel(wishes: Wishes) -> bool:
    """Whether each line of the stack names a channel: `pytorch::pytorch=1.12`; one of another changes."""
    lines = [line for project in STACK for line in wishes.lines.get(project, ()) if line.notation == "conda"]
    return bool(lines) and all(map(named_channel, lines))


def channel_in(line: DeclaredRequirement) -> str:
    """Return a channel by its name, its address too: `https://conda.anaconda.org/pytorch`."""
    return address_of(line).strip("'\" ").rstrip("/").rpartition("/")[2]


def _of_torch(solution: Solution, lines: list[DeclaredRequirement]) -> Iterator[RequirementChange]:
    pages = _pages(solution)
    kept = [line for line in lines if pages and _leads(line, solution)]
    gone = [line for line in lines if line not in kept and (not kept or variant_of_page(address_of(line)))]
    missing = [] if kept else pages
    reason = Because(tr("{build} is there", build=solution.candidate.label), solution.candidate.source)
    for line, page in zip_longest(gone, missing):
        yield _change(line, page, reason if page else _misleads(solution))


def _pages(solution: Solution) -> list[str]:
    """Return what to name for the stack, and for what a build for another accelerator requires beside it."""
    files = (item for item in solution.files if item.file.name in STACK and item.file.variant)
    named = (item.listing for item in files if item.listing.source.name != _PYPI)  # which is asked anyway
    pages = [f"--find-links {shlex.quote(listing.page)}" for listing in named if listing.source.kind != _PYPI]
    if solution.candidate.accelerated is not None:
        required = with_required(Sources(None, (), ()), solution, "pip")
        pages += (f"--find-links {shlex.quote(page)}" for page in required.find_links)
        pages += (f"--extra-index-url {shlex.quote(url)}" for url in required.extra_index_urls)
    return list(dict.fromkeys(pages))


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


def _change(line: DeclaredRequirement | None, new: str | None, because: Because) -> RequirementChange:
    old = line.text.strip() if line else None
    return RequirementChange("index", line, old, new, because.text, because.source)
