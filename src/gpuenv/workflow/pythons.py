"""Which Pythons an environment can have: those of this machine, or what is known of another's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpuenv.core.knowledge import Knowledge
from gpuenv.core.target import Target
from gpuenv.managers import CONDA_MANAGERS, get_manager
from gpuenv.managers.manager import installed_offers, sort_offers
from gpuenv.values.machine import Machine
from gpuenv.values.python import PythonOffer, parse_python_tag
from gpuenv.workflow.conda_choice import conda_pythons
from gpuenv.workflow.machines import is_here
from gpuenv.workflow.options import PlanOptions


def offer_pythons(
    options: PlanOptions, manager: str, target: Target, knowledge: Knowledge, environ: Mapping[str, str]
) -> tuple[PythonOffer, ...]:
    """Return the Pythons on offer; interpreters of other machines are known by version only.

    Where nothing is known of another machine's, and its manager brings none, any that torch is built for.
    """
    machines = target.machines
    if manager in CONDA_MANAGERS:
        return conda_pythons(target.platform)
    if options.on_nodes:
        return _on_all(machines)
    if options.container is not None:
        return _on_all(machines) or _published(target, knowledge)
    here = is_here(options, machines)
    offers = get_manager(manager).available_pythons(
        machines[0].pythons if here else (), environ, offline=options.offline and here
    )
    if here:
        return offers
    there = _on_all(machines)
    releases = {offer.tag for offer in there}
    brought = (replace(offer, path=None, installed=False) for offer in offers if offer.tag not in releases)
    return (*there, *brought) or _published(target, knowledge)


def _on_all(machines: tuple[Machine, ...]) -> tuple[PythonOffer, ...]:
    """Return the releases of Python that every machine has, MAJOR.MINOR and free-threaded or not."""
    offers = [{offer.tag: offer for offer in installed_offers(machine.pythons)} for machine in machines]
    shared = set.intersection(*(set(of_one) for of_one in offers))
    first = (offer for tag, offer in offers[0].items() if tag in shared)
    exact = len(machines) == 1
    return sort_offers(
        tuple(replace(offer, path=None, version=offer.version if exact else offer.short) for offer in first)
    )


def _published(target: Target, knowledge: Knowledge) -> tuple[PythonOffer, ...]:
    tags = {tag for build in knowledge.builds_of(target.platform) for tag in build.pythons}
    return sort_offers(tuple(parse_python_tag(tag) for tag in tags if tag.startswith("cp3")))
