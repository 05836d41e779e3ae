"""The report of child.py, as a value and as the data of `gpuenv verify --json`."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from gpuenv.model.capability import ComputeCapability

SCHEMA = 1


class Stop(Struct, frozen=True):
    """How a process of tests ended when it did not end well; `detail` names the signal, limit or error."""

    ending: Literal["crashed", "hung", "not-started"]
    detail: str


class TestResult(Struct, frozen=True):
    """One test on one device; `ms` is None where it did not finish or was skipped.

    `stop` is how its own process ended, for the kinds of accelerator that have one.
    """

    __test__ = False  # not a test of ours, whatever pytest thinks of the name

    id: str
    ok: bool
    ms: float | None
    detail: str
    stop: Stop | None = None


class DeviceReport(Struct, frozen=True):
    """One device as torch counts them; `index` is None for the CPU."""

    index: int | None
    name: str | None
    compute_capability: ComputeCapability | None
    tests: tuple[TestResult, ...]
    kind: str | None = None
    architecture: str | None = None  # of AMD's: gfx1100

    @property
    def ok(self) -> bool:
        """Whether every test passed, and there was one."""
        return bool(self.tests) and all(test.ok for test in self.tests)

    @property
    def is_gpu(self) -> bool:
        """Whether torch counts it among its GPUs."""
        return self.index is not None


class TorchReport(Struct, frozen=True):
    """The installed torch; `architectures` is None where unknown, `error` is why CUDA did not start."""

    version: str
    file: str | None
    cuda: str | None
    hip: str | None
    cudnn: str | None
    architectures: tuple[str, ...] | None
    error: str | None
    kind: str | None = None  # of accelerator that it was built for
    xpu: str | None = None


class ImportFailure(Struct, frozen=True):
    """Why torch could not be imported: the chained errors, oldest first, and the end of the traceback."""

    missing: bool
    errors: tuple[str, ...]
    lines: tuple[str, ...]


class RunningStep(Struct, frozen=True):
    """The step that ran when the document was written; `device` as in DeviceReport.index."""

    what: str
    device: int | None

    @property
    def test(self) -> str:
        """The test it belongs to: asking a device for its name counts as the first one."""
        return "zeros" if self.what == "device" else self.what


class Report(Struct, frozen=True):
    """The outcome of one run of the child; `complete` is false where it crashed or hung."""

    python: str | None
    executable: str | None
    torch: TorchReport | None
    failure: ImportFailure | None
    devices: tuple[DeviceReport, ...]
    running: RunningStep | None
    messages: tuple[str, ...]
    complete: bool
    stop: Stop | None = None

    @property
    def gpus(self) -> tuple[DeviceReport, ...]:
        """The devices that are GPUs."""
        return tuple(device for device in self.devices if device.is_gpu)


class ChildOutcome(Struct, frozen=True):
    """How the child ended (`stop` is None: well), its document if any, and the lines that torch printed."""

    stop: Stop | None
    document: object | None
    printed: tuple[str, ...]


EMPTY = Report(None, None, None, None, (), None, (), complete=False)


def render_report(report: Report, environment: str) -> dict[str, Any]:
    """Return the data of `gpuenv verify --json`; `environment` is its directory, or the bare interpreter."""
    torch, failure = report.torch, report.failure
    traceback = failure.lines if failure and not failure.missing else ()
    return {
        "environment": environment,
        "python": report.python,
        "torch": torch.version if torch else None,
        "cuda": torch.cuda if torch else None,
        "cudnn": torch.cudnn if torch else None,
        "accelerator": torch.kind if torch else None,
        "hip": torch.hip if torch else None,
        "architectures": list((torch and torch.architectures) or ()),
        "devices": [_render_device(device) for device in report.devices],
        "messages": [*report.messages, *traceback],
    }


def _render_device(device: DeviceReport) -> dict[str, Any]:
    return {
        "index": device.index,
        "name": device.name,
        "kind": device.kind,
        "architecture": device.architecture,
        "compute_capability": str(device.compute_capability) if device.compute_capability else None,
        "ok": device.ok,
        "tests": [
            {"id": test.id, "ok": test.ok, "ms": test.ms, "detail": test.detail} for test in device.tests
        ],
    }
