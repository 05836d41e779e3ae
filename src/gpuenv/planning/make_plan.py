"""`gpuenv plan`: reads what a decision depends on, and decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuenv.concurrency.background import BackgroundTask
from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.load import Mirrors, load_mirrors
from gpuenv.indexes.mirrors.notes import none_answered
from gpuenv.installers import CONDA_MANAGERS, EMBEDDED
from gpuenv.model.conda import CondaChannel, EnvironmentFile
from gpuenv.model.errors import Because, Fix, Unreachable, Unsatisfiable
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.machine import Machine
from gpuenv.model.plan import Plan, PlannedPackage, PlanWarning
from gpuenv.planning.conda.choose import WHEELS, choose_channel, choose_manager, locate_asked
from gpuenv.planning.download_size import with_download
from gpuenv.planning.index_order import unread_private, with_origin
from gpuenv.planning.load_knowledge import load_knowledge, overlay_warnings
from gpuenv.planning.machines import choose_machines, is_described
from gpuenv.planning.optional_requirements import with_numpy
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.listings import PlanListings, configuration_for, list_files, with_sizes
from gpuenv.planning.pages.project_pages import Pages
from gpuenv.planning.pages.torch_bound import with_bound_pages
from gpuenv.planning.pythons import offer_pythons
from gpuenv.planning.redact import without_passwords
from gpuenv.planning.requirements import GatheredRequirements, gather_requirements, original_request
from gpuenv.planning.steps import resolver_question, with_steps
from gpuenv.planning.warnings import (
    warn_of_indexes,
    warn_of_settings,
    with_mirror_notes,
    with_shadow_warnings,
)
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.digests import CONTRADICTED
from gpuenv.resolution.direct_urls import refuse_building
from gpuenv.resolution.plan_builder import build_plan
from gpuenv.resolution.request import Request, parse_cuda_option, parse_python
from gpuenv.resolution.resolve import ResolutionInput, build_input, decide
from gpuenv.resolution.target import choose_target
from gpuenv.secrets.url_credentials import has_userinfo

if TYPE_CHECKING:
    from gpuenv.installers.uv_compile import Resolved
    from gpuenv.installers.uv_failure import Unresolvable


def make_plan(options: PlanOptions, environ: Mapping[str, str], *, target: str) -> Plan:
    """Return the plan for an environment at `target`.

    Raises UsageError, Unsatisfiable (nothing satisfies the request) or Unreachable (no index could be read).
    """
    installer = choose_installer(options, environ)
    knowledge = load_knowledge(environ)
    machines = choose_machines(options, environ, knowledge)
    wanted = plan_request(options, installer, machines[0])
    options, request = wanted.options, wanted.request
    location = choose_target(machines, options.devices, cpu=wanted.cpu)
    # the installer lists its Pythons while the indexes are read
    pythons = BackgroundTask(lambda: offer_pythons(options, request.manager, location, knowledge, environ))
    if installer.channel != WHEELS:
        from gpuenv.planning.conda.plan import ChannelQuery, plan_from_channel  # noqa: PLC0415 - for conda alone

        query = ChannelQuery(request, location, installer.channel, pythons.result(), wanted.file.specs)
        configuration = configuration_for(options, environ)
        plan = plan_from_channel(query, options, configuration, knowledge, installer.mirrors, environ)
        return finished(in_conda(plan, wanted), wanted, environ, target)
    listed = list_files(options, request, location, knowledge, environ)
    question = build_input(request, location, knowledge, listed.listings, pythons.result())
    return plan_of(question, listed, wanted, environ, target=target)


@dataclass(frozen=True, slots=True)
class Installer:
    """The installer, the channel that torch comes from (or `wheels`), and the known mirrors."""

    manager: str
    channel: str
    mirrors: Mirrors


def choose_installer(options: PlanOptions, environ: Mapping[str, str]) -> Installer:
    """Return the installer and its source of torch; may raise UsageError."""
    mirrors = load_mirrors(environ)
    manager = choose_manager(options, environ)
    return Installer(manager, choose_channel(options, manager, mirrors), mirrors)


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is requested, with what the user's environment.yml adds to it, and warnings about that."""

    options: PlanOptions
    request: Request
    file: EnvironmentFile
    warnings: tuple[PlanWarning, ...]
    mirrors: Mirrors

    @property
    def cpu(self) -> bool:
        """Whether a CPU build is requested explicitly."""
        return self.request.variant is not None and self.request.variant.is_cpu


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
    question = with_bound_pages(question, listed.configurations[0], wanted.options, environ)
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
    plan = _with_first_index(question, decision, listed, wanted.options, environ)
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
    if plan.conda is not None:
        from gpuenv.planning.conda.plan import with_known_tool  # noqa: PLC0415 - for conda alone

        plan = with_known_tool(plan, environ)
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
        devices=options.devices,
        manager=manager,
        offline=options.offline,
        program=options.program,
        options=options.as_typed,
        optional=gathered.optional,
        spelled_out=not gathered.optional,
    )


def _with_first_index(
    question: ResolutionInput,
    decision: Decision,
    listed: PlanListings,
    options: PlanOptions,
    environ: Mapping[str, str],
) -> Plan:
    """Return the plan with the first index that serves all that it needs."""
    configurations = listed.configurations
    if not question.request.to_resolve:
        return build_plan(question, decision, decision.choices[0], configurations[0], ())
    first, *others = configurations
    known = load_mirrors(environ).all
    unread = None if options.offline else unread_private(question.request.to_resolve, listed, known)
    try:
        return _resolve_jointly(question, decision, first, options, environ, unread)
    except Unreachable as error:
        if error is unread:
            raise
        if not others:
            raise with_origin(error, listed.configured) from None
        passed_over = _passed_over(first, error)
    listed = replace(listed, configurations=tuple(others))
    plan = _with_first_index(question, decision, listed, options, environ)
    return replace(plan, warnings=(*plan.warnings, passed_over))


def _passed_over(configuration: IndexConfiguration, error: Unreachable) -> PlanWarning:
    """Warn of an index that does not have the other packages."""
    index = configuration.index_url
    location = (index.name or index.url) if index else tr("the installer's default")
    text = tr("the index `{place}` was skipped: {problem}", place=location, problem=error.message)
    details = "; ".join(because.text for because in error.because)
    return PlanWarning("index-passed-over", f"{text} ({details})" if details else text)


def _resolve_jointly(
    question: ResolutionInput,
    decision: Decision,
    configuration: IndexConfiguration,
    options: PlanOptions,
    environ: Mapping[str, str],
    unread: Unreachable | None,
) -> Plan:
    from gpuenv.planning.complete_wheelhouses import compile_requirements  # noqa: PLC0415 - for other packages
    from gpuenv.planning.pages.direct_urls import with_direct_urls  # noqa: PLC0415
    from gpuenv.planning.resolve_others import only_fitting, resolve_jointly  # noqa: PLC0415

    def plan_for(solution: Solution, resolved: tuple[PlannedPackage, ...]) -> Plan:
        return build_plan(question, decision, solution, configuration, resolved)

    def compile_plan(plan: Plan, wheels_only: tuple[str, ...]) -> Resolved | Unresolvable:
        named = with_direct_urls(plan, load_mirrors(environ))
        compile_input = replace(resolver_question(named, question.target, options), wheels_only=wheels_only)
        return only_fitting(compile_requirements(compile_input, environ, unread), question.target)

    pages = Pages(configuration, environ, offline=options.offline)
    try:
        return resolve_jointly(decision.choices, plan_for, compile_plan, pages.has_wheels_of)
    except (Unsatisfiable, Unreachable) as error:
        if options.offline:
            text = tr("offline mode uses wheelhouses and caches only: omit --offline, or give --find-links")
            error.fixes = (Fix(text), *error.fixes)
        raise
