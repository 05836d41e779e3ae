"""What would repair an environment with the least change: which torch to ask for, what to install anew."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.build import damaged
from gpuenv.doctor.checks.libraries import other_cuda_packages, wanted_cuda_packages
from gpuenv.doctor.checks.repairable_in_place import hindrance
from gpuenv.doctor.diagnosis import Diagnosis
from gpuenv.i18n.messages import tr
from gpuenv.model.findings import Findings
from gpuenv.model.variant import Variant
from gpuenv.resolution.request import COMPANIONS

_OTHER_BUILD = ("D01", "D02", "D16", "D51")  # the variant is wrong, and another may be right
_SAME_BUILD = ("D30", "D32", "D40", "D41", "D44")


@dataclass(frozen=True, slots=True)
class Repair:
    """What to plan: `attempts` are requests, the least change first; `cuda` restricts the variant.

    `reinstall` are installed anew though the installer would see nothing to do, `remove` are taken out first.
    `last_resort` are installed anew where nothing else is found to change.
    """

    attempts: tuple[tuple[str, ...], ...]
    cuda: str
    reinstall: tuple[str, ...]
    remove: tuple[str, ...]
    last_resort: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoRepair:
    """Why packages of this environment can't repair it."""

    reason: str


def what_repairs(diagnosis: Diagnosis, findings: Findings) -> Repair | NoRepair:
    """Return what repairs the root cause of a diagnosis."""
    root = diagnosis.root
    if root is None:
        return NoRepair(tr("no problem found"))
    if root.id not in (*_OTHER_BUILD, *_SAME_BUILD):
        return NoRepair(tr("no package of this environment can fix that"))
    reason = hindrance(findings)
    return NoRepair(reason) if reason else _repair(diagnosis, findings)


def superseded(findings: Findings, variant: Variant) -> tuple[str, ...]:
    """Return the libraries that the present torch brought for another generation of CUDA than `variant`'s.

    They write the same files as those of the new generation (`libnccl.so.2`), so they must go first.
    """
    brought = {canonicalize_name(item.name) for item in wanted_cuda_packages(findings)}
    if variant.cuda is None:
        return ()
    return tuple(
        dist.name
        for _, major, dist in subject.nvidia_dists(findings)
        if major != variant.cuda.major and dist.name in brought
    )


def _repair(diagnosis: Diagnosis, findings: Findings) -> Repair | NoRepair:
    version = subject.torch_version(findings)
    if version is None:
        return NoRepair(tr("nothing records which torch was planned here"))
    ids = {verdict.id for verdict in diagnosis.problems}
    companions = tuple(name for name in COMPANIONS if subject.dist_of(findings, name))
    extra = _wanted_numpy(diagnosis) if "D41" in ids else ()
    wanted = (*(torch for torch in _torches(version, ids, findings)),)
    variant = subject.variant_of(findings)
    keeps = not ids & set(_OTHER_BUILD) and variant is not None and variant.is_known
    return Repair(
        attempts=tuple((torch, *companions, *extra) for torch in wanted),
        cuda=str(variant) if keeps else "auto",
        reinstall=tuple(dict.fromkeys(_reinstalled(ids, findings))),
        remove=other_cuda_packages(findings) if "D32" in ids else (),
        last_resort=tuple(canonicalize_name(item.name) for item in wanted_cuda_packages(findings)),
    )


def _torches(version: Version, ids: set[str], findings: Findings) -> tuple[str, ...]:
    """Return what to ask of torch: this release, its patch releases, then the direction that helps."""
    public = Version(version.public)
    near = f"{public.major}.{public.minor}"
    same = (f"torch=={public}", f"torch=={near}.*")
    if not ids & set(_OTHER_BUILD):
        return same
    newer = "D16" in ids and _needs_newer(findings)
    return (*same, f"torch>{public}" if newer else f"torch<{public}", "torch")


def _needs_newer(findings: Findings) -> bool:
    listed = (
        [text.partition("_")[2].rstrip("af") for text in findings.torch.architectures]
        if findings.torch
        else []
    )
    newest = max((int(text) for text in listed if text.isdigit()), default=0)
    gpus = subject.target_gpus(findings)
    return any(gpu.capability.major * 10 + gpu.capability.minor > newest for gpu in gpus)


def _wanted_numpy(diagnosis: Diagnosis) -> tuple[str, ...]:
    needs = next(verdict.needs for verdict in diagnosis.problems if verdict.id == "D41")
    return (needs,) if needs and needs.startswith("numpy") else ()


def _reinstalled(ids: set[str], findings: Findings) -> list[str]:
    names = list(damaged(findings)) if "D44" in ids else []
    if "D44" in ids and findings.torch is None:
        names.append("torch")
    if "D32" in ids:
        others = {name.rpartition("-cu")[0] for name in other_cuda_packages(findings)}
        cuda = subject.cuda_of(findings)
        names += [
            dist.name
            for _, major, dist in subject.nvidia_dists(findings)
            if cuda and major == cuda.major and dist.name.rpartition("-cu")[0] in others
        ]
    return names
