"""Which machines a plan is for: described by hand, saved by `detect`, or this one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gpuenv.core.described import describe_machine
from gpuenv.core.knowledge import Knowledge
from gpuenv.core.machine_json import parse_machine
from gpuenv.values.errors import Fix, UsageError
from gpuenv.values.machine import Machine
from gpuenv.values.text import tr
from gpuenv.workflow.detect import detect
from gpuenv.workflow.options import PlanOptions
from gpuenv.workflow.read import decode, read_text


def choose_machines(
    options: PlanOptions, environ: Mapping[str, str], knowledge: Knowledge
) -> tuple[Machine, ...]:
    """Return the machines: saved ones, else this one, each with what the options say of it by hand."""
    bases = tuple(read_machine(path) for path in options.machines) or (detect(environ),)
    return tuple(_described(base, options, knowledge) for base in bases)


def is_here(options: PlanOptions, machines: tuple[Machine, ...]) -> bool:
    """Whether the plan is for the machine gpuenv runs on, so that its interpreters can be used."""
    return not options.machines and bool(machines[0].pythons)


def _described(base: Machine, options: PlanOptions, knowledge: Knowledge) -> Machine:
    if not (options.driver or options.gpus or options.platform or options.glibc):
        return base
    return describe_machine(
        base,
        driver=options.driver,
        gpus=options.gpus,
        platform=options.platform,
        glibc=options.glibc,
        knowledge=knowledge,
    )


def read_machine(path: Path) -> Machine:
    """Read a machine that `gpuenv detect --json` saved, `-` from standard input; may raise UsageError."""
    try:
        text = _read_stdin() if str(path) == "-" else read_text(path)
        machine = parse_machine(json.loads(text))
    except OSError as error:
        raise _bad_machine(path, error.strerror or str(error)) from None
    except RecursionError:
        raise _bad_machine(path, tr("it is nested too deeply")) from None
    except ValueError as error:  # JSON, UTF-8 and the fields
        raise _bad_machine(path, str(error)) from None
    return replace(machine, facts=tuple((field, f"{path}: {source}") for field, source in machine.facts))


def _read_stdin() -> str:
    return decode(sys.stdin.buffer.read()) if sys.stdin else ""


def _bad_machine(path: Path, reason: str) -> UsageError:
    return UsageError(
        tr("`{path}` is no saved machine: {reason}", path=path, reason=reason),
        code="bad-machine",
        fixes=(Fix(tr("save it on that machine"), "gpuenv detect --json > machine.json"),),
    )
