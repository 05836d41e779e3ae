"""Compare a report with what was planned."""

from __future__ import annotations

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from gpuenv.i18n.messages import series, tr
from gpuenv.model.machine import Machine
from gpuenv.model.variant import Variant, parse_cuda_version
from gpuenv.verification.report import DeviceReport, Report, TorchReport


class Planned(Struct, frozen=True):
    """The plan's torch and variant (`cu126`, `cpu`), `--cuda cpu`, and whether its machine had no GPU."""

    torch: str | None
    variant: str | None
    cpu_requested: bool = False
    without_gpu: bool = False


class Expectation(Struct, frozen=True):
    """What must hold: a working GPU (why), this torch, this variant; `idle` is unused hardware."""

    gpu: bool
    torch: str | None = None
    variant: str | None = None
    reason: str = ""
    idle: str | None = None


class Finding(Struct, frozen=True):
    """Why an environment fails the verification: a stable kebab-case code, and a sentence."""

    code: str
    text: str


class VerificationVerdict(Struct, frozen=True):
    """The problems of an environment, and notes to its owner."""

    problems: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


def expect(planned: Planned | None, machine: Machine | None, report: Report) -> Expectation:
    """Return what must hold of an environment, by its plan, else by its machine and build."""
    if planned is not None and planned.variant is not None:
        return _expect_planned(planned, planned.variant, machine)
    torch = planned.torch if planned else None
    if machine is not None and not machine.without_gpu:
        return Expectation(gpu=True, torch=torch, reason=tr("this machine has NVIDIA hardware"))
    reason = _built_for(report.torch) if report.torch else None
    return Expectation(reason is not None, torch, reason=reason or "")


def _built_for(torch: TorchReport) -> str | None:
    """Say for which accelerator torch was built, where a build for it is of no use without one.

    A build with MPS is the only one for a Mac, with a GPU or without.
    """
    if torch.cuda:
        return tr("torch was built for CUDA {cuda}", cuda=torch.cuda)
    if torch.hip:
        return tr("torch was built for ROCm {rocm}", rocm=torch.hip)
    if torch.kind == "xpu":
        return tr("torch was built for XPU")
    return tr("torch_npu is installed") if torch.kind == "npu" else None


def _expect_planned(planned: Planned, variant: str, machine: Machine | None) -> Expectation:
    """Expect a GPU where there is one, whatever was planned elsewhere, unless a CPU build was requested."""
    hardware = hardware_of(machine)
    if planned.cpu_requested:
        return Expectation(gpu=False, torch=planned.torch, variant=variant, idle=hardware)
    if hardware is not None and Variant(variant).is_cpu:
        reason = tr(
            "this machine has {gpu}, and the environment was made for a machine without a GPU", gpu=hardware
        )
        return Expectation(gpu=True, torch=planned.torch, variant=variant, reason=reason)
    wants_gpu = hardware is not None or not (Variant(variant).is_cpu or planned.without_gpu)
    return Expectation(wants_gpu, planned.torch, variant, tr("the plan had {variant}", variant=variant))


def hardware_of(machine: Machine | None) -> str | None:
    """Name the NVIDIA hardware of a machine, whatever state it is in; None where there is none."""
    if machine is None or machine.without_gpu:
        return None
    return next((gpu.name for gpu in machine.gpus if gpu.name), tr("an NVIDIA GPU"))


def judge(report: Report, expectation: Expectation) -> VerificationVerdict:
    """Judge a report; a missing GPU is a problem only if one was expected, else a note."""
    if report.torch is None:
        return VerificationVerdict((_judge_missing_torch(report),), ())
    findings = (_judge_tests(device, report) for device in report.devices)
    problems = (
        *_judge_import(report),
        *_judge_stop(report),
        *_judge_own_processes(report),
        *filter(None, findings),
        *_judge_gpu(report, report.torch, expectation),
        *_judge_build(report.torch, expectation),
    )
    if not problems and not any(device.tests for device in report.devices):
        problems = (Finding("nothing-tested", tr("nothing was tested")),)
    return VerificationVerdict(problems, _notes(report, expectation))


def _judge_import(report: Report) -> tuple[Finding, ...]:
    """Report that torch could be imported, and torch_npu could not."""
    if report.failure is None:
        return ()
    error = report.failure.errors[-1] if report.failure.errors else tr("no message")
    return (Finding("import-failed", tr("torch_npu cannot be imported: {error}", error=error)),)


def _judge_missing_torch(report: Report) -> Finding:
    if report.failure and report.failure.missing:
        return Finding("no-torch", tr("torch is not installed"))
    if report.failure:
        errors = report.failure.errors or (tr("no message"),)
        facts = {"error": errors[-1], "first": errors[0]}
        if len(errors) > 1:
            return Finding("import-failed", tr("torch cannot be imported: {error}, after {first}", **facts))
        return Finding("import-failed", tr("torch cannot be imported: {error}", **facts))
    if report.python is None:
        messages = (report.stop.detail if report.stop else None, *report.messages[-1:])
        detail = ": ".join(filter(None, messages)) or tr("no message")
        return Finding("no-report", tr("its Python could not run the tests: {detail}", detail=detail))
    return next(iter(_judge_stop(report)), Finding("nothing-tested", tr("nothing was tested")))


def _judge_stop(report: Report) -> tuple[Finding, ...]:
    if report.complete:
        return ()
    code = report.stop.ending if report.stop else "crashed"
    facts = {"detail": report.stop.detail if report.stop else tr("it ended without any output")}
    if report.running is None:
        return (Finding(code, facts["detail"]),)
    facts["step"] = report.running.what
    if not report.devices:
        return (Finding(code, tr("torch crashed in `{step}`: {detail}", **facts)),)
    where = label(report.running.device)
    return (Finding(code, tr("torch crashed in `{step}` on {where}: {detail}", where=where, **facts)),)


def _judge_own_processes(report: Report) -> tuple[Finding, ...]:
    """Report the tests that ended the processes of their own that they ran in."""
    return tuple(
        Finding(
            test.stop.ending,
            tr(
                "torch crashed in `{step}` on {where}: {detail}",
                step=test.id,
                where=label(device.index),
                detail=test.stop.detail,
            ),
        )
        for device in report.devices
        for test in device.tests
        if test.stop is not None
    )


def label(index: int | None) -> str:
    """Name a device in messages, by torch's index."""
    return "cpu" if index is None else tr("GPU {index}", index=index)


def _judge_tests(device: DeviceReport, report: Report) -> Finding | None:
    """Report the failed tests of a device as one finding: they usually have one cause."""
    running = None if report.complete else report.running
    unfinished = running.test if running and running.device == device.index else None
    failed = tuple(
        test for test in device.tests if not test.ok and test.id != unfinished and test.stop is None
    )
    if not failed:
        return None
    names = series(f"`{test.id}`" for test in failed)
    detail = next((test.detail for test in reversed(failed) if test.id == "architectures"), failed[0].detail)
    facts = {"names": names, "where": label(device.index), "detail": detail}
    return Finding("test-failed", tr("{names} failed on {where}: {detail}", **facts))


def _judge_gpu(report: Report, torch: TorchReport, expectation: Expectation) -> tuple[Finding, ...]:
    if not expectation.gpu or report.gpus:
        return ()
    facts = {"torch": torch.version, "error": torch.error, "reason": expectation.reason}
    if torch.cuda is None and torch.hip is None and torch.kind in (None, "cpu"):
        return (Finding("cpu-build", tr("torch {torch} is a CPU build; {reason}", **facts)),)
    if not report.devices:  # it ended before it could count them
        return ()
    if torch.error:
        return (Finding("no-gpu", tr("no GPU available to test: {error}; {reason}", **facts)),)
    return (Finding("no-gpu", tr("no GPU available to test; {reason}", **facts)),)


def _judge_build(torch: TorchReport, expectation: Expectation) -> tuple[Finding, ...]:
    findings = []
    if expectation.torch is not None and not _is_release(torch.version, expectation.torch):
        facts = {"found": torch.version, "planned": expectation.torch}
        findings.append(
            Finding("wrong-version", tr("torch {found} is installed; the plan had {planned}", **facts))
        )
    variant, planned = variant_of(torch), expectation.variant
    if planned is not None and variant is not None and not _is_variant(variant, planned):
        text = tr(
            "the installed torch is a {found} build; the plan had {planned}", found=variant, planned=planned
        )
        findings.append(Finding("wrong-variant", text))
    return tuple(findings)


def _is_release(value: str, planned: str) -> bool:
    """Whether both are one release, whatever the local part (`+cu126`), which PyPI's files lack."""
    try:
        return Version(value).public == Version(planned).public
    except InvalidVersion:
        return value == planned


def _is_variant(found: str, planned: str) -> bool:
    """Whether a build is what was planned: of ROCm's, torch tells fewer numbers than AMD's names do."""
    if found.startswith("rocm") and Variant(planned).kind == "rocm":
        return Variant(planned).release[:2] == Variant(found).release[:2]
    return found == planned


def variant_of(torch: TorchReport) -> str | None:
    """Return the variant that torch reports (`cu126`, `rocm7.2`, `cpu`), None where it does not tell.

    A Mac's build is the same for `mps` and `cpu`.
    """
    try:
        if torch.cuda:
            cuda = parse_cuda_version(torch.cuda)
            return f"cu{cuda.major}{cuda.minor}"
        if torch.hip:  # 7.2.26015-fc0010cf6a
            return "rocm" + ".".join(map(str, Version(torch.hip.partition("-")[0]).release[:2]))
    except ValueError:
        return None
    return None if torch.kind == "mps" else torch.kind or "cpu"


def _notes(report: Report, expectation: Expectation) -> tuple[str, ...]:
    notes = []
    if expectation.idle:
        notes.append(tr("{gpu} is not used: a CPU build was requested (--cuda cpu)", gpu=expectation.idle))
    elif not report.gpus and not expectation.gpu:
        notes.append(tr("no GPU available to test"))
    if report.complete and report.stop:
        notes.append(tr("Python crashed after the tests had finished: {detail}", detail=report.stop.detail))
    tests = (test for device in report.gpus for test in device.tests)
    notes += [
        test.detail for test in tests if test.id == "architectures" and test.ok and "compute_" in test.detail
    ]
    return tuple(dict.fromkeys(notes))
