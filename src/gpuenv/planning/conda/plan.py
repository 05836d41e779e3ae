"""A plan whose torch comes from a conda channel."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name

from gpuenv import matrices
from gpuenv.http import HttpClient
from gpuenv.i18n.messages import N_, tr
from gpuenv.indexes.conda.repodata import read_channels
from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.conda import ChannelListing, CondaChannel
from gpuenv.model.errors import Fix, GpuenvError, Unreachable, Unsatisfiable
from gpuenv.model.index import IndexConfiguration, IndexSource
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.model.python import PythonOffer
from gpuenv.planning.conda.choose import FORGE, WHEELS, conda_builds, locate_channel
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.listings import list_files
from gpuenv.resolution.conda.builds import CondaBuild, knowledge_of_channel, known_packages
from gpuenv.resolution.conda.cudnn import with_needed_cudnn
from gpuenv.resolution.conda.plan_part import assemble_from_channel
from gpuenv.resolution.conda.records import conda_name, listings_of_channel
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.report.refusal import refuse
from gpuenv.resolution.request import Request
from gpuenv.resolution.resolve import ResolutionInput, build_input, decide
from gpuenv.resolution.target import Target


class ChannelQuery(Struct, frozen=True):
    """A query of one channel: for which machines, with which Pythons and which of the user's specs."""

    request: Request
    target: Target
    channel: str
    pythons: tuple[PythonOffer, ...]
    specs: tuple[str, ...] = ()


def plan_from_channel(
    query: ChannelQuery,
    options: PlanOptions,
    configuration: IndexConfiguration,
    knowledge: Knowledge,
    mirrors: Mirrors,
    environ: Mapping[str, str],
) -> Plan:
    """Return the plan, without steps; raise Unsatisfiable or Unreachable.

    For a channel that cannot be read, the matrix is used instead, and the conda tool's own dry run decides.
    """
    put = question_of_channel(query, options, configuration, knowledge, mirrors, environ)
    question = put.question
    decision = decide(question)
    if not decision.choices:
        raise _refused(question, decision, query, knowledge, _as_wheel(query, options, knowledge, environ))
    plan = assemble_from_channel(
        question, decision, decision.choices[0], configuration, put.builds, query.specs
    )
    return replace(plan, warnings=(*plan.warnings, *put.warnings))


class ChannelQuestion(Struct, frozen=True):
    """A question put to a channel, what is known of its builds, and what went wrong as it was read."""

    question: ResolutionInput
    builds: tuple[CondaBuild, ...]
    warnings: tuple[PlanWarning, ...]


def question_of_channel(
    query: ChannelQuery,
    options: PlanOptions,
    configuration: IndexConfiguration,
    knowledge: Knowledge,
    mirrors: Mirrors,
    environ: Mapping[str, str],
) -> ChannelQuestion:
    """Return the question with what a channel has, or what is known of it where it can't be read."""
    target = query.target
    builds = conda_builds(query.channel, target.platform)
    channel = locate_channel(query.channel, options, mirrors)
    question = _known_question(query, knowledge)
    with HttpClient(environ, access=configuration.access, offline=options.offline) as client:
        answers, warnings = _read(channel, _projects(query), target, client)
    records = [record for answer in answers for record in answer.records]
    if records:
        known = with_needed_cudnn(question.knowledge, records)
        url = next((answer.url for answer in answers if answer.url), channel.name)
        source = IndexSource("conda", url, tr("channel {name}", name=channel.name), channel.name)
        read = listings_of_channel(source, _projects(query), records)
        question = build_input(query.request, target, known, read, query.pythons)
    return ChannelQuestion(question, builds, warnings)


def _as_wheel(
    query: ChannelQuery, options: PlanOptions, knowledge: Knowledge, environ: Mapping[str, str]
) -> Solution | None:
    """Return the wheel that would do, by what is known without asking an index; None where none would."""
    try:
        listed = list_files(replace(options, offline=True), query.request, query.target, knowledge, environ)
    except GpuenvError:
        return None
    return _first(build_input(query.request, query.target, knowledge, listed.listings, query.pythons))


def _first(question: ResolutionInput) -> Solution | None:
    return next(iter(decide(question).choices), None)


def _refused(
    question: ResolutionInput,
    decision: Decision,
    query: ChannelQuery,
    knowledge: Knowledge,
    wheel: Solution | None,
) -> Unsatisfiable | Unreachable:
    """Return the refusal, with conda-forge's build and the wheel where those would do."""
    error = refuse(question, decision)
    forge = (
        _first(_known_question(replace(query, channel=FORGE), knowledge)) if query.channel != FORGE else None
    )
    if forge:
        text = tr("torch {torch} from conda-forge works here", torch=forge.candidate.torch)
        error.fixes += (Fix(text, query.request.with_option("--channel", FORGE).command()),)
    if wheel:
        text = tr("torch {torch} as a wheel works here", torch=wheel.candidate.torch)
        error.fixes += (Fix(text, query.request.with_option("--channel", WHEELS).command()),)
    return error


def _known_question(query: ChannelQuery, knowledge: Knowledge) -> ResolutionInput:
    """Put the question to what is known of a channel without asking it."""
    known = knowledge_of_channel(knowledge, matrices.load("conda"), query.channel)
    builds = conda_builds(query.channel, query.target.platform)
    shipped = known_packages(builds, _projects(query), query.target.platform, known, query.channel)
    return build_input(query.request, query.target, known, shipped, query.pythons)


def _projects(query: ChannelQuery) -> tuple[NormalizedName, ...]:
    return tuple(canonicalize_name(name) for name in ("torch", *query.request.companions))


def _read(
    channel: CondaChannel, projects: tuple[NormalizedName, ...], target: Target, client: HttpClient
) -> tuple[tuple[ChannelListing, ...], tuple[PlanWarning, ...]]:
    """Return what the channel holds of the projects, as far as it can be read."""
    names = frozenset(conda_name(project) for project in projects)
    answers = read_channels((channel,), (target.platform, "noarch"), names, client)
    problem = next((answer.problem for answer in answers if answer.problem), None)
    if problem is None or client.offline:
        return answers, _passed_over(answers)
    text = tr("the channel {name} could not be read: {problem}", name=channel.name, problem=problem)
    return answers, (PlanWarning("channel-unreadable", text), *_passed_over(answers))


def _passed_over(answers: tuple[ChannelListing, ...]) -> tuple[PlanWarning, ...]:
    """Warn of the addresses that did not answer where another one stood in."""
    text = N_("{place}: {reason}; {used} was read instead")
    messages = {
        location: tr(text, place=location, reason=reason, used=answer.url)
        for answer in answers
        if answer.url
        for location, reason in answer.passed_over
    }
    return tuple(PlanWarning("channel-passed-over", message) for message in messages.values())
