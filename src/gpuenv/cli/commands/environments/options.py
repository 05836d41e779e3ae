"""The options of the commands that change an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Struct

from gpuenv.cli import options as o
from gpuenv.cli.declaration import option


class ChangeArguments(Struct, frozen=True):
    """The options of the commands that change an environment."""

    torch: Annotated[bool, option("--torch", "Allow torch to change; --yes alone is not enough.")] = False
    mirrors: o.Mirrors = None
    find_links: o.FindLinks = None
    offline: o.Offline = False
    only_binary: o.OnlyBinary = False
    dry_run: o.DryRun = False
    yes: o.Yes = False
    verify: o.Verify = True


class KernelArguments(Struct, frozen=True):
    """The options that only `kernel` has, and where from it may take ipykernel."""

    remove: Annotated[bool, option("--remove", "Remove the kernel.", variable="GPUENV_KERNEL_REMOVE")] = False
    prefix: Annotated[
        Path | None,
        option(
            "--prefix DIR",
            "Register in DIR/share/jupyter instead of the user's own Jupyter.",
            variable="GPUENV_KERNEL_PREFIX",
        ),
    ] = None
    mirrors: o.Mirrors = None
    find_links: o.FindLinks = None
    offline: o.Offline = False
    yes: o.Yes = False
