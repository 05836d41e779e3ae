"""What a plan for an accelerator says of itself: why it holds, what it leaves unused, what to know."""

from __future__ import annotations

from collections.abc import Iterator

from gpuenv.i18n.messages import N_, gettext, series, tr
from gpuenv.model.errors import Because
from gpuenv.model.plan import Advice, PlanWarning
from gpuenv.resolution.accelerators.kernel_driver import supports, window_of
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules.accelerators import intel_code, known_bad_builds
from gpuenv.resolution.target import Target

_VISIBLE = {  # variables that leave devices to programs
    "rocm": "HIP_VISIBLE_DEVICES",
    "xpu": "ONEAPI_DEVICE_SELECTOR",
    "npu": "ASCEND_RT_VISIBLE_DEVICES",
}


def why_unused(target: Target) -> tuple[Because, ...]:
    """Return why devices of the machine are left unused."""
    return tuple(
        Because(f"{item.device.label}: {item.because.text}", item.because.source) for item in target.unused
    )


def warn_of_unused(target: Target, solution: Solution) -> tuple[PlanWarning, ...]:
    """Name the devices that a plan leaves unused, each with the reason; one for the CPU says it of itself."""
    if solution.candidate.variant.is_cpu:
        return ()
    return tuple(PlanWarning("unused-device", reason.text) for reason in dict.fromkeys(why_unused(target)))


def accelerated_warnings(question: ResolutionInput, solution: Solution) -> tuple[PlanWarning, ...]:
    """Return what the reader of a plan for an accelerator should know."""
    target = question.target
    return (
        *_without_device(target),
        *_beside(target),
        *_known_bad(question, solution),
        *_compiled(question, solution),
        *_windows(question, solution),
        *_wsl(target, solution),
        *_cann(target, solution),
        *_board(target, solution),
    )


def accelerated_rationale(question: ResolutionInput, solution: Solution) -> tuple[Because, ...]:
    """Return why the build runs on the devices."""
    build, candidate = solution.candidate.accelerated, solution.candidate
    if build is None:
        return ()
    reasons: list[Because] = []
    for device in {item.accelerator.architecture: item for item in question.target.devices}.values():
        if build.targets:
            listed = " ".join(build.targets)
            text = tr(
                "{build} has code for {gpu}: {list}", build=candidate.label, gpu=device.label, list=listed
            )
            reasons.append(Because(text, f"{candidate.source}; {device.source}"))
    for machine in question.target.machines:
        if build.mps and candidate.variant.kind == "mps":
            text = tr(
                "MPS of torch {torch} needs macOS {needed}; it is {there} here",
                torch=candidate.torch,
                needed=".".join(map(str, build.mps)),
                there=machine.system.macos or "?",
            )
            reasons.append(Because(text, f"{candidate.source}; {machine.source_of('system.macos')}"))
        if build.torch_npu and build.cann:
            text = tr("torch_npu {version} is made for CANN {cann}", version=build.torch_npu, cann=build.cann)
            reasons.append(Because(text, candidate.source))
    if question.target.board is not None:
        board = question.target.board
        text = tr(
            "JetPack {jetpack} has CUDA {cuda}; torch for it is on {index}",
            jetpack=board.jetpack,
            cuda=board.cuda,
            index=solution.torch.listing.source.url,
        )
        reasons.append(Because(text, board.source))
    if build.index == "amd":
        text = tr("AMD's own index is used: no build of the PyTorch index that was asked for runs here")
        reasons.append(Because(text, candidate.source))
    return (*dict.fromkeys(reasons), *why_unused(question.target))


def accelerated_advice(decision: Decision, solution: Solution) -> tuple[Advice, ...]:
    """Offer AMD's own index where the PyTorch index serves the GPU too."""
    build = solution.candidate.accelerated
    if build is None or build.index != "pytorch" or build.kind != "rocm":
        return ()
    offered = next((item for item in decision.choices if _is_amds(item)), None)
    if offered is None:
        return ()
    facts = {"torch": offered.candidate.torch, "variant": offered.candidate.variant}
    text = tr("AMD's own index has torch {torch} for {variant}", **facts)
    return (Advice(text, f"--cuda {offered.candidate.variant}"),)


def _is_amds(solution: Solution) -> bool:
    return solution.candidate.accelerated is not None and solution.candidate.accelerated.index == "amd"


def _without_device(target: Target) -> Iterator[PlanWarning]:
    if not target.devices and target.kind not in ("cpu", "cuda"):
        text = tr(
            "this is a build for {kind}, as requested, but there is no such device here to verify it",
            kind=target.kind,
        )
        yield PlanWarning("no-gpu-here", text)


def _beside(target: Target) -> Iterator[PlanWarning]:
    """Name the variable that hides what the build is not chosen for: torch would count it as a device."""
    variable = _VISIBLE.get(target.kind)
    own = tuple(item.device for item in target.unused if item.device.accelerator.kind == target.kind)
    others = (*target.beside, *own)
    if variable is None or not others or not target.devices or len(target.machines) > 1:
        return
    indices = ",".join(str(item.accelerator.index) for item in target.devices)
    value = f"level_zero:{indices}" if target.kind == "xpu" else indices
    text = tr(
        "{device} is not what this build is for: hide it from torch with {variable}={value}",
        device=series(dict.fromkeys(item.label for item in others)),
        variable=variable,
        value=value,
    )
    yield PlanWarning("device-beside", text)


def _known_bad(question: ResolutionInput, solution: Solution) -> Iterator[PlanWarning]:
    rows = known_bad_builds.applying(solution.candidate, question.target, question.knowledge)
    for row in rows:
        if row.warn:
            facts = {"effect": gettext(row.effect), "remedy": gettext(row.remedy)}
            yield PlanWarning(row.id, tr("{effect}; {remedy}", **facts))


def _compiled(question: ResolutionInput, solution: Solution) -> Iterator[PlanWarning]:
    """Tell of Intel's GPUs without machine code in the build."""
    build = solution.candidate.accelerated
    for device in question.target.devices if build and build.kind == "xpu" else ():
        architecture = device.accelerator.architecture
        known = question.knowledge.accelerators.architecture("xpu", architecture)
        if build and known and not intel_code.has_machine_code(build, known):
            template = N_("{gpu} has no machine code in this build: its driver compiles it at first use")
            yield PlanWarning("compiled-at-first-use", tr(template, gpu=device.label))


def _windows(question: ResolutionInput, solution: Solution) -> Iterator[PlanWarning]:
    """Tell of kernel drivers that are not stated to support the build's ROCm."""
    variant = solution.candidate.variant
    for machine in question.target.machines if variant.kind == "rocm" else ():
        window = window_of(machine, question.knowledge)
        if window is not None and not supports(window, variant.release):
            rocm = series(window.rocm)
            text = tr(
                "the amdgpu driver {driver} is stated to support ROCm {rocm}, not {variant}: "
                "if no device is seen, update the driver or take a build of these",
                driver=machine.amdgpu,
                rocm=rocm,
                variant=variant,
            )
            yield PlanWarning("driver-window", text)


def _wsl(target: Target, solution: Solution) -> Iterator[PlanWarning]:
    """Tell what ROCm needs under WSL, where there is no /dev/kfd."""
    if target.kind != "rocm" or not any(machine.system.wsl for machine in target.machines):
        return
    text = tr("under WSL2 ROCm needs AMD's Windows driver 26.2.2 or newer and librocdxg in the distribution")
    if solution.candidate.variant.release < (7, 13):
        text += tr("; set HSA_ENABLE_DXG_DETECTION=1")
    yield PlanWarning("wsl-rocm", text)


def _board(target: Target, solution: Solution) -> Iterator[PlanWarning]:
    """Tell of a release of Jetson Linux, or of builds for it, that no page which was read lists."""
    build, board = solution.candidate.accelerated, target.board
    if build is None or board is None or build.evidence != "assumed":
        return
    text = tr(
        "that {index} has torch for L4T {l4t} is assumed: look there, and verify the environment",
        index=solution.torch.listing.source.url,
        l4t=target.machines[0].l4t,
    )
    yield PlanWarning("jetson-assumed", text)


def _cann(target: Target, solution: Solution) -> Iterator[PlanWarning]:
    """State the CANN that is needed where the machine's is not known."""
    build = solution.candidate.accelerated
    if build is None or build.cann is None or all(machine.cann for machine in target.machines):
        return
    text = tr(
        "torch_npu {version} needs CANN {cann}, which pip does not install; the machine's is not known",
        version=build.torch_npu,
        cann=build.cann,
    )
    yield PlanWarning("cann-needed", text)
