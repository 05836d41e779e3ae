"""What keeps AMD's, Intel's, Apple's and Huawei's devices from a torch that was made for them."""

from __future__ import annotations

from gpuenv.checks import queries
from gpuenv.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.accelerator_facts import PlannableBuild, parse_release
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.accelerator import Accelerator, AcceleratorKind
from gpuenv.model.findings import Findings, Node
from gpuenv.model.wheel import Platform

_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
_MASKS = {
    "rocm": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    "xpu": ("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR"),
}
_ONEAPI = ("SETVARS_COMPLETED", "ONEAPI_ROOT")
_CANN = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")
_APPLE: dict[str, Platform] = {"aarch64": "osx-arm64", "x86_64": "osx-64"}


@check("D61")  # variables that make ROCm take the card for another, or hide it
def rocm_variables(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Look for an override where the build has code for the cards themselves, and for hidden cards."""
    if not _is_kind(findings, "rocm"):
        return skipped(tr("torch is not a ROCm build"))
    cards = _devices(findings, "rocm")
    if cards and not any(card.visible for card in cards):
        return _hidden(findings, "rocm")
    override = queries.variable(findings, _OVERRIDE)
    if not override:
        return ok(tr("{name} is not set", name=_OVERRIDE))
    read = f"{_OVERRIDE}={override}"
    names = [card.architecture for card in cards if card.visible and card.architecture]
    native = bool(names) and all(_has_code(findings, knowledge, name) for name in names)
    facts = {"override": override, "gfx": series(dict.fromkeys(names)) or "?"}
    if not native:
        return warning("unsupported", read, **facts)
    return (problem if queries.failed(findings) else warning)("native", read, **facts)


@check("D62")  # a build for Intel's GPUs
def intel(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether an XPU build finds a device file that it may open, and its own runtime first."""
    if not _is_kind(findings, "xpu"):
        return skipped(tr("torch is not an XPU build"))
    mask = _empty_mask(findings, "xpu")
    if mask is not None:
        return problem("hidden", f"{mask}=", name=mask)
    if queries.is_posix_linux(findings) and not findings.machine.system.wsl:
        nodes = [node for node in findings.nodes if "/dri/renderD" in node.path]
        outcome = _judge_nodes(nodes, "/dev/dri/renderD*", queries.torch_label(findings))
        if outcome.verdict == "problem":
            return outcome
    oneapi = next((name for name in _ONEAPI if queries.variable(findings, name)), None)
    if oneapi is not None and not queries.proven(findings):
        return (problem if queries.failed(findings) else warning)("oneapi", oneapi, name=oneapi)
    return ok(series(device.name or device.vendor for device in _devices(findings, "xpu")) or "xpu")


@check("D63")  # macOS is older than what MPS of this torch needs
def apple(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Compare macOS with what the installed torch needs for MPS: below it, torch installs and finds none."""
    system = findings.machine.system
    torch = queries.torch_version(findings)
    if system.os != "macos" or system.macos is None or torch is None:
        return skipped(tr("this is not a Mac with torch"))
    platform = _APPLE.get(system.arch)
    builds = knowledge.accelerators.builds_of("mps", platform) if platform else ()
    floor = next((build.mps for build in builds if build.torch.public == torch.public), None)
    if floor is None:
        return skipped(tr("no row tells from which macOS on {torch} has MPS", torch=torch))
    least = ".".join(map(str, floor))
    if parse_release(system.macos) < floor:
        facts = {"torch": torch, "macos": system.macos, "least": least}
        return problem("too-old", f"macOS {system.macos}", **facts)
    return ok(f"macOS {system.macos} >= {least}")


@check("D64")  # torch_npu without what it needs of Huawei's
def ascend(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for the devices of Ascend's driver, and whether CANN is in this environment's variables."""
    if queries.dist_of(findings, "torch-npu") is None:
        return skipped(tr("torch_npu is not installed"))
    nodes = [node for node in findings.nodes if node.path.startswith("/dev/davinci")]
    outcome = _judge_nodes(nodes, "/dev/davinci*", "torch_npu")
    if outcome.verdict == "problem" or queries.proven(findings):
        return outcome
    if not any(queries.variable(findings, name) for name in _CANN):
        how = problem if queries.failed(findings) else warning  # libraries may be found in other ways
        return how("not-sourced", tr("{name} is not set", name=_CANN[0]))
    return outcome


def _is_kind(findings: Findings, kind: AcceleratorKind) -> bool:
    version, variant = queries.torch_version(findings), queries.variant_of(findings)
    if version is not None and version.local == kind:  # version.py of XPU's builds names no other kind
        return True
    return variant is not None and variant.kind == kind


def _devices(findings: Findings, kind: AcceleratorKind) -> tuple[Accelerator, ...]:
    return tuple(device for device in findings.machine.accelerators if device.kind == kind)


def _has_code(findings: Findings, knowledge: Knowledge, name: str) -> bool:
    """Whether the installed build has code for an architecture itself; false where no row tells."""
    facts = knowledge.accelerators
    architecture = facts.architecture("rocm", name)
    return architecture is not None and any(
        not set(build.targets).isdisjoint(architecture.code) for build in _builds(findings, knowledge)
    )


def _builds(findings: Findings, knowledge: Knowledge) -> tuple[PlannableBuild, ...]:
    torch, variant = queries.torch_version(findings), queries.variant_of(findings)
    platform = queries.platform_of(findings)
    if torch is None or variant is None or platform is None:
        return ()
    return tuple(
        build
        for build in knowledge.accelerators.builds_of("rocm", platform)
        if build.torch.public == torch.public and build.variant.release[:2] == variant.release[:2]
    )


def _hidden(findings: Findings, kind: str) -> Outcome:
    there = (name for name in _MASKS[kind] if queries.variable(findings, name) is not None)
    name = next(there, _MASKS[kind][0])
    return problem("hidden", f"{name}={queries.variable(findings, name) or ''}", name=name)


def _empty_mask(findings: Findings, kind: str) -> str | None:
    """Return a variable that is set and lists no device."""
    return next((name for name in _MASKS[kind] if queries.variable(findings, name) == ""), None)


def _judge_nodes(nodes: list[Node], pattern: str, torch: str) -> Outcome:
    """Judge device files: none, or none that this user may open, is a problem."""
    if not nodes:
        return problem("no-device", tr("there is no {pattern}", pattern=pattern), torch=torch)
    closed = next((node.path for node in nodes if not node.usable), None)
    if closed is not None and not any(node.usable for node in nodes):
        return problem("closed", closed, node=closed)
    return ok(" ".join(node.path for node in nodes if node.usable))
