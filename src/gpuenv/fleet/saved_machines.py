"""The saved machines of a fleet, each called after its file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from gpuenv.fleet.model import FleetMachine
from gpuenv.formats.shell import one_line
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.planning.machines import describe, machine_files, read_machine
from gpuenv.planning.options import PlanOptions

_LONGEST_NAME = 60


def read_machines(options: PlanOptions, knowledge: Knowledge) -> tuple[FleetMachine, ...]:
    """Read the machines; of a folder a file may be broken, what is named on the command line may not."""
    files = machine_files(options)
    machines = tuple(
        _read(file, name, options, knowledge) for file, name in zip(files, _names(files), strict=True)
    )
    if all(machine.machine is None for machine in machines):
        raise _none_readable(options, machines)
    return machines


def _read(file: Path, name: str, options: PlanOptions, knowledge: Knowledge) -> FleetMachine:
    try:
        base = read_machine(file)
    except UsageError as error:
        if file in options.machines:
            raise
        return FleetMachine(name, str(file), None, error.message)
    return FleetMachine(name, str(file), describe(base, options, knowledge))


def _none_readable(options: PlanOptions, machines: tuple[FleetMachine, ...]) -> UsageError:
    return UsageError(
        tr("`{path}` contains no saved machine", path=options.machine_folder),
        code="no-machines",
        because=tuple(Because(machine.problem or "", machine.file) for machine in machines[:3]),
        fixes=(Fix(tr("save one on each machine"), "gpuenv detect --json > NAME.json"),),
    )


def _names(files: tuple[Path, ...]) -> tuple[str, ...]:
    """Name the machines after their files, by the whole path where two files have one name."""
    short = [_printable(file.stem) for file in files]
    counts = Counter(short)
    names = [
        name if counts[name] == 1 else _printable(str(file)) for name, file in zip(short, files, strict=True)
    ]
    return _unlike(names)


def shown_names(hosts: tuple[str, ...]) -> tuple[str, ...]:
    """Name machines after hosts as they can be printed, each unlike the others."""
    return _unlike([_printable(host) for host in hosts])


def _unlike(names: list[str]) -> tuple[str, ...]:
    again = Counter(names)
    return tuple(
        name if again[name] == 1 else f"{name} ({position})" for position, name in enumerate(names, 1)
    )


def _printable(text: str) -> str:
    name = one_line(text) or tr("machine")
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."
