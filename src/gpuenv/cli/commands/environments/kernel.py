"""`gpuenv kernel`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from msgspec.structs import replace

from gpuenv.activation import kernel as kernels
from gpuenv.activation.entering import EnteredEnvironment, find_entry
from gpuenv.cli.commands.environments.options import ChangeArguments, KernelArguments
from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data
from gpuenv.i18n.messages import N_, tr
from gpuenv.model.errors import Fix, UsageError


def kernel(name: str, arguments: KernelArguments, console: Console) -> int:
    """Register an environment with Jupyter, or take it back."""
    entry = find_entry(name, os.environ)
    if arguments.remove:
        return _remove(entry, arguments.prefix, console)
    planned = kernels.plan_kernel(entry, os.environ, arguments.prefix)
    if not kernels.has_ipykernel(entry):
        _bring_ipykernel(entry, arguments, console)
    kernels.register(entry, planned, os.environ)
    if console.as_json:
        data = {"name": planned.name, "display_name": planned.display_name, "path": str(planned.folder)}
        return console.print_json("kernel", {"environment": _environment(entry), "kernel": data})
    if not console.quiet:
        text = N_("registered the kernel `{name}` in {path}; notebooks call it `{shown}`")
        print_data(tr(text, name=planned.name, path=planned.folder, shown=planned.display_name))
    return 0


def _environment(entry: EnteredEnvironment) -> dict[str, str]:
    return {"name": entry.name, "path": str(entry.root)}


def _bring_ipykernel(entry: EnteredEnvironment, arguments: KernelArguments, console: Console) -> None:
    """Install what a kernel needs, torch held, after a yes."""
    if entry.record is None or (console.as_json and not arguments.yes):
        raise _without_ipykernel(entry)
    console.note(tr("a kernel needs ipykernel, which is not yet installed in `{name}`", name=entry.name))
    from gpuenv.cli.commands.environments.change import install  # noqa: PLC0415 - only where it is missing

    change = ChangeArguments(
        mirrors=arguments.mirrors,
        find_links=arguments.find_links,
        offline=arguments.offline,
        yes=arguments.yes,
    )
    quietly = replace(console, as_json=False, quietness=1) if console.as_json else console
    install(entry.name, ["ipykernel"], [], change, quietly)


def _without_ipykernel(entry: EnteredEnvironment) -> UsageError:
    name = shlex.quote(entry.name)
    if entry.record is None:
        fix = Fix(tr("install it with the tool that made the environment"))
    else:
        fix = Fix(tr("install it"), f"gpuenv install {name} ipykernel")
    return UsageError(
        tr("a kernel needs ipykernel, which is not yet installed in `{name}`", name=entry.name),
        code="no-ipykernel",
        fixes=(fix,),
    )


def _remove(entry: EnteredEnvironment, prefix: Path | None, console: Console) -> int:
    removed = kernels.unregister(entry, os.environ, prefix)
    if console.as_json:
        data = {"environment": _environment(entry), "removed": [str(folder) for folder in removed]}
        return console.print_json("kernel", data)
    for folder in removed:
        console.note(tr("removed {path}", path=folder))
    return 0
