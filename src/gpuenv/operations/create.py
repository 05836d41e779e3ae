"""Create an environment: apply a plan, check the result, verify."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.environments import transaction
from gpuenv.environments.check_installed import check_installed
from gpuenv.environments.conda.foreign import exporting
from gpuenv.environments.file_lock import WAIT_S, locked
from gpuenv.environments.listing import note_external
from gpuenv.environments.os_errors import convert_os_error
from gpuenv.environments.pending import is_pending
from gpuenv.environments.record import Record, write_record
from gpuenv.environments.run_steps import StepEnvironment, check_space, new_log, run_steps
from gpuenv.environments.store import find_place
from gpuenv.environments.wheel_check import FileCheck
from gpuenv.i18n.messages import tr
from gpuenv.installers import CONDA_MANAGERS, get_manager
from gpuenv.installers.protocol import environment_python
from gpuenv.model.errors import InstallFailed
from gpuenv.model.plan import Plan
from gpuenv.on_disk.journal import Transaction
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.operations.settle import settling
from gpuenv.operations.unverified import proof_interrupted
from gpuenv.process import interruption


class Verified(Struct, frozen=True):
    """A verification: whether the environment does what the plan promised, and its data."""

    ok: bool
    data: dict[str, Any]


Verify = Callable[[Path], Verified]  # takes the environment's interpreter


class CreateResult(Struct, frozen=True):
    """The result; `restored`: verification failed and the replaced environment was restored."""

    name: str
    path: Path
    python: Path
    log: Path
    verified: Verified | None
    restored: bool = False
    export: Path | None = None  # of what was replaced, where gpuenv had not made it


class Options(Struct, frozen=True):
    """How to create: replace an environment, show the installer's output, report progress."""

    force: bool = False
    foreign: bool = False  # with `force`: also one of a conda tool that gpuenv did not make
    show: bool = True
    tell: Callable[[str], None] = lambda _: None
    detail: Callable[[str], None] = lambda _: None  # for -v
    wait_s: float = WAIT_S
    executables: Mapping[str, str] | None = None  # None: where the manager finds them
    log: Path | None = None  # None: a new one
    progress: Callable[[int, int], None] = lambda _, __: None  # bytes that conda has fetched, and all of them
    phase: Callable[[str, int, int], None] = lambda _, __, ___: None  # what conda is at, packages done, all
    settled: Callable[[], None] = lambda: None  # conda has ended
    request: str | None = None  # the digest of the request, for the record


def check_name(
    name: str, *, environ: Mapping[str, str], force: bool, manager: str = "", foreign: bool = False
) -> EnvironmentPaths:
    """Return where the environment would go; raise UsageError early where `create` would refuse."""
    environment = _find_place(name, environ, manager)
    if not is_pending(environment):
        transaction.check_free(environment, force=force, foreign=foreign)
    return environment


def begin_log(environment: EnvironmentPaths) -> Path:
    """Return an empty log for what is fetched before `create`; raise UsageError where none can be kept."""
    log = new_log(environment)
    try:
        log.touch(mode=0o600)  # indexes may have passwords
    except OSError as error:
        raise convert_os_error(log, error) from error
    return log


def create(
    name: str,
    plan: Plan,
    plan_data: dict[str, Any],
    *,
    environ: Mapping[str, str],
    verify: Verify | None = None,
    options: Options | None = None,
) -> CreateResult:
    """Apply the plan, whose steps were made for this name's path, and verify it.

    A failed verification leaves a new environment in place, recorded as not working, and restores a replaced
    one. Raises UsageError (name taken or busy), InstallFailed (the previous environment was restored) and
    ProofInterrupted where Ctrl-C ended the verification of a new one; a replaced one is restored then, too.
    """
    options = options or Options()
    environment = _find_place(name, environ, plan.manager)
    with interruption.heeded(), locked(environment, wait_s=options.wait_s, tell=options.tell) as descriptors:
        if transaction.recover(environment):
            options.tell(tr("an interrupted change of `{name}` was undone", name=environment.name))
        transaction.check_free(environment, force=options.force, foreign=options.foreign)
        log = options.log or new_log(environment)
        running = _running(plan, environ, options, log, descriptors)
        with (
            exporting(environment) as export,
            transaction.changing(environment, force=options.force, foreign=options.foreign) as change,
        ):
            machines = plan_data.get("machines") or [None]
            record = Record(
                environment.name, _now(), plan.manager, plan_data, machines[0], request=options.request
            )
            install = partial(_install, plan, environment, running, options, change.mark)
            result = _build(environment, plan, record, change, running, install, verify)
            return replace(result, export=None if result.restored else export)


def _find_place(name: str, environ: Mapping[str, str], manager: str) -> EnvironmentPaths:
    if manager not in CONDA_MANAGERS:
        return find_place(name, environ)
    from gpuenv.operations.create_conda import environments_home  # noqa: PLC0415 - for conda alone

    return find_place(name, environ, environments_home(manager, environ))


def _running(
    plan: Plan, environ: Mapping[str, str], options: Options, log: Path, descriptors: tuple[int, ...]
) -> StepEnvironment:
    executables: Mapping[str, str] = {}
    if plan.conda is None:
        manager = get_manager(plan.manager)
        environ = manager.environment(environ, plan.sources)
        executables = manager.executables() if options.executables is None else options.executables
    return StepEnvironment(
        environ=environ,
        log=log,
        executables=executables,
        show=options.show,
        keep_open=descriptors,
        tell=options.tell,
        detail=options.detail,
    )


def _install(
    plan: Plan,
    environment: EnvironmentPaths,
    running: StepEnvironment,
    options: Options,
    mark: Callable[[], None],
) -> None:
    if plan.conda is None:
        run_steps(plan.steps, running, mark)
        return
    from gpuenv.operations.create_conda import CondaCreation, make_conda_environment  # noqa: PLC0415

    making = CondaCreation(running, options.progress, mark, options.phase, options.settled)
    make_conda_environment(plan, plan.conda, environment, making)


def _build(
    environment: EnvironmentPaths,
    plan: Plan,
    record: Record,
    change: Transaction,
    running: StepEnvironment,
    install: Callable[[], None],
    verify: Verify | None,
) -> CreateResult:
    if plan.download is None:  # otherwise checked before it was offered
        check_space(environment, sum(package.size or 0 for package in plan.packages))
    log = running.log
    file_check = FileCheck(plan.checked.files) if plan.checked else None
    install()
    python = _interpreter(environment, plan, log)
    with settling(environment, plan, running.environ, running.tell):
        check_installed(plan, environment.path, log)
        if file_check:
            file_check.compare(environment.path, log)
    record = replace(record, created=_now())
    write_record(environment.path, record)
    note_external(environment)
    try:
        if not change.replaces:  # it is whole, and nothing waits to come back
            change.commit()
        verified = verify(python) if verify else None
    except KeyboardInterrupt:
        if verify and change.committed:
            raise proof_interrupted(environment.name, environment.path, python) from None
        raise
    if verified:
        from gpuenv.operations.proof_age import proven  # noqa: PLC0415 - not for --no-verify

        write_record(environment.path, proven(record, verified.data, ok=verified.ok))
    restored = change.replaces and verified is not None and not verified.ok
    if restored:
        change.roll_back()
    elif change.replaces:
        change.commit()
    return CreateResult(environment.name, environment.path, python, log, verified, restored)


def _interpreter(environment: EnvironmentPaths, plan: Plan, log: Path) -> Path:
    system = "windows" if os.name == "nt" else "linux"
    python = Path(environment_python(str(environment.path), system))
    if plan.conda is not None:
        from gpuenv.installers.conda import commands as conda_calls  # noqa: PLC0415 - for conda alone

        python = Path(conda_calls.environment_python(str(environment.path), system))
    if not python.exists():
        raise InstallFailed(
            tr("the installer did not create an interpreter at `{path}`", path=python),
            code="not-as-planned",
            data={"log": str(log)},
        )
    return python


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
