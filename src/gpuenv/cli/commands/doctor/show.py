"""A diagnosis for a person, and as an error."""

from __future__ import annotations

import sys

from gpuenv.checks.diagnosis import Diagnosis, render_diagnosis, render_diagnosis_text
from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data
from gpuenv.model.errors import Because, Fix, VerificationFailed

PROBLEM = VerificationFailed.exit_code


def show(diagnosis: Diagnosis, console: Console) -> None:
    """Print the diagnosis for a person: signs on a terminal that has them, words elsewhere."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    signs = sys.stdout.isatty() and encoding.startswith("utf")
    print_data(render_diagnosis_text(diagnosis, signs=signs, verbose=console.verbose))


def as_error(diagnosis: Diagnosis) -> VerificationFailed:
    """Return the error of the root cause, with the whole diagnosis as its data."""
    root = diagnosis.problems[0]
    fixes = (Fix(root.fix, root.command),) if root.fix else ()
    return VerificationFailed(
        root.cause or root.title,
        code=root.id,
        because=tuple(Because(verdict.read, verdict.id) for verdict in diagnosis.problems),
        fixes=fixes,
        data=render_diagnosis(diagnosis),
    )
