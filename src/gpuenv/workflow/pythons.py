"""Which Pythons an environment can have: those of this machine, or what is known of another's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from packaging.specifiers import SpecifierSet

from gpuenv.core.knowledge import Knowledge
from gpuenv.core.request import parse_python
from gpuenv.core.rules.python import counts_patches
from gpuenv.core.target import Target
from gpuenv.managers import CONDA_MANAGERS, get_manager
from gpuenv.managers.exact_python import with_release
from gpuenv.managers.manager import installed_offers, sort_offers
from gpuenv.managers.uv import NAME as UV
from gpuenv.managers.uv import exact_pythons
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
    offers = (
        _here(options, manager, environ, machines[0]) if here else _there(options, manager, environ, machines)
    )
    return offers if offers or here or _on_all(machines) else _published(target, knowledge)


def _here(
    options: PlanOptions, manager: str, environ: Mapping[str, str], machine: Machine
) -> tuple[PythonOffer, ...]:
    offers = get_manager(manager).available_pythons(machine.pythons, environ, offline=options.offline)
    asked = _patches_asked(options)
    if asked is None:
        return offers
    exact = exact_pythons(environ, offline=options.offline) if manager == UV else ()
    return _by_release(offers, exact, asked, environ)


def _there(
    options: PlanOptions, manager: str, environ: Mapping[str, str], machines: tuple[Machine, ...]
) -> tuple[PythonOffer, ...]:
    there, asked = _on_all(machines), _patches_asked(options)
    if asked is not None:
        exact = map(_unplaced, exact_pythons(environ) if manager == UV else ())
        return _by_release(there, tuple(exact), asked, environ)
    releases = {offer.tag for offer in there}
    brought = get_manager(manager).available_pythons((), environ)
    return (*there, *(_unplaced(offer) for offer in brought if offer.tag not in releases))


def _patches_asked(options: PlanOptions) -> SpecifierSet | None:
    """Return the request where it tells patch releases apart."""
    asked = parse_python(options.python) if options.python else None
    return asked if asked is not None and counts_patches(asked) else None


def _unplaced(offer: PythonOffer) -> PythonOffer:
    return replace(offer, path=None, installed=False)


def _by_release(
    there: tuple[PythonOffer, ...],
    brought: tuple[PythonOffer, ...],
    asked: SpecifierSet,
    environ: Mapping[str, str],
) -> tuple[PythonOffer, ...]:
    """Return the Pythons by their patch releases; those of which nothing tells theirs are left out.

    Of those that would be brought, the newest of each MAJOR.MINOR that was asked for stays.
    """
    told = (with_release(offer, environ) for offer in there if offer.installed)
    best: dict[tuple[str, bool], PythonOffer] = {}
    for offer in (*(one for one in brought if asked.contains(one.version)), *brought):
        best.setdefault((offer.tag, offer.installed), offer)
    return sort_offers((*(offer for offer in told if offer is not None), *best.values()))


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
