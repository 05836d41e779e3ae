"""The errors that a user can cause.

    GpuenvError
    ├── UsageError            2    bad usage or bad input
    ├── Unsatisfiable         3    nothing satisfies the request on this machine
    ├── Unreachable           4    no index could be read
    ├── InstallFailed         5    an installer failed; the previous environment was restored
    ├── VerificationFailed    6    the environment does not work
    └── ProofInterrupted    130    the environment is installed whole, and Ctrl-C ended its verification

Only the cli turns one into text and an exit status.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct

from gpuenv.untrusted.bounds import shortened

_LONGEST = 4000  # letters of a message; what it repeats of a file may be of any length


class Because(Struct, frozen=True):
    """One fact behind an error, and where it was read."""

    text: str
    source: str


class Fix(Struct, frozen=True):
    """What would repair it; `command` can be pasted, or is None."""

    text: str
    command: str | None = None


class GpuenvError(Exception):
    """What a user can cause and mend.

    `code` is a stable kebab-case word for programs; `data` is what is known all the same (JSON-ready).
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self,
        message: str,
        *,
        code: str,
        because: tuple[Because, ...] = (),
        fixes: tuple[Fix, ...] = (),
        data: dict[str, Any] | None = None,
    ) -> None:
        message = shortened(message, _LONGEST)
        super().__init__(message)
        self.message = message
        self.code = code
        self.because = because
        self.fixes = fixes
        self.data = data


class UsageError(GpuenvError):
    """Bad usage or bad input."""

    exit_code = 2


class Unsatisfiable(GpuenvError):  # noqa: N818 - the field's word
    """Nothing satisfies the request on this machine, or the machine's driver is broken."""

    exit_code = 3


class Unreachable(GpuenvError):  # noqa: N818
    """No index, mirror or channel could be read."""

    exit_code = 4


class InstallFailed(GpuenvError):  # noqa: N818
    """An installer failed; the previous environment was restored."""

    exit_code = 5


class VerificationFailed(GpuenvError):  # noqa: N818
    """Verify failed."""

    exit_code = 6


class ProofInterrupted(GpuenvError):  # noqa: N818
    """The environment is installed whole; its verification was interrupted."""

    exit_code = 130
