"""What a command came to on many machines, as one HTML page that needs no network and no script."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from html import escape

from gpuenv.fleet.model import FleetGroup
from gpuenv.fleet.render.plan import torch_of
from gpuenv.fleet.render.run import STATES, columns_of, error_of, state_of, table_rows
from gpuenv.fleet.run_model import FleetRun, HostOutcome, OutcomeState
from gpuenv.formats.machine import render_machine_text
from gpuenv.formats.shell import one_line
from gpuenv.i18n.messages import gettext, tr

_LONGEST = 20_000  # characters of one text from outside
# How a state looks: what went well, what is as before, what did not.
_LOOKS: dict[OutcomeState, str] = {
    **dict.fromkeys(("made", "replaced", "verified"), "good"),
    **dict.fromkeys(("unreachable", "failed", "not-made", "not-verified"), "bad"),
    **dict.fromkeys(("not-served", "waiting", "running"), "left"),
}
_CODE = re.compile("`([^`]+)`")
# No script, nothing fetched: whatever a host may have put into its answer.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="made">{made}</p>
{body}</main>
</body>
</html>
"""


def render_report(run: FleetRun, *, style: str, made_by: str, made_on: str) -> str:
    """Return the page; `style` is its CSS, `made_on` a date and time."""
    title = f"gpuenv fleet {run.command} {run.environment or ''}".strip()
    made = tr(
        "machines: {count}, through {engine}, by {program} on {date}",
        count=len(run.hosts),
        engine=run.engine,
        program=made_by,
        date=made_on,
    )
    body = "".join(f"{part}\n" for part in _parts(run))
    return _PAGE.format(
        language=_text(tr("en")),
        policy=_text(_POLICY),
        title=_text(title),
        style=style,
        made=_text(made),
        body=body,
    )


def _parts(run: FleetRun) -> Iterator[str]:
    yield from _remarks(run)
    counts = Counter(outcome.state for outcome in run.hosts)
    cards = "".join(_card(state, words, counts[state]) for state, words in STATES.items() if counts[state])
    yield f'<ul class="cards">{cards}</ul>'
    yield from _wrong(run)
    yield from _groups(run)
    yield _table(run)


def _text(text: str) -> str:
    """Return a text of any origin as HTML, in one line."""
    return escape(one_line(text[:_LONGEST]))


def _prose(text: str) -> str:
    """Return a message as HTML: what stands in backticks is code."""
    return _CODE.sub(r"<code>\1</code>", _text(text))


def _lines(text: str) -> str:
    """Return lines of any origin as preformatted HTML, the last of them where they are many."""
    kept = ("  " * line.startswith("  ") + one_line(line) for line in text[-_LONGEST:].splitlines())
    return '<pre tabindex="0">' + escape("\n".join(line for line in kept if line.strip())) + "</pre>"


def _remarks(run: FleetRun) -> Iterator[str]:
    if run.interrupted:
        yield _remark(tr("interrupted: results up to this point"))
    if run.check:
        yield _remark(tr("dry run: no machine was changed"))
    yield from (_remark(warning.message) for warning in run.warnings)


def _remark(text: str) -> str:
    return f'<p class="remark">{_prose(text)}</p>'


def _card(state: OutcomeState, words: str, count: int) -> str:
    return f'<li class="{_LOOKS.get(state, "")}"><b>{count}</b> {_text(gettext(words))}</li>'


def _wrong(run: FleetRun) -> Iterator[str]:
    error = error_of(run)
    if error is None:
        return
    reasons = "".join(_reason(because.text) for because in error.because)
    fixes = "".join(_reason(tr("hint: {fix}", fix=fix.text)) for fix in error.fixes)
    heading = tr("Errors")
    yield f'<section class="wrong"><h2>{_text(heading)}</h2><ul>{reasons}{fixes}</ul></section>'


def _reason(text: str) -> str:
    """Return a line; what is indented stands under the one before."""
    look = ' class="under"' if text.startswith("  ") else ""
    return f"<li{look}>{_prose(text)}</li>"


def _groups(run: FleetRun) -> Iterator[str]:
    if run.fleet is None or not run.fleet.groups:
        return
    groups = "".join(_group(position, group) for position, group in enumerate(run.fleet.groups, 1))
    advice = "".join(f"<li>{_prose(item.text)}</li>" for item in run.fleet.together)
    heading = f"<h2>{_text(tr('Groups'))}</h2>"
    yield f'<section>{heading}<ul class="groups">{groups}</ul><ul>{advice}</ul></section>'


def _group(position: int, group: FleetGroup) -> str:
    text = tr(
        "group {number} ({platform}): torch {torch}, Python {python}, machines: {count}",
        number=position,
        platform=group.platform,
        torch=torch_of(group),
        python=group.plan.python,
        count=len(group.numbers),
    )
    files = "\n".join(f"{package.name} {package.version}" for package in group.plan.packages)
    return f"<li>{_folded(text, _lines(files))}</li>"


def _folded(heading: str, content: str) -> str:
    return f"<details><summary>{_prose(heading)}</summary>{content}</details>"


def _table(run: FleetRun) -> str:
    columns = columns_of(run)
    headings = "".join(f'<th scope="col">{_text(gettext(words))}</th>' for words in columns.values())
    bodies = "".join(
        _host(outcome, row, columns) for outcome, row in zip(run.hosts, table_rows(run), strict=True)
    )
    return f'<div class="wide"><table><thead><tr>{headings}</tr></thead>{bodies}</table></div>'


def _host(outcome: HostOutcome, row: dict[str, object], columns: Mapping[str, str]) -> str:
    cells = "".join(_cell(name, row[name], outcome, gettext(label)) for name, label in columns.items())
    details = _folded(outcome.problem or tr("details"), "".join(_details(outcome)))
    return f'<tbody><tr>{cells}</tr><tr class="more"><td colspan="{len(columns)}">{details}</td></tr></tbody>'


def _cell(name: str, value: object, outcome: HostOutcome, label: str) -> str:
    text = "–" if value is None else _text(str(value))
    if name == "host":
        return f'<th scope="row">{text}</th>'
    look = _LOOKS.get(outcome.state, "") if name == "state" else ""
    if name == "verify" and outcome.is_proved is not None:
        look = "good" if outcome.is_proved else "bad"
    shown = f'<span class="badge {look}">{text}</span>' if look else text
    return f'<td class="{_text(name)}" data-label="{_text(label)}">{shown}</td>'


def _details(outcome: HostOutcome) -> Iterator[str]:
    facts = {
        tr("machine"): outcome.host,
        tr("state"): state_of(outcome),
        tr("environment"): outcome.environment,
    }
    yield f"<dl>{''.join(_fact(name, value) for name, value in facts.items() if value)}</dl>"
    yield from _list(tr("because"), outcome.because)
    yield from _list(tr("possible solutions"), outcome.fixes)
    if outcome.verify is not None:
        yield from _list(tr("verification"), tuple(map(str, outcome.verify.get("lines") or ())))
    if outcome.log.strip():
        yield f"<h3>{_text(tr('the last lines of the installer'))}</h3>{_lines(outcome.log)}"
    if outcome.machine is not None:
        problems = "\n".join(problem.message for problem in outcome.machine.problems)
        yield f"<h3>{_text(tr('its output'))}</h3>{_lines(render_machine_text(outcome.machine) + problems)}"


def _fact(name: str, value: str) -> str:
    return f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>"


def _list(heading: str, texts: Iterable[str]) -> Iterator[str]:
    items = "".join(f"<li>{_prose(text)}</li>" for text in texts)
    if items:
        yield f"<h3>{_text(heading)}</h3><ul>{items}</ul>"
