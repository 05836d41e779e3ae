"""`gpuenv create`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpuenv.changes.pip_hashes import with_files_held
from gpuenv.cli.commands.plan.options import CreateArguments, PlanArguments
from gpuenv.cli.commands.plan.plan import options_of
from gpuenv.cli.options import Common
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
from gpuenv.cli.progress import fetching, following
from gpuenv.environments.folders.preconditions import check_beginning
from gpuenv.environments.listing import Environment
from gpuenv.environments.store import EnvironmentPaths
from gpuenv.formats.json import render_plan_data
from gpuenv.formats.text import render_text
from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.load import Mirrors, load_mirrors
from gpuenv.model.errors import Fix, InstallFailed, UsageError, VerificationFailed
from gpuenv.model.plan import Plan
from gpuenv.operations import create as creating
from gpuenv.operations.fetch_stack import Provided, StackNotFetchedError, fetch_stack
from gpuenv.operations.plan_with_retries import Fallback
from gpuenv.operations.request_digest import request_digest
from gpuenv.operations.resolve_all import check_disk, check_least_room, with_all_files
from gpuenv.operations.unverified import find_unproven
from gpuenv.operations.verify_created import verify_created
from gpuenv.planning.conda.choose import choose_manager
from gpuenv.planning.options import PlanOptions


@dataclass(frozen=True, slots=True)
class Planning:
    """Another way to come to a plan: how it is made and shown, and what its data has besides."""

    make: Callable[[PlanOptions], Plan] | None = None
    show: Callable[[Plan], None] | None = None
    more: Callable[[], dict[str, Any]] = dict


def create(name: str, wanted: PlanArguments, chosen: CreateArguments, common: Common) -> int:
    """Plan, show, ask, apply, verify."""
    options = options_of(wanted, ("gpuenv", "create", name))
    if chosen.from_lock is not None:
        from gpuenv.locks.plan_from_lock import for_lock  # noqa: PLC0415 - only where there is a lock

        options = for_lock(options, chosen.from_lock)
    elif options.machine_folder is not None or len(options.machines) > 1:
        from gpuenv.fleet.plan import check_one_group  # noqa: PLC0415 - for many machines alone

        check_one_group(options, os.environ)
    return create_as_asked(name, options, chosen, common)


def given(name: str | None) -> str:
    """Return the name; raise UsageError where there is none."""
    if name is None:
        raise UsageError(
            tr("no NAME was given"),
            code="usage",
            fixes=(Fix(tr("specify it"), "gpuenv create NAME"),),
        )
    return name


def create_as_asked(
    name: str,
    options: PlanOptions,
    chosen: CreateArguments,
    common: Common,
    planning: Planning | None = None,
) -> int:
    """Do the same for options that are not only the command line's."""
    planning = planning or Planning()
    options = _made_here(options)
    unproven = _unproven(name, options, chosen) if planning.make is None else None
    if unproven is not None:
        from gpuenv.cli.commands.create.resume import create_resumed  # noqa: PLC0415 - rarely needed

        return create_resumed(unproven, options.devices, common)
    manager = choose_manager(options, os.environ)
    environment = creating.check_name(name, environ=os.environ, force=chosen.force, manager=manager)
    if not chosen.dry_run:
        check_beginning(environment, os.environ)
        check_least_room(manager, os.environ, environment.path)
    mirrors = load_mirrors(os.environ)
    fallback = Fallback(
        options, mirrors, os.environ, target=str(environment.path), tell=_teller(common), make=planning.make
    )
    with working(tr("reading indexes"), quiet=common.quiet):
        plan = with_all_files(fallback.plan(), fallback.options, mirrors, os.environ, environment.path)
    _offer(environment, plan, chosen, common, planning)
    if chosen.dry_run:
        if common.as_json:
            data = render_plan_data(plan) | planning.more()
            print_json(envelope("create", data, warnings=plan.warnings))
        return 0
    while True:
        try:
            return _carry_out(name, plan, fallback, mirrors, chosen, common, planning)
        except (InstallFailed, StackNotFetchedError) as error:
            with working(tr("planning again"), quiet=common.quiet):
                other = fallback.again(error, plan)
                other = with_all_files(other, fallback.options, mirrors, os.environ, environment.path)
        if (other.pins, other.python) != (plan.pins, plan.python):
            _offer(environment, other, chosen, common, planning)
        plan = other


def is_resumed(name: str, options: PlanOptions, chosen: CreateArguments) -> bool:
    """Tell whether `create_as_asked` would only verify what an interrupted one has left."""
    return _unproven(name, _made_here(options), chosen) is not None


def _made_here(options: PlanOptions) -> PlanOptions:
    return replace(options, made_here=True)


def _unproven(name: str, options: PlanOptions, chosen: CreateArguments) -> Environment | None:
    """Return what an interrupted `create` of the same request has left to be verified."""
    if chosen.force or chosen.dry_run or not chosen.verify:
        return None
    return find_unproven(name, request_digest(options), os.environ)


def _offer(
    environment: EnvironmentPaths, plan: Plan, chosen: CreateArguments, common: Common, planning: Planning
) -> None:
    """Show a plan and ask whether it may be carried out."""
    if not (common.quiet and chosen.yes):
        _show(plan, common, planning)
    if not chosen.dry_run:
        check_disk(plan, os.environ, environment.path)
    if not (chosen.yes or chosen.dry_run):
        check_terminal(assume="--yes", data=render_plan_data(plan) | planning.more())
        confirm(tr("create {path}?", path=environment.path), assume="--yes")


def _show(plan: Plan, common: Common, planning: Planning) -> None:
    if common.as_json:
        return
    if planning.show is not None:
        planning.show(plan)
        return
    if not common.quiet:
        print_warnings(plan.warnings)
    print_data(render_text(plan, verbose=common.verbose))


def _carry_out(
    name: str,
    plan: Plan,
    fallback: Fallback,
    mirrors: Mirrors,
    chosen: CreateArguments,
    common: Common,
    planning: Planning,
) -> int:
    environment = creating.check_name(name, environ=os.environ, force=chosen.force, manager=plan.manager)
    log = creating.begin_log(environment)
    with fetching(log, quiet=common.quiet) as watcher:
        try:
            provided = fetch_stack(
                plan, fallback.options, mirrors, os.environ, watcher, target=str(environment.path)
            )
        except StackNotFetchedError as error:
            raise error.logged(log) from None
    with working(tr("resolving"), quiet=common.quiet):
        holding = with_files_held(provided.local, fallback.options, os.environ, str(environment.path))
    for warning in () if common.quiet else holding.warnings:
        note(warning.message)
    planned = replace(
        provided.told, warnings=(*provided.told.warnings, *fallback.warnings, *holding.warnings)
    )
    with following(tr("fetching packages"), quiet=common.quiet) as progress:
        how = creating.Options(
            force=chosen.force,
            show=_shows_installer(common),
            tell=_teller(common),
            log=log,
            progress=progress,
            request=None if planning.make else request_digest(fallback.options),
        )
        local = Provided(planned, holding.plan)
        return _apply(name, local, fallback.options.devices, chosen, common, how, planning.more())


def _apply(
    name: str,
    provided: Provided,
    devices: tuple[int, ...],
    chosen: CreateArguments,
    common: Common,
    how: creating.Options,
    more: dict[str, Any],
) -> int:
    plan = provided.told
    proofs: list[VerificationFailed] = []

    def verify(python: Path) -> creating.Verified:
        with working(tr("verifying"), quiet=common.quiet):
            proof = verify_created(python, plan, os.environ, devices)
        if proof.error is not None:
            proofs.append(proof.error)
        if not common.as_json and not common.quiet:
            print_data("\n".join(proof.lines))
        return creating.Verified(ok=proof.ok, data=proof.data)

    data = render_plan_data(plan) | more
    result = creating.create(
        name,
        provided.local,
        data,
        environ=os.environ,
        verify=verify if chosen.verify else None,
        options=how,
    )
    data |= _outcome(result)
    if proofs:
        raise _not_proven(proofs[0], result, data)
    if common.as_json:
        print_json(envelope("create", data, warnings=plan.warnings))
    elif not common.quiet:
        _tell_ways_in(result)
    return 0


def _tell_ways_in(result: creating.CreateResult) -> None:
    from gpuenv.activation.activate import pasted_line  # noqa: PLC0415 - only at the end

    name = shlex.quote(result.name)
    made = tr("created {path}: `gpuenv run {name} -- python`", path=result.path, name=name)
    line = pasted_line(result.name, result.path, os.environ)
    activate = tr("activate it with: {line}", line=line)
    print_data("\n".join((made, activate, tr("interpreter, for an IDE: {python}", python=result.python))))


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
        tr("the previous environment was restored")
        if result.restored
        else tr("{path} is kept, recorded as not verified", path=result.path)
    )
    return VerificationFailed(
        f"{error.message}; {kept}", code=error.code, because=error.because, fixes=error.fixes, data=data
    )
