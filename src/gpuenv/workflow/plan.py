"""`gpuenv plan`: the edges obtain what a decision depends on, the core decides."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace

from gpuenv.beside import Beside
from gpuenv.core.assemble import assemble
from gpuenv.core.refusal import refuse
from gpuenv.core.request import Request, parse_cuda_option, parse_python
from gpuenv.core.resolve import Choice, Decision, Question, ask, decide
from gpuenv.core.target import Target, choose_target
from gpuenv.managers import get_manager, resolver
from gpuenv.managers.manager import Wanted
from gpuenv.values.plan import Plan, PlannedPackage, Warn
from gpuenv.workflow.joint import resolve_jointly
from gpuenv.workflow.knowledge import load_knowledge, overlay_warnings
from gpuenv.workflow.listings import Listed, list_files, with_sizes
from gpuenv.workflow.machines import choose_machines, is_here
from gpuenv.workflow.options import PlanOptions
from gpuenv.workflow.pythons import offer_pythons
from gpuenv.workflow.redaction import without_passwords
from gpuenv.workflow.requirements import gather_requirements


def make_plan(options: PlanOptions, environ: Mapping[str, str], *, target: str) -> Plan:
    """Return the plan for an environment at `target`.

    Raises UsageError, Refused (nothing satisfies the request) or Unreachable (no index could be read).
    """
    request = _request(options)
    knowledge = load_knowledge(environ)
    machines = choose_machines(options, environ, knowledge)
    cpu = request.variant is not None and request.variant.is_cpu
    place = choose_target(machines, options.devices, cpu=cpu)
    # the manager tells its Pythons while the indexes answer
    pythons = Beside(lambda: offer_pythons(options, request.manager, place, knowledge, environ))
    listed = list_files(options, request, place, knowledge, environ)
    question = ask(request, place, knowledge, listed.listings, pythons.result())
    decision = decide(question)
    if not decision.choices:
        raise refuse(question, decision)
    plan = _decided(question, decision, listed, options, environ)
    return without_passwords(
        _with_steps(with_sizes(_warned(plan, listed, environ), options, environ), target)
    )


def _request(options: PlanOptions) -> Request:
    manager = "uv" if options.manager == "auto" else options.manager
    return Request(
        requirements=gather_requirements(options),
        python=parse_python(options.python) if options.python else None,
        variant=parse_cuda_option(options.cuda),
        devices=options.devices,
        manager=manager,
        offline=options.offline,
        program=options.program,
        options=options.as_typed,
    )


def _decided(
    question: Question, decision: Decision, listed: Listed, options: PlanOptions, environ: Mapping[str, str]
) -> Plan:
    def plan_for(choice: Choice, resolved: tuple[PlannedPackage, ...]) -> Plan:
        return assemble(question, decision, choice, listed.configuration, resolved)

    def compile_plan(plan: Plan) -> resolver.Resolved | resolver.Unresolvable:
        return resolver.compile_requirements(_resolver_question(plan, question.target, options), environ)

    if not question.request.others:
        return plan_for(decision.choices[0], ())
    return resolve_jointly(decision.choices, plan_for, compile_plan)


def _warned(plan: Plan, listed: Listed, environ: Mapping[str, str]) -> Plan:
    unread = tuple(Warn("configuration-unreadable", text) for text in listed.configuration.warnings)
    return replace(plan, warnings=(*plan.warnings, *unread, *overlay_warnings(environ)))


def _resolver_question(plan: Plan, target: Target, options: PlanOptions) -> resolver.Question:
    here = is_here(options, plan.machines)
    return resolver.Question(
        pins=plan.pins,
        requirements=plan.requirements,
        constraints=plan.constraints,
        sources=plan.sources,
        python=plan.python,
        platform=None if here else target.platform,
        glibc=target.machines[0].system.libc_version,
        offline=options.offline,
        interpreter=(plan.python_path if here else None) or sys.executable,
    )


def _with_steps(plan: Plan, target: str) -> Plan:
    wanted = Wanted(
        pins=plan.pins,
        requirements=plan.requirements,
        constraints=plan.constraints,
        sources=plan.sources,
        python=plan.python,
        python_path=plan.python_path,
        target=target,
        system=plan.machines[0].system.os,
    )
    return replace(plan, steps=get_manager(plan.manager).steps(wanted))
