"""`gpuenv explain`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data
from gpuenv.explanation.explain import explain_text, match_data, no_error_data
from gpuenv.explanation.input_text import read_input_text
from gpuenv.explanation.render import render_explanation
from gpuenv.i18n.messages import series, tr
from gpuenv.model.errors import UsageError
from gpuenv.signatures.packs import PACKS, PackName, chosen_packs


def explain(
    words: tuple[str, ...],
    console: Console,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
) -> int:
    """Explain an error, by some packs or all but some; a text without a known one is not a failure."""
    packs = chosen_packs(tuple(map(_pack, only)), tuple(map(_pack, without)))
    given = read_input_text(words, sys.stdin.buffer if sys.stdin else None)
    with console.working(tr("explaining")):
        explained = explain_text(given.text, os.environ, packs)
    warnings = (*given.warnings, *explained.warnings)
    if console.as_json:
        matches = [match_data(match, explained.commands.get(match.id)) for match in explained.matches]
        no_errors = [no_error_data(item) for item in explained.no_errors]
        data = {"matches": matches} | ({"no_errors": no_errors} if no_errors else {})
        return console.print_json("explain", data, warnings)
    print_data(
        render_explanation(
            explained.matches, explained.commands, explained.no_errors, verbose=console.verbose
        )
    )
    console.warn(warnings)
    if not explained.matches:
        console.note(tr("hint: {fix}", fix=tr("check the environment itself: `gpuenv doctor`")), "hint")
    return 0


def _pack(name: str) -> PackName:
    try:
        return next(pack for pack in PACKS if pack == name)
    except StopIteration:
        raise UsageError(
            tr("unknown pack: `{name}`; the packs are {packs}", name=name, packs=series(PACKS)),
            code="unknown-pack",
        ) from None
