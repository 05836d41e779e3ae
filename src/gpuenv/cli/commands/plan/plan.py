"""`gpuenv plan`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gpuenv.cli.commands.plan.single import plan_once
from gpuenv.cli.console import Console
from gpuenv.cli.output import bad_usage
from gpuenv.i18n.messages import tr
from gpuenv.installers import MANAGERS
from gpuenv.planning.conda.choose import choose_conda_manager
from gpuenv.planning.options import PlanOptions

if TYPE_CHECKING:
    from gpuenv.cli.commands.plan.options import PlanArguments, RequestArguments

_SHOWN = ("text", "json")
_FOR_UV = ("pyproject",)
_FOR_NODES = ("ansible", "slurm")
_FOR_CONDA = ("environment.yml", "pixi.toml")


def options_of(wanted: RequestArguments, program: tuple[str, ...]) -> PlanOptions:
    """Return the options of a plan, each field of the same name."""
    typed = ((name, getattr(wanted, name)) for name in wanted.__struct_fields__)
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in typed if value is not None
    }
    options = PlanOptions(**given, program=program)
    return replace(
        options,
        gpus=options.gpus or _gpus_of(os.environ),
        mirrors=_not_blank(options.mirrors),
        find_links=_not_blank(options.find_links),
    )


def _gpus_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Read GPUENV_GPU, which typer would split at the blanks of `RTX 4090`."""
    return tuple(map(str.strip, _not_blank(environ.get("GPUENV_GPU", "").split(","))))


def _not_blank(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if text.strip())


def plan(wanted: PlanArguments, format_name: str, output: Path | None, console: Console) -> int:
    """Plan, and write the plan in a format to a file or stdout."""
    return plan_with(options_of(wanted, ("gpuenv", "plan")), format_name, output, console)


def plan_variants(
    words: list[str], wanted: PlanArguments, format_name: str, output: Path | None, console: Console
) -> int:
    """Plan one project for several variants, and write it in a format."""
    from gpuenv.cli.commands.plan.several import plan_for_variants  # noqa: PLC0415 - for --for alone

    options = _for_format(format_name, options_of(wanted, ("gpuenv", "plan")))
    return plan_for_variants(tuple(words), options, format_name, output, console)


def plan_with(options: PlanOptions, format_name: str, output: Path | None, console: Console) -> int:
    """Do what `plan` does, with options as they are."""
    options = _for_format(format_name, options)
    if format_name in _FOR_NODES:
        from gpuenv.cli.commands.plan.nodes import plan_for_nodes  # noqa: PLC0415 - for other machines alone

        return plan_for_nodes(options, format_name, output, console)
    if options.machine_folder is not None or len(options.machines) > 1:
        from gpuenv.cli.commands.plan.groups import plan_groups  # noqa: PLC0415 - for many machines alone

        return plan_groups(options, format_name, output, console)
    return plan_once(options, format_name, output, console)


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
        problem = tr("--format {format} requires --manager {format}", format=format_name)
        raise bad_usage(problem, tr("omit one of the two"))
    return replace(options, manager=format_name)
