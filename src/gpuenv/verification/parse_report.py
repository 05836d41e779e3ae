"""Reading what the child wrote: text of an environment that may be a stranger's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpuenv.i18n.messages import tr
from gpuenv.model.capability import parse_compute_capability
from gpuenv.verification.messages import said_detail
from gpuenv.verification.report import (
    EMPTY,
    SCHEMA,
    ChildOutcome,
    DeviceReport,
    ImportFailure,
    Report,
    RunningStep,
    TestResult,
    TorchReport,
)

_LONGEST = 2000  # characters of one line of text from outside
_CUDNN_9 = 90000


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
        raise ValueError(tr("`{key}` is not a list", key=key))
    return value


def _texts(found: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(_clean(str(item)) for item in _list(found, key))


def _text(found: Mapping[str, Any], key: str) -> str | None:
    value = found.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(tr("`{key}` is not a text", key=key))
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
