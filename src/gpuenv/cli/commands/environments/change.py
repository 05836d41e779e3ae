"""`gpuenv install`, `uninstall` and `update`: show, confirm, apply, verify, or roll back."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace
from packaging.requirements import Requirement

from gpuenv.changes.apply import ApplyOptions, Changed, Provision, apply_change, change_steps
from gpuenv.changes.install import plan_install
from gpuenv.changes.open_environment import ChangeOptions, Opened, open_environment
from gpuenv.changes.pip_hashes import hold_changes
from gpuenv.changes.render import render_changes
from gpuenv.changes.resolve import PlannedChange
from gpuenv.changes.uninstall import plan_uninstall
from gpuenv.changes.update import plan_update
from gpuenv.cli.commands.environments.options import ChangeArguments
from gpuenv.cli.console import Console
from gpuenv.cli.output import bad_usage, confirm, print_data, print_warnings, with_outcome, without_passwords
from gpuenv.cli.progress import fetching
from gpuenv.environments.folders.preconditions import check_change
from gpuenv.environments.run_steps import new_log
from gpuenv.i18n.messages import series, tr
from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.model.errors import Unsatisfiable
from gpuenv.model.plan import PlanWarning
from gpuenv.operations.fetch_stack import StackNotFetchedError, fetch_stack, not_fetched
from gpuenv.operations.verify import VerifyResult, verify_created
from gpuenv.planning.detect import detect
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.requirements import with_files_read
from gpuenv.resolution.request import parse_named
from gpuenv.secrets.redact import redact_step


def install(
    name: str, words: list[str], files: list[Path], arguments: ChangeArguments, console: Console
) -> int:
    """Install packages; torch changes only with --torch or after confirmation."""
    read, warnings = with_files_read(PlanOptions(requirements=tuple(words), requirement_files=tuple(files)))
    new = parse_named(read.requirements)
    if not new:
        command = f"gpuenv install {shlex.quote(name)} REQ"
        raise bad_usage(tr("no packages to install were given"), tr("specify it"), command)
    opened = _opened(name, arguments)
    options = _options(arguments)
    with console.working(tr("reading indexes")):
        planned = _install_or_ask(opened, new, options, arguments, console)
    planned = replace(planned, warnings=(*warnings, *planned.warnings))
    return _carry_out("install", planned, arguments, console)


def _opened(name: str, arguments: ChangeArguments) -> Opened:
    """Return the environment; raise UsageError early where it can't be changed."""
    opened = open_environment(name, os.environ, change=not arguments.dry_run)
    if not arguments.dry_run:
        check_change(opened.paths, os.environ)
    return opened


def _install_or_ask(
    opened: Opened,
    new: tuple[Requirement, ...],
    options: ChangeOptions,
    arguments: ChangeArguments,
    console: Console,
) -> PlannedChange:
    """Return the change; on a terminal another torch is offered, which `--yes` does not accept."""
    try:
        return plan_install(opened, new, options, os.environ)
    except Unsatisfiable as error:
        can_prompt = sys.stdin is not None and sys.stdin.isatty()
        if (
            error.code != "torch-held"
            or arguments.yes
            or arguments.dry_run
            or console.as_json
            or not can_prompt
        ):
            raise
        return plan_install(opened, new, replace(options, torch=True), os.environ)


def uninstall(
    name: str, packages: list[str], arguments: ChangeArguments, console: Console, *, prune: bool
) -> int:
    """Remove packages; warn of what would break, and of what nothing requires any more."""
    opened = _opened(name, arguments)
    removal = plan_uninstall(opened, tuple(packages), torch=arguments.torch, prune=prune)
    gone = {change.name for change in removal.change.changes}
    planned = removal.change
    if removal.unneeded:
        text = tr(
            "{names} are no longer required; --prune removes them as well", names=series(removal.unneeded)
        )
        planned = replace(planned, warnings=(*planned.warnings, PlanWarning("unneeded", text)))
    proving = replace(arguments, verify=arguments.verify and "torch" not in gone)
    return _carry_out("uninstall", planned, proving, console, {"unneeded": list(removal.unneeded)})


def update(name: str, arguments: ChangeArguments, console: Console) -> int:
    """Update packages."""
    opened = _opened(name, arguments)
    with console.working(tr("reading indexes")):
        planned = plan_update(opened, _options(arguments), os.environ)
    return _carry_out("update", planned, arguments, console)


def _options(arguments: ChangeArguments) -> ChangeOptions:
    mirrors = tuple(item for item in arguments.mirrors or () if item.strip())
    links = tuple(item for item in arguments.find_links or () if item.strip())
    return ChangeOptions(mirrors, links, arguments.offline, arguments.torch, arguments.only_binary)


def _carry_out(
    command: str,
    planned: PlannedChange,
    arguments: ChangeArguments,
    console: Console,
    more: dict[str, Any] | None = None,
) -> int:
    data = {**_data(planned), **(more or {})}
    if not console.as_json and not (console.quiet and arguments.yes):
        print_warnings(planned.warnings)
        print_data(_shown(planned, verbose=console.verbose))
    if arguments.dry_run:
        return console.print_json(command, data, planned.warnings) if console.as_json else 0
    if planned.changes and not arguments.yes:
        confirm(tr("change {environment}?", environment=planned.opened.paths.path))
    done = _apply(planned, arguments, console)
    data |= {"log": str(done.log) if done.log else None, "verify": done.proof.data if done.proof else None}
    if done.proof is not None and done.proof.error is not None:
        raise with_outcome(done.proof.error, tr("everything was restored"), data)
    return console.print_json(command, data, planned.warnings) if console.as_json else 0


def _shown(planned: PlannedChange, *, verbose: bool) -> str:
    stack = planned.opened.stack
    moved = planned.moved.packages[0].version if planned.moved else None
    lines = render_changes(planned.changes, torch=stack.get("torch"), moved=moved, why=planned.why)
    steps = change_steps(planned) if verbose else ()
    return "\n".join((*lines, *(f"  $ {shlex.join(redact_step(step).argv)}" for step in steps)))


def _data(planned: PlannedChange) -> dict[str, Any]:
    environment = planned.opened.paths
    stack = planned.opened.stack.get("torch")
    python = str(planned.opened.python)
    data = {
        "environment": {"name": environment.name, "path": str(environment.path), "python": python},
        "torch": {"before": stack, "after": planned.moved.packages[0].version if planned.moved else stack},
        "changes": [to_builtins(change) for change in planned.changes],
        "requirements": list(planned.requested),
        "steps": [to_builtins(step) for step in change_steps(planned)],
        "why": list(planned.why),
    }
    return dict(without_passwords(data))


def _apply(planned: PlannedChange, arguments: ChangeArguments, console: Console) -> Changed:
    def prove(python: Path) -> VerifyResult:
        devices = planned.opened.original.devices
        with console.working(tr("verifying")):
            result = verify_created(python, detect(os.environ), os.environ, devices)
        console.print_proof(result.lines)
        return result

    log = new_log(planned.opened.paths) if planned.changes else None
    how = ApplyOptions(
        show=console.shows_installers,
        tell=console.note,
        verify=prove if arguments.verify else None,
        log=log,
        provision=_provided(planned, log, console) if log else None,
    )
    return apply_change(planned, os.environ, how)


def _provided(planned: PlannedChange, log: Path, console: Console) -> Provision | None:
    """Return what is installed by its hash: the torch stack, and what pip finds on several indexes."""
    fetched = _fetched(planned, log, console)
    held = hold_changes(planned, fetched.checked if fetched else None, os.environ)
    if held is None:
        return fetched
    return replace(fetched or Provision(planned.request.sources), held=held[0], named=held[1])


def _fetched(planned: PlannedChange, log: Path, console: Console) -> Provision | None:
    """Fetch and check the files of the torch stack; return where they are."""
    plan = planned.request.plan
    coming = {change.name for change in planned.changes if change.after}
    if plan is None or not coming & set(planned.request.pins):
        return None
    plan = replace(plan, stack=tuple(file for file in plan.stack if file.name in coming))
    options = PlanOptions(mirrors=planned.opened.original.mirrors, offline=planned.request.offline)
    target = str(planned.opened.paths.path)
    mirrors = load_mirrors(os.environ)
    with fetching(log, quiet=console.quiet) as watcher:
        try:
            provided = fetch_stack(plan, options, mirrors, os.environ, watcher, target=target)
        except StackNotFetchedError as error:
            raise not_fetched(error.logged(log), mirrors) from None
    links = (*provided.local.sources.find_links, *planned.request.sources.find_links)
    sources = replace(planned.request.sources, find_links=tuple(dict.fromkeys(links)))
    return Provision(sources, provided.local.checked)
