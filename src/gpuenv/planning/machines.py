"""Which machines a plan is for: described by options, saved by `detect`, or this one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from gpuenv.files.read_text import decode, read_text
from gpuenv.host.problems import driver_unknown
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.jetson_boards import with_board_told
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.accelerator import AcceleratorKind
from gpuenv.model.errors import Because, Fix, Unsatisfiable, UsageError
from gpuenv.model.machine import FoundPython, Machine
from gpuenv.model.machine_json import parse_machine
from gpuenv.planning.detect import detect
from gpuenv.planning.options import Container, PlanOptions
from gpuenv.resolution.target import Target, choose_target
from gpuenv.untrusted.documents import load_json


def choose_machines(
    options: PlanOptions, environ: Mapping[str, str], knowledge: Knowledge
) -> tuple[Machine, ...]:
    """Return the machines: saved ones, else this one, as detected, with the overrides of the options."""
    bases = tuple(read_machine(path) for path in machine_files(options)) or (options.here or detect(environ),)
    machines = tuple(describe(base, options, knowledge) for base in bases)
    if options.container is None:
        return machines
    return tuple(_containing(machine, options.container, options.glibc) for machine in machines)


def is_here(options: PlanOptions, machines: tuple[Machine, ...]) -> bool:
    """Whether the plan is for the machine gpuenv runs on, so that its interpreters can be used.

    A driver or GPUs that were described are another machine's, unless the environment is made here for it.
    """
    saved = options.machines or options.machine_folder
    elsewhere = saved or is_described(options)
    return not elsewhere and options.container is None and bool(machines[0].pythons)


def is_described(options: PlanOptions) -> bool:
    """Whether the machine is described by its driver or GPUs, so that its Pythons are not known."""
    other = options.driver or options.gpus or options.macos or options.l4t or options.jetpack or options.wsl
    return bool(other) and not options.made_here


def machine_files(options: PlanOptions) -> tuple[Path, ...]:
    """Return the files of saved machines; raise UsageError for a folder that has none or can't be read."""
    if options.machine_folder is None:
        return options.machines
    return (*options.machines, *_saved_in(options.machine_folder))


def _saved_in(folder: Path) -> tuple[Path, ...]:
    """Return the files named as saved machines; hidden files are skipped."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - the names; a folder of thousands is listed once
    except OSError as error:
        reason = reason_of(error)
        raise _no_machines(tr("`{path}` cannot be read: {reason}", path=folder, reason=reason)) from None
    paths = tuple(path for name in names if _is_saved(path := folder / name))
    if not paths:
        raise _no_machines(tr("`{path}` contains no saved machine (*.json)", path=folder))
    return paths


def _is_saved(path: Path) -> bool:
    """Whether a name is that of a saved machine; a pipe of that name would never end."""
    named = path.name.lower().endswith(".json") and not path.name.startswith(".")
    return named and not path.is_fifo()


def _no_machines(message: str) -> UsageError:
    return UsageError(message, code="no-machines", fixes=(_save_it(),))


def describe(base: Machine, options: PlanOptions, knowledge: Knowledge) -> Machine:
    """Return a machine with the overrides of the options, and with the board that its GPUs identify."""
    if not options.describes_machine:
        return with_board_told(base, knowledge)
    from gpuenv.host.describe import describe_machine  # noqa: PLC0415 - most plans are for this machine
    from gpuenv.host.described import DescribedReleases  # noqa: PLC0415

    releases = DescribedReleases(
        options.macos,
        options.l4t,
        options.jetpack,
        options.cann,
        options.amdgpu,
        wsl=options.wsl,
        kind=options.accelerator if options.gpus else None,
    )
    described = describe_machine(
        base,
        driver=options.driver,
        gpus=options.gpus,
        platform=options.platform,
        glibc=options.glibc,
        knowledge=knowledge,
        releases=releases,
        accelerators=lambda: knowledge.accelerators.tables,
    )
    return with_board_told(described, knowledge)


def _containing(machine: Machine, container: Container, glibc: str | None) -> Machine:
    """Return the machine as seen from a container on it: its GPUs and driver, another system around them."""
    pythons = tuple(FoundPython(version, "") for version in container.pythons)
    machine = replace(machine, toolkit=None, managers=(), pythons=pythons)
    if glibc is not None or machine.system.os != "linux":
        return machine
    system = replace(machine.system, libc="glibc", libc_version=container.glibc)
    names = ("system.libc", "system.libc_version")
    facts = tuple(fact for fact in machine.facts if fact[0] not in names)
    reported = tuple((name, "matrix images.json") for name in names)
    return replace(machine, system=system, facts=(*facts, *reported))


def read_machine(path: Path) -> Machine:
    """Read a machine that `gpuenv detect --json` saved, `-` from standard input; may raise UsageError."""
    try:
        stdin = sys.stdin.buffer.read() if str(path) == "-" and sys.stdin else b""
        machine = parse_machine(load_json(decode(stdin) if str(path) == "-" else read_text(path)))
    except (OSError, ValueError) as error:  # ValueError: JSON, UTF-8 and the fields
        raise UsageError(
            tr("`{path}` is not a saved machine: {reason}", path=path, reason=reason_of(error)),
            code="bad-machine",
            fixes=(_save_it(),),
        ) from None
    missed = driver_unknown()  # as `detect` says of GPUs without a known driver: none is assumed
    known = {problem.code for problem in machine.problems}
    if machine.gpus and machine.driver is None and missed.code not in known:
        machine = replace(machine, problems=(*machine.problems, missed))
    return replace(machine, facts=tuple((field, f"{path}: {source}") for field, source in machine.facts))


def _save_it() -> Fix:
    return Fix(tr("save it on that machine"), "gpuenv detect --json > machine.json")


def locate(
    machines: tuple[Machine, ...],
    options: PlanOptions,
    asked: AcceleratorKind | None,
    knowledge: Knowledge,
) -> Target:
    """Return what the plan must work on: NVIDIA's GPUs and the CPU, or what else there is or is asked for."""
    if machines[0].system.os == "macos" and is_here(options, machines):
        _refuse_translated(machines[0])
    if asked in (None, "cuda") and len(machines) == 1 and machines[0].l4t is not None:
        from gpuenv.resolution.accelerators.jetson import choose_board  # noqa: PLC0415 - for boards alone

        board = choose_board(machines[0], options.devices, knowledge)
        if board is not None:
            return board
    if asked in (None, "cuda", "cpu") and not any(has_other_builds(machine) for machine in machines):
        return choose_target(machines, options.devices, cpu=asked == "cpu")
    from gpuenv.resolution.accelerators.kinds import choose_accelerated  # noqa: PLC0415 - for such alone

    return choose_accelerated(machines, options.devices, asked, knowledge)


def _refuse_translated(machine: Machine) -> None:
    """Raise Unsatisfiable where the Pythons at hand would not take the builds for the chip of the Mac."""
    translated = next((item for item in machine.problems if item.code == "rosetta-python"), None)
    if translated is None:
        return
    raise Unsatisfiable(
        tr("an environment made from here would be for x86_64, and this Mac's chip is of arm64"),
        code=translated.code,
        because=(Because(translated.message, machine.source_of("problems")),),
        fixes=(
            Fix(
                tr("install a Python for arm64, and gpuenv with it"),
                "uv python install cpython-3.13-macos-aarch64-none",
            ),
            Fix(tr("or plan for Macs with Intel's processors, without a GPU: --platform osx-64")),
        ),
    )


def refuse_other_builds(machines: tuple[Machine, ...], *, cpu: bool) -> None:
    """Raise Unsatisfiable where a plan for CUDA or the CPU alone would pass over a card, unasked."""
    for machine in machines:
        names = series(
            item.name or item.vendor for item in machine.accelerators if item.discrete and item.kind
        )
        if names and machine.without_gpu and not cpu:
            raise Unsatisfiable(
                tr(
                    "only builds for CUDA and the CPU are considered here, and this machine has {names}",
                    names=names,
                ),
                code="other-accelerator",
                because=(Because(tr("it has {devices}", devices=names), machine.source_of("accelerators")),),
                fixes=(
                    Fix(tr("plan for it by itself"), "gpuenv plan"),
                    Fix(tr("or request a CPU build explicitly with --cuda cpu")),
                ),
            )


def has_other_builds(machine: Machine) -> bool:
    """Whether builds for a machine may be others than CUDA's and the CPU's for Linux and Windows."""
    return bool(machine.accelerators) or machine.system.os == "macos"
