"""Programs of this machine that tell what it is."""

from __future__ import annotations

from collections.abc import Mapping

from gpuenv.host.executables import find_executable
from gpuenv.process import subprocesses as process
from gpuenv.process.subprocesses import Completed

_LARGEST = 1 << 20  # bytes of an answer
# English texts, and the release of macOS that is there
_VARIABLES = {"LC_ALL": "C", "SYSTEM_VERSION_COMPAT": "0"}


def run_program(environ: Mapping[str, str], name: str, *arguments: str, timeout_s: float) -> Completed | None:
    """Run a program of PATH by its name; None where there is none."""
    program = find_executable(name, environ)
    if program is None:
        return None
    variables = {**environ, **_VARIABLES}
    return process.run([str(program), *arguments], timeout_s=timeout_s, environ=variables, limit=_LARGEST)
