"""`gpuenv create`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuenv.cli.commands.plan import options_of
from gpuenv.cli.options import Common, PlanArguments
from gpuenv.cli.output import (
    check_terminal,
    confirm,
    envelope,
    note,
    print_data,
    print_json,
    print_warnings,
    working,
)
from gpuenv.core.render.json import render_plan_data
from gpuenv.core.render.text import render_text
from gpuenv.values.errors import VerificationFailed
from gpuenv.values.plan import Plan
from gpuenv.values.text import tr
from gpuenv.workflow import create as creating
from gpuenv.workflow.plan import make_plan
from gpuenv.workflow.prove import prove


@dataclass(frozen=True, slots=True)
class CreateOptions:
    """The options that only `create` has."""

    dry_run: bool
    yes: bool
    verify: bool
    force: bool


def create(name: str, wanted: PlanArguments, chosen: CreateOptions, common: Common) -> int:
    """Plan, show, ask, apply, verify."""
    place = creating.check_name(name, environ=os.environ, force=chosen.force)
    if not (chosen.yes or chosen.dry_run):
        check_terminal(assume="--yes")
    options = options_of(wanted, ("gpuenv", "create", name))
    with working(tr("reading indexes"), quiet=common.quiet):
        plan = make_plan(options, os.environ, target=str(place.path))
    if not (common.quiet and chosen.yes):
        _show(plan, common)
    if chosen.dry_run:
        if common.as_json:
            print_json(envelope("create", render_plan_data(plan), warnings=plan.warnings))
        return 0
    if not chosen.yes:
        confirm(tr("create {path}?", path=place.path), assume="--yes")
    return _apply(name, plan, options.devices, chosen, common)


def _show(plan: Plan, common: Common) -> None:
    if common.as_json:
        return
    if not common.quiet:
        print_warnings(plan.warnings)
    print_data(render_text(plan, verbose=common.verbose))


def _apply(name: str, plan: Plan, devices: tuple[int, ...], chosen: CreateOptions, common: Common) -> int:
    proofs: list[VerificationFailed] = []

    def verify(python: Path) -> creating.Verified:
        with working(tr("verifying"), quiet=common.quiet):
            proof = prove(python, plan, os.environ, devices)
        if proof.error is not None:
            proofs.append(proof.error)
        if not common.as_json and not common.quiet:
            print_data("\n".join(proof.lines))
        return creating.Verified(ok=proof.ok, data=proof.data)

    data = render_plan_data(plan)
    result = creating.create(
        name,
        plan,
        data,
        environ=os.environ,
        verify=verify if chosen.verify else None,
        options=creating.Options(force=chosen.force, show=_shows_installer(common), tell=_teller(common)),
    )
    data |= _outcome(result)
    if proofs:
        raise _not_proven(proofs[0], result, data)
    if common.as_json:
        print_json(envelope("create", data, warnings=plan.warnings))
    elif not common.quiet:
        print_data(tr("created {path}: `gpuenv run {name} -- python`", path=result.path, name=result.name))
    return 0


def _teller(common: Common) -> Callable[[str], None]:
    return (lambda _: None) if common.quiet else note


def _shows_installer(common: Common) -> bool:
    return not common.quiet and not (common.as_json and not sys.stderr.isatty())


def _outcome(result: creating.CreateResult) -> dict[str, Any]:
    return {
        "environment": {"name": result.name, "path": str(result.path), "python": str(result.python)},
        "verify": result.verified.data if result.verified else None,
    }


def _not_proven(
    error: VerificationFailed, result: creating.CreateResult, data: dict[str, Any]
) -> VerificationFailed:
    kept = (
        tr("the environment that was there before is back")
        if result.restored
        else tr("{path} is kept, recorded as not verified", path=result.path)
    )
    return VerificationFailed(
        f"{error.message}; {kept}", code=error.code, because=error.because, fixes=error.fixes, data=data
    )
