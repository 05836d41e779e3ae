"""Judge whether a build has code for the devices that it was tested on."""

from __future__ import annotations

from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.model.capability import Architecture, ComputeCapability, parse_architecture
from gpuenv.verification.report import DeviceReport, Report, TestResult

_KERNELS = frozenset({"arithmetic", "matmul", "reduction"})


def judge_architectures(report: Report) -> Report:
    """Return the report with a test `architectures` on each GPU: whether the build has code for it."""
    if report.torch is None or (report.torch.cuda is None and report.torch.hip is None):
        return report
    listed = report.torch.architectures or ()
    return replace(report, devices=tuple(_with_code_judged(device, listed) for device in report.devices))


def _with_code_judged(device: DeviceReport, listed: tuple[str, ...]) -> DeviceReport:
    if device.compute_capability:
        test = _judge_device(device, device.compute_capability, listed)
    elif device.architecture:
        test = _judge_gfx(device, device.architecture, listed)
    else:
        return device
    return replace(device, tests=(*device.tests, test))


def _judge_gfx(device: DeviceReport, gfx: str, listed: tuple[str, ...]) -> TestResult:
    """Judge code for AMD's: it runs on its own chip alone, unless a variable calls the GPU another's."""
    facts = {"listed": " ".join(listed), "capability": gfx, "code": gfx}
    ok = True
    if not listed:
        detail = tr("skipped: this torch does not list its architectures")
    elif gfx in listed:
        detail = tr("runs its code for {code}", **facts)
    elif any(test.id in _KERNELS and test.ok for test in device.tests):
        detail = tr("none of {listed} is known to run on {capability}, yet its kernels ran", **facts)
    else:
        ok, detail = False, tr("has code for {listed}, none of which runs on {capability}", **facts)
    return TestResult("architectures", ok, None, detail)


def _judge_device(device: DeviceReport, capability: ComputeCapability, listed: tuple[str, ...]) -> TestResult:
    code = find_code(listed, capability)
    facts = {"listed": " ".join(listed), "capability": capability, "code": code}
    ok = True
    if not listed:
        detail = tr("skipped: this torch does not list its architectures")
    elif code is not None and code.kind == "sm":
        detail = tr("runs its code for {code}", **facts)
    elif code is not None:
        detail = tr("no machine code for {capability}: the driver compiles {code}", **facts)
    elif any(test.id in _KERNELS and test.ok for test in device.tests):  # boards that the rule does not know
        detail = tr("none of {listed} is known to run on {capability}, yet its kernels ran", **facts)
    else:
        ok, detail = False, tr("has code for {listed}, none of which runs on {capability}", **facts)
    return TestResult("architectures", ok, None, detail)


def find_code(listed: tuple[str, ...], capability: ComputeCapability) -> Architecture | None:
    """Return the nearest of torch's architectures that a GPU runs, machine code before PTX."""
    fitting = (item for item in map(_parse_architecture, listed) if item and item.runs_on(capability))
    return max(fitting, key=lambda item: (item.kind == "sm", item.capability, item.suffix), default=None)


def _parse_architecture(text: str) -> Architecture | None:
    try:
        return parse_architecture(text)
    except ValueError:  # gfx90a of ROCm, or a future spelling
        return None
