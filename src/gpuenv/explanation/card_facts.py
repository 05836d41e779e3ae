"""What the tables say of the card and the driver that a text names: the line with what runs there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from msgspec.structs import replace
from packaging.version import InvalidVersion, Version

from gpuenv.explanation.judge_reported import findings_of
from gpuenv.explanation.pip_line import install_line, served, with_companions
from gpuenv.explanation.repair_command import nearest_torch
from gpuenv.explanation.reported_machine import ReportedMachine, driver_of, machine_of, target_of
from gpuenv.explanation.wheels.facts import torch_builds
from gpuenv.knowledge.accelerator_names import AcceleratorNames
from gpuenv.knowledge.accelerators import Accelerators
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import DriverOs
from gpuenv.model.errors import GpuenvError
from gpuenv.model.plan import Plan
from gpuenv.model.variant import Variant
from gpuenv.planning.load_knowledge import load_accelerators, load_knowledge
from gpuenv.planning.make_plan import read_basis
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.request import STACK
from gpuenv.signatures.reported import Reported

_ROCM, _XPU, _CUDA = "rocm", "xpu", "cu"
_LINUX, _WINDOWS = "linux-64", "win-64"


def card_facts(reported: Reported, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what belongs to a card of AMD's or Intel's; nothing of one whose name is not known.

    `rocm_line` and `xpu_line` are what pip is given for the torch stack of the text, with the torch that
    changes least. Of AMD's there is `amd_gfx`, on Linux `amd_override`, the HSA_OVERRIDE_GFX_VERSION that
    people use where a build has no code for the card, and without either `amd_unsupported`. `amd_lacking` is
    the card that the installed build is known to have no code for, `amd_coded` one that it has code for.
    """
    values = reported.values
    machine = machine_of(reported, load_knowledge(environ))
    accelerators = load_accelerators(environ)
    if name := values.get("intel_gpu"):
        line = _line(_XPU, name, reported, machine, environ)
        return {"xpu_line": line} if line else {}
    gfx = _gfx(values, accelerators)
    if gfx is None:
        return {}
    facts = {"amd_gfx": gfx}
    coded = _is_coded(values.get("torch", ""), gfx, accelerators)
    if coded is not None:
        facts["amd_coded" if coded else "amd_lacking"] = gfx
    override = _override(gfx, accelerators)
    if override is not None and machine.platform != _WINDOWS:
        facts["amd_override"] = override
    line = _line(_ROCM, gfx, reported, machine, environ)
    if line is not None:
        return facts | {"rocm_line": line}
    return facts if "amd_override" in facts else facts | {"amd_unsupported": gfx}


def capability_fact(reported: Reported, knowledge: Knowledge) -> dict[str, str]:
    """Return `gpu_capability` of the cards that a text names, where all have the same."""
    found = {
        str(fact.capability) if (fact := knowledge.gpu_names.find(_bare(name))) else name
        for name in machine_of(reported, knowledge).gpus
    }
    return {"gpu_capability": found.pop()} if len(found) == 1 else {}


def cuda_facts(reported: Reported, environ: Mapping[str, str]) -> dict[str, str]:
    """Return `gpu_capability`, the lowest of the cards that a text names, and what its torch's CUDA is to it.

    `card_cuda` is the first CUDA whose code runs on the card, `built_cuda` that of the torch; where it is
    older there is `cuda_line`: what pip is given for the torch that changes least.
    """
    knowledge = load_knowledge(environ)
    machine = machine_of(reported, knowledge)
    known = [fact for name in machine.gpus if (fact := knowledge.gpu_names.find(_bare(name)))]
    if not known or len(known) < len(machine.gpus) or any(fact.ambiguous for fact in known):
        return {}
    card = max(known, key=lambda fact: fact.capability)
    facts = {"gpu_capability": str(min(fact.capability for fact in known))}
    support = knowledge.first_generation(card.capability)  # whose code runs on all of its major
    torch = findings_of(reported, machine, knowledge).torch
    built = Variant(torch.variant).cuda if torch and torch.variant else None
    if support is None or built is None:
        return facts
    facts |= {"card_cuda": str(support.first_cuda), "built_cuda": str(built), "card": card.name}
    if built < support.first_cuda and (line := _line(_CUDA, machine.gpus[0], reported, machine, environ)):
        facts["cuda_line"] = line
    return facts


def driver_facts(reported: Reported, release: str | None, knowledge: Knowledge) -> dict[str, str]:
    """Return `driver_cuda`, which a text's driver supports at most (11.4), and what installs torch for it.

    `driver_line` has the torch nearest to `release`, the text's, that the driver runs, by minor-version
    compatibility too, with the companions that the text names, for its Python and GPUs where they are known.
    """
    machine = machine_of(reported, knowledge)
    platform = machine.platform or "linux-64"
    system: DriverOs = "windows" if platform == "win-64" else "linux"
    try:
        driver = Version(driver_of(reported, knowledge, windows=system == "windows") or "")
    except InvalidVersion:
        return {}
    newest = knowledge.driver_cuda(driver, system)
    if newest is None or machine.is_mac:
        return {}
    target = target_of(machine, knowledge)
    minor = int(machine.python.partition(".")[2]) if machine.python else None
    fitting = [
        fact
        for fact in torch_builds(platform, target, knowledge)
        if fact.listed and (minor is None or minor in fact.listed)
    ]
    for torch in _nearest_first({fact.version for fact in fitting}, release):
        builds = [fact.build for fact in fitting if fact.version == torch]
        if variant := served(builds, driver, system, knowledge):
            wanted = with_companions(torch, str(variant), reported.values, knowledge)
            line = install_line(wanted, reported.values)
            return {"driver_cuda": str(newest)} | ({"driver_line": line} if line else {})
    return {"driver_cuda": str(newest)}


def _nearest_first(releases: Iterable[Version], installed: str | None) -> list[Version]:
    """Return the release that is installed, then older ones, then newer ones, the nearest first.

    Where none is installed the newest is first.
    """
    ordered = sorted(releases, reverse=True)
    try:
        until = Version(installed or "")
    except InvalidVersion:
        return ordered
    newer = [release for release in ordered if release > until]
    return [*ordered[len(newer) :], *reversed(newer)]


def _bare(name: str) -> str:
    return name.removeprefix("NVIDIA ")


def _gfx(values: Mapping[str, str], accelerators: Accelerators) -> str | None:
    """Return the architecture of the card: as ROCm calls it, else by a name that only one has."""
    gfx = values.get("gfx")
    if gfx is None and (name := values.get("radeon")):
        found = AcceleratorNames(accelerators.devices).find(name)
        gfx = found.architectures[0] if found and not found.is_ambiguous else None
    row = accelerators.architectures.get(gfx or "")
    return gfx if row is not None and row.kind == _ROCM else None


def _is_coded(torch: str, gfx: str, accelerators: Accelerators) -> bool | None:
    """Whether a torch with its local version (2.5.1+rocm6.2) has code for a card; None where nobody knows."""
    release, _, local = torch.partition("+")
    targets = [
        build.targets
        for build in accelerators.builds
        if local and str(build.torch) == release and build.variant == local
    ]
    return any(gfx in each for each in targets) if targets else None


def _line(
    kind: str, card: str, reported: Reported, machine: ReportedMachine, environ: Mapping[str, str]
) -> str | None:
    companions = (name for name in STACK if name in reported.packages and name != "torch")
    options = PlanOptions(
        requirements=("torch", *companions),
        gpus=(card,),
        driver=machine.driver if kind == _CUDA else None,
        platform=machine.platform or _LINUX,
        python=machine.python,
        manager="pip",
        offline=True,
    )
    try:
        basis = read_basis(options, environ)
        plan = basis.plan(environ, target=".venv")
        torch = nearest_torch(basis, reported)
    except GpuenvError:
        return None
    if torch is not None:
        nearest = replace(options, requirements=(f"torch=={torch}", *options.requirements[1:]))
        with suppress(GpuenvError):
            plan = read_basis(nearest, environ).plan(environ, target=".venv")
    return _typed(kind, plan)


def _typed(kind: str, plan: Plan) -> str | None:
    """Return the packages of a plan with the index that has them; None for a build for the CPU."""
    torch = next((item for item in plan.packages if item.name == "torch"), None)
    if torch is None or not (torch.index and torch.variant and torch.variant.startswith(kind)):
        return None
    if "+" not in torch.version:  # of PyPI
        return " ".join(("python -m pip install", *(f'"{pin}"' for pin in plan.pins)))
    index = torch.index if torch.extras else f"{torch.index}/{torch.variant}"
    return " ".join(("python -m pip install", *(f'"{pin}"' for pin in plan.pins), "--index-url", index))


def _override(gfx: str, accelerators: Accelerators) -> str | None:
    return next(
        (
            row.override
            for row in accelerators.known_bad
            if row.override and any(gfx in condition.architectures for condition in row.when)
        ),
        None,
    )
