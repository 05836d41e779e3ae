"""What a driver that is too old for the torch of a text does run."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from gpuenv.explanation.pip_line import install_line, served, with_companions
from gpuenv.explanation.reported_machine import driver_cuda_of, driver_of, machine_of, target_of
from gpuenv.explanation.wheel_facts import runs, wheel_facts
from gpuenv.explanation.wheel_question import PYPI
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import DriverOs
from gpuenv.signatures.reported import Reported


def driver_facts(reported: Reported, knowledge: Knowledge) -> dict[str, str]:
    """Return `driver_cuda`, which a text's driver supports at most (11.4), and what installs torch for it.

    `driver_line` has the newest torch that the driver runs, by minor-version compatibility too, with the
    companions that the text names, for its Python and its GPUs as far as they are known.
    """
    machine = machine_of(reported, knowledge)
    platform = machine.platform or "linux-64"
    system: DriverOs = "windows" if platform == "win-64" else "linux"
    try:
        driver = Version(driver_of(reported, knowledge, windows=system == "windows") or "")
    except InvalidVersion:
        return {}
    newest = driver_cuda_of(machine, platform, knowledge) or knowledge.driver_cuda(driver, system)
    if newest is None or machine.is_mac:
        return {}
    target = target_of(machine, knowledge)
    minor = int(machine.python.partition(".")[2]) if machine.python else None
    fitting = [
        fact
        for fact in wheel_facts("torch", knowledge)
        if fact.build.platform == platform and fact.page != PYPI and runs(fact, target, knowledge)
        if fact.listed and (minor is None or minor in fact.listed)
    ]
    for torch in sorted({fact.version for fact in fitting}, reverse=True):
        builds = [fact.build for fact in fitting if fact.version == torch]
        if variant := served(builds, driver, system, knowledge):
            wanted = with_companions(torch, str(variant), reported.values, knowledge)
            line = install_line(wanted, reported.values)
            return {"driver_cuda": str(newest)} | ({"driver_line": line} if line else {})
    return {"driver_cuda": str(newest)}
