"""`gpuenv fleet`: detect, plan, create and verify on many machines."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.cli.commands.fleet.options import FleetArguments, FleetCreateArguments
from gpuenv.cli.commands.fleet.progress import watching
from gpuenv.cli.commands.plan.options import RequestArguments
from gpuenv.cli.commands.plan.plan import options_of
from gpuenv.cli.console import Console
from gpuenv.cli.output import (
    check_terminal,
    confirm,
    note,
    print_data,
    print_error,
    without_passwords,
)
from gpuenv.cli.table import render_table, terminal_width
from gpuenv.fleet.choose_engine import EngineOptions, choose_engine
from gpuenv.fleet.names import check_environment, group_names
from gpuenv.fleet.output_files import check_report, save_machines, write_report
from gpuenv.fleet.render.plan import render_groups
from gpuenv.fleet.render.run import (
    columns_of,
    counts_in_words,
    error_of,
    machine_problems,
    render_run_data,
    table_rows,
)
from gpuenv.fleet.run import Fleet, check_options
from gpuenv.fleet.run_model import Engine, FleetRun
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import GpuenvError, UsageError
from gpuenv.operations.verify import VerifyOptions
from gpuenv.planning.options import PlanOptions

_INTERRUPTED = 130


def detect(where: FleetArguments, output: Path | None, console: Console) -> int:
    """Detect each machine, and save the result."""
    session = _Session.of("detect", None, where, console)
    run = session.carry_out(Fleet.detect)
    return session.tell(run, saved=output)


def plan(wanted: RequestArguments, where: FleetArguments, console: Console) -> int:
    """Plan for the machines as they are now."""
    session = _Session.of("plan", None, where, console)
    options = _options(wanted, where, "plan")

    def work(fleet: Fleet) -> None:
        fleet.detect()
        with console.working(tr("reading indexes")):
            fleet.decide(options)

    return session.tell(session.carry_out(work))


def create(
    name: str,
    wanted: RequestArguments,
    chosen: FleetCreateArguments,
    where: FleetArguments,
    console: Console,
) -> int:
    """Plan, show, ask, apply and verify on all machines."""
    check_environment(name)
    session = _Session.of("create", name, where, console, check=chosen.check)
    if not (chosen.yes or chosen.check):
        check_terminal()
    options = _options(wanted, where, "create", name)

    def work(fleet: Fleet) -> None:
        fleet.detect()
        with console.working(tr("reading indexes")):
            fleet.decide(options)
            fleet.lock(options)
        session.offer(fleet, ask=not (chosen.yes or chosen.check))
        shared = session.engine.name == "slurm" if chosen.shared_home is None else chosen.shared_home
        names = group_names(name, fleet.plan, shared_home=shared) if fleet.plan else {}
        fleet.create(names, force=chosen.force, check=chosen.check)
        if chosen.verify and not chosen.check:
            fleet.verify(names, VerifyOptions())

    return session.tell(session.carry_out(work))


def verify(name: str, options: VerifyOptions, where: FleetArguments, console: Console) -> int:
    """Verify an environment on all machines."""
    check_environment(name)
    session = _Session.of("verify", name, where, console)

    def work(fleet: Fleet) -> None:
        fleet.detect()
        fleet.verify(name, options)

    return session.tell(session.carry_out(work))


def _options(wanted: RequestArguments, where: FleetArguments, *command: str) -> PlanOptions:
    """Return the plan's options; commands in its advice name the same machines."""
    named = [word for path in where.inventory or () for word in ("-i", str(path))]
    named += ["-p", where.partition] if where.partition else []
    named += ["--limit", where.limit] if where.limit else []
    options = options_of(wanted, ("gpuenv", "fleet", *command, *named))
    options = replace(options, gpus=())  # of GPUENV_GPU: these machines have their own
    check_options(options, os.environ)
    return options


class _Session(Struct, frozen=True):
    """One command: its engine, and how it reports."""

    command: FleetRun
    engine: Engine
    report: Path | None
    console: Console

    @classmethod
    def of(
        cls, command: Any, name: str | None, where: FleetArguments, console: Console, *, check: bool = False
    ) -> _Session:
        if where.report is not None:
            check_report(where.report)
        options = EngineOptions(
            tuple(map(str, where.inventory or ())),
            where.partition,
            where.limit,
            where.forks,
            where.timeout_s,
            where.wait_s,
            tuple(where.slurm_options or ()),
        )
        engine = choose_engine(options, os.environ)
        return cls(FleetRun(command, engine.name, (), name, check=check), engine, where.report, console)

    def carry_out(self, work: Callable[[Fleet], None]) -> FleetRun:
        """Do the work; return what is known of the machines, of an interrupted one as well."""
        with watching(self.console) as watcher:
            fleet = Fleet(self.engine, watcher, os.environ)
            try:
                work(fleet)
            except KeyboardInterrupt:
                if not fleet.hosts:
                    raise
                return fleet.run(replace(self.command, interrupted=True))
            except GpuenvError as error:
                error.data = error.data or (render_run_data(fleet.run(self.command)) if fleet.hosts else None)
                raise
        return fleet.run(self.command)

    def offer(self, fleet: Fleet, *, ask: bool) -> None:
        """Show the plan, and ask whether it may be carried out."""
        run = fleet.run(replace(self.command, command="plan"))
        ready = sum(outcome.state == "planned" for outcome in run.hosts)
        if not self.console.as_json and (ask or not self.console.quiet):
            _print_plan(run, self.console)
        if ask and ready:
            facts = {"name": self.command.environment, "count": ready}
            confirm(tr("create {name} on these machines ({count})?", **facts))

    def tell(self, run: FleetRun, *, saved: Path | None = None) -> int:
        """Print and write the outcome; return the exit status."""
        error = _interrupted() if run.interrupted else error_of(run)
        files, unwritable = self._write(run, saved)
        error = error or unwritable
        written = {"report": str(self.report) if self.report else None, "saved": files}
        data = without_passwords({**render_run_data(run), **written})
        if self.console.as_json:
            self.console.print_json(f"fleet {run.command}", data, run.warnings, error)
        else:
            self._print(run, files)
            self._print_errors(run, error, unwritable)
        return _INTERRUPTED if run.interrupted else error.exit_code if error else 0

    def _print_errors(self, run: FleetRun, *errors: GpuenvError | None) -> None:
        if run.interrupted:
            note(_interrupted().message)
        for error in dict.fromkeys(errors):
            if error is None or error.code == "interrupted":
                continue
            if run.command == "plan":
                error.because = ()  # shown under the table
            print_error(error, verbose=self.console.verbose)

    def _write(self, run: FleetRun, saved: Path | None) -> tuple[list[str], UsageError | None]:
        """Write the requested files; return the error for one that could not be written."""
        try:
            files = [str(path) for path in save_machines(run, saved)] if saved else []
            if self.report is not None:
                write_report(run, self.report)
        except UsageError as error:
            return [], error
        return files, None

    def _print(self, run: FleetRun, files: list[str]) -> None:
        quiet = self.console.quiet
        if run.command == "plan":
            _print_plan(run, self.console)
        elif not (quiet and run.command == "create"):
            print_data(render_table(table_rows(run), columns_of(run, brief=True), width=terminal_width()))
        if quiet:
            return
        for problem in machine_problems(run) if run.command == "detect" else ():
            note(tr("warning: {message}", message=problem), "warning")
        if files:
            folder = Path(files[0]).parent
            note(tr("saved the machines in {folder} ({count})", count=len(files), folder=folder))
        if self.report is not None and self.report.is_file():
            note(tr("wrote {file}", file=self.report))
        unchanged = run.command == "create" and not run.check and not run.changed
        counts = counts_in_words(run)
        note(tr("{counts}: nothing was changed", counts=counts) if unchanged else counts)


def _print_plan(run: FleetRun, console: Console) -> None:
    console.warn(run.warnings)
    table = render_table(table_rows(run), columns_of(run), width=terminal_width())
    groups = render_groups(run.fleet, verbose=console.verbose) if run.fleet else ""
    print_data(f"{table}\n\n{groups}" if groups else table)


def _interrupted() -> GpuenvError:
    return GpuenvError(tr("interrupted; partial files were removed"), code="interrupted")
