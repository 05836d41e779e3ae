"""D02: a driver older than the CUDA of the build."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings
from gpuenv.resolution.rules.driver import is_native, least_driver, runs
from gpuenv.resolution.target import driver_os

ID = "D02"


def check(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Compare the driver with the floor of the CUDA that torch was built with."""
    cuda, machine = subject.cuda_of(findings), findings.machine
    if cuda is None or machine.driver is None:
        return skipped(tr("no CUDA build, or no driver"))
    floor = least_driver(cuda, driver_os(machine), knowledge)
    version = machine.driver.version
    read = tr("driver {driver}, built for CUDA {cuda}", driver=version, cuda=cuda)
    if floor is None:
        return skipped(read)
    facts = {"torch": subject.torch_label(findings), "cuda": cuda, "floor": floor.version, "driver": version}
    if not runs(cuda, machine, knowledge) and not subject.proven(findings):
        return problem("too-old", read, **facts)
    if not is_native(cuda, machine, knowledge) and subject.failed(findings):
        return warning("minor", read, **facts)
    return ok(read)
