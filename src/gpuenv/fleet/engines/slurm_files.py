"""The file of `--format slurm`: a script for sbatch that carries all it needs."""

from __future__ import annotations

from importlib.resources import files

from gpuenv import __version__
from gpuenv.fleet import render
from gpuenv.fleet.engines.slurm import START, START_SHELL
from gpuenv.fleet.render.slurm import TEMPLATE, Carried, SlurmGroup, render_slurm


def script_text(groups: tuple[SlurmGroup, ...], name: str, program: bytes) -> str:
    """Return the script that makes the environment `name` on the nodes of a job, and proves it there."""
    carried = Carried(program, START_SHELL.read_text(encoding="utf-8"), START.read_text(encoding="utf-8"))
    template = (files(render) / TEMPLATE).read_text(encoding="utf-8")
    return render_slurm(groups, name, f"gpuenv {__version__}", carried, template)
