"""The diagnosis: every check's verdict in order of dependence, and the one root cause."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gpuenv.doctor.checks import install_commands as installer
from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, Word, skipped
from gpuenv.doctor.checks.registry import CHECKS
from gpuenv.doctor.checks.repairable_in_place import hindrance
from gpuenv.formats.machine import describe
from gpuenv.i18n.messages import gettext, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

Row = Mapping[str, Any]
_TEXTS = ("needs", "cause", "fix", "command")
_BESIDE_TORCH = ("D29", "D60")  # other packages, which keep torch from no GPU


@dataclass(frozen=True, slots=True)
class CheckText:
    """The texts of one check, as a row of checks.json has them; `cases` are (name, texts by their names).

    A case `NAME@ubuntu` stands for NAME on that distribution and those that are like it.
    """

    id: str
    group: str
    title: str
    cases: tuple[tuple[str, tuple[tuple[str, str | None], ...]], ...]
    instead: str | None


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """What is told of one check; `needs`, `cause`, `fix` and `command` only of a problem or a warning."""

    id: str
    group: str
    title: str
    verdict: Word
    read: str
    needs: str | None = None
    cause: str | None = None
    fix: str | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All verdicts in order of dependence; `root` is the first problem, which explains the others."""

    environment: str
    checks: tuple[CheckVerdict, ...]
    about: str = ""  # the torch, the Python and the machine in a line

    @property
    def problems(self) -> tuple[CheckVerdict, ...]:
        """What is wrong, the root first; what lies beside torch explains nothing of it, and comes last."""
        wrong = (verdict for verdict in self.checks if verdict.verdict == "problem")
        return tuple(sorted(wrong, key=lambda verdict: verdict.id in _BESIDE_TORCH))

    @property
    def warnings(self) -> tuple[CheckVerdict, ...]:
        """What may hurt."""
        return tuple(verdict for verdict in self.checks if verdict.verdict == "warning")

    @property
    def root(self) -> CheckVerdict | None:
        """The root cause, None where nothing is wrong."""
        return next(iter(self.problems), None)


def parse_check(row: Row) -> CheckText:
    """Read a row of checks.json.

    {"id": "D01", "group": "build", "title": "CPU-only torch build", "cases": {"cpu": {"needs": "...",
     "cause": "{torch} is ...", "fix": "...", "command": "{repair}"}}, "instead": null, "common": "...", ...}
    """
    cases = tuple((name, tuple((key, case[key]) for key in _TEXTS)) for name, case in row["cases"].items())
    return CheckText(row["id"], row["group"], row["title"], cases, row["instead"])


def diagnose(findings: Findings, knowledge: Knowledge, rows: Sequence[Row]) -> Diagnosis:
    """Judge the findings by every check; those that doctor can't make say who does."""
    texts = {text.id: text for text in map(parse_check, rows)}
    reported = [(texts[check.id], check.judge(findings, knowledge)) for check in CHECKS]
    judged = {check.id for check in CHECKS}
    others = [
        (text, skipped(gettext(text.instead or "-"))) for text in texts.values() if text.id not in judged
    ]
    order = list(dict.fromkeys(text.group for text, _ in reported))
    reported += others
    reported.sort(key=lambda item: order.index(item[0].group))
    common = _common(findings)
    here = findings.distribution
    verdicts = tuple(_verdict(_fitting(text, here), outcome, common) for text, outcome in reported)
    return Diagnosis(findings.environment, verdicts, _about(findings))


def _fitting(text: CheckText, distribution: tuple[str, ...]) -> CheckText:
    """Put the cases of a distribution, of the nearest first, in the place of those for any."""
    cases = dict(text.cases)
    for name in reversed(distribution):
        end = f"@{name}"
        cases |= {case.removesuffix(end): reported for case, reported in text.cases if case.endswith(end)}
    return replace(text, cases=tuple(cases.items()))


def _about(findings: Findings) -> str:
    torch = subject.torch_label(findings) if subject.has_torch(findings) else tr("no torch")
    return " · ".join((torch, f"Python {findings.python.version or '?'}", describe(findings.machine)))


def _common(findings: Findings) -> dict[str, str]:
    environment = shlex.quote(findings.environment)
    return {
        "environment": environment,
        "python": shlex.quote(findings.python.path),
        "install": installer.install(findings),
        "uninstall": installer.uninstall(findings),
        "install_torch": installer.install_torch(findings),
        "repair": "gpuenv create NAME" if hindrance(findings) else f"gpuenv doctor {environment} --fix",
    }


def _verdict(text: CheckText, outcome: Outcome, common: dict[str, str]) -> CheckVerdict:
    verdict = CheckVerdict(text.id, text.group, text.title, outcome.verdict, outcome.read)
    if outcome.case is None:
        return verdict
    facts = {**common, **dict(outcome.facts)}
    case = dict(dict(text.cases)[outcome.case])
    filled = {name: _filled(name, template, facts) for name, template in case.items()}
    return CheckVerdict(text.id, text.group, text.title, outcome.verdict, outcome.read, **filled)


def _filled(name: str, template: str | None, facts: Mapping[str, str]) -> str | None:
    if template is None:
        return None
    return template.format(**facts) if name == "command" else tr(template, **facts)


def render_diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the data of `gpuenv doctor --json`."""
    root = diagnosis.root
    return {
        "environment": diagnosis.environment,
        "root": asdict(root) if root else None,
        "checks": [asdict(verdict) for verdict in diagnosis.checks],
    }
