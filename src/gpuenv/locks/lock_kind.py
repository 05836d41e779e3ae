"""For what kind of accelerator a lock is, beside what the machine has."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.utils import canonicalize_name

from gpuenv.i18n.messages import N_, tr
from gpuenv.model.accelerator import AcceleratorKind
from gpuenv.model.errors import Because, Fix
from gpuenv.model.locked import LockedFile
from gpuenv.model.variant import Variant
from gpuenv.resolution.candidate import release_of
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.target import Target, TargetGpu
from gpuenv.resolution.target_device import TargetDevice

Conflict = tuple[Because, tuple[Fix, ...]]
_DEVICE = "-device-"  # amd-torch-device-gfx1201, which torch's extra `device-gfx1201` brings
_ALL = "all"


def other_kind(question: ResolutionInput) -> Conflict | None:
    """Say that a lock's build is for the CPU and the machine has a GPU, or for another kind of it."""
    variant, asked = _variant_of(question), question.request.variant
    if variant is None:
        return Because(tr("what its torch is built for is not known"), "matrix torch.json"), ()
    if asked is not None and asked != variant:
        text = tr("it has a build for {variant}, not for {asked}", variant=variant, asked=asked)
        return Because(text, "option --cuda"), (Fix(tr("omit --cuda")),)
    return None if variant.kind == _kind_of(question.target) else _for_another(variant, question.target)


def _for_another(variant: Variant, target: Target) -> Conflict:
    here: list[TargetGpu | TargetDevice] = [*target.gpus, *target.devices]
    fixes: tuple[Fix, ...] = ()
    if here:
        source, message = here[0].source, N_("it has a build for {variant}; this machine has {gpu}")
        if variant.is_cpu:
            message = N_("it has a CPU build; this machine has {gpu}")
            fixes = (Fix(tr("use it anyway with --cuda cpu")),)
        return Because(tr(message, variant=variant, gpu=here[0].label), source), fixes
    field, message = "gpus", N_("it has a build for {variant}; this machine has no NVIDIA GPU")
    if variant.kind != "cuda":
        field = "accelerators"
        message = N_("it has a build for {variant}; this machine has no device that it is for")
    return Because(tr(message, variant=variant), target.machines[0].source_of(field)), fixes


def _kind_of(target: Target) -> AcceleratorKind:
    return "cpu" if target.kind == "cuda" and not target.gpus else target.kind


def _variant_of(question: ResolutionInput) -> Variant | None:
    """Return what the lock's torch is built for, also where such builds are not in question here."""
    for candidate in question.candidates:
        if candidate.files:
            return candidate.variant
    files = (file for listing in question.listings if listing.project == "torch" for file in listing.files)
    file = next(files, None)
    if file is None or file.variant is not None or file.version.local is not None:
        return file.variant if file and file.variant and file.variant.is_known else None
    return question.knowledge.pypi_variant(release_of(file.version), question.target.platform)


def lacking_parts(files: tuple[LockedFile, ...], question: ResolutionInput) -> Iterator[Because]:
    """Say which of the files are for other accelerators, and which that torch needs here are not there."""
    target, names = question.target, {canonicalize_name(file.name) for file in files}
    if not target.is_accelerated:
        return
    from gpuenv.resolution.accelerators.extras import device_extras  # noqa: PLC0415 - for such builds alone

    candidate = next((item for item in question.candidates if item.files), None)
    needed = device_extras(candidate, "torch", target, question.knowledge) if candidate else ()
    brought = {name.partition(_DEVICE)[2] for name in names if _DEVICE in name}
    if _ALL in brought:
        return
    for extra in needed:
        device = extra.removeprefix(_DEVICE.lstrip("-"))
        if device not in brought:
            text = tr("it has no code for {device}: torch[{extra}] brings it", device=device, extra=extra)
            yield Because(text, candidate.source if candidate else "")


def foreign_plugins(files: tuple[LockedFile, ...], target: Target) -> Iterator[Because]:
    """Say which of the files make torch load the driver of an accelerator that is not here."""
    names = {canonicalize_name(file.name) for file in files}
    if "torch-npu" not in names or target.kind == "npu":
        return
    text = tr("it has torch_npu, which torch loads at once; this machine has no Ascend NPU")
    yield Because(text, target.machines[0].source_of("accelerators"))
