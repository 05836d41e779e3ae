"""`gpuenv plan`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gpuenv.cli.commands.plan.options import PlanArguments
from gpuenv.cli.commands.plan.single import plan_once
from gpuenv.cli.options import Common
from gpuenv.i18n.messages import tr
from gpuenv.installers import MANAGERS
from gpuenv.model.errors import Fix, UsageError
from gpuenv.planning.conda.choose import choose_conda_manager
from gpuenv.planning.options import PlanOptions

_SHOWN = ("text", "json")
_FOR_UV = ("pyproject",)
_FOR_NODES = ("ansible", "slurm")
_FOR_CONDA = ("environment.yml", "pixi.toml")


def options_of(wanted: PlanArguments, program: tuple[str, ...]) -> PlanOptions:
    """Return the plan options as the workflow takes them."""
    return PlanOptions(
        requirements=tuple(wanted.requirements or ()),
        requirement_files=tuple(wanted.requirement_files or ()),
        environment_file=wanted.environment_file,
        python=wanted.python,
        cuda=wanted.cuda,
        machines=tuple(wanted.machines or ()),
        machine_folder=wanted.machine_folder,
        driver=wanted.driver,
        gpus=tuple(wanted.gpus or _gpus_of(os.environ)),
        platform=wanted.platform.value if wanted.platform else None,
        glibc=wanted.glibc,
        devices=tuple(wanted.devices or ()),
        manager=wanted.manager.value,
        channel=wanted.channel.value,
        mirrors=_given(wanted.mirrors),
        find_links=_given(wanted.find_links),
        offline=wanted.offline,
        fetch_hashes=wanted.fetch_hashes,
        only_binary=wanted.only_binary,
        program=program,
    )


def _gpus_of(environ: Mapping[str, str]) -> list[str]:
    """Read GPUENV_GPU, which typer would split at the blanks of `RTX 4090`."""
    return [name.strip() for name in environ.get("GPUENV_GPU", "").split(",") if name.strip()]


def _given(places: list[str] | None) -> tuple[str, ...]:
    return tuple(location for location in places or () if location.strip())


def plan(wanted: PlanArguments, format_name: str, output: Path | None, common: Common) -> int:
    """Decide, print the plan in the format asked for; `-` as the output is stdout."""
    options = _for_format(format_name, options_of(wanted, ("gpuenv", "plan")))
    output = None if str(output) == "-" else output
    if format_name in _FOR_NODES:
        from gpuenv.cli.commands.plan.nodes import plan_for_nodes  # noqa: PLC0415 - for other machines alone

        return plan_for_nodes(options, format_name, output, common)
    if options.machine_folder is not None or len(options.machines) > 1:
        from gpuenv.cli.commands.plan.groups import plan_groups  # noqa: PLC0415 - for many machines alone

        return plan_groups(options, format_name, output, common)
    return plan_once(options, format_name, output, common)


def _for_format(format_name: str, options: PlanOptions) -> PlanOptions:
    """Return the options with the manager whose commands the format is made of."""
    if format_name in _SHOWN:
        options = replace(options, only_shown=True)
    if format_name == "text":
        return options
    options = replace(options, program=(*options.program, "--format", format_name))
    if format_name in _FOR_CONDA:
        return replace(options, manager=choose_conda_manager(options, os.environ, format_name))
    if format_name in _FOR_UV and options.manager == "auto":
        return replace(options, manager="uv")
    if format_name not in MANAGERS:
        return options
    if options.manager not in ("auto", format_name):
        raise UsageError(
            tr("--format {format} requires --manager {format}", format=format_name),
            code="usage",
            fixes=(Fix(tr("omit one of the two")),),
        )
    return replace(options, manager=format_name)
