"""The plan with the other packages that were asked for, resolved by the first index that has them all."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from gpuenv.i18n.messages import clauses, tr
from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.installers.uv_compile import Resolved
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.errors import Fix, Unreachable, Unsatisfiable
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.plan import Plan, PlannedPackage, PlanWarning
from gpuenv.planning.complete_wheelhouses import compile_requirements
from gpuenv.planning.index_order import unread_private, with_origin
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.direct_urls import with_direct_urls
from gpuenv.planning.pages.listings import PlanListings
from gpuenv.planning.pages.project_pages import Pages
from gpuenv.planning.resolve_others import only_fitting, resolve_jointly
from gpuenv.planning.steps import resolver_question
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.plan_builder import build_plan
from gpuenv.resolution.resolve import ResolutionInput


def plan_with_others(
    question: ResolutionInput,
    decision: Decision,
    listed: PlanListings,
    options: PlanOptions,
    environ: Mapping[str, str],
) -> Plan:
    """Return the plan with the first index that serves all that it needs."""
    first, *others = listed.configurations
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
    plan = plan_with_others(question, decision, listed, options, environ)
    return replace(plan, warnings=(*plan.warnings, passed_over))


def _passed_over(configuration: IndexConfiguration, error: Unreachable) -> PlanWarning:
    """Warn of an index that does not have the other packages."""
    index = configuration.index_url
    location = (index.name or index.url) if index else tr("the installer's default")
    text = tr("the index `{place}` was skipped: {problem}", place=location, problem=error.message)
    details = clauses(because.text for because in error.because)
    return PlanWarning("index-passed-over", f"{text} ({details})" if details else text)


def _resolve_jointly(
    question: ResolutionInput,
    decision: Decision,
    configuration: IndexConfiguration,
    options: PlanOptions,
    environ: Mapping[str, str],
    unread: Unreachable | None,
) -> Plan:
    def plan_for(solution: Solution, resolved: tuple[PlannedPackage, ...]) -> Plan:
        return build_plan(question, decision, solution, configuration, resolved)

    def compile_plan(plan: Plan, wheels_only: tuple[str, ...]) -> Resolved | Unresolvable:
        named = with_direct_urls(plan, load_mirrors(environ))
        compile_input = resolver_question(named, options)
        constraints = (*compile_input.constraints, *question.bounds)
        compile_input = replace(compile_input, constraints=constraints, wheels_only=wheels_only)
        return only_fitting(compile_requirements(compile_input, environ, unread), question.target)

    pages = Pages(configuration, environ, offline=options.offline)
    try:
        return resolve_jointly(decision.choices, plan_for, compile_plan, pages.has_wheels_of)
    except (Unsatisfiable, Unreachable) as error:
        if options.offline:
            text = tr("offline mode uses wheelhouses and caches only: omit --offline, or give --find-links")
            error.fixes = (Fix(text), *error.fixes)
        raise
