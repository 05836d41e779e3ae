"""Forty environments in the shapes that papers left from 2018 to 2025, and four GPUs to have them on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from deciding import machine
from msgspec.structs import replace

from gpuenv.adapt.adapt import AdaptOptions, adapt
from gpuenv.adapt.model import Adaptation
from gpuenv.model.machine import FoundPython
from gpuenv.model.machine_json import render_machine
from gpuenv.planning.options import PlanOptions

FOLDER = Path(__file__).parent.parent / "papers"
NAMES = tuple(sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))
MACHINES = {
    "V100": {"gpus": ["Tesla V100-SXM2-16GB"], "driver": "535.104.05"},
    "RTX 3090": {"gpus": ["NVIDIA GeForce RTX 3090"], "driver": "535.104.05"},
    "RTX 4090": {"gpus": ["NVIDIA GeForce RTX 4090"], "driver": "550.54.14"},
    "RTX 5090": {"gpus": ["NVIDIA GeForce RTX 5090"], "driver": "570.133.07"},
}
_PYTHONS = tuple(FoundPython(f"3.{minor}.9", f"/usr/bin/python3.{minor}") for minor in range(7, 14))


def copy_paper(name: str, where: Path) -> Path:
    """Copy what a paper left to a folder where it may be changed."""
    return Path(shutil.copytree(FOLDER / name, where / name))


def save_machine(name: str, where: Path) -> Path:
    """Write what `gpuenv detect --json` says of one of the machines, with Pythons from 3.7 to 3.13."""
    path = where / f"{name.replace(' ', '-')}.json"
    made = replace(machine(dict(MACHINES[name])), pythons=_PYTHONS)
    path.write_text(json.dumps(render_machine(made)), encoding="utf-8")
    return path


def adapt_for(
    path: Path, saved: Path, environ: Mapping[str, str], *, offline: bool = True, day: str | None = None
) -> Adaptation:
    """Adapt a path for a saved machine, by what ships with gpuenv unless it may ask the indexes."""
    options = PlanOptions(machines=(saved,), offline=offline)
    return adapt(AdaptOptions((path,), day, patch_alone=True), options, environ, target=".venv")


def bare_environ(home: Path) -> dict[str, str]:
    """Return variables with which no configuration of the person's own counts, and nothing is on the PATH."""
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_DIRS")
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP") if name in os.environ}
    return {**kept, **{name: str(home / name.lower()) for name in names}, "PATH": ""}


def write_back(adaptation: Adaptation) -> None:
    """Write the files as they become, byte for byte."""
    for before, after in zip(adaptation.project.files, adaptation.files, strict=True):
        if before.text != after.text:
            Path(after.path).write_bytes(after.text.encode("utf-8", "surrogateescape"))
