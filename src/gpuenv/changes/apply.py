"""Make a change to an environment: run it, check and verify the result; undo it where that fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.changes.open_environment import Opened
from gpuenv.changes.resolve import PlannedChange, changed_plan, exact, package_rows
from gpuenv.environments import transaction as apply
from gpuenv.environments.check_installed import check_installed, not_as_planned, torch_cuda
from gpuenv.environments.contents.constraints_file import CONSTRAINTS, hold_stack
from gpuenv.environments.contents.installed import read_installed
from gpuenv.environments.file_lock import locked
from gpuenv.environments.os_errors import converting_os_errors
from gpuenv.environments.record import Record, write_record
from gpuenv.environments.run_steps import StepEnvironment, check_space, new_log, run_steps
from gpuenv.environments.snapshot import changing_in_place
from gpuenv.environments.wheel_check import check_files
from gpuenv.formats.json import render_plan_data
from gpuenv.i18n.messages import tr
from gpuenv.installers import get_manager, pip, uv
from gpuenv.installers.dry_run import UNKNOWN
from gpuenv.installers.protocol import held_arguments
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.plan import CheckedStack, HeldFiles, Sources, Step
from gpuenv.on_disk.installed import site_packages
from gpuenv.operations.proof_age import proven
from gpuenv.operations.settle import lifted
from gpuenv.operations.verify import VerifyResult

Verify = Callable[[Path], VerifyResult]
"""Verifies the environment of an interpreter, without recording the result."""


class Provision(Struct, frozen=True):
    """Where the installer looks, the checked files of torch on this disk, and other files by hash.

    `named` are the projects of `held`.
    """

    sources: Sources
    checked: CheckedStack | None = None
    held: HeldFiles | None = None
    named: frozenset[str] = frozenset()


class ApplyOptions(Struct, frozen=True):
    """How to apply: whether to show the installer's output, how to verify, and the files of torch."""

    show: bool = True
    tell: Callable[[str], None] = lambda _: None
    verify: Verify | None = None
    log: Path | None = None
    provision: Provision | None = None


class Changed(Struct, frozen=True):
    """The result; where verification failed, everything is as before."""

    log: Path | None
    proof: VerifyResult | None = None

    @property
    def kept(self) -> bool:
        """Whether the change stays."""
        return self.proof is None or self.proof.ok


def installer_of(opened: Opened) -> str:
    """Return the installer: pip where it made the environment and is installed there, else uv."""
    return "pip" if opened.record.manager == "pip" and "pip" in opened.versions else "uv"


def change_steps(planned: PlannedChange, provision: Provision | None = None) -> tuple[Step, ...]:
    """Return the commands that make the change: the very versions that were shown, and nothing with them."""
    provision = provision or Provision(planned.request.sources)
    checked = provision.checked
    opened, request = planned.opened, planned.request
    python, is_pip = str(opened.python), installer_of(opened) == "pip"
    out = tuple(change.name for change in planned.changes if change.after is None)
    first = provision.named | (checked.names if checked else frozenset[str]())
    come = tuple(
        exact(change, request)
        for change in planned.changes
        if change.after is not None and change.name not in first
    )
    steps = []
    if out:
        argv = (
            (python, "-m", "pip", "uninstall", "-y")
            if is_pip
            else ("uv", "pip", "uninstall", "--python", python)
        )
        steps.append(Step((*argv, *out), tr("remove {count} packages", count=len(out))))
    if checked:
        steps.append((pip if is_pip else uv).checked_step(checked, python, anew=True))
    if provision.held and provision.held.listed:
        steps.append(_held_step(planned, provision.held.listed, provision))
    if come:
        steps.append(
            Step(
                _install(planned, provision.sources, come, first),
                tr("install {count} packages", count=len(come)),
            )
        )
    return tuple(steps)


def _held_step(planned: PlannedChange, listed: str, provision: Provision) -> Step:
    again = any(change.before == change.after for change in planned.changes if change.name in provision.named)
    force = ("--force-reinstall",) if again else ()
    argv = (str(planned.opened.python), "-m", "pip", "install", *force, *held_arguments(listed))
    why = tr("install {count} packages", count=len(provision.named))
    return Step((*argv, *pip.source_options(provision.sources)), why)


def _install(
    planned: PlannedChange, sources: Sources, come: tuple[str, ...], first: frozenset[str]
) -> tuple[str, ...]:
    """`first` are the projects that are there already, from checked files."""
    python = str(planned.opened.python)
    changes = tuple(change for change in planned.changes if change.name not in first)
    again = tuple(change.name for change in changes if change.after and change.before == change.after)
    if installer_of(planned.opened) == "pip":
        force = ("--force-reinstall",) if again or planned.moved else ()
        return (python, "-m", "pip", "install", "--no-deps", *force, *come, *pip.source_options(sources))
    anew = (
        tuple(change.name for change in changes if change.after and change.before) if planned.moved else again
    )
    options = tuple(word for name in anew for word in ("--reinstall-package", name))
    offline = ("--offline",) if planned.request.offline else ()
    head = ("uv", "pip", "install", "--python", python, "--no-deps", *offline, *options)
    return (*head, *come, *uv.source_options(sources))


def apply_change(planned: PlannedChange, environ: Mapping[str, str], how: ApplyOptions) -> Changed:
    """Make the change, check and verify it, then keep it with a new record; undo it where one of them fails.

    Raises InstallFailed (everything is as before) and UsageError (busy, or changed meanwhile).
    """
    opened = planned.opened
    environment = opened.paths
    with locked(environment, tell=how.tell) as descriptors, converting_os_errors(environment):
        apply.recover(environment)
        _check_unchanged(opened)
        record = _new_record(planned)
        if not planned.changes:
            if record != opened.record:
                write_record(environment.path, record)
            return Changed(None)
        check_space(environment, planned.fetched)
        log = how.log or new_log(environment)
        module = get_manager(installer_of(opened))
        running = StepEnvironment(
            environ=lifted(module.environment(environ, planned.request.sources), environment.path),
            log=log,
            executables=module.executables(),
            show=how.show,
            keep_open=descriptors,
            tell=how.tell,
        )
        folders = tuple(map(str, site_packages(environment.path)))
        variant = torch_cuda(environment.path)
        with changing_in_place(environment, folders, (item.name for item in planned.changes)) as change:
            run_steps(change_steps(planned, how.provision), running, lambda: None)
            _check(planned, variant, log)
            if how.provision and how.provision.checked:
                check_files(how.provision.checked.files, environment.path, log)
            if (environment.path / CONSTRAINTS).exists():
                hold_stack(environment.path, opened.word)
            write_record(environment.path, record)
            proof = how.verify(opened.python) if how.verify else None
            if proof is not None:
                write_record(environment.path, proven(record, proof.data, ok=proof.ok))
            if proof is None or proof.ok:
                change.keep()
    return Changed(log, proof)


def _check_unchanged(opened: Opened) -> None:
    if replace(opened, installed=read_installed(opened.paths.path)).versions != opened.versions:
        raise UsageError(
            tr("`{name}` has changed since this was planned", name=opened.paths.name),
            code="environment-changed",
            fixes=(Fix(tr("run the command again")),),
        )


def _check(planned: PlannedChange, variant: str | None, log: Path) -> None:
    """Raise InstallFailed unless what is installed differs just by the changes that were shown."""
    root = planned.opened.paths.path
    wanted = planned.opened.versions
    for change in planned.changes:
        if change.after is None:
            wanted.pop(change.name, None)
        else:
            wanted[change.name] = change.after
    actual = {package.name: package.version for package in read_installed(root)}
    wanted |= {name: actual.get(name, version) for name, version in wanted.items() if version == UNKNOWN}
    for name in sorted({*wanted, *actual}):
        if actual.get(name) != wanted.get(name):
            problem = tr(
                "{name} is {found}, not {wanted}", name=name,
                found=actual.get(name) or "-", wanted=wanted.get(name) or "-",
            )  # fmt: skip
            raise not_as_planned(problem, str(root), log)
    if planned.moved is not None:
        check_installed(planned.moved, root, log)
    elif "torch" in wanted and torch_cuda(root) != variant:
        text = tr("torch is for {found}, not for {wanted}", found=torch_cuda(root), wanted=variant)
        raise not_as_planned(text, str(root), log)


def _new_record(planned: PlannedChange) -> Record:
    """Return the record of the changed environment, which is not yet verified."""
    record = planned.opened.record
    unproven = replace(record, verified=None, verify=None, proof=None) if planned.changes else record
    if planned.moved is None or not planned.changes:
        return replace(unproven, plan=changed_plan(planned, record.plan))
    plan = render_plan_data(planned.moved)
    machines: list[dict[str, Any] | None] = plan.get("machines") or [None]
    plan = changed_plan(planned, {**plan, "packages": _all_packages(planned, plan)})
    plan["manager"] = record.manager
    return replace(unproven, plan=plan, machine=machines[0])


def _all_packages(planned: PlannedChange, plan: dict[str, Any]) -> list[Any]:
    """Return the new torch stack, and the recorded rows of all that stays."""
    pinned = {canonicalize_name(Requirement(pin).name) for pin in plan["pins"]}
    stack = [row for row in plan["packages"] if row["name"] in pinned]
    names = {row["name"] for row in stack}
    before = package_rows(planned.opened.record.plan)
    return [*stack, *(row for row in before if row.get("name") not in names)]
