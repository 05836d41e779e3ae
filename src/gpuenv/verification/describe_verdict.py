"""Describe a verdict."""

from __future__ import annotations

import shlex
from typing import Any

from gpuenv.i18n.messages import N_, tr
from gpuenv.model.errors import Because, Fix, VerificationFailed
from gpuenv.verification.report import DeviceReport, Report
from gpuenv.verification.verdict import VerificationVerdict, label

_FIXES = {
    "no-torch": (N_("see which build this machine needs"), "gpuenv plan"),
    "cpu-build": (N_("see which build this machine needs"), "gpuenv plan"),
    "no-gpu": (N_("see the driver and its GPUs"), "gpuenv detect"),
    "hung": (N_("increase the time limit if the machine is slow or busy: --timeout"), None),
}


def describe_failure(
    verdict: VerificationVerdict, environment: str, data: dict[str, Any]
) -> VerificationFailed:
    """Return the error for a verdict with problems; `data` is that of `gpuenv verify --json`."""
    fixes = dict.fromkeys(_FIXES[problem.code] for problem in verdict.problems if problem.code in _FIXES)
    return VerificationFailed(
        tr("the environment `{environment}` does not work as it should", environment=environment),
        code=verdict.problems[0].code,
        because=tuple(Because(problem.text, "gpuenv verify") for problem in verdict.problems),
        fixes=(
            *(Fix(tr(text), command) for text, command in fixes),
            Fix(tr("see what is wrong with it"), f"gpuenv doctor {shlex.quote(environment)}"),
        ),
        data=data,
    )


def describe_verdict(report: Report, verdict: VerificationVerdict) -> tuple[str, ...]:
    """Return the lines of a report for a person."""
    devices = tuple(_describe_device(device) for device in report.devices)
    problems = tuple(problem.text for problem in verdict.problems)
    return (*_describe_torch(report), *devices, *problems, *verdict.notes)


def _describe_torch(report: Report) -> tuple[str, ...]:
    torch = report.torch
    if torch is None:
        return ()
    versions = {"torch": torch.version, "CUDA": torch.cuda, "ROCm": torch.hip, "cuDNN": torch.cudnn}
    versions["Python"] = report.python
    return (" · ".join(f"{name} {version}" for name, version in versions.items() if version),)


def _describe_device(device: DeviceReport) -> str:
    ran = tuple(test for test in device.tests if test.ms is not None or not test.ok)
    passed = sum(test.ok for test in ran)
    name = device.name or label(device.index)
    code = device.compute_capability or device.architecture
    shown = f"{name} ({code})" if code else name
    if passed == len(ran):
        return tr("{device}: {passed} tests passed", device=shown, passed=passed)
    return tr("{device}: {passed} of {ran} tests passed", device=shown, passed=passed, ran=len(ran))
