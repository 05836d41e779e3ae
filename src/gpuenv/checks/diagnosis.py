"""The diagnosis, as a value, data and text: all verdicts in order of dependence, and the one root cause."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct, to_builtins

from gpuenv.checks import queries
from gpuenv.checks.outcome import Outcome, Word, skipped
from gpuenv.checks.registry import CHECKS
from gpuenv.formats.machine import describe
from gpuenv.formats.shell import one_line
from gpuenv.i18n.messages import N_, gettext, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

Row = Mapping[str, Any]
_TEXTS = ("needs", "cause", "fix", "command")
_BESIDE_TORCH = ("D29", "D60")  # other packages, which keep torch from no GPU
_SIGNS: dict[Word, str] = {"ok": "✓", "warning": "!", "problem": "✗", "skipped": "-"}
_WORDS: dict[Word, str] = {
    "ok": N_("ok"),
    "warning": N_("warning"),
    "problem": N_("problem"),
    "skipped": N_("skipped"),
}


class CheckVerdict(Struct, frozen=True):
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


class Diagnosis(Struct, frozen=True):
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


def diagnose(findings: Findings, knowledge: Knowledge, rows: Sequence[Row]) -> Diagnosis:
    """Judge the findings by every check; those that doctor can't make say who does.

    A row of checks.json; the case `cpu@ubuntu` is `cpu` on that distribution and those that are like it:
    {"id": "D01", "group": "build", "title": "CPU-only torch build", "cases": {"cpu": {"needs": "...",
     "cause": "{torch} is ...", "fix": "...", "command": "{repair}"}}, "instead": null, "common": "...", ...}
    """
    texts = {row["id"]: row for row in rows}
    judged = [(texts[check.id], check.judge(findings, knowledge)) for check in CHECKS]
    order = list(dict.fromkeys(row["group"] for row, _ in judged))
    others = {name: row for name, row in texts.items() if name not in {check.id for check in CHECKS}}
    judged += [(row, skipped(gettext(row["instead"] or "-"))) for row in others.values()]
    common = _common(findings)
    verdicts = tuple(_verdict(row, outcome, findings.distribution, common) for row, outcome in judged)
    torch = queries.torch_label(findings) if queries.has_torch(findings) else tr("no torch")
    about = " · ".join((torch, f"Python {findings.python.version or '?'}", describe(findings.machine)))
    ordered = tuple(sorted(verdicts, key=lambda verdict: order.index(verdict.group)))
    return Diagnosis(findings.environment, ordered, about)


def _common(findings: Findings) -> dict[str, str]:
    """Return what every command may be filled with: the installer is the environment's own pip, else uv."""
    environment, python = shlex.quote(findings.environment), shlex.quote(findings.python.path)
    pips = queries.dists_of(findings, "pip")
    has_pip = any(dist.place in findings.python.packages for dist in pips)
    install = f"{python} -m pip install" if has_pip else f"uv pip install --python {python}"
    version = queries.version_of(findings.python.version)
    in_place = hindrance(findings) is None
    install_torch = "gpuenv create NAME"
    if in_place and version is not None:
        plan = f"gpuenv plan --python {version.major}.{version.minor} --manager {'pip' if has_pip else 'uv'}"
        install_torch = f"{plan} --format requirements.txt -o torch.txt && {install} -r torch.txt"
    return {
        "environment": environment,
        "python": python,
        "install": install,
        "uninstall": f"{python} -m pip uninstall -y" if has_pip else f"uv pip uninstall --python {python}",
        "install_torch": install_torch,
        "repair": f"gpuenv doctor {environment} --fix" if in_place else "gpuenv create NAME",
    }


def _verdict(
    row: Row, outcome: Outcome, distributions: tuple[str, ...], common: dict[str, str]
) -> CheckVerdict:
    known = row["id"], row["group"], row["title"], outcome.verdict, outcome.read
    if outcome.case is None:
        return CheckVerdict(*known)
    names = (*(f"{outcome.case}@{name}" for name in distributions), outcome.case)  # the nearest first
    case = next(row["cases"][name] for name in names if name in row["cases"])
    facts = {**common, **dict(outcome.facts)}
    return CheckVerdict(*known, *(_filled(name, case[name], facts) for name in _TEXTS))


def _filled(name: str, template: str | None, facts: Mapping[str, str]) -> str | None:
    if template is None:
        return None
    return template.format(**facts) if name == "command" else tr(template, **facts)


def render_diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the data of `gpuenv doctor --json`."""
    root = diagnosis.root
    return {
        "environment": diagnosis.environment,
        "root": to_builtins(root) if root else None,
        "checks": [to_builtins(verdict) for verdict in diagnosis.checks],
    }


def hindrance(findings: Findings) -> str | None:
    """Return why the packages can't be repaired in place, None where they can."""
    torch = queries.dist_of(findings, "torch")
    if (torch is not None and torch.installer == "conda") or queries.conda_of(findings, "pytorch"):
        return tr("conda installed this torch: repair it with conda, or recreate the environment")
    if findings.python.locked or not findings.python.writable:
        return tr("this Python belongs to the system: create an environment instead")
    if findings.unread:
        return tr("not all of this environment can be read by this user")
    if findings.python.free_threaded:
        return tr("gpuenv does not plan builds for a free-threaded Python")
    return None


def render_diagnosis_text(diagnosis: Diagnosis, *, signs: bool, verbose: bool) -> str:
    """Return the root cause first, then what else is wrong; `verbose` adds what was passed.

    With `signs` verdicts are ✓ ! ✗, else words.
    """
    lines: list[str] = []
    for position, verdict in enumerate((*diagnosis.problems, *diagnosis.warnings)):
        lines += _told(verdict, signs=signs, full=position == 0 or verbose)
    if verbose:
        lines += _passed(diagnosis, signs=signs)
    lines += [one_line(diagnosis.about), _summary(diagnosis)]
    return "\n".join(lines) + "\n"


def _sign(verdict: Word, *, signs: bool) -> str:
    return f"{_SIGNS[verdict]} " if signs else tr("{word}: ", word=gettext(_WORDS[verdict]))


def _told(verdict: CheckVerdict, *, signs: bool, full: bool) -> list[str]:
    cause = one_line(verdict.cause or gettext(verdict.title))
    lines = [f"{_sign(verdict.verdict, signs=signs)}{cause} [{verdict.id}]"]
    if full and verdict.needs:
        facts = {"needs": one_line(verdict.needs), "have": one_line(verdict.read)}
        lines.append("    " + tr("needs {needs}; found {have}", **facts))
    if verdict.fix:
        lines.append(f"    {one_line(verdict.fix)}")
    if verdict.command:
        lines.append("    " + tr("run: {command}", command=one_line(verdict.command)))
    return lines


def _passed(diagnosis: Diagnosis, *, signs: bool) -> list[str]:
    lines: list[str] = []
    passed = (verdict for verdict in diagnosis.checks if verdict.verdict in ("ok", "skipped"))
    for group, verdicts in groupby(passed, key=lambda verdict: verdict.group):
        lines.append(gettext(group))
        for verdict in verdicts:
            message = tr("{title}: {read}", title=gettext(verdict.title), read=one_line(verdict.read))
            lines.append(f"  {_sign(verdict.verdict, signs=signs)}{verdict.id} {message}")
    return lines


def _summary(diagnosis: Diagnosis) -> str:
    count = {word: sum(verdict.verdict == word for verdict in diagnosis.checks) for word in _SIGNS}
    facts = {"passed": count["ok"], "skipped": count["skipped"], "warnings": count["warning"]}
    if diagnosis.root is None:
        return tr("no problem found; warnings: {warnings}, passed: {passed}, skipped: {skipped}", **facts)
    return tr(
        "problems: {problems}, warnings: {warnings}, passed: {passed}, skipped: {skipped}",
        problems=count["problem"],
        **facts,
    )
