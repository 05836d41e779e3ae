"""`gpuenv matrix inspect`: what one wheel says of itself, and what it runs on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct

from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.ranges import ByteRanges
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import series, tr
from gpuenv.indexes.link import split_url
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.knowledge.accelerators import AcceleratorArchitecture
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import DriverOs
from gpuenv.matrix.read_wheel import parse_wheel_name, read_wheel
from gpuenv.matrix_checks.refresh_targets import PROJECTS
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.errors import Because, Fix, GpuenvError, Unreachable, UsageError
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import TorchBuild, WheelFile
from gpuenv.planning.load_knowledge import load_accelerators, load_knowledge
from gpuenv.planning.pages.listings import choose_sources
from gpuenv.resolution.gpu_coverage import Coverage, DriverNeed, cover, driver_need
from gpuenv.secrets.url_credentials import redact_credentials
from gpuenv.wheels.archive import WheelProblem, open_local_wheel, open_wheel
from gpuenv.wheels.metadata import WheelFacts


class Inspection(Struct, frozen=True):
    """What a wheel states, what it runs on, and the bytes received for it (0 for a file on disk)."""

    place: str
    facts: WheelFacts
    generations: tuple[SupportedGeneration, ...]
    drivers: tuple[DriverNeed, ...]
    chips: tuple[AcceleratorArchitecture, ...]
    received: int


def inspect_wheel(location: str, environ: Mapping[str, str], *, thorough: bool = False) -> Inspection:
    """Read one wheel, a path or a URL, without unpacking or downloading it.

    Raises UsageError for what is not a wheel of torch or a companion, Unreachable where its server
    can't be read or hands out whole files only.
    """
    file = _named(location)
    with _explained(location):
        if is_remote(location):
            facts, received = _read_remote(location, file, environ, thorough=thorough)
        else:
            with open_local_wheel(local_path(location)) as archive:
                facts, received = read_wheel(archive, file, thorough=thorough), 0
    knowledge = load_knowledge(environ)
    return Inspection(
        redact_credentials(location),
        facts,
        generations_for(facts, knowledge),
        drivers_for(facts, knowledge),
        chips_for(facts),
        received,
    )


def _named(location: str) -> WheelFile:
    try:
        name = (
            split_url(location)[2]
            if is_remote(location) or location.lower().startswith("file:")
            else Path(location).name
        )
        file = parse_wheel_name(name, location)
    except ValueError as error:
        raise UsageError(
            tr(
                "`{place}` is not a valid wheel name: {error}",
                place=redact_credentials(location),
                error=reason_of(error),
            ),
            code="no-wheel-name",
            fixes=(Fix(tr("give an existing wheel, or its URL")),),
        ) from None
    if file.name not in PROJECTS:
        raise UsageError(
            tr("`{name}` is not one of {projects}", name=file.name, projects=series(PROJECTS)),
            code="unknown-project",
            fixes=(Fix(tr("give a wheel of one of these")),),
        )
    return file


def _read_remote(
    url: str, file: WheelFile, environ: Mapping[str, str], *, thorough: bool
) -> tuple[WheelFacts, int]:
    configuration, _ = choose_sources((url,), environ)  # for the CA bundle
    with HttpClient(environ, access=configuration.access) as client:
        ranges = ByteRanges(client, url)
        with open_wheel(ranges, whole=True) as archive:
            return read_wheel(archive, file, thorough=thorough), ranges.received


@contextmanager
def _explained(location: str) -> Iterator[None]:
    try:
        yield
    except WheelProblem as problem:
        raise _unreadable(location, problem) from None
    except HttpProblem as problem:
        raise Unreachable(
            tr(
                "`{place}` cannot be read: {reason}",
                place=redact_credentials(location),
                reason=problem.reason,
            ),
            code="wheel-unreachable",
            fixes=(Fix(tr("check whether its server responds, or download the wheel and inspect the file")),),
        ) from None
    except OSError as error:
        raise UsageError(
            tr("`{place}` cannot be read: {reason}", place=location, reason=reason_of(error)),
            code="no-file",
            fixes=(Fix(tr("give an existing wheel, or its URL")),),
        ) from None


def _unreadable(location: str, problem: WheelProblem) -> GpuenvError:
    message = tr("`{place}` {reason}", place=redact_credentials(location), reason=problem.reason)
    if problem.fault == "no-ranges":
        return Unreachable(
            message,
            code=problem.fault,
            because=(Because(tr("reading parts of a file requires range requests"), "RFC 9110, section 14"),),
            fixes=(Fix(tr("download the wheel and inspect the file")),),
        )
    return UsageError(message, code=f"wheel-{problem.fault}")


Through = Literal["machine code", "ptx"]

_THROUGH: Mapping[Coverage, Through] = {"native": "machine code", "ptx": "ptx"}


class SupportedGeneration(Struct, frozen=True):
    """GPUs that a build runs on: through its machine code, or through PTX that the driver compiles."""

    architecture: str
    capabilities: tuple[ComputeCapability, ...]
    through: Through
    names: tuple[str, ...]


def generations_for(facts: WheelFacts, knowledge: Knowledge) -> tuple[SupportedGeneration, ...]:
    """Return the generations of GPUs that a wheel runs on, oldest first."""
    if facts.variant is None or facts.variant.cuda is None:
        return ()
    build = _build(facts, facts.variant)
    fields: dict[tuple[str, Through], list[ComputeCapability]] = {}
    for capability, support in sorted(knowledge.generations.items()):
        through = _THROUGH.get(cover(build, capability, knowledge))
        if through:
            fields.setdefault((support.name, through), []).append(capability)
    return tuple(
        SupportedGeneration(
            name,
            tuple(capabilities),
            through,
            tuple(gpu for capability in capabilities for gpu in knowledge.names_of(capability)),
        )
        for (name, through), capabilities in fields.items()
    )


def chips_for(facts: WheelFacts) -> tuple[AcceleratorArchitecture, ...]:
    """Return what a build for ROCm or XPU has code for; names that the tables lack are not among them."""
    targets = set(facts.targets)
    if not targets or facts.variant is None:
        return ()
    rows = load_accelerators().architectures.values()
    return tuple(row for row in rows if row.kind == facts.variant.kind and targets.intersection(row.code))


def drivers_for(facts: WheelFacts, knowledge: Knowledge) -> tuple[DriverNeed, ...]:
    """Return the drivers that a wheel needs: a Linux wheel runs under WSL2 too, where Windows' count."""
    cuda = facts.variant.cuda if facts.variant else None
    if cuda is None:
        return ()
    systems: tuple[DriverOs, ...] = ("windows",) if facts.platform == "win-64" else ("linux", "windows")
    needs = (driver_need(cuda, system, knowledge) for system in systems)
    return tuple(need for need in needs if need)


def _build(facts: WheelFacts, variant: Variant) -> TorchBuild:
    """Return the wheel as a row of torch.json would have it; an unknown platform is the most common one."""
    return TorchBuild(
        torch=facts.version,
        variant=variant,
        cuda=variant.cuda,
        platform=facts.platform or "linux-64",
        index="pytorch",
        pythons=facts.pythons,
        architectures=facts.architectures,
        cudnn=facts.cudnn,
        tags=facts.tags,
        source=facts.filename,
        evidence="wheel",
    )
