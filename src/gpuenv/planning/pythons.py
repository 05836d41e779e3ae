"""Which Pythons an environment can have: those of this machine, or what is known of another's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from gpuenv.installers import CONDA_MANAGERS, get_manager
from gpuenv.installers.protocol import installed_offers, sort_offers, without
from gpuenv.installers.python_version import with_release
from gpuenv.installers.uv import NAME as UV
from gpuenv.installers.uv import REFUSING_DOWNLOADS, exact_pythons
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.python_releases import brought_by_uv, with_ages
from gpuenv.model.machine import Machine
from gpuenv.model.python import PythonOffer, parse_python_tag
from gpuenv.planning.conda.choose import conda_pythons
from gpuenv.planning.machines import is_here
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.request import parse_python
from gpuenv.resolution.rules.python import counts_patches
from gpuenv.resolution.target import Target


def offer_pythons(
    options: PlanOptions, manager: str, target: Target, knowledge: Knowledge, environ: Mapping[str, str]
) -> tuple[PythonOffer, ...]:
    """Return the Pythons on offer; interpreters of other machines are known by version only.

    If another machine's are not known, and its installer has none, any that torch is built for.
    """
    offers = _on_offer(options, manager, target, knowledge, environ)
    return with_ages(offers, knowledge.python_releases, datetime.now(timezone.utc).date())


def _on_offer(
    options: PlanOptions, manager: str, target: Target, knowledge: Knowledge, environ: Mapping[str, str]
) -> tuple[PythonOffer, ...]:
    machines = target.machines
    if manager in CONDA_MANAGERS:
        return conda_pythons(target.platform)
    if options.on_nodes:
        return _on_all(machines)
    if is_here(options, machines):
        return _here(options, manager, environ, machines[0])
    saved = bool(options.machines or options.machine_folder)
    there = _on_all(machines) if saved or options.container else ()
    if options.container is None:
        there = _with_brought(there, options, manager, target, knowledge, environ)
    return there or _published(target, knowledge)


def _here(
    options: PlanOptions, manager: str, environ: Mapping[str, str], machine: Machine
) -> tuple[PythonOffer, ...]:
    offers = get_manager(manager).available_pythons(machine.pythons, environ, offline=options.offline)
    specifiers = _patches_asked(options)
    if specifiers is None:
        return offers
    exact = exact_pythons(environ, offline=options.offline) if manager == UV else ()
    return _by_release(offers, exact, specifiers, environ)


def _with_brought(
    there: tuple[PythonOffer, ...],
    options: PlanOptions,
    manager: str,
    target: Target,
    knowledge: Knowledge,
    environ: Mapping[str, str],
) -> tuple[PythonOffer, ...]:
    """Return the Pythons of other machines with those that uv would download there."""
    if manager != UV:
        return there
    specifiers = _patches_asked(options)
    if specifiers is not None:
        exact = exact_pythons(without(environ, REFUSING_DOWNLOADS))
        brought = tuple(replace(offer, path=None, installed=False) for offer in exact)
        return _by_release(there, brought, specifiers, environ)
    releases = {offer.tag for offer in there}
    known = brought_by_uv(knowledge.python_releases, target.platform)
    return (*there, *(offer for offer in known if offer.tag not in releases))


def _patches_asked(options: PlanOptions) -> SpecifierSet | None:
    """Return the request if it distinguishes patch releases."""
    specifiers = parse_python(options.python) if options.python else None
    return specifiers if specifiers is not None and counts_patches(specifiers) else None


def _by_release(
    there: tuple[PythonOffer, ...],
    brought: tuple[PythonOffer, ...],
    specifiers: SpecifierSet,
    environ: Mapping[str, str],
) -> tuple[PythonOffer, ...]:
    """Return the Pythons by their patch releases; those of unknown patch releases are left out.

    Of those that would be downloaded, the newest of each requested MAJOR.MINOR is kept.
    """
    offers = (with_release(offer, environ) for offer in there if offer.installed)
    best: dict[tuple[str, bool], PythonOffer] = {}
    for offer in sorted(brought, key=lambda offer: not specifiers.contains(offer.version)):
        best.setdefault((offer.tag, offer.installed), offer)
    return sort_offers((*(offer for offer in offers if offer is not None), *best.values()))


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
    tags = {tag for pythons in _pythons_of_builds(target, knowledge) for tag in pythons}
    return sort_offers(tuple(parse_python_tag(tag) for tag in tags if tag.startswith("cp3")))


def _pythons_of_builds(target: Target, knowledge: Knowledge) -> Iterator[tuple[str, ...]]:
    if not target.is_accelerated:
        return (build.pythons for build in knowledge.builds_of(target.platform))
    from gpuenv.resolution.accelerators.collect import planned_builds  # noqa: PLC0415 - for such alone

    return (build.pythons for build in planned_builds(target, knowledge))
