"""What a machine is asked to do: the requests that the node program (`gpuenv.node`) reads."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from packaging.requirements import Requirement

from gpuenv.environments.record import Record, render_record
from gpuenv.formats.json import render_plan_data
from gpuenv.formats.requirements import hashed_lines, source_lines
from gpuenv.model.locked import Locked
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import render_machine
from gpuenv.model.plan import Plan
from gpuenv.operations.verify import VerifyOptions


def create_request(
    name: str, made: Locked | Plan, machine: Machine, *, force: bool = False, check: bool = False
) -> dict[str, Any]:
    """Return the request to make `name` on a machine, from a lock or, without one, from its plan.

    The files come from where the plan has them, mirrors included; a lock's are held to their hashes. Raises
    UsageError for an address that would not stay in its line.
    """
    plan = made.plan if isinstance(made, Locked) else made
    return {
        "name": name,
        "python": plan.python,
        "requirements": _requirements(made),
        "hashed": isinstance(made, Locked),
        "fingerprint": fingerprint(made),
        "names": _names(made),
        "size": sum(package.size or 0 for package in plan.packages),
        "record": _record(plan, machine),
        "force": force,
        "check": check,
    }


def verify_request(name: str, options: VerifyOptions | None = None) -> dict[str, Any]:
    """Return the request to run the tests in the environment `name` of a machine."""
    verify_options = options or VerifyOptions()
    facts = {
        "devices": list(verify_options.devices or ()),
        "compile": verify_options.compile,
        "nccl": verify_options.nccl,
        "timeout_s": verify_options.timeout_s,
    }
    return {"name": name, "options": facts}


def fingerprint(made: Locked | Plan) -> str:
    """Return a digest of what was decided: the Python and the files, wherever they are fetched from."""
    if isinstance(made, Locked):
        files = sorted((file.name, file.version, file.sha256) for file in made.files)
        decided: list[object] = [made.plan.python, files]
    else:
        decided = [made.python, sorted((*made.pins, *made.requirements, *made.constraints))]
    return sha256(json.dumps(decided).encode()).hexdigest()


def _requirements(made: Locked | Plan) -> str:
    if isinstance(made, Locked):
        lines = [*source_lines(made.plan.sources), *hashed_lines(made)]
    else:
        lines = [*source_lines(made.sources), *made.pins, *made.requirements, *made.constraints]
    return "\n".join(lines) + "\n"


def _names(made: Locked | Plan) -> list[str]:
    if isinstance(made, Locked):
        return [file.name for file in made.files]
    return [Requirement(text).name for text in (*made.pins, *made.requirements)]


def _record(plan: Plan, machine: Machine) -> dict[str, Any]:
    """Return gpuenv.json as gpuenv writes it, without passwords; the machine adds what it alone knows."""
    facts = render_machine(machine)
    record = Record("", "", plan.manager, {**render_plan_data(plan), "machines": [facts], "steps": []}, facts)
    document: dict[str, Any] = json.loads(render_record(record))
    return document
