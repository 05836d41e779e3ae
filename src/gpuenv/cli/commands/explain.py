"""`gpuenv explain`."""

from __future__ import annotations

import os
import sys

from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, note, print_data, print_json, print_warnings, working
from gpuenv.explanation.explain import Explained, explain_text, match_data
from gpuenv.explanation.input_text import read_given
from gpuenv.explanation.render import render_explanation
from gpuenv.i18n.messages import tr


def explain(words: tuple[str, ...], common: Common) -> int:
    """Tell what an error means; a text without a known one is no failure."""
    given = read_given(words, sys.stdin.buffer if sys.stdin else None)
    with working(tr("explaining"), quiet=common.quiet):
        explained = explain_text(given.text, os.environ)
    warnings = (*given.warnings, *explained.warnings)
    if common.as_json:
        print_json(envelope("explain", _data(explained), warnings=warnings))
        return 0
    print_data(render_explanation(explained.matches, explained.commands, verbose=common.verbose))
    if not common.quiet:
        print_warnings(warnings)
        if not explained.matches:
            note(tr("hint: {fix}", fix=tr("check the environment itself: `gpuenv doctor`")))
    return 0


def _data(explained: Explained) -> dict[str, object]:
    return {"matches": [match_data(match, explained.commands.get(match.id)) for match in explained.matches]}
