"""From a choice to a plan: files, pins, sources, reasons, warnings."""

from __future__ import annotations

from gpuenv.core.advice import give_advice
from gpuenv.core.case import Found, release_of
from gpuenv.core.knowledge import KnownBad
from gpuenv.core.refusal import asked_for, rejections
from gpuenv.core.resolve import Choice, Decision, Question
from gpuenv.core.rules import driver, known_bad
from gpuenv.core.target import driver_os
from gpuenv.core.warn import warn
from gpuenv.values.build import Evidence
from gpuenv.values.errors import Because
from gpuenv.values.index import IndexConfiguration, Listing
from gpuenv.values.plan import Plan, PlannedPackage, Rejection, Sources
from gpuenv.values.text import tr

# What torchvision brings along, so that a constraint on it matters though nobody asked for it.
_IMPLIED = {"torchvision": ("numpy", "pillow"), "torchtext": ("numpy",)}


def assemble(
    question: Question,
    decision: Decision,
    choice: Choice,
    configuration: IndexConfiguration,
    resolved: tuple[PlannedPackage, ...] = (),
) -> Plan:
    """Return the plan for `choice`, without steps; `resolved` is what a resolver added to the torch stack."""
    request = question.request
    constraints = constraints_of(question, choice)
    stack = tuple(planned(item, choice) for item in choice.files)
    return Plan(
        machines=question.target.machines,
        python=choice.python.short,
        python_path=choice.python.path,
        variant=str(choice.case.variant),
        manager=request.manager,
        packages=stack + tuple(item for item in resolved if item.name not in {package.name for package in stack}),
        pins=pins_of(choice, sources_of(choice, configuration), question.listings),
        requirements=tuple(str(item) for item in request.others),
        constraints=tuple(text for text, _ in constraints),
        sources=sources_of(choice, configuration),
        steps=(),
        why=_reasons(question, choice)
        + tuple(Because(tr("`{text}`: {effect}", text=text, effect=row.effect), row.source) for text, row in constraints),
        rejected=_better_but_rejected(decision, choice),
        advice=give_advice(question, decision, choice),
        warnings=warn(question, choice),
    )


def planned(item: Found, choice: Choice) -> PlannedPackage:
    """Return the file as the plan names it."""
    file = item.file
    return PlannedPackage(
        name=str(file.name),
        version=str(file.version),
        variant=str(file.variant or choice.case.variant),
        index=item.listing.source.url,
        filename=file.filename,
        url=file.url or None,
        sha256=file.sha256,
        size=file.size,
        evidence=_evidence(item, choice),
    )


def _evidence(item: Found, choice: Choice) -> Evidence:
    row = choice.case.row
    if item.file.assumed:
        return "assumed"
    measured = item is choice.torch and row is not None and row.index == choice.case.kind
    return "wheel" if measured and row is not None and row.evidence == "wheel" else "matrix"


def constraints_of(question: Question, choice: Choice) -> tuple[tuple[str, KnownBad], ...]:
    """Return the workarounds of known-bad combinations that concern what will be installed."""
    names = {str(item.file.name) for item in choice.files}
    names |= {implied for name in names for implied in _IMPLIED.get(name, ())}
    names |= {item.name.lower().replace("_", "-") for item in question.request.others}
    return known_bad.constraints(choice.known_bad, frozenset(names))


def sources_of(choice: Choice, configuration: IndexConfiguration) -> Sources:
    """Return where the installer looks: the pages that list the torch stack, and what the user configured."""
    own = {source.url for source in (configuration.index_url, *configuration.extra_index_urls) if source}
    pages = [
        item.listing.page
        for item in choice.files
        if item.listing.source.url not in own and not _default_index(item.listing)
    ]
    configured = [source.url for source in configuration.find_links]
    return Sources(
        index_url=configuration.index_url.url if configuration.index_url else None,
        extra_index_urls=tuple(source.url for source in configuration.extra_index_urls),
        find_links=tuple(dict.fromkeys((*pages, *configured))),
        no_index=configuration.no_index,
        ca_bundle=configuration.ca_bundle,
    )


def _default_index(listing: Listing) -> bool:
    """Whether the listing is the installer's own default index, which needs no naming."""
    return listing.source.kind == "pypi" or (listing.source.kind == "snapshot" and listing.source.name == "pypi")


def pins_of(choice: Choice, sources: Sources, listings: tuple[Listing, ...]) -> tuple[str, ...]:
    """Return exact pins; `===` where a file of the same release with a local version would outrank the chosen."""
    consulted = [
        listing
        for listing in listings
        if listing.page in sources.find_links
        or listing.source.url in (*sources.find_links, *sources.extra_index_urls, sources.index_url)
    ]
    return tuple(_pin(item, consulted) for item in choice.files)


def _pin(item: Found, consulted: list[Listing]) -> str:
    file = item.file
    rivals = (
        other.version
        for listing in consulted
        if listing.project == file.name
        for other in listing.files
        if other.version.local
    )
    outranked = not file.version.local and any(release_of(rival) == file.version for rival in rivals)
    return f"{file.name}{'===' if outranked else '=='}{file.version}"


def _reasons(question: Question, choice: Choice) -> tuple[Because, ...]:
    cuda = choice.case.cuda
    if not question.target.gpus or cuda is None:
        return (Because(_cpu_reason(question), "detect"),)
    row = choice.case.row
    reasons = []
    for machine in dict.fromkeys(gpu.machine for gpu in question.target.gpus):
        floor = driver.least_driver(cuda, driver_os(machine), question.knowledge)
        if machine.driver and floor:
            reasons.append(
                Because(
                    tr("CUDA {cuda} needs driver {floor} or newer; this machine has {driver}", cuda=cuda, floor=floor.version, driver=machine.driver.version),
                    f"{floor.source}; {machine.source_of('driver.version')}",
                )
            )
    if not choice.native:
        reasons.append(Because(tr("the driver is older than CUDA {cuda}, but minor-version compatibility holds within CUDA {major}", cuda=cuda, major=cuda.major), "matrix cuda.json"))
    for gpu in {gpu.capability: gpu for gpu in reversed(question.target.gpus)}.values():
        listed = " ".join(map(str, row.architectures)) if row else ""
        reasons.append(Because(tr("{build} has code for {gpu}: {list}", build=choice.case.label, gpu=gpu.label, list=listed), f"{choice.case.source}; {gpu.source}"))
    return tuple(reasons)


def _cpu_reason(question: Question) -> str:
    if question.request.variant is not None:
        return tr("a CPU build was asked for") if question.request.variant.is_cpu else tr("a CUDA build was asked for, though no GPU is here")
    return tr("this machine has no NVIDIA GPU")


def _better_but_rejected(decision: Decision, choice: Choice) -> tuple[Rejection, ...]:
    return rejections(tuple(item for item in asked_for(decision) if item.case.torch >= choice.case.torch))
