"""`gpuenv verify`."""

from __future__ import annotations

import os

from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, print_data, print_json, print_warnings, working
from gpuenv.values.text import tr
from gpuenv.workflow.detect import detect
from gpuenv.workflow.verify import VerifyOptions, verify as verify_environment


def verify(environment: str | None, options: VerifyOptions, common: Common) -> int:
    """Prove an environment; exit 6 where it does not hold."""
    with working(tr("verifying"), quiet=common.quiet):
        result = verify_environment(environment, os.environ, machine=detect(os.environ), options=options)
    if common.as_json and result.error is None:
        print_json(envelope("verify", result.data, warnings=result.warnings))
    if not common.as_json:
        print_data("\n".join(result.lines))
        print_warnings(result.warnings)
    if result.error is not None:
        raise result.error
    return 0
