"""Kernels of Jupyter that were registered for environments; a list of them lies in each environment."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gpuenv.environments.contents.kernel_spec import kernel_environment
from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.on_disk.replace import replace_file
from gpuenv.untrusted.documents import load_json

LIST = ".gpuenv-kernels"
_FILE = "kernel.json"


def jupyter_data(environ: Mapping[str, str], prefix: Path | None) -> Path:
    """Return the folder whose `kernels` Jupyter reads: the user's, or that of a prefix.

    https://docs.jupyter.org/en/stable/use/jupyter-directories.html#data-files
    """
    if prefix is not None:
        return Path(prefix.absolute(), "share", "jupyter")
    if named := environ.get("JUPYTER_DATA_DIR"):
        return Path(named).absolute()
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is none
    if sys.platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming", "jupyter")
    if sys.platform == "darwin":
        return home / "Library" / "Jupyter"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share", "jupyter")


def check_free(folder: Path, root: Path) -> None:
    """Raise UsageError where a kernel lies that is not of this environment, or something else."""
    if not os.path.lexists(folder) or is_kernel_of(folder, root):
        return
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        return
    raise UsageError(
        tr("`{path}` is not a kernel that gpuenv created for this environment", path=folder),
        code="kernel-exists",
        fixes=(Fix(tr("move it away, or register this one elsewhere with --prefix")),),
    )


def is_kernel_of(folder: Path, root: Path) -> bool:
    """Tell whether gpuenv wrote the kernel in a folder, for this environment."""
    try:
        text = read_limited_text(folder / _FILE)
    except (OSError, ValueError):
        return False
    return not folder.is_symlink() and kernel_environment(text) == str(root)


def write_kernel(folder: Path, text: str, root: Path) -> None:
    """Write a kernel and note it in its environment; raise UsageError where that can't be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / _FILE, text)
        replace_file(root / LIST, json.dumps(sorted({*map(str, kernels_of(root)), str(folder)})) + "\n")
    except OSError as error:
        raise UsageError(
            tr("`{path}` cannot be written: {error}", path=folder, error=reason_of(error)),
            code="kernel-unwritable",
            fixes=(Fix(tr("set JUPYTER_DATA_DIR, or give --prefix, to a writable directory")),),
        ) from None


def kernels_of(root: Path) -> tuple[Path, ...]:
    """Return the kernels noted in an environment."""
    try:
        listed = load_json(read_limited_text(root / LIST))
    except (OSError, ValueError, RecursionError):
        return ()
    return tuple(Path(item) for item in listed if isinstance(item, str)) if isinstance(listed, list) else ()


def remove_kernel(folder: Path, root: Path) -> bool:
    """Remove an environment's kernel and nothing else that lies in its folder; tell whether it was one."""
    if not is_kernel_of(folder, root):
        return False
    with suppress(OSError):
        (folder / _FILE).unlink()
        folder.rmdir()
    return not (folder / _FILE).exists()


def read_kernel(folder: Path) -> str:
    """Return the text of a kernel; raise OSError or ValueError."""
    return read_limited_text(folder / _FILE)


def move_kernel(before: Path, after: Path, text: str, roots: tuple[Path, ...]) -> None:
    """Write a kernel into its new folder and remove the old one, which must be of one of the environments.

    Raises OSError. It may be interrupted and be called again.
    """
    if not any(is_kernel_of(before, root) for root in roots):
        return
    after.mkdir(parents=True, exist_ok=True)
    if after.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(after))
    replace_file(after / _FILE, text)
    if before != after:
        for root in roots:
            remove_kernel(before, root)
