"""`gpuenv create`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.cli.commands.create.replacing import check_place
from gpuenv.cli.commands.plan.options import CreateArguments, PlanArguments
from gpuenv.cli.commands.plan.plan import options_of
from gpuenv.cli.console import Console
from gpuenv.cli.output import bad_usage, confirm, print_data, with_outcome
from gpuenv.cli.progress import fetching, following
from gpuenv.environments.folders.preconditions import check_beginning
from gpuenv.formats.json import render_plan_data
from gpuenv.formats.text import render_text
from gpuenv.i18n.messages import N_, tr
from gpuenv.indexes.mirrors.load import Mirrors, load_mirrors
from gpuenv.installers import CONDA_MANAGERS, uv
from gpuenv.model.errors import InstallFailed, VerificationFailed
from gpuenv.model.plan import Plan
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.operations import create as creating
from gpuenv.operations.fetch_stack import Provided, StackNotFetchedError, fetch_stack
from gpuenv.operations.plan_with_retries import Fallback
from gpuenv.operations.resolve_all import check_disk, check_least_room, with_all_files
from gpuenv.operations.unverified import find_unproven, request_digest
from gpuenv.planning.conda.choose import choose_manager
from gpuenv.planning.options import PlanOptions

if TYPE_CHECKING:
    from gpuenv.environments.listing import Environment


class Planning(Struct, frozen=True):
    """Another way to a plan: how it is made and shown, and further data."""

    make: Callable[[PlanOptions], Plan] | None = None
    show: Callable[[Plan], None] | None = None
    more: Callable[[], dict[str, Any]] = dict


def create(name: str, wanted: PlanArguments, chosen: CreateArguments, console: Console) -> int:
    """Plan, show, ask, apply, verify."""
    options = options_of(wanted, ("gpuenv", "create", name))
    if chosen.from_lock is not None and chosen.from_lock.is_dir():
        from gpuenv.cli.commands.create.folder_of_locks import take_lock  # noqa: PLC0415 - rarely given

        options, taken = take_lock(chosen.from_lock, options, console)
        return create_from_options(name, options, chosen, console, Planning(more=lambda: {"lock": taken}))
    if chosen.from_lock is not None:
        from gpuenv.locks.plan_from_lock import for_lock  # noqa: PLC0415 - only where there is a lock

        options = for_lock(options, chosen.from_lock)
    elif options.machine_folder is not None or len(options.machines) > 1:
        from gpuenv.fleet.plan import check_one_group  # noqa: PLC0415 - for many machines alone

        check_one_group(options, os.environ)
    return create_from_options(name, options, chosen, console)


def given(name: str | None) -> str:
    """Return the name; raise UsageError where there is none."""
    if name is None:
        raise bad_usage(tr("no NAME was given"), tr("specify it"), "gpuenv create NAME")
    return name


def create_from_options(
    name: str,
    options: PlanOptions,
    chosen: CreateArguments,
    console: Console,
    planning: Planning | None = None,
) -> int:
    """Create for options that may also come from a file."""
    planning = planning or Planning()
    options = replace(options, made_here=True)
    unproven = _unproven(name, options, chosen) if planning.make is None else None
    if unproven is not None:
        from gpuenv.cli.commands.create.resume import create_resumed  # noqa: PLC0415 - rarely needed

        return create_resumed(unproven, options.devices, console)
    manager = choose_manager(options, os.environ)
    environment, chosen = check_place(name, chosen, console, manager)
    if not chosen.dry_run:
        check_beginning(environment, os.environ)
        check_least_room(manager, os.environ, environment.path)
    mirrors = load_mirrors(os.environ)
    fallback = Fallback(
        options, mirrors, os.environ, target=str(environment.path), tell=console.note, make=planning.make
    )
    with console.working(tr("reading indexes")):
        plan = with_all_files(fallback.plan(), fallback.options, mirrors, os.environ, environment.path)
    _offer(environment, plan, chosen, console, planning)
    if chosen.dry_run:
        if console.as_json:
            return console.print_json("create", render_plan_data(plan) | planning.more(), plan.warnings)
        return 0
    while True:
        try:
            return _carry_out(name, plan, fallback, mirrors, chosen, console, planning)
        except (InstallFailed, StackNotFetchedError) as error:
            with console.working(tr("planning again")):
                other = fallback.again(error, plan)
                other = with_all_files(other, fallback.options, mirrors, os.environ, environment.path)
        if (other.pins, other.python) != (plan.pins, plan.python):
            _offer(environment, other, chosen, console, planning)
        plan = other


def is_resumed(name: str, options: PlanOptions, chosen: CreateArguments) -> bool:
    """Whether `create_from_options` would only verify an environment that an interrupted one installed."""
    return _unproven(name, replace(options, made_here=True), chosen) is not None


def _unproven(name: str, options: PlanOptions, chosen: CreateArguments) -> Environment | None:
    """Return what an interrupted `create` of the same request has left to be verified."""
    if chosen.force or chosen.dry_run or not chosen.verify:
        return None
    return find_unproven(name, request_digest(options), os.environ)


def _offer(
    environment: EnvironmentPaths, plan: Plan, chosen: CreateArguments, console: Console, planning: Planning
) -> None:
    """Show a plan and ask whether it may be carried out."""
    if not (console.as_json or (console.quiet and chosen.yes)):
        if planning.show is not None:
            planning.show(plan)
        else:
            console.warn(plan.warnings)
            print_data(render_text(plan, verbose=console.verbose))
    if not chosen.dry_run:
        check_disk(plan, os.environ, environment.path)
    if not (chosen.yes or chosen.dry_run):
        data = render_plan_data(plan) | planning.more()
        confirm(tr("create {path}?", path=environment.path), data)


def _carry_out(
    name: str,
    plan: Plan,
    fallback: Fallback,
    mirrors: Mirrors,
    chosen: CreateArguments,
    console: Console,
    planning: Planning,
) -> int:
    force, foreign = chosen.force, chosen.replace_foreign
    environment = creating.check_name(
        name, environ=os.environ, force=force, manager=plan.manager, foreign=foreign
    )
    log = creating.begin_log(environment)
    with fetching(log, quiet=console.quiet) as watcher:
        try:
            provided = fetch_stack(
                plan, fallback.options, mirrors, os.environ, watcher, target=str(environment.path)
            )
        except StackNotFetchedError as error:
            raise error.logged(log) from None
    local, warnings = provided.local, fallback.warnings
    if local.manager != uv.NAME:
        from gpuenv.changes.pip_hashes import with_files_held  # noqa: PLC0415 - for pip alone

        with console.working(tr("resolving")):
            holding = with_files_held(local, fallback.options, os.environ, str(environment.path))
        for warning in holding.warnings:
            console.note(warning.message)
        local, warnings = holding.plan, (*warnings, *holding.warnings)
    planned = replace(provided.planned, warnings=(*provided.planned.warnings, *warnings))
    with following(tr("fetching packages"), quiet=console.quiet) as progress:
        how = creating.Options(
            force=force,
            foreign=foreign,
            show=console.shows_installers,
            tell=console.note,
            detail=console.detail,
            log=log,
            progress=progress.bytes,
            phase=progress.phase,
            settled=progress.end,
            request=None if planning.make else request_digest(fallback.options),
        )
        held = Provided(planned, local)
        return _apply(name, held, fallback.options.devices, chosen, console, how, planning.more())


def _apply(
    name: str,
    provided: Provided,
    devices: tuple[int, ...],
    chosen: CreateArguments,
    console: Console,
    how: creating.Options,
    more: dict[str, Any],
) -> int:
    plan = provided.planned
    proofs: list[VerificationFailed] = []

    def verify(python: Path) -> creating.Verified:
        from gpuenv.operations.verify import verify_created  # noqa: PLC0415 - not for --no-verify

        with console.working(tr("verifying")):
            proof = verify_created(python, plan.machines[0], os.environ, devices)
        if proof.error is not None:
            proofs.append(proof.error)
        console.print_proof(proof.lines)
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
    data |= {
        "environment": {"name": result.name, "path": str(result.path), "python": str(result.python)},
        "verify": result.verified.data if result.verified else None,
    }
    if result.export:
        data |= {"export": str(result.export)}
        console.note(tr("what was in the replaced environment is in {file}", file=result.export))
    if proofs:
        text = N_("{path} is kept, recorded as not verified")
        restored = N_("the previous environment was restored")
        raise with_outcome(proofs[0], tr(restored if result.restored else text, path=result.path), data)
    if console.as_json:
        return console.print_json("create", data, plan.warnings)
    if not console.quiet:
        _print_ways_in(result, plan.manager)
    return 0


def _print_ways_in(result: creating.CreateResult, manager: str) -> None:
    from gpuenv.activation.activate import pasted_line  # noqa: PLC0415 - only at the end

    name = shlex.quote(result.name)
    lines = [tr("created {path}: `gpuenv run {name} -- python`", path=result.path, name=name)]
    line = pasted_line(result.name, result.path, os.environ)
    if manager in CONDA_MANAGERS:
        from gpuenv.operations.create_conda import activation_command  # noqa: PLC0415 - for conda alone

        command = activation_command(manager, result.path, os.environ)
        lines += [tr("activate it with: {line}", line=command), tr("or with: {line}", line=line)]
    else:
        lines.append(tr("activate it with: {line}", line=line))
    lines.append(tr("interpreter, for an IDE: {python}", python=result.python))
    print_data("\n".join(lines))
