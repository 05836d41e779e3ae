"""`gpuenv kernel`: an environment as a kernel of Jupyter."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from gpuenv.activation.entering import EnteredEnvironment, activation_of, python_of
from gpuenv.environments.contents.kernel_spec import display_name, kernel_name, render_kernel
from gpuenv.environments.contents.kernels import (
    check_free,
    jupyter_data,
    kernels_of,
    remove_kernel,
    write_kernel,
)
from gpuenv.environments.listing import place_of
from gpuenv.environments.store import is_path
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.on_disk.installed import site_packages


class JupyterKernel(Struct, frozen=True):
    """A kernel that is registered, or will be: its name, its folder, and what notebooks call it."""

    name: str
    folder: Path
    display_name: str


def plan_kernel(entry: EnteredEnvironment, environ: Mapping[str, str], prefix: Path | None) -> JupyterKernel:
    """Return where the kernel goes; raise UsageError where something else lies there."""
    bare = is_path(entry.name)
    name = kernel_name(entry.root.name, place_of(entry.name, environ).key[:8] if bare else "")
    kernel = JupyterKernel(
        name, jupyter_data(environ, prefix) / "kernels" / name, display_name(entry.root.name)
    )
    check_free(kernel.folder, entry.root)
    return kernel


def has_ipykernel(entry: EnteredEnvironment) -> bool:
    """Tell whether the environment can run a kernel."""
    return any((packages / "ipykernel_launcher.py").is_file() for packages in site_packages(entry.root))


def register(entry: EnteredEnvironment, kernel: JupyterKernel, environ: Mapping[str, str]) -> None:
    """Write the kernel, with the variables that `gpuenv run` would set."""
    text = render_kernel(
        str(python_of(entry.root)),
        activation_of(entry.root, environ),
        root=str(entry.root),
        display_name=kernel.display_name,
        separator=os.pathsep,
    )
    write_kernel(kernel.folder, text, entry.root)


def unregister(
    entry: EnteredEnvironment, environ: Mapping[str, str], prefix: Path | None
) -> tuple[Path, ...]:
    """Remove the kernels of an environment; raise UsageError where it has none."""
    planned = plan_kernel(entry, environ, prefix).folder
    folders = (planned,) if prefix is not None else (planned, *kernels_of(entry.root))
    removed = tuple(folder for folder in dict.fromkeys(folders) if remove_kernel(folder, entry.root))
    if not removed:
        raise UsageError(
            tr("no kernel of `{name}` is registered in {path}", name=entry.name, path=planned.parent),
            code="no-kernel",
            fixes=(Fix(tr("register it"), f"gpuenv kernel {shlex.quote(entry.name)}"),),
        )
    return removed
