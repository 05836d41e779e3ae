"""The plan with the newest releases of projects that pin torch, as far as the other requirements allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Unsatisfiable
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.releases.read import narrowed_by_releases
from gpuenv.resolution.pinning.releases import ReleaseChoice
from gpuenv.resolution.pinning.search import JointSearch, Narrowed
from gpuenv.resolution.report.old_releases import refuse_old
from gpuenv.resolution.resolve import ResolutionInput, decide

_MOST_TRIES = 4  # each resolves all other requirements


def plan_by_release(
    question: ResolutionInput,
    configuration: IndexConfiguration,
    options: PlanOptions,
    environ: Mapping[str, str],
    plan_for: Callable[[ResolutionInput], Plan],
) -> Plan:
    """Return the plan with the newest releases with which everything can be resolved.

    Raises what `plan_for` raises, and Unsatisfiable where a project would have to go back more than a year.
    """
    with narrowed_by_releases(question, configuration, options, environ) as search:
        return _first_plan(search, plan_for)


def _first_plan(search: JointSearch, plan_for: Callable[[ResolutionInput], Plan]) -> Plan:
    question = search.question
    if not search.searches or not decide(question).choices:
        return plan_for(question)
    refused: Unsatisfiable | None = None
    last: Narrowed | None = None
    for last in islice(search, _MOST_TRIES):
        if last.too_old and not question.request.specifier("torch"):
            break
        try:
            return _told(plan_for(last.question), last, refused)
        except Unsatisfiable as error:
            if error.code != "requirements-conflict" or not last.chosen:
                raise
            refused = refused or error
    raise refused or refuse_old(search, last)


def _told(plan: Plan, narrowed: Narrowed, refused: Unsatisfiable | None) -> Plan:
    """Return the plan with the release that torch was chosen by, and the newer ones that it is not."""
    planned = {canonicalize_name(package.name): package.version for package in plan.packages}
    chosen = tuple(item for item in narrowed.chosen if planned.get(canonicalize_name(item.project)))
    why = tuple(
        Because(tr("{release} requires {torch}", release=item.label, torch=item.torch), "METADATA")
        for item in chosen
        if item.requires and planned[canonicalize_name(item.project)] == str(item.release.version)
    )
    warnings = tuple(
        warning
        for item in chosen
        if (warning := _warn_of_older(item, planned[canonicalize_name(item.project)], narrowed, refused))
    )
    return replace(plan, why=(*why, *plan.why), warnings=(*warnings, *plan.warnings))


def _warn_of_older(
    choice: ReleaseChoice, version: str, narrowed: Narrowed, refused: Unsatisfiable | None
) -> PlanWarning | None:
    """Warn of an older release than the newest, with the reason."""
    newest = next((item for item in narrowed.passed if item.project == choice.project), None)
    if newest is None:
        return None
    asked = {"release": newest.label, "torch": newest.torch}
    reason = (
        tr("{release} requires {torch}, with which the other requirements cannot be resolved", **asked)
        if refused
        else tr("{release} requires {torch}, which is no torch for here", **asked)
    )
    facts = {"project": choice.project, "version": version, "reason": reason}
    return PlanWarning("older-release", tr("{project} {version} is planned: {reason}", **facts))
