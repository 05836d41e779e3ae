"""`gpuenv verify`."""

from __future__ import annotations

import os

from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data, print_warnings
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.operations.find import refuse_interrupted
from gpuenv.operations.interrupted_change import place_meant
from gpuenv.operations.verify import VerifyOptions
from gpuenv.operations.verify import verify as verify_environment
from gpuenv.planning.detect import detect

_LONGEST_S = 1_000_000  # far less than what a timer can take


def check_limit(seconds: float) -> float:
    """Return the limit; raise UsageError for what is not a number of seconds, such as `nan`."""
    if not 1 <= seconds <= _LONGEST_S:
        message = tr(
            "--timeout {seconds} is not from 1 to {longest} seconds", seconds=seconds, longest=_LONGEST_S
        )
        raise UsageError(message, code="bad-limit", fixes=(Fix(tr("omit it"), "gpuenv verify"),))
    return seconds


def verify(environment: str | None, options: VerifyOptions, console: Console) -> int:
    """Verify an environment; exit 6 where it does not work."""
    if environment is not None and (paths := place_meant(environment, os.environ)) is not None:
        refuse_interrupted(paths)
    with console.working(tr("verifying")):
        result = verify_environment(environment, os.environ, machine=detect(os.environ), options=options)
    if not console.as_json:
        if environment is None:
            console.note(tr("verified {environment}", environment=result.located.label))
        print_data("\n".join(result.lines))
        print_warnings(result.warnings)
    if result.error is not None:
        raise result.error
    return console.print_json("verify", result.data, result.warnings) if console.as_json else 0
