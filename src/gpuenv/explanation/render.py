"""What an error means, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpuenv.i18n.messages import N_, gettext, tr
from gpuenv.signatures.catalogue import ErrorClass
from gpuenv.signatures.log_pages import without_colours
from gpuenv.signatures.match import SignatureMatch
from gpuenv.signatures.no_errors import NoError

_ALSO = 2  # matches behind the first that are shown
_IN_THE_CODE = ("code", "data")
_KINDS: dict[ErrorClass, str] = {
    "environment": N_("environment"),
    "hardware": N_("hardware"),
    "code": N_("code"),
    "data": N_("data"),
    "deprecation": N_("deprecation"),
}


def render_explanation(
    matches: tuple[SignatureMatch, ...],
    commands: Mapping[str, str],
    no_errors: tuple[NoError, ...] = (),
    *,
    verbose: bool = False,
) -> str:
    """Return the root and how to repair it, then what was seen besides; with `verbose` all of it."""
    if not matches:
        return "\n".join((tr("the text contains no error that gpuenv knows"), *map(_no_error, no_errors)))
    signature_matches = tuple(
        signature_match
        for signature_match in matches
        if verbose or not signature_match.broader or signature_match.id in commands
    )
    shown = signature_matches if verbose else signature_matches[: 1 + _ALSO]
    lines = list(_first(matches[0], commands, verbose=verbose))
    for match in shown[1:]:
        lines.append(tr("also: {cause}", cause=match.cause))
        lines += _fix(match, commands)
    return "\n".join(lines)


def _no_error(item: NoError) -> str:
    text = without_colours(item.line.text).strip()
    reason = gettext(item.reason)
    return tr(
        "  line {number} is no error, but {reason}: {text}", number=item.line.number, reason=reason, text=text
    )


def _first(match: SignatureMatch, commands: Mapping[str, str], *, verbose: bool) -> Iterator[str]:
    yield tr("{kind}: {cause}", kind=gettext(_KINDS[match.kind]), cause=match.cause)
    if match.detail:
        yield f"  {match.detail}"
    if match.lines:
        last = match.lines[-1]
        yield tr("  line {number}: {text}", number=last.number, text=without_colours(last.text))
    if match.confidence == "low":
        yield tr("  this may only be a consequence: see the errors above")
    if match.kind in _IN_THE_CODE and match.replan == "no":
        yield tr("  the cause is in the program or its data: another environment does not help")
    yield from _fix(match, commands)
    if verbose:
        yield tr("  {id}, {kind}, {source}", id=match.id, kind=match.kind, source=match.source)


def _fix(match: SignatureMatch, commands: Mapping[str, str]) -> Iterator[str]:
    yield tr("  fix: {fix}", fix=match.fix)
    if match.id in commands:
        yield tr("  run: `{command}`", command=commands[match.id])
