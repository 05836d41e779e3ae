"""What a plan hands to resolvers and installers: a query, and the commands that create an environment."""

from __future__ import annotations

import sys

from msgspec.structs import replace
from packaging.version import Version

from gpuenv.installers import get_conda_manager, get_manager, uv
from gpuenv.installers.protocol import InstallRequest
from gpuenv.installers.uv_compile import CompileInput
from gpuenv.model.conda import CondaChannel, CondaPlan, CondaWanted
from gpuenv.model.plan import Plan
from gpuenv.planning.machines import is_here
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.target import common_platform
from gpuenv.secrets.url_credentials import redact_credentials


def resolver_question(plan: Plan, options: PlanOptions) -> CompileInput:
    """Return what is to be resolved for a plan: all its requirements, with its torch stack fixed."""
    here = is_here(options, plan.machines)
    # the glibc that all the machines have, MAJOR.MINOR; None where it is not known
    versions = (machine.system.libc_version for machine in plan.machines)
    releases = (machine.system.macos for machine in plan.machines)
    return CompileInput(
        pins=plan.pins,
        requirements=plan.requirements,
        constraints=plan.constraints,
        sources=plan.sources,
        python=plan.python,
        platform=None if here and options.glibc is None else common_platform(plan.machines),
        glibc=min((version for version in versions if version), key=Version, default=None),
        macos=min((release for release in releases if release), key=Version, default=None),
        offline=options.offline,
        interpreter=(plan.python_path if here else None) or sys.executable,
    )


def with_steps(plan: Plan, target: str) -> Plan:
    """Return the plan with the commands that make the environment at `target`."""
    wanted = InstallRequest(
        pins=plan.pins,
        requirements=plan.requirements,
        constraints=plan.constraints,
        sources=plan.sources,
        python=plan.python,
        python_path=plan.python_path,
        target=target,
        system=plan.machines[0].system.os,
        hashed=plan.hashed,
        release=plan.python_release,
        checked=None if plan.hashed else plan.checked,  # a lock has hashes of its own
        held=plan.held,
    )
    if plan.conda is None:
        return replace(plan, steps=get_manager(plan.manager).steps(wanted))
    steps = get_conda_manager(plan.manager).steps(conda_wanted(_by_address(plan.conda), target))
    steps = tuple(replace(step, why=redact_credentials(step.why)) for step in steps)
    if has_pip_part(plan):
        from gpuenv.installers.conda import commands as conda_calls  # noqa: PLC0415 - for conda alone

        steps += uv.install_steps(wanted, conda_calls.environment_python(target, wanted.system))
    return replace(plan, steps=steps)


def _by_address(part: CondaPlan) -> CondaPlan:
    """Name the channels by their URLs: in a shell, no condarc of gpuenv's maps them to a mirror."""
    named = (CondaChannel(channel.urls[0], ()) if channel.urls else channel for channel in part.channels)
    return replace(part, channels=tuple(named))


def conda_wanted(part: CondaPlan, target: str) -> CondaWanted:
    """Return what a conda tool is to create at `target`."""
    return CondaWanted(part.channels, part.specs, part.pins, part.cuda, part.subdir, target)


def has_pip_part(plan: Plan) -> bool:
    """Whether wheels are installed into a conda environment: torch's, or what is requested from PyPI."""
    if plan.conda is None:
        return False
    from gpuenv.resolution.conda.plan_part import wheels_beside  # noqa: PLC0415 - for conda alone

    return bool(wheels_beside(plan))
