"""What can go wrong on a machine, as it is answered: a code, a sentence, what it was seen by."""

from __future__ import annotations

import errno
from typing import Any

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_ROOM = "No space left on device"


class NodeError(Exception):
    """A task that could not be done; `because` are what was read, `log` the last lines of an installer."""

    def __init__(self, code: str, message: str, because: tuple[str, ...] = (), log: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.because = because
        self.log = log

    def answer(self) -> dict[str, Any]:
        """Return what is printed."""
        error = {"code": self.code, "message": self.message, "because": list(self.because)}
        return {"ok": False, "error": error, "log": self.log}


def bad_request(problem: str) -> NodeError:
    """Say what is wrong with the request."""
    return NodeError("bad-request", f"the request cannot be read: {problem}")


def refused_by_system(error: OSError, path: str) -> NodeError:
    """Say what the system refused."""
    where = error.filename if isinstance(error.filename, str) else path
    if error.errno in _FULL:
        return NodeError("disk-full", "the disk is full", (str(error), path))
    reason = error.strerror or str(error)
    return NodeError("not-writable", f"`{where}`: {reason}" if where else reason, (str(error), path))


def step_failed(program: str, ending: str, last: str, log: str) -> NodeError:
    """Say which program failed; `last` are its last lines, `log` is where all of them are."""
    code = "disk-full" if _NO_ROOM in last else "install-failed"
    message = f"`{program}` {ending}; no changes were kept"
    return NodeError(code, message, (log,), last)
