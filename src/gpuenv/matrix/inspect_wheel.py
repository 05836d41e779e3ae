"""`gpuenv matrix inspect`: what one wheel says of itself, and what it runs on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.ranges import ByteRanges
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.link import file_name
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.matrix.page.runs_on import SupportedGeneration, drivers_for, generations_for
from gpuenv.matrix.read_wheel import parse_wheel_name, read_wheel
from gpuenv.matrix_checks.refresh_targets import PROJECTS
from gpuenv.model.errors import Because, Fix, GpuenvError, Unreachable, UsageError
from gpuenv.model.wheel import WheelFile
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.pages.listings import choose_sources
from gpuenv.resolution.gpu_coverage import DriverNeed
from gpuenv.secrets.url_credentials import redact_credentials
from gpuenv.wheels.archive import WheelProblem, open_local_wheel, open_wheel
from gpuenv.wheels.metadata import WheelFacts


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a wheel states, what it runs on, and the bytes received for it (0 for a file on disk)."""

    place: str
    facts: WheelFacts
    generations: tuple[SupportedGeneration, ...]
    drivers: tuple[DriverNeed, ...]
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
        received,
    )


def _named(location: str) -> WheelFile:
    try:
        name = (
            file_name(location)
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
            tr("`{name}` is not one of {projects}", name=file.name, projects=", ".join(PROJECTS)),
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
