"""How a process ended, in words."""

from __future__ import annotations

import signal

from gpuenv.i18n.messages import N_, tr

# What Windows gives as exit status when it ends a process: ntstatus.h
_WINDOWS_STATUS = {
    0xC0000005: N_("access violation"),
    0xC0000017: N_("no memory"),
    0xC000001D: N_("illegal instruction"),
    0xC00000FD: N_("stack overflow"),
    0xC0000135: N_("a DLL was not found"),
    0xC0000139: N_("a DLL lacks an entry point"),
    0xC0000142: N_("a DLL could not be initialized"),
    0xC0000374: N_("heap corruption"),
    0xC0000409: N_("fail-fast"),
}


def describe_status(status: int) -> str:
    """Say what an exit status means: a negative one is a signal (POSIX), a large one is from Windows."""
    if status in _WINDOWS_STATUS:
        name = tr(_WINDOWS_STATUS[status])
        return tr("ended with status {status} ({name})", status=hex(status), name=name)
    if status >= 0:
        return tr("ended with status {status}", status=status if status < 1 << 16 else hex(status))
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = str(-status)
    if name == "SIGKILL":
        return tr("ended by {name}, as the system does when memory runs out", name=name)
    return tr("ended by {name}", name=name)
