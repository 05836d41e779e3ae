"""The options of `doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Struct

from gpuenv.cli import options as o
from gpuenv.cli.declaration import option


class DoctorArguments(Struct, frozen=True):
    """The options that only `doctor` has, but where from a repair may take packages."""

    python: Annotated[
        Path | None, option("--python PATH", "The Python to diagnose.", variable="GPUENV_DOCTOR_PYTHON")
    ] = None
    fix: Annotated[bool, option("--fix", "Show the repair, and apply it after confirmation.")] = False
    yes: o.Yes = False
    verify: o.Verify = True
    save: Annotated[Path | None, option("--save FILE", "Save the findings to FILE.")] = None
    trust: o.Trust = False
    findings: Annotated[
        Path | None, option("--findings FILE", "Diagnose findings saved elsewhere with --save.")
    ] = None
    mirrors: o.Mirrors = None
    find_links: o.FindLinks = None
    offline: o.Offline = False
    only_binary: o.OnlyBinary = False
