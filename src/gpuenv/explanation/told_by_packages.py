"""Of an installer's failure: the package that failed, and what the matrices say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from gpuenv.explanation.other_packages import (
    as_uv_says,
    from_its_own_page,
    not_built_for_python,
    on_torchs_index_only,
    torch_of,
    version_of,
)
from gpuenv.explanation.package_facts import package_facts
from gpuenv.explanation.reported_machine import ReportedMachine, machine_of, target_of
from gpuenv.explanation.wheels.answer import PackageAnswer, answer
from gpuenv.explanation.wheels.facts import JUDGED
from gpuenv.explanation.wheels.question import question_of, reads_other_table, tool_of
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.variant import Variant
from gpuenv.planning.load_knowledge import load_built_releases
from gpuenv.resolution.request import STACK
from gpuenv.resolution.target import Target
from gpuenv.signatures.derived import derived_facts
from gpuenv.signatures.findings import Line
from gpuenv.signatures.match import SignatureMatch
from gpuenv.signatures.quote import cut_off
from gpuenv.signatures.reported import PackageFailure, Reported

SAYS_MISSING = "pip-no-matching-torch"  # the signature of a failure that no other one tells
_NOT_BUILT = "ext-compile-failed"  # the signature that knows no more than that a package was not built
_UNREACHED = (
    "index_unreached",
    "tls_intercepted",
    "proxy_login",
)  # facts: nothing was offered as nothing was read
_AROUND = 2  # lines between what a match shows and where the failure is told


def told_by_packages(
    matches: tuple[SignatureMatch, ...],
    reported: Reported,
    knowledge: Knowledge,
    text: str,
    named: Callable[[str], SignatureMatch],
) -> tuple[SignatureMatch, ...]:
    """Return the matches with the answer for the package that failed in place of those that tell its failure.

    What facts of the text have settled stays, but where a ready wheel spares a build. `named` makes a match
    without lines of a signature's id.
    """
    found = next(_answers(reported, knowledge, text), None)
    if found is None:
        return matches
    failure, answered = found
    own = [match for match in matches if _tells(match, failure)]
    if not answered.is_root and any(
        match.confidence == "high" for match in matches if match.id != _NOT_BUILT
    ):
        return matches
    settled = any(match.settled for match in own if match.id != _NOT_BUILT)
    if settled and not answered.is_ready:
        return matches
    base = own[0] if own else _with_line(named(SAYS_MISSING), failure, text)
    told = replace(
        base,
        cause=answered.cause,
        fix=_by_its_python(answered.fix, reported),
        detail=None,
        wants=answered.wants or (base.wants if failure.package in STACK else ()),
        confidence="high",
        broader=False,
        settled=True,
        cases=(),
        clauses=(),
    )
    rest = [match for match in matches if match not in own]
    position = matches.index(own[0]) if own else 0
    return (*rest[:position], told, *rest[position:])


def _answers(
    reported: Reported, knowledge: Knowledge, text: str
) -> Iterator[tuple[PackageFailure, PackageAnswer]]:
    machine = machine_of(reported, knowledge)
    target = target_of(machine, knowledge)
    for failure in reversed(reported.failures):
        if failure.kind == "missing":
            answered = _of_missing(failure, reported, machine, target, knowledge, text)
        else:
            answered = _of_unbuilt(failure, reported, machine, knowledge, text)
        if answered is not None:
            yield failure, answered


def _of_missing(
    failure: PackageFailure,
    reported: Reported,
    machine: ReportedMachine,
    target: Target | None,
    knowledge: Knowledge,
    text: str,
) -> PackageAnswer | None:
    question = question_of(failure, reported, machine, text)
    if question is None or (not question.offered and any(map(reported.value, _UNREACHED))):
        return None
    if question.project in JUDGED:
        answered = answer(question, target, knowledge, text) or as_uv_says(failure, question.tool)
        return _of_uv_pip_alone(answered) if answered and reads_other_table(question.tool, text) else answered
    asked = str(question.specifier)
    return (
        on_torchs_index_only(question, reported.failures, text)
        or _own_page(failure, asked, reported, machine, knowledge, text)
        or as_uv_says(failure, question.tool)
    )


def _of_uv_pip_alone(answered: PackageAnswer) -> PackageAnswer:
    said = tr("What stands under [tool.uv.pip] is read by `uv pip` alone, not by `uv sync` or `uv lock`.")
    return replace(answered, cause=f"{answered.cause} {said}")


def _of_unbuilt(
    failure: PackageFailure,
    reported: Reported,
    machine: ReportedMachine,
    knowledge: Knowledge,
    text: str,
) -> PackageAnswer | None:
    version = version_of(failure, text)
    asked = f"=={version}" if version else ""
    found = _ready(failure, reported, knowledge) or _own_page(
        failure, asked, reported, machine, knowledge, text
    )
    if found:
        return replace(found, is_ready=True)
    if version is None or machine.python is None or machine.is_mac:
        return None
    python = int(machine.python.partition(".")[2])
    return not_built_for_python(
        failure.package,
        version,
        python,
        load_built_releases(),
        tool=tool_of(text),
        platform=machine.platform,
        text=text,
    )


def _ready(failure: PackageFailure, reported: Reported, knowledge: Knowledge) -> PackageAnswer | None:
    """Answer for what is built though its wheel for the torch that is there can be named."""
    facts = reported.values | derived_facts(reported.values, ())
    wheels = knowledge.ecosystem.set_of(failure.package)
    if (wheels is not None and not wheels.by_version) or failure.package in JUDGED:
        return None
    found = package_facts(reported, facts | {"extension": failure.package.replace("-", "_")}, knowledge)
    line = found.get("extension_line")
    if line is None or found["extension_project"] != failure.package:
        return None
    cause = tr(
        "{project} is compiled here, though there is a ready wheel of it for torch {torch}.",
        project=failure.package,
        torch=facts["torch"],
    )
    return PackageAnswer(cause, tr("`{line}`: then nothing is built. torch stays as it is.", line=line))


def _own_page(
    failure: PackageFailure,
    asked: str,
    reported: Reported,
    machine: ReportedMachine,
    knowledge: Knowledge,
    text: str,
) -> PackageAnswer | None:
    torch = torch_of(reported.values | derived_facts(reported.values, ()))
    platform = machine.platform or "linux-64"
    if torch is None or machine.is_mac:
        return None
    variant = Variant(torch.local) if torch.local else knowledge.pypi_variant(torch, platform)
    if variant is None:
        return None
    tool = tool_of(text)
    return from_its_own_page(
        failure.package, asked, torch, variant, machine.platform, knowledge.ecosystem, tool
    )


def _tells(match: SignatureMatch, failure: PackageFailure) -> bool:
    return any(
        failure.first_line - _AROUND <= line.number <= failure.last_line + _AROUND for line in match.lines
    )


def _by_its_python(fix: str, reported: Reported) -> str:
    """Return a fix whose commands are run by a program's own Python, where it has one."""
    folder = (reported.value("embedded_python") or "").rstrip("\\/")
    return fix.replace("`pip install ", f"`.\\{folder}\\python.exe -m pip install ") if folder else fix


def _with_line(match: SignatureMatch, failure: PackageFailure, text: str) -> SignatureMatch:
    rows = text.splitlines()[failure.last_line - 1 : failure.last_line]
    return replace(match, lines=tuple(Line(failure.last_line, cut_off(row)) for row in rows))
