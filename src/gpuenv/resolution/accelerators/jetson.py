"""Jetson boards: by the release of Jetson Linux (L4T), which decides on CUDA, Python and where torch is from.

Until L4T 38 a board's own driver runs only what was built for it; from then on Thor, and from 39 on Orin,
runs what is built for ARM servers.
"""

from __future__ import annotations

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.accelerator_facts import PlannableBuild
from gpuenv.knowledge.accelerators import JetsonRelease, JetsonTorch
from gpuenv.knowledge.jetson_boards import CODE
from gpuenv.knowledge.jetson_releases import newest_until
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import Because, Fix, Unsatisfiable
from gpuenv.model.machine import Driver, DriverVersion, Machine
from gpuenv.model.variant import Variant, parse_cuda_version
from gpuenv.resolution.candidate import Candidate, IndexedFile
from gpuenv.resolution.target import Target, choose_target

INDEX = "jetson-jp"
_REMOTE = ("https:", "http:")
_SETTLED = (CODE, "driver-unknown")  # by L4T, which a board's driver is a part of
_NAMES = {"8.7": "Orin", "7.2": "Xavier", "11.0": "Thor"}


def release_of_board(machine: Machine, knowledge: Knowledge) -> tuple[JetsonRelease, bool] | None:
    """Return what is known of the machine's L4T, and whether that very release is listed.

    One that is not is taken for the newest listed before it; None for machines of which no L4T is known.
    """
    if machine.l4t is None:
        return None
    boards = {str(gpu.compute_capability) for gpu in machine.gpus if gpu.compute_capability}
    rows = [
        row
        for row in knowledge.accelerators.tables.jetsons
        if row.l4t and (not boards or boards & set(row.compute_capabilities))
    ]
    row = newest_until(machine.l4t, rows)
    return None if row is None else (row, Version(row.l4t or "0") == Version(machine.l4t))


def choose_board(machine: Machine, devices: tuple[int, ...], knowledge: Knowledge) -> Target | None:
    """Return what a plan for a board must work on, None where its L4T says nothing.

    Raises Unsatisfiable where torch for it is in no index.
    """
    known = release_of_board(machine, knowledge)
    if known is None:
        return None
    row, is_listed = known
    told = tuple(problem for problem in machine.problems if problem.code not in _SETTLED)
    target = choose_target((_with_driver(replace(machine, problems=told), row),), devices, cpu=False)
    if row.userspace == "sbsa":
        return target
    if not any(choice.index == INDEX for choice in row.torch_from):
        raise _nowhere(row, machine)
    return replace(target, board=row if is_listed else replace(row, evidence="assumed"))


def _with_driver(machine: Machine, row: JetsonRelease) -> Machine:
    """Return a board with the driver that its L4T brings, where no other was read."""
    if machine.driver is not None or row.driver is None:
        return machine
    driver = Driver(DriverVersion(row.driver), parse_cuda_version(row.cuda))
    return replace(machine, driver=driver, facts=(*machine.facts, ("driver.version", row.source)))


def builds_for(target: Target, knowledge: Knowledge) -> tuple[PlannableBuild, ...]:
    """Return the builds for a board: the releases that its index is stated to have."""
    row = target.board
    if row is None:
        return ()
    torches = {build.torch for build in knowledge.builds_of(target.platform)}
    return tuple(
        _build(row, choice, torch, target)
        for choice in row.torch_from
        if choice.index == INDEX and choice.variant and choice.torch
        for torch in sorted(torches)
        if SpecifierSet(choice.torch or "").contains(torch)
    )


def address_of(target: Target, variant: Variant, knowledge: Knowledge) -> str | None:
    """Return the address of the index that has a board's builds of a variant."""
    index = knowledge.accelerators.index(INDEX)
    choices = target.board.torch_from if target.board else ()
    folders = (item.folder for item in choices if item.index == INDEX and item.variant == str(variant))
    folder = next((item for item in folders if item), None)
    return index.address.replace("{folder}", folder).rstrip("/") if index and folder else None


def is_by_address(item: IndexedFile, candidate: Candidate) -> bool:
    """Whether a file must be named by its address: it has the version of PyPI's, for another machine.

    By their tags, manylinux before linux, installers would even take PyPI's.
    """
    build = candidate.accelerated
    return build is not None and build.index == INDEX and item.file.url.startswith(_REMOTE)


def _build(row: JetsonRelease, choice: JetsonTorch, torch: Version, target: Target) -> PlannableBuild:
    pythons = choice.pythons or ((f"cp{row.python.replace('.', '')}",) if row.python else ())
    return PlannableBuild(
        torch=torch,
        variant=Variant(choice.variant or ""),
        index=INDEX,
        platform=target.platform,
        pythons=pythons,
        tags=("linux_aarch64",),
        source=row.source,
        evidence="assumed" if choice.assumed else row.evidence,
    )


def _nowhere(row: JetsonRelease, machine: Machine) -> Unsatisfiable:
    places = series(f"{item.index} (torch {item.torch})" for item in row.torch_from)
    text = tr(
        "torch for JetPack {jetpack} (L4T {l4t}) is in no index that can be planned from",
        jetpack=row.jetpack,
        l4t=machine.l4t,
    )
    because = Because(
        tr("it is in {places}, for Python {python}", places=places, python=row.python), row.source
    )
    return Unsatisfiable(
        text,
        code="tegra",
        because=(because,),
        fixes=(Fix(tr("install it from there, or a newer JetPack where the board takes one")),),
    )
