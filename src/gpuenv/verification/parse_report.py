"""Parse the document that child.py wrote in an environment, which is not trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.model.capability import parse_compute_capability
from gpuenv.process.exit_status import describe_status
from gpuenv.verification.messages import translate_detail
from gpuenv.verification.report import (
    EMPTY,
    SCHEMA,
    ChildOutcome,
    DeviceReport,
    ImportFailure,
    Report,
    RunningStep,
    Stop,
    TestResult,
    TorchReport,
)

T = TypeVar("T")

_LONGEST = 2000  # characters of one line of text from outside
_CUDNN_9 = 90000


def read_outcome(outcome: ChildOutcome) -> Report:
    """Return the child's report, the step that it crashed in as a failed test; raise ValueError."""
    report = EMPTY if outcome.document is None else parse_report(outcome.document)
    printed = tuple(_clean(line) for line in outcome.printed)
    report = replace(report, messages=report.messages + printed, stop=outcome.stop)
    return report if report.complete else _with_unfinished(report)


def _with_unfinished(report: Report) -> Report:
    running = report.running
    if running is None:
        return report
    detail = tr("did not finish: {detail}", detail=report.stop.detail if report.stop else "")
    unfinished = TestResult(running.test, ok=False, ms=None, detail=detail)
    devices = tuple(
        replace(device, tests=(*device.tests, unfinished)) if device.index == running.device else device
        for device in report.devices
    )
    return replace(report, devices=devices)


def parse_report(document: object) -> Report:
    """Parse the child's document; raise ValueError.

    {"schema": 1, "python": "3.12.1", "executable": "/e/bin/python", "torch": {"version": "2.14.1+cu126",
     "cuda": "12.6", "cudnn": 91002, ...}, "failure": null, "devices": [{"index": 0, "name": "NVIDIA L4",
     "compute_capability": "8.9", "tests": [{"id": "zeros", "ok": true, "ms": 1.5, "detail": ""}]}],
     "running": {"what": "matmul", "device": 0}, "warnings": [], "complete": false}
    """
    fields = _mapping(document, tr("the document"))
    if fields.get("schema") != SCHEMA:
        facts = {"found": fields.get("schema"), "version": SCHEMA}
        raise ValueError(tr("the document's schema is {found!r}, not {version}", **facts))
    return Report(
        python=_text(fields, "python"),
        executable=_text(fields, "executable"),
        torch=_optional(fields, "torch", _parse_torch),
        failure=_optional(fields, "failure", _parse_failure),
        devices=tuple(_parse_device(_mapping(item, tr("a device"))) for item in _list(fields, "devices")),
        running=_optional(fields, "running", _parse_running),
        messages=_texts(fields, "warnings"),
        complete=_flag(fields, "complete"),
    )


def _optional(fields: Mapping[str, Any], key: str, parse: Callable[[Mapping[str, Any]], T]) -> T | None:
    value = fields.get(key)
    return None if value is None else parse(_mapping(value, key))


def parse_cudnn_version(number: int) -> str:
    """Parse cuDNN's version number: 7605 is 7.6.5, 8902 is 8.9.2, 91002 is 9.10.2."""
    major, rest = divmod(number, 10000 if number >= _CUDNN_9 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _parse_torch(fields: Mapping[str, Any]) -> TorchReport:
    cudnn = _number(fields, "cudnn")
    return TorchReport(
        version=_text(fields, "version") or "",
        file=_text(fields, "file"),
        cuda=_text(fields, "cuda"),
        hip=_text(fields, "hip"),
        cudnn=None if cudnn is None else parse_cudnn_version(int(cudnn)),
        architectures=None if fields.get("architectures") is None else _texts(fields, "architectures"),
        error=_text(fields, "error"),
        kind=_text(fields, "kind"),
        xpu=_text(fields, "xpu"),
    )


def _parse_failure(fields: Mapping[str, Any]) -> ImportFailure:
    return ImportFailure(_flag(fields, "missing"), _texts(fields, "errors"), _texts(fields, "lines"))


def _parse_running(fields: Mapping[str, Any]) -> RunningStep:
    return RunningStep(_text(fields, "what") or "", _index(fields, "device"))


def _parse_device(fields: Mapping[str, Any]) -> DeviceReport:
    capability = _text(fields, "compute_capability")
    return DeviceReport(
        index=_index(fields, "index"),
        name=_text(fields, "name"),
        compute_capability=None if capability is None else parse_compute_capability(capability),
        tests=tuple(_parse_test(_mapping(item, tr("a test"))) for item in _list(fields, "tests")),
        kind=_text(fields, "kind"),
        architecture=_text(fields, "architecture"),
    )


def _parse_test(fields: Mapping[str, Any]) -> TestResult:
    stop = _optional(fields, "ended", _parse_ended)
    detail = translate_detail(_text(fields, "detail") or "")
    return TestResult(
        _text(fields, "id") or "",
        _flag(fields, "ok"),
        _number(fields, "ms"),
        tr("did not finish: {detail}", detail=stop.detail) if stop else detail,
        stop,
    )


def _parse_ended(fields: Mapping[str, Any]) -> Stop:
    """Parse how a test's own process ended: {"timed_out": false, "status": -6, "limit_s": 100.0}."""
    if _flag(fields, "timed_out"):
        return Stop("hung", tr("it timed out after {seconds} s", seconds=f"{_number(fields, 'limit_s'):g}"))
    return Stop("crashed", describe_status(_index(fields, "status") or 0))


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(tr("{what} is not an object", what=what))
    return value


def _list(fields: Mapping[str, Any], key: str) -> list[Any]:
    value = fields.get(key)
    if not isinstance(value, list):
        raise ValueError(tr("`{key}` is not a list", key=key))
    return value


def _texts(fields: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(_clean(str(item)) for item in _list(fields, key))


def _text(fields: Mapping[str, Any], key: str) -> str | None:
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(tr("`{key}` is not a text", key=key))
    return None if value is None else _clean(value)


def _flag(fields: Mapping[str, Any], key: str) -> bool:
    value = fields.get(key)
    if not isinstance(value, bool):
        raise ValueError(tr("`{key}` is not true or false", key=key))
    return value


def _number(fields: Mapping[str, Any], key: str) -> float | None:
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:  # noqa: PLR2004
        raise ValueError(tr("`{key}` is not a possible number", key=key))
    return value


def _index(fields: Mapping[str, Any], key: str) -> int | None:
    value = fields.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise ValueError(tr("`{key}` is not a valid device index", key=key))
    return value


def _clean(text: str) -> str:
    """Replace control characters and unpaired surrogates, which terminals and encoders do not take."""
    shown = "".join(
        char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
