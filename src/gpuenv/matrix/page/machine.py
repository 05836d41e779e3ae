"""The machine that a page of the matrices is made on, in a few lines and as presets of its filters."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from packaging.version import Version

from gpuenv.formats.machine import describe
from gpuenv.i18n.messages import clauses, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.machine import Machine
from gpuenv.model.wheel import TorchBuild
from gpuenv.resolution.decision import RejectedCandidate
from gpuenv.resolution.gpu_coverage import candidate_of, failures_on, runs_on
from gpuenv.resolution.report.minimal_reasons import fewest_reasons
from gpuenv.resolution.target import Target


class Here(Struct, frozen=True):
    """A machine with NVIDIA hardware; `target` is None where nothing can be planned for it, `problem` why."""

    machine: Machine
    target: Target | None
    problem: str | None = None


def render_here(here: Here, knowledge: Knowledge) -> dict[str, Any]:
    """Return what the machine is, what runs on it in a few lines, and the filters that it means."""
    target = here.target
    return {
        "name": describe(here.machine),
        "system": _system(here),
        "lines": [here.problem] if target is None else _lines(target, knowledge),
        "usable": target is not None,
        "filters": {} if target is None else _filters(here.machine, target),
    }


def _system(here: Here) -> str:
    system = here.machine.system
    parts = [here.target.platform if here.target else f"{system.os} {system.arch}"]
    if system.libc:
        parts.append(f"{system.libc} {system.libc_version or '?'}")
    if system.wsl:
        parts.append("WSL2")
    return ", ".join(parts)


def _filters(machine: Machine, target: Target) -> dict[str, str]:
    """The filters of the page by name, as they stand in its address."""
    capabilities = dict.fromkeys(str(gpu.capability) for gpu in target.gpus)
    filters = {"gpu": ", ".join(capabilities), "platform": target.platform}
    if machine.driver:
        filters["driver"] = str(machine.driver.version)
    if machine.system.wsl:
        filters["wsl"] = "1"
    return filters


def _lines(target: Target, knowledge: Knowledge) -> list[str]:
    builds = [build for build in knowledge.builds_of(target.platform) if build.cuda]
    running = [build for build in builds if runs_on(build, target, knowledge)]
    weighed = tr("`gpuenv plan` also considers the Pythons, the companions and what the indexes list")
    return [_count(running, builds, target), *_missed(running, builds, target, knowledge), weighed]


def _count(running: list[TorchBuild], builds: list[TorchBuild], target: Target) -> str:
    facts = {"count": _distinct(running), "all": _distinct(builds), "platform": target.platform}
    if not running:
        return tr("none of the {all} CUDA builds for {platform} runs on it", **facts)
    newest = max(build.torch for build in running)
    variants = dict.fromkeys(str(build.variant) for build in running if build.torch == newest)
    return tr(
        "{count} of the {all} CUDA builds for {platform} run on it; the newest is torch {torch} ({variants})",
        **facts,
        torch=newest,
        variants=", ".join(variants),
    )


def _distinct(builds: list[TorchBuild]) -> int:
    return len({(build.torch, build.variant) for build in builds})


def _missed(
    running: list[TorchBuild], builds: list[TorchBuild], target: Target, knowledge: Knowledge
) -> list[str]:
    """Say why no build of the newest release runs, where that is so."""
    newest = max((build.torch for build in builds), default=Version("0"))
    if any(build.torch == newest for build in running):
        return []
    rejected = tuple(
        RejectedCandidate(candidate_of(build), failures_on(build, target, knowledge))
        for build in builds
        if build.torch == newest
    )
    groups = fewest_reasons(rejected)
    reasons = clauses(dict.fromkeys(group[0].summarize(group) for group in groups))
    return [tr("not torch {torch}: {reasons}", torch=newest, reasons=reasons)] if reasons else []
