"""`gpuenv plan`: reads what a decision depends on, and decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.concurrency.background import BackgroundTask
from gpuenv.indexes.mirrors.load import Mirrors, load_mirrors
from gpuenv.indexes.mirrors.notes import none_answered
from gpuenv.installers import CONDA_MANAGERS, EMBEDDED
from gpuenv.model.conda import CondaChannel, EnvironmentFile
from gpuenv.model.errors import Because
from gpuenv.model.machine import Machine
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.planning.conda.choose import WHEELS, choose_channel, choose_manager, locate_asked
from gpuenv.planning.download_size import with_download
from gpuenv.planning.load_knowledge import load_knowledge, overlay_warnings
from gpuenv.planning.machines import choose_machines, is_described, locate
from gpuenv.planning.optional_requirements import with_numpy
from gpuenv.planning.options import PlanOptions, kind_asked
from gpuenv.planning.pages.listings import PlanListings, configuration_for, list_files, with_sizes
from gpuenv.planning.pages.torch_bound import with_bound_pages
from gpuenv.planning.pythons import offer_pythons
from gpuenv.planning.redact import without_passwords
from gpuenv.planning.requirements import GatheredRequirements, gather_requirements, original_request
from gpuenv.planning.steps import with_steps
from gpuenv.planning.warnings import (
    channel_not_read,
    warn_of_indexes,
    warn_of_settings,
    with_mirror_notes,
    with_shadow_warnings,
)
from gpuenv.resolution.decision import Decision
from gpuenv.resolution.digests import CONTRADICTED
from gpuenv.resolution.direct_urls import refuse_building
from gpuenv.resolution.plan_builder import build_plan, pins_of, sources_of
from gpuenv.resolution.request import Request, parse_cuda_option, parse_python
from gpuenv.resolution.resolve import ResolutionInput, build_input, decide
from gpuenv.secrets.url_credentials import has_userinfo

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from gpuenv.knowledge.knowledge import Knowledge
    from gpuenv.planning.conda.plan import ChannelQuery


def make_plan(options: PlanOptions, environ: Mapping[str, str], *, target: str) -> Plan:
    """Return the plan for an environment at `target`.

    Raises UsageError, Unsatisfiable (nothing satisfies the request) or Unreachable (no index could be read).
    """
    return read_basis(options, environ).plan(environ, target=target)


def read_basis(options: PlanOptions, environ: Mapping[str, str]) -> Basis:
    """Read what a plan is decided from.

    Raises UsageError, Unsatisfiable (where the machine's GPUs cannot be used) or Unreachable.
    """
    installer = choose_installer(options, environ)
    knowledge = load_knowledge(environ)
    machines = choose_machines(options, environ, knowledge)
    wanted = plan_request(options, installer, machines[0])
    options, request = wanted.options, wanted.request
    location = locate(machines, options, request.accelerator, knowledge)
    if location.is_accelerated and installer.channel != WHEELS:
        wanted = replace(wanted, warnings=(*wanted.warnings, channel_not_read(installer.channel)))
        installer = replace(installer, channel=WHEELS)
    # the installer lists its Pythons while the indexes are read
    pythons = BackgroundTask(lambda: offer_pythons(options, request.manager, location, knowledge, environ))
    if installer.channel != WHEELS:
        from gpuenv.planning.conda.plan import ChannelQuery  # noqa: PLC0415 - for conda alone

        query = ChannelQuery(request, location, installer.channel, pythons.result(), wanted.file.specs)
        return ChannelBasis(query, wanted, knowledge)
    listed = list_files(options, request, location, knowledge, environ)
    question = build_input(request, location, knowledge, listed.listings, pythons.result())
    return WheelBasis(question, listed, wanted)


class WheelBasis(Struct, frozen=True):
    """What a plan of wheels is decided from."""

    question: ResolutionInput
    listed: PlanListings
    wanted: PlanRequest

    def plan(self, environ: Mapping[str, str], *, target: str) -> Plan:
        """Decide; may raise Unsatisfiable or Unreachable."""
        return plan_of(self.question, self.listed, self.wanted, environ, target=target)

    def gives(self, plan: Plan, requirements: tuple[Requirement, ...]) -> bool:
        """Whether other requirements, for the same projects of the torch stack alone, give the same plan."""
        request = replace(self.wanted.request, requirements=requirements, optional=(), spelled_out=True)
        question = self.question.with_request(request)
        best = next(iter(decide(question).choices), None)
        if best is None:
            return False
        pins = pins_of(best, sources_of(best, self.listed.configurations[0], request.manager), question)
        return (str(best.candidate.variant), pins) == (plan.variant, plan.pins)


class ChannelBasis(Struct, frozen=True):
    """What a plan is decided from whose torch is a package of a conda channel."""

    query: ChannelQuery
    wanted: PlanRequest
    knowledge: Knowledge

    def plan(self, environ: Mapping[str, str], *, target: str) -> Plan:
        """Read the channel, and decide; may raise Unsatisfiable or Unreachable."""
        from gpuenv.planning.conda.plan import plan_from_channel  # noqa: PLC0415 - for conda alone

        wanted = self.wanted
        configuration = configuration_for(wanted.options, environ)
        plan = plan_from_channel(
            self.query, wanted.options, configuration, self.knowledge, wanted.mirrors, environ
        )
        return finished(in_conda(plan, wanted), wanted, environ, target)


Basis = WheelBasis | ChannelBasis


class Installer(Struct, frozen=True):
    """The installer, the channel that torch comes from (or `wheels`), and the known mirrors."""

    manager: str
    channel: str
    mirrors: Mirrors


def choose_installer(options: PlanOptions, environ: Mapping[str, str]) -> Installer:
    """Return the installer and its source of torch; may raise UsageError."""
    mirrors = load_mirrors(environ)
    manager = choose_manager(options, environ)
    return Installer(manager, choose_channel(options, manager, mirrors), mirrors)


class PlanRequest(Struct, frozen=True):
    """What is requested, with what the user's environment.yml adds to it, and warnings about that."""

    options: PlanOptions
    request: Request
    file: EnvironmentFile
    warnings: tuple[PlanWarning, ...]
    mirrors: Mirrors

    @property
    def cpu(self) -> bool:
        """Whether a CPU build is requested explicitly."""
        return self.request.accelerator == "cpu"


def plan_request(options: PlanOptions, installer: Installer, machine: Machine) -> PlanRequest:
    """Return what is requested; the selectors of an environment.yml are evaluated for `machine`."""
    manager = installer.manager
    if manager == EMBEDDED:
        options = replace(options, manager=manager)
    file = EnvironmentFile()
    warnings: tuple[PlanWarning, ...] = ()
    if options.environment_file is not None:
        from gpuenv.planning.conda.environment_yml import read_environment_file, with_file  # noqa: PLC0415

        file = read_environment_file(options.environment_file, machine)
        options, warnings = with_file(options, file, conda=manager in CONDA_MANAGERS)
    gathered = gather_requirements(options)
    if options.only_binary:
        refuse_building(map(str, gathered.requirements))
    request = _request(options, gathered, manager)
    return PlanRequest(options, request, file, (*warnings, *gathered.warnings), installer.mirrors)


def plan_of(
    question: ResolutionInput,
    listed: PlanListings,
    wanted: PlanRequest,
    environ: Mapping[str, str],
    *,
    target: str,
) -> Plan:
    """Return the plan of wheels that answers the question; may raise Unsatisfiable or Unreachable."""
    tried = bool(listed.stood_in or listed.silent)
    question = question.with_request(replace(question.request, mirrors_tried=tried))
    configuration = listed.configurations[0]
    question = with_bound_pages(question, configuration, wanted.options, environ)
    if not question.request.to_resolve:
        return _plan_of(question, listed, wanted, environ, target)
    from gpuenv.planning.releases.plan import plan_by_release  # noqa: PLC0415 - for other packages

    search = question, configuration, wanted.options, environ
    return plan_by_release(*search, lambda asked: _plan_of(asked, listed, wanted, environ, target))


def _plan_of(
    question: ResolutionInput,
    listed: PlanListings,
    wanted: PlanRequest,
    environ: Mapping[str, str],
    target: str,
) -> Plan:
    decision = decide(question)
    if not decision.choices:
        from gpuenv.resolution.report.refusal import refuse  # noqa: PLC0415 - where nothing works

        refusal = refuse(question, decision)
        contradicted = (item.message for item in listed.warnings if item.code == CONTRADICTED)
        refusal.because += none_answered(listed.silent)
        refusal.because += tuple(Because(message, "matrix wheels.json") for message in contradicted)
        raise refusal
    best, configuration = decision.choices[0], listed.configurations[0]
    question = with_numpy(question, best, configuration, wanted.options, environ)
    official = wanted.mirrors.find("official").torch
    question = replace(question, cpu_index=f"{official.address}/cpu" if official else None)
    if question.request.to_resolve:
        from gpuenv.planning.with_others import plan_with_others  # noqa: PLC0415 - for other packages

        plan = plan_with_others(question, decision, listed, wanted.options, environ)
    else:
        plan = build_plan(question, decision, best, configuration)
    return completed(plan, question, decision, listed, wanted, environ, target=target)


def completed(
    plan: Plan,
    question: ResolutionInput,
    decision: Decision,
    listed: PlanListings,
    wanted: PlanRequest,
    environ: Mapping[str, str],
    *,
    target: str,
) -> Plan:
    """Return a plan of wheels with its warnings and steps."""
    offline = wanted.options.offline
    plan = with_mirror_notes(plan, question, decision, listed)
    unread = (PlanWarning("configuration-unreadable", text) for text in listed.configurations[0].warnings)
    indexes = warn_of_indexes(plan, listed.listings, listed.configured, environ, offline=offline)
    plan = replace(plan, warnings=(*plan.warnings, *listed.warnings, *unread, *indexes))
    plan = with_shadow_warnings(plan, environ, offline=offline)
    if wanted.request.manager in CONDA_MANAGERS:
        from gpuenv.resolution.conda.plan_part import with_conda_python  # noqa: PLC0415 - for conda alone

        plan = in_conda(with_conda_python(plan, question.target, wanted.file.specs), wanted)
    return finished(plan, wanted, environ, target)


def finished(plan: Plan, wanted: PlanRequest, environ: Mapping[str, str], target: str) -> Plan:
    """Return a plan with warnings about the request, its sizes and its steps."""
    described = is_described(wanted.options)  # then no Python was looked for
    own = (item for item in plan.warnings if not (described and item.code == "python-download"))
    # what was requested, and those optional requirements that are part of the plan: both are recorded
    came = {*(package.name for package in plan.packages), *plan.requirements}
    plan = replace(
        plan,
        warnings=(*own, *wanted.warnings, *overlay_warnings(environ), *warn_of_settings(environ)),
        asked=original_request(wanted.options, wanted.request.typed(*came).requirements),
    )
    plan = with_download(with_sizes(plan, wanted.options, environ), wanted.options, environ, target)
    return without_passwords(with_steps(plan, target))


def in_conda(plan: Plan, wanted: PlanRequest) -> Plan:
    """Return the plan with the places of its channels, those of the user's file behind its own."""
    if plan.conda is None:
        return plan
    file, options, mirrors = wanted.file, wanted.options, wanted.mirrors
    own = tuple(channel.name for channel in plan.conda.channels)
    channels: dict[str, CondaChannel] = {}
    for channel in (*locate_asked(own, options, mirrors), *locate_asked(file.channels, options, mirrors)):
        known = channels.setdefault(channel.name, channel)
        is_better = not known.urls or any(map(has_userinfo, channel.urls))  # a name has no password
        channels[channel.name] = channel if is_better else known
    part = replace(plan.conda, channels=tuple(channels.values()), kept=file.kept)
    # conda always installs the Python: no warning
    warnings = tuple(warn for warn in plan.warnings if warn.code != "python-download")
    return replace(plan, conda=part, warnings=warnings)


def _request(options: PlanOptions, gathered: GatheredRequirements, manager: str) -> Request:
    return Request(
        requirements=gathered.requirements,
        python=parse_python(options.python) if options.python else None,
        variant=parse_cuda_option(options.cuda),
        kind=kind_asked(options),
        devices=options.devices,
        manager=manager,
        offline=options.offline,
        program=options.program,
        options=options.as_typed,
        optional=gathered.optional,
        spelled_out=not gathered.optional,
    )
