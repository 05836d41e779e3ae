"""Who owns a folder: environments are not kept where another user can change them."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from gpuenv.environments.folders.mounts import is_nfs, keeps_owners
from gpuenv.files.disk_space import existing_part
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError

DATA, CACHE, TEMPORARY = "GPUENV_DATA_DIR", "GPUENV_CACHE_DIR", "TMPDIR"
_ROOT = 0
_UID_MAP, _OVERFLOW = Path("/proc/self/uid_map"), Path("/proc/sys/kernel/overflowuid")


def check_folder(folder: Path, variable: str, *, named: bool) -> None:
    """Raise UsageError for a folder that another user owns, or that everybody may write.

    `variable` names the folder, or `named` says that it does not. One that is not there yet is gpuenv's own;
    but root makes none in the home of another, where the user could not use it afterwards.
    """
    if sys.platform == "win32":
        return
    there = existing_part(folder)
    if there != folder and (named or os.geteuid() != _ROOT):
        return
    try:
        state = there.stat()
    except OSError:
        return  # what tries to write there says it
    problem, foreign = None, _is_foreign(state.st_uid, there)
    if foreign:
        problem = tr(
            "it is owned by {owner}, not by {user}", owner=name_of(state.st_uid), user=name_of(os.geteuid())
        )
    elif is_open_to_all(state):
        problem = tr("everyone may change its content")
    if problem is None or not keeps_owners(there):
        return
    mode = f"{stat.filemode(state.st_mode)} {name_of(state.st_uid)}"
    raise _unusable(there, problem, mode, *_ways_out(there, state.st_uid, variable, foreign=foreign))


def check_open_to_all(folder: Path) -> None:
    """Raise UsageError for a folder in which everybody may rename and replace what others have put there."""
    if sys.platform == "win32":
        return
    state = folder.stat()
    if is_open_to_all(state) and keeps_owners(folder):
        fix = Fix(tr("choose a path in a directory that you own"))
        raise _unusable(folder, tr("everyone may change its content"), stat.filemode(state.st_mode), fix)


def _unusable(folder: Path, problem: str, mode: str, *fixes: Fix) -> UsageError:
    return UsageError(
        tr("`{path}` cannot be used: {problem}", path=folder, problem=problem),
        code="foreign-folder",
        because=(Because(mode, str(folder)),),
        fixes=fixes,
    )


def is_open_to_all(state: os.stat_result) -> bool:
    """Tell whether all may write a folder, and no sticky bit keeps each user's files that user's."""
    return bool(state.st_mode & stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX


def _ways_out(folder: Path, owner: int, variable: str, *, foreign: bool) -> tuple[Fix, ...]:
    own = Fix(tr("set {variable} to a directory of your own", variable=variable))
    if not foreign:
        return (own, Fix(tr("or remove write access for others: chmod o-w {folder}", folder=folder)))
    if os.geteuid() == _ROOT:
        return (Fix(tr("run gpuenv as {owner}, without sudo", owner=name_of(owner))), own)
    return (own,)


def check_environment_owner(root: Path) -> None:
    """Raise UsageError for a change to an environment that another user made; where none is, none did."""
    if sys.platform == "win32":
        return
    try:
        owner = root.lstat().st_uid
    except OSError:
        return
    if owner == os.geteuid() or not _is_foreign(owner, root, root_is_own=False) or not keeps_owners(root):
        return
    raise UsageError(
        tr("`{path}` is owned by {owner} and is not changed", path=root, owner=name_of(owner)),
        code="other-owner",
        because=(Because(tr("owned by {owner}", owner=name_of(owner)), str(root)),),
        fixes=(
            Fix(tr("ask {owner} to do it", owner=name_of(owner))),
            Fix(tr("or create one of your own"), "gpuenv create NAME"),
        ),
    )


def _is_foreign(owner: int, path: Path, *, root_is_own: bool = True) -> bool:
    """Tell whether an owner is somebody else; one that is not known (a container, root_squash) is not."""
    if owner == os.geteuid() or (owner == _ROOT and root_is_own):
        return False
    return not (owner == _unknown_owner() and (_in_user_namespace() or is_nfs(path)))


def _unknown_owner() -> int:
    """Return the id that stands for all users whom a container, or a server, does not know."""
    try:
        return int(_OVERFLOW.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 65534


def _in_user_namespace() -> bool:
    try:
        return _UID_MAP.read_text(encoding="ascii").split() != ["0", "0", "4294967295"]
    except OSError:
        return False


def name_of(owner: int) -> str:
    """Return a user's name, or the number of one without."""
    import pwd  # noqa: PLC0415 - on POSIX alone

    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return str(owner)
