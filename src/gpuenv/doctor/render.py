"""The diagnosis for a person."""

from __future__ import annotations

from itertools import groupby

from gpuenv.doctor.checks.outcome import Word
from gpuenv.doctor.diagnosis import CheckVerdict, Diagnosis
from gpuenv.formats.shell import one_line
from gpuenv.i18n.messages import N_, gettext, tr

_SIGNS: dict[Word, str] = {"ok": "✓", "warning": "!", "problem": "✗", "skipped": "-"}
_WORDS: dict[Word, str] = {
    "ok": N_("ok"),
    "warning": N_("warning"),
    "problem": N_("problem"),
    "skipped": N_("skipped"),
}


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
