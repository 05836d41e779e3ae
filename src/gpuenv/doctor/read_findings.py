"""Read all that doctor judges: every edge once, none of the environment's code is run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gpuenv.doctor.probes import gpus, kernel, package_indexes, shadowing, system, torch_files
from gpuenv.environments.conda.meta import installed_names
from gpuenv.environments.contents.dists import read_dists, read_leftovers, read_shared_files
from gpuenv.environments.interpreter import ask_interpreter, read_interpreter
from gpuenv.environments.record import read_record
from gpuenv.explanation.explain import find_matches
from gpuenv.model.findings import CondaPackage, Findings, Proof
from gpuenv.model.machine import Machine
from gpuenv.operations.verify import VerifyResult, planned_of
from gpuenv.verification.locate import LocatedPython


def read_findings(
    located: LocatedPython,
    machine: Machine,
    environ: Mapping[str, str],
    *,
    named: bool = True,
    root: Path = Path("/"),
    here: Path | None = None,
    files_only: bool = False,
) -> Findings:
    """Read an environment and its machine.

    `root` is where /proc, /sys and /dev are, `here` the directory in which the user works. With `files_only`
    the environment's Python is not started.
    """
    if files_only:
        python = read_interpreter(located.python, located.root)
    else:
        python = ask_interpreter(located.python, located.root, environ)
    torch = torch_files.read_torch(python, environ, root)
    dists = read_dists((*python.packages, *((python.user_site or "",) if python.uses_user_site else ())))
    broken = bool(machine.blocking_problems) or not machine.gpus
    work = here or Path.cwd()
    disk = Path(python.packages[0]) if python.packages else located.python.parent
    planned = planned_of(read_record(located.root)) if located.root else None
    driver = kernel.read_kernel(root, environ, messages=broken and machine.system.os == "linux")
    return Findings(
        environment=located.label,
        machine=machine,
        python=python,
        named=named,
        torch=torch,
        dists=dists,
        shared_files=read_shared_files(dists),
        leftovers=read_leftovers(python.packages[:1]),
        conda=_conda(located),
        foreign_torch=shadowing.read_foreign_torch(python, torch, environ),
        foreign_libraries=shadowing.read_foreign_libraries(torch, dists, environ),
        driver_libraries=shadowing.read_driver_libraries(driver, environ, root),
        here=shadowing.read_here(work, python),
        first_python=shadowing.first_python(environ),
        programs=shadowing.schedulers(environ),
        variables=system.read_variables(environ),
        nodes=gpus.read_nodes(root),
        pci=gpus.read_devices(root),
        states=gpus.read_states(environ, root) if machine.gpus else (),
        kernel=driver,
        limits=system.read_limits(root, disk),
        windows=system.read_windows(environ) if os.name == "nt" else None,
        indexes=package_indexes.read_indexes(environ, prefix=located.root, root=root, here=work),
        lost_certificates=package_indexes.lost_certificates(environ, work),
        unread=torch_files.read_unread(python),
        distribution=system.read_distribution(root),
        cpu_requested=planned is not None and planned.cpu_requested,
        planned_without_gpu=planned is not None and planned.without_gpu,
    )


def _conda(located: LocatedPython) -> tuple[CondaPackage, ...]:
    if located.root is None:
        return ()
    try:
        names = installed_names(located.root)
    except OSError:
        return ()
    return tuple(CondaPackage(item.name, item.version, item.build) for item in names.values())


def proof_of(result: VerifyResult) -> Proof:
    """Return what verify proved, as a finding; a failure with what is known of its error."""
    errors = tuple(problem.text for problem in result.verdict.problems)
    printed = "\n".join((*result.report.messages, *errors))
    known = None if result.ok else next(iter(find_matches(printed)), None)
    failure = result.report.failure
    return Proof(
        ok=result.ok,
        gpus=len(result.report.gpus),
        codes=tuple(problem.code for problem in result.verdict.problems),
        errors=errors,
        messages=(*result.report.messages, *(failure.lines if failure and not failure.missing else ())),
        signature=known.id if known else None,
        cause=known.cause if known else None,
        fix=known.fix if known else None,
    )
