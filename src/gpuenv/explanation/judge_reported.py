"""Doctor's checks on what a text reports: of the facts that stand in it, the ones that settle the cause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace
from packaging.version import InvalidVersion, Version

from gpuenv import matrices
from gpuenv.checks.diagnosis import CheckVerdict, diagnose
from gpuenv.explanation.reported_machine import ReportedMachine
from gpuenv.host.describe import describe_machine
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import DriverOs
from gpuenv.model.errors import GpuenvError
from gpuenv.model.findings import CondaPackage, Dist, Findings, Interpreter, TorchFiles
from gpuenv.model.machine import Driver, Gpu, Machine, System, Toolkit
from gpuenv.model.machine_json import parse_driver
from gpuenv.model.variant import Variant, parse_cuda_version
from gpuenv.resolution.target import PLATFORMS_BY_SYSTEM
from gpuenv.signatures.findings import Line
from gpuenv.signatures.match import SignatureMatch
from gpuenv.signatures.quote import cut_off
from gpuenv.signatures.reported import SYMPTOMS, Reported, is_without_gpu

_CUDA_OF_BUILD = re.compile(r"cuda(\d{1,2})\.(\d)")  # py3.7_cuda10.2.89_cudnn7.6.5_0
_ENVIRONMENT = "NAME"

_NAMING = ("D40", "D41")  # checks that say a version which fits

SAYS_NO_GPU = "cuda-not-available-app"  # the signature of a program that says only that


class JudgedCheck(Struct, frozen=True):
    """A problem that a check of doctor's finds in a text, and the id of the signature that tells it."""

    signature: str
    verdict: CheckVerdict


def judge(reported: Reported, machine: ReportedMachine, knowledge: Knowledge) -> tuple[JudgedCheck, ...]:
    """Return the problems that doctor's checks find in what a text reports, the root first."""
    rows = matrices.load("checks")
    signatures = {row["id"]: row["signature"] for row in rows if "signature" in row}
    diagnosis = diagnose(findings_of(reported, machine, knowledge), knowledge, rows)
    return tuple(
        JudgedCheck(signatures[verdict.id], verdict)
        for verdict in diagnosis.problems
        if verdict.id in signatures
    )


def findings_of(reported: Reported, machine: ReportedMachine, knowledge: Knowledge) -> Findings:
    """Return what a text reports as doctor would have read it; what it does not say is not there."""
    packages = {name: fact.value for name, fact in reported.packages.items()}
    if torch := reported.value("torch") or _named_torch(reported, packages):
        packages["torch"] = torch
    if numpy := reported.value("numpy"):
        packages["numpy"] = numpy
    described = _described(reported, machine, knowledge)
    variant = _variant(reported, packages.get("torch"), described, knowledge)
    build = reported.value("conda_build")
    return Findings(
        environment=_ENVIRONMENT,
        machine=described,
        python=Interpreter("python", version=machine.python),
        torch=_torch_files(reported, packages.get("torch"), variant),
        dists=tuple(Dist(name, version, "") for name, version in packages.items()),
        conda=(CondaPackage("pytorch", packages["torch"], build),) if build and "torch" in packages else (),
    )


def _named_torch(reported: Reported, packages: Mapping[str, str]) -> str | None:
    """Return the torch that a sentence names, where torch itself tells what it has code for."""
    if "torch" in packages or "architectures" not in reported.facts:
        return None
    return reported.value("torch_named")


def _torch_files(reported: Reported, version: str | None, variant: Variant | None) -> TorchFiles | None:
    """Return the torch with the architectures that it says it was built for."""
    kind = "sm" if reported.value("refused") else "(?:sm|compute)"  # torch has tried its PTX, too
    architectures = tuple(re.findall(rf"{kind}_\d{{2,3}}[af]?", reported.value("architectures") or ""))
    if version is None or not (variant or architectures):
        return None
    return TorchFiles("", version, str(variant) if variant else None, architectures)


def _described(reported: Reported, machine: ReportedMachine, knowledge: Knowledge) -> Machine:
    """Return the machine; who asks why there is no GPU has one, as who has a driver: it need not be named."""
    describe = partial(
        describe_machine, None, gpus=machine.gpus, platform=machine.platform, glibc=None, knowledge=knowledge
    )
    try:
        described = describe(driver=machine.driver)
    except GpuenvError:  # a driver without a GPU, or one that was mistyped
        described = replace(describe(driver=None), driver=_driver(machine, knowledge))
    has_driver = reported.value("driver") is not None
    if not described.gpus and not machine.is_mac and (has_driver or is_without_gpu(reported)):
        described = replace(described, gpus=(Gpu(0, None, None),))
    if machine.is_mac:
        described = replace(described, system=System("macos", "x86_64"))
    nvcc = reported.value("toolkit")
    return replace(described, toolkit=Toolkit(parse_cuda_version(nvcc), "nvcc") if nvcc else None)


def _driver(machine: ReportedMachine, knowledge: Knowledge) -> Driver | None:
    """Return the driver of a machine whose GPU the text does not name."""
    try:
        version = parse_driver(machine.driver or "")
    except ValueError:
        return None
    system: DriverOs = "windows" if machine.platform == "win-64" else "linux"
    return Driver(version, knowledge.driver_cuda(version, system))


def _variant(reported: Reported, torch: str | None, machine: Machine, knowledge: Knowledge) -> Variant | None:
    """Return the variant of the torch: it says so, or the text tells its CUDA, or it is PyPI's build."""
    try:
        version = Version(torch or "")
    except InvalidVersion:
        return None
    if version.local:
        return None  # the version itself says it
    cuda = reported.value("torch_cuda")
    if cuda is not None:
        return Variant("cpu" if cuda == "None" else f"cu{cuda.replace('.', '')}")
    platform = PLATFORMS_BY_SYSTEM.get((machine.system.os, machine.system.arch))
    build = reported.value("conda_build")
    if build and (named := _CUDA_OF_BUILD.search(build)):
        return Variant(f"cu{named[1]}{named[2]}")
    if platform is None or build:
        return None
    return knowledge.pypi_variant(version, platform)


def told_by_checks(
    matches: tuple[SignatureMatch, ...],
    judged: tuple[JudgedCheck, ...],
    known: Mapping[str, SignatureMatch],
    reported: Reported,
    text: str,
) -> tuple[SignatureMatch, ...]:
    """Return the matches with what the checks found: what a match leaves open they say.

    A check counts where a match names it among its own, else where the text shows torch without a GPU.
    `known` has the signatures of the checks, as matches without lines.
    """
    without_gpu = is_without_gpu(reported)
    for item in judged:
        open_to = [match for match in matches if item.verdict.id in match.checks]
        if not open_to and not (without_gpu and not _is_sure(matches)):
            continue
        base = next((match for match in open_to if match.id == item.signature), known.get(item.signature))
        if base is None:
            continue
        opened = (match.lines for match in open_to if match.lines)
        lines = base.lines or tuple(_lines(reported, text)) or next(opened, ())
        told = replace(
            base,
            cause=item.verdict.cause or base.cause,
            fix=_fix(item.verdict) or base.fix,
            detail=_needed(item.verdict),
            confidence="high",
            lines=lines,
            broader=False,
            clauses=() if item.verdict.fix else base.clauses,
            settled=True,
            check=item.verdict.id,
        )
        rest = (match for match in matches if match not in open_to and match.confidence != "low")
        return (told, *rest)
    return matches or undecided(known, reported, text)


def _needed(verdict: CheckVerdict) -> str | None:
    facts = {"needs": verdict.needs or "", "have": verdict.read}
    return tr("needs {needs}; found {have}", **facts) if verdict.needs else None


def _fix(verdict: CheckVerdict) -> str | None:
    """Return what is to be done, with what it has to be: the version that fits."""
    if verdict.fix is None or verdict.needs is None or verdict.id not in _NAMING:
        return verdict.fix
    return tr("{fix}: {needs}", fix=verdict.fix, needs=verdict.needs)


def undecided(
    known: Mapping[str, SignatureMatch], reported: Reported, text: str
) -> tuple[SignatureMatch, ...]:
    """Return that torch has no GPU for a reason that the text does not tell."""
    if not is_without_gpu(reported) or SAYS_NO_GPU not in known:
        return ()
    return (replace(known[SAYS_NO_GPU], lines=tuple(_lines(reported, text))),)


def _is_sure(matches: tuple[SignatureMatch, ...]) -> bool:
    return bool(matches) and matches[0].confidence == "high"


def _lines(reported: Reported, text: str) -> Iterator[Line]:
    """Yield the line that tells the torch, else the one that says that there is no GPU, as it stands."""
    facts = (*(reported.facts.get(name) for name in ("torch", "torch_cuda")), reported.packages.get("torch"))
    if "torch" in reported.varied:  # of which of them the text tells is open
        facts = ()
    shown = next(filter(None, (*facts, *map(reported.facts.get, SYMPTOMS))), None)
    rows = text.splitlines()
    if shown and shown.line <= len(rows):
        yield Line(shown.line, cut_off(rows[shown.line - 1]))
