"""From a choice to a plan: files, pins, sources, reasons, warnings."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from gpuenv.model.index import IndexConfiguration, Listing
from gpuenv.model.plan import FilePlace, Plan, PlannedPackage, Rejection, Sources, StackFile
from gpuenv.model.python import PythonOffer
from gpuenv.model.wheel import Evidence, WheelFile
from gpuenv.resolution.candidate import IndexedFile, release_of
from gpuenv.resolution.constraints import constraints_of
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.report.advice import give_advice
from gpuenv.resolution.report.package_names import warn_of_names
from gpuenv.resolution.report.rationale import compatibility, rationale
from gpuenv.resolution.report.refusal import asked_for, rejections
from gpuenv.resolution.report.warnings import collect_warnings
from gpuenv.resolution.report.workarounds import warn_of_known_bad, workarounds
from gpuenv.resolution.request import Request
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import companion, family, torch_bound
from gpuenv.resolution.rules.python import counts_patches


def build_plan(
    question: ResolutionInput,
    decision: Decision,
    solution: Solution,
    configuration: IndexConfiguration,
    resolved: tuple[PlannedPackage, ...] = (),
) -> Plan:
    """Return the plan for `solution`, without steps; `resolved` is what a resolver added to the stack."""
    request = question.request
    solution = _with_hashes(solution, resolved)
    constraints = constraints_of(question, solution)
    sources = sources_of(solution, configuration, request.manager)
    bounds = family.bounds(request, solution.candidate, question.target, question.knowledge)
    stack = tuple(planned(item, solution, question) for item in solution.files)
    return Plan(
        machines=question.target.machines,
        python=solution.python.short,
        python_path=solution.python.path,
        python_release=_release_to_name(solution.python, request),
        variant=str(solution.candidate.variant),
        manager=request.manager,
        packages=stack
        + tuple(item for item in resolved if item.name not in {package.name for package in stack}),
        pins=pins_of(solution, sources, question),
        requirements=_unpinned(request, solution, bounds),
        constraints=tuple(text for text, _ in constraints),
        sources=sources,
        steps=(),
        why=(
            *rationale(question, solution),
            *workarounds(question, decision, solution, constraints),
            *(bound.because for bound in bounds),
        ),
        rejected=_better_but_rejected(decision, solution),
        advice=give_advice(question, decision, solution),
        warnings=(
            *warn_of_names(question, solution),
            *collect_warnings(question, solution),
            *warn_of_known_bad(question, solution, resolved),
        ),
        stack=stack_of(solution.files, question.listings),
        compatibility=compatibility(question, solution),
    )


def _release_to_name(python: PythonOffer, request: Request) -> str | None:
    """Return the patch release where one was asked for, and no path says which it is."""
    if python.path is not None or python.version == python.short or request.python is None:
        return None
    return python.version if counts_patches(request.python) else None


def _with_hashes(solution: Solution, resolved: tuple[PlannedPackage, ...]) -> Solution:
    """Return the choice with the hashes that a resolver read of files whose pages state none."""
    facts = {package.url: package.sha256 for package in resolved if package.url and package.sha256}
    companions = tuple(
        replace(item, file=replace(item.file, sha256=facts[item.file.url]))
        if item.file.sha256 is None and item.file.url in facts
        else item
        for item in solution.companions
    )
    return replace(solution, companions=companions)


def _unpinned(
    request: Request, solution: Solution, bounds: tuple[family.FamilyBound, ...]
) -> tuple[str, ...]:
    """Return the user's other requirements, less the projects bound to torch: those are pinned."""
    pinned = {item.file.name for item in solution.files}
    bounded = {str(bound.requirement): str(bound.bounded) for bound in bounds}
    others = (str(item) for item in request.others if canonicalize_name(item.name) not in pinned)
    return tuple(bounded.get(text, text) for text in others)


def planned(item: IndexedFile, solution: Solution, question: ResolutionInput) -> PlannedPackage:
    """Return the file as the plan names it."""
    file = item.file
    return PlannedPackage(
        name=str(file.name),
        version=str(file.version),
        variant=_variant(item, solution, question),
        index=item.listing.source.url,
        filename=file.filename,
        url=file.url or None,
        sha256=file.sha256,
        size=file.size,
        evidence=_evidence(item, solution, question),
        extras=_extras(item, solution, question) if solution.candidate.accelerated else (),
    )


def _variant(item: IndexedFile, solution: Solution, question: ResolutionInput) -> str | None:
    """The variant of a file: a companion's may be another than torch's, or none without CUDA code."""
    if item is solution.torch and solution.candidate.variant.kind != "npu":
        return str(solution.candidate.variant)
    if solution.candidate.accelerated is not None:
        return item.file.version.local or (str(item.file.variant) if item.file.variant else None)
    variant = item.file.variant or companion.companion_variant(item, question.target, question.knowledge)
    return str(variant) if variant else None


def _evidence(item: IndexedFile, solution: Solution, question: ResolutionInput) -> Evidence:
    row = solution.candidate.row
    pair = question.knowledge.companions(solution.candidate.torch, str(item.file.name))
    if item.file.assumed or (pair is not None and pair.evidence == "assumed"):
        return "assumed"
    if solution.candidate.accelerated is not None:
        return solution.candidate.accelerated.evidence if item is solution.torch else "matrix"
    measured = item is solution.torch and row is not None and row.index == solution.candidate.kind
    return "wheel" if measured and row is not None and row.evidence == "wheel" else "matrix"


def sources_of(solution: Solution, configuration: IndexConfiguration, manager: str) -> Sources:
    """Return where the installer looks: the pages that list the torch stack, and what the user configured."""
    pages = [
        item.listing.page
        for item in solution.files
        if not torch_bound.is_own(item) and not _is_asked_anyway(item.listing, configuration)
    ]
    configured = [source.url for source in configuration.find_links]
    sources = Sources(
        index_url=configuration.index_url.url if configuration.index_url else None,
        extra_index_urls=tuple(source.url for source in configuration.extra_index_urls),
        find_links=tuple(dict.fromkeys((*pages, *configured))),
        no_index=configuration.no_index,
        access=configuration.access,
        only_binary=configuration.only_binary,
    )
    if solution.candidate.accelerated is None:
        return sources
    from gpuenv.resolution.accelerators.sources import with_required  # noqa: PLC0415 - for such builds

    return with_required(sources, solution, manager)


def _is_asked_anyway(listing: Listing, configuration: IndexConfiguration) -> bool:
    """Whether an installer finds the listing without its page being named.

    Beside extra indexes it need not: the first index that has a project is the only one it is taken from.
    """
    if configuration.extra_index_urls:
        return listing.source.kind == "snapshot" and listing.source.name == "pypi"
    index = configuration.index_url
    return (index is not None and listing.source.url == index.url) or _default_index(listing, configuration)


def _default_index(listing: Listing, configuration: IndexConfiguration) -> bool:
    """Whether the listing is the installer's own default index, which needs no naming."""
    source = listing.source
    if source.kind == "snapshot":
        return source.name == "pypi"
    return source.kind == "pypi" and configuration.index_url is None


def pins_of(solution: Solution, sources: Sources, question: ResolutionInput) -> tuple[str, ...]:
    """Return exact pins with the extras asked for.

    `===` stands where a file of the same release with a local version would outrank the chosen one.
    """
    consulted = [
        listing
        for listing in question.listings
        if listing.page in sources.find_links
        or listing.source.url in (*sources.find_links, *sources.extra_index_urls, sources.index_url)
    ]
    request, knowledge = question.request, question.knowledge
    return tuple(
        _by_address(item.file)
        if torch_bound.is_by_address(item, request, knowledge) or _is_boards(item, solution)
        else _pin(item, consulted, _extras(item, solution, question))
        for item in solution.files
    )


def _is_boards(item: IndexedFile, solution: Solution) -> bool:
    if solution.candidate.accelerated is None:
        return False
    from gpuenv.resolution.accelerators.jetson import is_by_address  # noqa: PLC0415 - for such builds

    return is_by_address(item, solution.candidate)


def _extras(item: IndexedFile, solution: Solution, question: ResolutionInput) -> tuple[str, ...]:
    """The extras of a file: those asked for, and those that bring a device's code."""
    asked = question.request.extras(item.file.name)
    if solution.candidate.accelerated is None:
        return asked
    from gpuenv.resolution.accelerators.extras import device_extras  # noqa: PLC0415

    brought = device_extras(solution.candidate, str(item.file.name), question.target, question.knowledge)
    return tuple(sorted({*asked, *brought}))


def _pin(item: IndexedFile, consulted: list[Listing], extras: tuple[str, ...]) -> str:
    file = item.file
    rivals = (
        other.version
        for listing in consulted
        if listing.project == file.name
        for other in listing.files
        if other.version.local
    )
    outranked = not file.version.local and any(release_of(rival) == file.version for rival in rivals)
    name = f"{file.name}[{','.join(extras)}]" if extras else file.name
    return f"{name}{'===' if outranked else '=='}{file.version}"


def _by_address(file: WheelFile) -> str:
    return f"{file.name} @ {file.url}" + (f"#sha256={file.sha256}" if file.sha256 else "")


def _better_but_rejected(decision: Decision, solution: Solution) -> tuple[Rejection, ...]:
    return rejections(asked_for(decision.rejected_down_to(solution.candidate.torch)))


def stack_of(files: tuple[IndexedFile, ...], listings: tuple[Listing, ...]) -> tuple[StackFile, ...]:
    """Return where the chosen files can be had, the chosen place first; those that no page lists left out."""
    return tuple(
        StackFile(
            name=str(indexed.file.name),
            filename=indexed.file.filename,
            places=_places(indexed, listings),
        )
        for indexed in files
        if indexed.file.url
    )


def _places(indexed: IndexedFile, listings: tuple[Listing, ...]) -> tuple[FilePlace, ...]:
    """What one page says of its file says nothing of another's: that has its own digest, or a known one."""
    pairs = ((indexed.listing, indexed.file), *_alike(indexed.file, listings))
    return tuple(
        FilePlace(listing.source.url, listing.page, file.url, file.sha256, file.size)
        for listing, file in pairs
    )


def _alike(file: WheelFile, listings: tuple[Listing, ...]) -> Iterator[tuple[Listing, WheelFile]]:
    seen = {file.url}
    for listing in listings:
        for other in listing.files if listing.project == file.name else ():
            if other.url and other.url not in seen and not other.yanked and _is_same(file, other):
                seen.add(other.url)
                yield listing, other


def _is_same(file: WheelFile, other: WheelFile) -> bool:
    """Whether two files of one name are one; old releases had one name for builds of several variants."""
    if file.filename != other.filename:
        return False
    if file.sha256 and other.sha256:
        return file.sha256 == other.sha256
    return file.version.local is not None or file.variant == other.variant
