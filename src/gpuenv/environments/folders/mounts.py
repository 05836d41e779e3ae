"""On what kind of file system a path lies: on some, modes and owners say nothing, some have no locks."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")
# they show one owner and one mode for all that lies on them
_WITHOUT_OWNERS = frozenset(
    ("9p", "cifs", "drvfs", "exfat", "fuseblk", "msdos", "ntfs", "ntfs3", "smb3", "smbfs", "vboxsf", "vfat")
)  # fmt: skip
_NETWORK = frozenset(("nfs", "nfs4"))


def file_system_of(path: Path) -> str | None:
    """Return the kind of file system that a path lies on, as `ext4`; None where the system does not tell."""
    try:
        text = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return kind_of(os.path.realpath(path), parse_mountinfo(text))


def kind_of(path: str, mounts: tuple[tuple[str, str], ...]) -> str | None:
    """Return the kind of the innermost mount that a path lies in; of two on one folder the later counts."""
    inside = [mount for mount in mounts if mount[0] == "/" or f"{path}/".startswith(f"{mount[0]}/")]
    return max(enumerate(inside), key=lambda item: (len(item[1][0]), item[0]))[1][1] if inside else None


def parse_mountinfo(text: str) -> tuple[tuple[str, str], ...]:
    r"""Return mount points and kinds of file system; lines that are none are passed over.

    36 35 98:0 /mnt1 /home/my\040lab rw,noatime master:1 - nfs4 server:/home rw
    (https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html)
    """
    mounts = []
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        if dash and len(fields) > 4:  # noqa: PLR2004 - the fifth is the mount point
            mounts.append((_ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4]), kinds[0]))
    return tuple(mounts)


def keeps_owners(path: Path) -> bool:
    """Tell whether owners and modes mean something where a path lies."""
    return file_system_of(path) not in _WITHOUT_OWNERS


def is_nfs(path: Path) -> bool:
    """Tell whether a path lies on NFS."""
    return file_system_of(path) in _NETWORK
