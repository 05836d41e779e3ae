"""`gpuenv doctor`."""

from __future__ import annotations

import os
import shlex

from gpuenv.cli.commands.doctor.options import DoctorArguments
from gpuenv.cli.commands.doctor.show import PROBLEM, as_error, show
from gpuenv.cli.options import Common
from gpuenv.cli.output import envelope, note, print_json, print_warnings, working
from gpuenv.doctor import examine as looking
from gpuenv.doctor.diagnosis import Diagnosis, render_diagnosis
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.plan import PlanWarning
from gpuenv.operations import interrupted_change as mending
from gpuenv.planning.detect import detect


def doctor(environment: str | None, arguments: DoctorArguments, common: Common) -> int:
    """Say what is wrong with an environment; exit 6 where something is."""
    _check(environment, arguments)
    if arguments.findings is not None:
        return _tell(looking.judge(looking.load_findings(arguments.findings), os.environ), common)
    options = looking.DoctorOptions(verify=arguments.verify, trust=arguments.trust)
    named = str(arguments.python) if arguments.python else environment
    gone = _mend(named, arguments, common)
    if gone is not None:
        return gone
    with working(tr("examining"), quiet=common.quiet):
        examined = looking.examine(named, os.environ, detect(os.environ), options)
    if arguments.save is not None:
        looking.save_findings(examined.findings, arguments.save)
    warnings = _warn_of_owner(examined, arguments)
    if arguments.fix and examined.diagnosis.root is not None:
        from gpuenv.cli.commands.doctor.fix import repair  # noqa: PLC0415 - plans, and loads what that takes

        return repair(examined, arguments, options, common)
    return _tell(examined.diagnosis, common, warnings)


def _warn_of_owner(examined: looking.Examination, arguments: DoctorArguments) -> tuple[PlanWarning, ...]:
    """Warn where only files were read, as the rest is another user's code; a repair is refused."""
    if examined.other_owner is None:
        return ()
    path, owner = examined.located.label, examined.other_owner
    text = tr(
        "`{path}` belongs to {owner}: only its files were read; --trust runs its Python",
        path=path,
        owner=owner,
    )
    if arguments.fix:
        command = f"gpuenv doctor {shlex.quote(path)} --fix --trust"
        fix = Fix(tr("run it anyway if you trust that user"), command)
        raise UsageError(text, code="other-owner", fixes=(fix,))
    return (PlanWarning("other-owner", text),)


def _check(environment: str | None, arguments: DoctorArguments) -> None:
    chosen = [name for name, given in (("ENV", environment), ("--python", arguments.python)) if given]
    chosen += ["--findings"] if arguments.findings else []
    if len(chosen) > 1:
        raise UsageError(tr("{options} are mutually exclusive", options=", ".join(chosen)), code="usage")
    if arguments.findings and arguments.fix:
        raise UsageError(tr("--fix repairs this machine; it cannot be used with --findings"), code="usage")


def _mend(named: str | None, arguments: DoctorArguments, common: Common) -> int | None:
    """Mend what a killed gpuenv left, with --fix; return the exit status where nothing lies there then."""
    environment = mending.place_meant(
        named or str(looking.locate_environment(None, os.environ).label), os.environ
    )
    if environment is None:
        return None
    if not arguments.fix:
        mending.refuse_half_changed(environment)
        return None
    if not mending.mend(environment):
        return None
    if not common.quiet:
        note(tr("an interrupted change of {path} was undone or completed", path=environment.path))
    if os.path.lexists(environment.path):
        return None
    if common.as_json:
        print_json(envelope("doctor", {"environment": str(environment.path), "root": None, "checks": []}))
    return 0


def _tell(diagnosis: Diagnosis, common: Common, warnings: tuple[PlanWarning, ...] = ()) -> int:
    if common.as_json:
        if diagnosis.root is not None:
            error = as_error(diagnosis)
            error.because += tuple(Because(warning.message, warning.code) for warning in warnings)
            raise error
        print_json(envelope("doctor", render_diagnosis(diagnosis), warnings=warnings))
        return 0
    show(diagnosis, common)
    print_warnings(warnings)
    return PROBLEM if diagnosis.root else 0
