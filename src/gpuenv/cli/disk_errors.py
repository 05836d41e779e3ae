"""System errors that nothing has handled before: not defects of gpuenv, so reported as errors."""

from __future__ import annotations

import errno
from pathlib import Path

from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError

_NAMES = (
    "ENOSPC", "EDQUOT", "EROFS", "EIO", "ESTALE", "EFBIG", "ENOLCK", "EACCES", "EPERM",
    "ENAMETOOLONG", "ELOOP", "EMFILE", "ENFILE",
)  # fmt: skip
_REFUSALS = frozenset(getattr(errno, name) for name in _NAMES if hasattr(errno, name))


def disk_error(error: Exception) -> UsageError | None:
    """Return the error for what a full, broken, closed or read-only disk refused; None for anything else."""
    if not isinstance(error, OSError):
        return None
    if error.errno in _REFUSALS:
        return _system_error(error)
    if error.errno == errno.ENOENT and error.filename is None and "temporary" in str(error):
        return no_temporary_folder(error)  # tempfile's own words
    return None


def _system_error(error: OSError) -> UsageError:
    from gpuenv.environments.os_errors import because_of, ways_out  # noqa: PLC0415 - rarely needed
    from gpuenv.on_disk.directories import is_full  # noqa: PLC0415 - rarely needed

    path, reason = error.filename if isinstance(error.filename, str) else None, reason_of(error)
    message = tr("`{path}`: {error}", path=path, error=reason) if path else reason
    if is_full(error):
        because = because_of(Path(path or "."), error)
        return UsageError(message, code="disk-full", because=because, fixes=ways_out())
    because = (Because(str(error), path or "-"),)
    fix = Fix(tr("check it: `ls -ld`, `df -h`, `mount`"))
    return UsageError(message, code="system-refused", because=because, fixes=(fix,))


def no_temporary_folder(error: OSError) -> UsageError:
    """Return the error of a system without a writable directory for temporary files."""
    return UsageError(
        tr("no directory for temporary files is writable"),
        code="no-temporary-folder",
        because=(Because(str(error), "TMPDIR"),),
        fixes=(Fix(tr("free disk space in /tmp, or set TMPDIR to a writable directory")),),
    )
