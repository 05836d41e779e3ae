"""`gpuenv explain`: what an error means and, where another plan repairs it, the command for this machine."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpuenv.explanation.load_tables import load_reports, load_signatures
from gpuenv.explanation.text_facts import OTHER_CARDS, asked_facts, facts_of
from gpuenv.i18n.messages import current_language, gettext, tr
from gpuenv.signatures.catalogue import Signatures
from gpuenv.signatures.circumstances import circumstances
from gpuenv.signatures.lazy_regex import LazyRegex
from gpuenv.signatures.log_pages import without_repetitions
from gpuenv.signatures.match import Examined, SignatureMatch, as_match, examine
from gpuenv.signatures.no_errors import NoError
from gpuenv.signatures.packs import PackName
from gpuenv.signatures.reported import Reported, is_without_gpu, names_torch, read_reported, uses_other_gpu
from gpuenv.signatures.settle import (
    blanks_of,
    filled,
    in_its_image,
    in_its_python,
    in_its_shell,
    in_its_tool,
    settled,
)

if TYPE_CHECKING:
    from gpuenv.model.plan import PlanWarning

_OF_SHELLS = LazyRegex(r"\bexport |\bsudo |\bunset ")
_REPAIRED = 3  # matches, the first ones, that a plan is made for
_SAYS_NO_GPU = "cuda-not-available-app"
_REPORTED = "Is CUDA available: "  # as collect_env reports of any machine
_NPU = "ascend"  # the fact of a machine with Huawei's NPU
_OF_CUDA = {"D01", "D02", "D16"}  # checks of torch's build for CUDA
_OTHER_MAKERS = ("amd", "intel")


class Explained(Struct, frozen=True):
    """What a text tells; `commands` repair the matches of these ids on this machine.

    `no_errors` are lines of a text without a known error that only look like one.
    """

    matches: tuple[SignatureMatch, ...]
    commands: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[PlanWarning, ...] = ()
    no_errors: tuple[NoError, ...] = ()


def explain_text(
    text: str, environ: Mapping[str, str], packs: frozenset[PackName] | None = None
) -> Explained:
    """Return what the errors in a text mean, the root first, with commands made of plans for this machine.

    Only signatures of `packs` count, all where it is None. Plans are decided from what is known offline, else
    from the indexes. Raises UsageError where the signatures can't be read.
    """
    text = without_repetitions(text)
    examined = _examine(text, packs)
    reported = read_reported(text, load_reports())
    judged = _judged(examined.matches, reported, text, environ)
    told = _each_once(_by_package(judged, reported, text, environ))
    matches = tuple(match for match in told if packs is None or match.pack in packs)
    commands: dict[str, str] = {}
    warnings: dict[PlanWarning, None] = {}
    if not examined.whole:
        message = tr(
            "some lines were skipped because the search took too long: give only the lines around the error"
        )
        warnings[_warning("not-all-examined", message)] = None
    not_made: PlanWarning | None = None
    for match, made in _repairs(matches[:_REPAIRED], reported, environ):
        if isinstance(made, str):
            commands[match.id] = made
        elif match is matches[0] and match.replan == "yes":
            not_made = made
    told = _with_line(matches, commands, reported, environ)
    if not_made is not None and told == matches and not _says_what_to_type(matches[0]):
        warnings[not_made] = None
    told = _in_its_tool(told, reported)
    return Explained(told, commands, tuple(warnings), () if told else examined.no_errors)


def _warning(code: str, message: str) -> PlanWarning:
    from gpuenv.model.plan import PlanWarning  # noqa: PLC0415 - plans take long to load

    return PlanWarning(code, message)


def find_matches(text: str) -> tuple[SignatureMatch, ...]:
    """Return what the errors in a text mean, the root first; raise UsageError as `explain_text` does."""
    return _settled(_examine(text).matches, read_reported(text, load_reports()))


def _settled(
    matches: tuple[SignatureMatch, ...], reported: Reported, environ: Mapping[str, str] | None = None
) -> tuple[SignatureMatch, ...]:
    if not any(
        match.cases or match.clauses or _OF_SHELLS.pattern.search(match.fix) or blanks_of(match.fix)
        for match in matches
    ):
        return matches
    asked = {name for match in matches for case in match.cases for name, _ in case.when}
    facts = facts_of(reported, environ, asked)
    each = tuple(settled(match, facts) for match in matches)
    blanks = {name for match in each for name in blanks_of(match.fix)}
    facts |= asked_facts(reported, facts, environ, blanks - facts.keys())
    return tuple(replace(match, fix=in_its_shell(filled(match.fix, facts), facts)) for match in each)


def _by_package(
    matches: tuple[SignatureMatch, ...], reported: Reported, text: str, environ: Mapping[str, str]
) -> tuple[SignatureMatch, ...]:
    """Return the matches settled by facts, and what the matrices say of a package that an installer lacks."""
    told = _settled(matches, reported, environ)
    if not reported.failures:
        return told
    from gpuenv.explanation.told_by_packages import told_by_packages  # noqa: PLC0415 - the matrices are large
    from gpuenv.planning.load_knowledge import load_knowledge  # noqa: PLC0415

    return told_by_packages(told, reported, load_knowledge(environ), text, _named)


def _named(identifier: str) -> SignatureMatch:
    return as_match(_signatures().named({identifier})[0])


def _says_what_to_type(match: SignatureMatch) -> bool:
    return match.settled and "`" in match.fix


def _in_its_tool(matches: tuple[SignatureMatch, ...], reported: Reported) -> tuple[SignatureMatch, ...]:
    """Return the matches with their lines for pip as they are typed where the text is from."""
    values = reported.values
    named = (replace(match, fix=_with_its_torch(match.fix, values)) for match in matches)
    in_tool = (replace(match, fix=in_its_tool(match.fix, reported.facts)) for match in named)
    if "uv" not in values and "poetry" not in values:
        in_tool = (replace(match, fix=in_its_python(match.fix, values)) for match in in_tool)
    return tuple(replace(match, fix=in_its_image(match.fix, values)) for match in in_tool)


def _with_its_torch(fix: str, values: Mapping[str, str]) -> str:
    torch = values.get("torch") or values.get("torch_named")
    if torch is None or "torch==VERSION" not in fix:
        return fix
    from gpuenv.explanation.wheels.commands import with_its_torch  # noqa: PLC0415 - the matrices are large

    return with_its_torch(fix, torch)


def _each_once(matches: Iterable[SignatureMatch]) -> tuple[SignatureMatch, ...]:
    """Leave out what has the cause or fix of one before it.

    Beside a cause that facts have settled counts only an error of its own, and of its class only one that
    facts have settled too.
    """
    each = tuple({match.cause: match for match in reversed(tuple(matches))}.values())[::-1]
    each = tuple({match.fix: match for match in reversed(each)}.values())[::-1]
    if not each or not each[0].settled:
        return each
    first = each[0]
    return tuple(
        match
        for match in each
        if match is first
        or (not match.broader and match.apart and (match.settled or match.kind != first.kind))
    )


def _examine(text: str, packs: frozenset[PackName] | None = None) -> Examined:
    return examine(text, _signatures(packs), time.process_time)


def _signatures(packs: frozenset[PackName] | None = None) -> Signatures:
    return load_signatures("zh" if current_language() == "zh" else "en", packs)


def _judged(
    matches: tuple[SignatureMatch, ...], reported: Reported, text: str, environ: Mapping[str, str]
) -> tuple[SignatureMatch, ...]:
    """Return the matches as far as doctor's checks can judge what the text reports."""
    if reported.value(_NPU):  # the checks know GPUs of CUDA, and so does who names them
        return tuple(item for item in matches if item is matches[0] or _OF_CUDA.isdisjoint(item.checks))
    if _is_of_another_maker(reported):
        return matches or _says_no_gpu(reported, text)
    if _needs_no_cuda(matches, reported):
        return tuple(match for match in matches if match.id != _SAYS_NO_GPU)
    is_open = names_torch(reported) and any(match.checks for match in matches)
    if not (is_open or is_without_gpu(reported)):
        return matches
    from gpuenv.explanation import judge_reported as checks  # noqa: PLC0415 - the checks are many
    from gpuenv.explanation.reported_machine import machine_of  # noqa: PLC0415
    from gpuenv.planning.load_knowledge import load_knowledge  # noqa: PLC0415

    knowledge = load_knowledge(environ)
    judged = checks.judge(reported, machine_of(reported, knowledge), knowledge)
    ids = {_SAYS_NO_GPU, *(item.signature for item in judged)}
    known = {item.id: as_match(item) for item in _signatures().named(ids)}
    return checks.told_by_checks(matches, judged, known, reported, text)


def _is_of_another_maker(reported: Reported) -> bool:
    """Whether the card of a text is one of AMD's or Intel's, and torch without a GPU is told of."""
    if uses_other_gpu(reported) or OTHER_CARDS.isdisjoint(reported.values):
        return False
    return circumstances(reported.values).get("vendor") in _OTHER_MAKERS


def _says_no_gpu(reported: Reported, text: str) -> tuple[SignatureMatch, ...]:
    from gpuenv.explanation.judge_reported import undecided  # noqa: PLC0415 - the checks are many

    return undecided({_SAYS_NO_GPU: _named(_SAYS_NO_GPU)}, reported, text)


def _needs_no_cuda(matches: tuple[SignatureMatch, ...], reported: Reported) -> bool:
    """Whether a text is from a machine that uses a GPU without CUDA, or is a mere report of a Mac."""
    if uses_other_gpu(reported):
        return True
    lines = [line.text for match in matches if match.id == _SAYS_NO_GPU for line in match.lines]
    is_mac = circumstances(reported.values).get("system") == "macos"
    return is_mac and bool(lines) and all(line.startswith(_REPORTED) for line in lines)


def _repairs(
    matches: tuple[SignatureMatch, ...], reported: Reported, environ: Mapping[str, str]
) -> Iterator[tuple[SignatureMatch, str | PlanWarning]]:
    if not any(match.wants for match in matches):
        return
    from gpuenv.explanation.repair_plan import Repairs  # noqa: PLC0415 - planning is much

    repairs = Repairs(environ, reported)
    for match in matches:
        made = repairs.repair(match)
        if made is not None:
            yield match, made


def _with_line(
    matches: tuple[SignatureMatch, ...],
    commands: Mapping[str, str],
    reported: Reported,
    environ: Mapping[str, str],
) -> tuple[SignatureMatch, ...]:
    """Return the matches, that of a check with the line that mends the environment of the text in place."""
    if not matches or not (matches[0].check or commands.get(matches[0].id)):
        return matches
    from gpuenv.explanation.pip_line import with_line  # noqa: PLC0415 - knows the matrices
    from gpuenv.explanation.reported_machine import machine_of  # noqa: PLC0415
    from gpuenv.planning.load_knowledge import load_knowledge  # noqa: PLC0415

    knowledge = load_knowledge(environ)
    machine = machine_of(reported, knowledge)
    first = with_line(matches[0], commands.get(matches[0].id), reported, machine, knowledge)
    return (first, *matches[1:])


def no_error_data(item: NoError) -> dict[str, Any]:
    """Return a line that tells of no error as JSON has it."""
    return {"number": item.line.number, "text": item.line.text, "reason": gettext(item.reason)}


def match_data(match: SignatureMatch, command: str | None = None) -> dict[str, Any]:
    """Return a match as JSON has it."""
    return {
        "id": match.id,
        "class": match.kind,
        "pack": match.pack,
        "broader": match.broader,
        "cause": match.cause,
        "detail": match.detail,
        "fix": match.fix,
        "command": command,
        "facts": dict(match.facts),
        "confidence": match.confidence,
        "lines": [{"number": line.number, "text": line.text} for line in match.lines],
        "checks": list(match.checks),
        "source": match.source,
    }
