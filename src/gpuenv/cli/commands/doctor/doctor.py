"""`gpuenv doctor`."""

from __future__ import annotations

import os
import shlex

from gpuenv.checks.diagnosis import Diagnosis, render_diagnosis
from gpuenv.cli.commands.doctor.options import DoctorArguments
from gpuenv.cli.commands.doctor.show import PROBLEM, as_error, show
from gpuenv.cli.console import Console
from gpuenv.cli.output import print_warnings
from gpuenv.doctor import examine as examination
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.plan import PlanWarning
from gpuenv.operations import interrupted_change
from gpuenv.planning.detect import detect


def doctor(environment: str | None, arguments: DoctorArguments, console: Console) -> int:
    """Diagnose an environment; return 6 if something is wrong."""
    _check(environment, arguments)
    if arguments.findings is not None:
        return _report(examination.judge(examination.load_findings(arguments.findings), os.environ), console)
    options = examination.DoctorOptions(verify=arguments.verify, trust=arguments.trust)
    named = str(arguments.python) if arguments.python else environment
    status = _recover(named, arguments, console)
    if status is not None:
        return status
    with console.working(tr("examining")):
        examined = examination.examine(named, os.environ, detect(os.environ), options)
    if arguments.save is not None:
        examination.save_findings(examined.findings, arguments.save)
    warnings = _warn_of_owner(examined, arguments)
    if arguments.fix and examined.diagnosis.root is not None:
        from gpuenv.cli.commands.doctor.fix import repair  # noqa: PLC0415 - plans, and loads what that takes

        return repair(examined, arguments, options, console)
    return _report(examined.diagnosis, console, warnings)


def _warn_of_owner(examined: examination.Examination, arguments: DoctorArguments) -> tuple[PlanWarning, ...]:
    """Warn where only files were read, as the rest is another user's code; a repair is refused."""
    if examined.other_owner is None:
        return ()
    path, owner = examined.located.label, examined.other_owner
    template = N_("`{path}` belongs to {owner}: only its files were read; --trust runs its Python")
    text = tr(template, path=path, owner=owner)
    if arguments.fix:
        command = f"gpuenv doctor {shlex.quote(path)} --fix --trust"
        fix = Fix(tr("run it anyway if you trust that user"), command)
        raise UsageError(text, code="other-owner", fixes=(fix,))
    return (PlanWarning("other-owner", text),)


def _check(environment: str | None, arguments: DoctorArguments) -> None:
    chosen = [name for name, given in (("ENV", environment), ("--python", arguments.python)) if given]
    chosen += ["--findings"] if arguments.findings else []
    if len(chosen) > 1:
        raise UsageError(tr("{options} are mutually exclusive", options=series(chosen)), code="usage")
    if arguments.findings and arguments.fix:
        raise UsageError(tr("--fix repairs this machine; it cannot be used with --findings"), code="usage")


def _recover(named: str | None, arguments: DoctorArguments, console: Console) -> int | None:
    """Complete or undo an interrupted change, with --fix; return a status if no environment is left."""
    environment = interrupted_change.place_meant(
        named or str(examination.locate_environment(None, os.environ).label), os.environ
    )
    if environment is None:
        return None
    if not arguments.fix:
        interrupted_change.refuse_half_changed(environment)
        return None
    if not interrupted_change.mend(environment):
        return None
    console.note(tr("an interrupted change of {path} was undone or completed", path=environment.path))
    if os.path.lexists(environment.path):
        return None
    data: dict[str, object] = {"environment": str(environment.path), "root": None, "checks": []}
    return console.print_json("doctor", data) if console.as_json else 0


def _report(diagnosis: Diagnosis, console: Console, warnings: tuple[PlanWarning, ...] = ()) -> int:
    if console.as_json:
        if diagnosis.root is not None:
            error = as_error(diagnosis)
            error.because += tuple(Because(warning.message, warning.code) for warning in warnings)
            raise error
        return console.print_json("doctor", render_diagnosis(diagnosis), warnings)
    show(diagnosis, console)
    print_warnings(warnings)
    return PROBLEM if diagnosis.root else 0
