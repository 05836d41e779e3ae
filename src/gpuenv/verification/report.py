"""What the child script wrote down, as a value, and as the data of `gpuenv verify --json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from gpuenv.i18n.messages import tr
from gpuenv.model.capability import ComputeCapability, parse_compute_capability
from gpuenv.verification.messages import said_detail

SCHEMA = 1
_LONGEST = 2000  # characters of one line of text from outside
_CUDNN_9 = 90000


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test on one device: `ms` (milliseconds) is None where it did not run to its end or was skipped."""

    __test__ = False  # not a test of ours, whatever pytest thinks of the name

    id: str
    ok: bool
    ms: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """One device as torch counts them; `index` is None for the CPU."""

    index: int | None
    name: str | None
    compute_capability: ComputeCapability | None
    tests: tuple[TestResult, ...]

    @property
    def ok(self) -> bool:
        """Whether every test passed, and there was one."""
        return bool(self.tests) and all(test.ok for test in self.tests)

    @property
    def is_gpu(self) -> bool:
        """Whether torch counts it among its GPUs."""
        return self.index is not None


@dataclass(frozen=True, slots=True)
class TorchReport:
    """What torch says of itself.

    `architectures` is None where it can't tell them, `error` is why CUDA would not start.
    """

    version: str
    file: str | None
    cuda: str | None
    hip: str | None
    cudnn: str | None
    architectures: tuple[str, ...] | None
    available: bool
    error: str | None


@dataclass(frozen=True, slots=True)
class ImportFailure:
    """Why torch could not be imported; `missing` tells that it is not installed at all.

    `errors` are what was raised, oldest first, `lines` the last of the traceback.
    """

    missing: bool
    errors: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunningStep:
    """The step that was under way when the document was written; `device` as in DeviceReport.index."""

    what: str
    device: int | None

    @property
    def test(self) -> str:
        """The test it belongs to: asking a device for its name counts as the first one."""
        return "zeros" if self.what == "device" else self.what


@dataclass(frozen=True, slots=True)
class Stop:
    """How the child ended when it did not end well; `detail` names the signal, the limit or the error."""

    ending: Literal["crashed", "hung", "not-started"]
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """All that is known of one run of the child; `complete` is false where it ended before its time."""

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


@dataclass(frozen=True, slots=True)
class ChildOutcome:
    """How the child ended (`stop` is None: well), and what it left.

    `document` is None where nothing readable was written, `printed` are the lines that torch printed.
    """

    stop: Stop | None
    document: object | None
    printed: tuple[str, ...]


EMPTY = Report(None, None, None, None, (), None, (), complete=False)


def read_outcome(outcome: ChildOutcome) -> Report:
    """Return what the child proved until it ended; raise ValueError for a document it can't have written.

    The step that the child did not survive becomes a failed test of the device it ran on.
    """
    report = EMPTY if outcome.document is None else parse_report(outcome.document)
    printed = tuple(_clean(line) for line in outcome.printed)
    report = replace(report, messages=report.messages + printed, stop=outcome.stop)
    return report if report.complete else _with_unfinished(report)


def _with_unfinished(report: Report) -> Report:
    running, detail = report.running, report.stop.detail if report.stop else ""
    if running is None:
        return report
    unfinished = TestResult(
        running.test, ok=False, ms=None, detail=tr("did not end: {detail}", detail=detail)
    )
    devices = tuple(
        replace(device, tests=(*device.tests, unfinished)) if device.index == running.device else device
        for device in report.devices
    )
    return replace(report, devices=devices)


def parse_report(document: object) -> Report:
    """Parse the child's document (see child.py); raise ValueError where it is none.

    {"schema": 1, "python": "3.12.1", "executable": "/e/bin/python", "torch": {"version": "2.14.1+cu126",
     "cuda": "12.6", "cudnn": 91002, ...}, "failure": null, "devices": [{"index": 0, "name": "NVIDIA L4",
     "compute_capability": "8.9", "tests": [{"id": "zeros", "ok": true, "ms": 1.5, "detail": ""}]}],
     "running": {"what": "matmul", "device": 0}, "warnings": [], "complete": false}
    """
    found = _mapping(document, tr("the document"))
    if found.get("schema") != SCHEMA:
        raise ValueError(
            tr("the document's schema is {found!r}, not {version}", found=found.get("schema"), version=SCHEMA)
        )
    torch, failure, running = found.get("torch"), found.get("failure"), found.get("running")
    return Report(
        python=_text(found, "python"),
        executable=_text(found, "executable"),
        torch=None if torch is None else _parse_torch(_mapping(torch, "torch")),
        failure=None if failure is None else _parse_failure(_mapping(failure, "failure")),
        devices=tuple(_parse_device(_mapping(item, tr("a device"))) for item in _list(found, "devices")),
        running=None if running is None else _parse_running(_mapping(running, "running")),
        messages=_texts(found, "warnings"),
        complete=_flag(found, "complete"),
    )


def parse_cudnn_version(number: int) -> str:
    """Parse cuDNN's version number: 7605 is 7.6.5, 8902 is 8.9.2, 91002 is 9.10.2."""
    major, rest = divmod(number, 10000 if number >= _CUDNN_9 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _parse_torch(found: Mapping[str, Any]) -> TorchReport:
    cudnn = _number(found, "cudnn")
    return TorchReport(
        version=_text(found, "version") or "",
        file=_text(found, "file"),
        cuda=_text(found, "cuda"),
        hip=_text(found, "hip"),
        cudnn=None if cudnn is None else parse_cudnn_version(int(cudnn)),
        architectures=None if found.get("architectures") is None else _texts(found, "architectures"),
        available=_flag(found, "available"),
        error=_text(found, "error"),
    )


def _parse_failure(found: Mapping[str, Any]) -> ImportFailure:
    return ImportFailure(_flag(found, "missing"), _texts(found, "errors"), _texts(found, "lines"))


def _parse_running(found: Mapping[str, Any]) -> RunningStep:
    return RunningStep(_text(found, "what") or "", _index(found, "device"))


def _parse_device(found: Mapping[str, Any]) -> DeviceReport:
    capability = _text(found, "compute_capability")
    return DeviceReport(
        index=_index(found, "index"),
        name=_text(found, "name"),
        compute_capability=None if capability is None else parse_compute_capability(capability),
        tests=tuple(_parse_test(_mapping(item, tr("a test"))) for item in _list(found, "tests")),
    )


def _parse_test(found: Mapping[str, Any]) -> TestResult:
    return TestResult(
        _text(found, "id") or "",
        _flag(found, "ok"),
        _number(found, "ms"),
        said_detail(_text(found, "detail") or ""),
    )


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(tr("{what} is no object", what=what))
    return value


def _list(found: Mapping[str, Any], key: str) -> list[Any]:
    value = found.get(key)
    if not isinstance(value, list):
        raise ValueError(tr("`{key}` is no list", key=key))
    return value


def _texts(found: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(_clean(str(item)) for item in _list(found, key))


def _text(found: Mapping[str, Any], key: str) -> str | None:
    value = found.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(tr("`{key}` is no text", key=key))
    return None if value is None else _clean(value)


def _flag(found: Mapping[str, Any], key: str) -> bool:
    value = found.get(key)
    if not isinstance(value, bool):
        raise ValueError(tr("`{key}` is neither true nor false", key=key))
    return value


def _number(found: Mapping[str, Any], key: str) -> float | None:
    value = found.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:  # noqa: PLR2004
        raise ValueError(tr("`{key}` is no number that can be", key=key))
    return value


def _index(found: Mapping[str, Any], key: str) -> int | None:
    value = found.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise ValueError(tr("`{key}` is no device index", key=key))
    return value


def _clean(text: str) -> str:
    """Take out what must not reach a terminal or break an encoder: control characters, lone surrogates."""
    shown = "".join(
        char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


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
        "architectures": list((torch and torch.architectures) or ()),
        "devices": [_render_device(device) for device in report.devices],
        "messages": [*report.messages, *traceback],
    }


def _render_device(device: DeviceReport) -> dict[str, Any]:
    return {
        "index": device.index,
        "name": device.name,
        "compute_capability": str(device.compute_capability) if device.compute_capability else None,
        "ok": device.ok,
        "tests": [
            {"id": test.id, "ok": test.ok, "ms": test.ms, "detail": test.detail} for test in device.tests
        ],
    }
