from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.process.exit_status import describe_status
from gpuenv.verification.parse_report import parse_cudnn_version, parse_report, read_outcome
from gpuenv.verification.report import ChildOutcome, Stop, render_report
from gpuenv.verification.run import parse_document

TEST = {"id": "zeros", "ok": True, "ms": 1.5, "detail": ""}
DOCUMENT: dict[str, Any] = {
    "schema": 1,
    "python": "3.12.1",
    "executable": "/e/bin/python",
    "torch": {
        "version": "2.14.1+cu126",
        "file": "/e/torch/__init__.py",
        "cuda": "12.6",
        "hip": None,
        "cudnn": 91002,
        "architectures": ["sm_75", "sm_80"],
        "available": True,
        "error": None,
    },
    "failure": None,
    "devices": [
        {"index": 0, "name": "NVIDIA L4", "compute_capability": "8.9", "tests": [TEST]},
        {"index": 1, "name": "NVIDIA L4", "compute_capability": "8.9", "tests": [TEST]},
    ],
    "running": None,
    "warnings": [],
    "complete": True,
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(location for key, inner in items for location in _places(inner, (*path, key)))]


def _with(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    changed = copy.deepcopy(document)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return changed


@given(st.sampled_from(_places(DOCUMENT)), json_values)
def test_a_document_with_anything_in_any_place_is_read_or_refused(place: Any, value: Any) -> None:
    """What is read can be rendered, encoded and printed."""
    try:
        report = parse_report(_with(DOCUMENT, place, value))
    except ValueError:
        return
    text = json.dumps(render_report(report, "/e"), ensure_ascii=False, allow_nan=False)
    assert text.encode("utf-8").decode() == text


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_report(parse_document(text))
    except ValueError:
        return


def test_a_document_nested_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="deep"):
        parse_document("[" * 200_000)


def test_the_data_are_those_the_design_names() -> None:
    data = render_report(parse_report(DOCUMENT), "/e")
    assert data == {
        "environment": "/e",
        "python": "3.12.1",
        "torch": "2.14.1+cu126",
        "cuda": "12.6",
        "cudnn": "9.10.2",
        "accelerator": None,  # as before kinds were told
        "hip": None,
        "architectures": ["sm_75", "sm_80"],
        "devices": [
            {
                "index": index,
                "name": "NVIDIA L4",
                "kind": None,
                "architecture": None,
                "compute_capability": "8.9",
                "ok": True,
                "tests": [TEST],
            }
            for index in (0, 1)
        ],
        "messages": [],
    }


@pytest.mark.parametrize("text", ["bell\x07", "\x1b[2J", "\ud800", "\u202e", "\r"])
def test_text_from_outside_cannot_steer_a_terminal(text: str) -> None:
    report = parse_report({**DOCUMENT, "warnings": [text]})
    assert report.messages[0].isprintable()


def test_the_step_that_never_ended_fails_on_its_own_device() -> None:
    document = {**DOCUMENT, "complete": False, "running": {"what": "nccl", "device": 0}}
    report = read_outcome(ChildOutcome(Stop("crashed", "ended by SIGSEGV"), document, ("printed",)))
    assert [test.id for test in report.devices[0].tests] == ["zeros", "nccl"]
    assert not report.devices[0].ok
    assert report.devices[1].ok
    assert report.messages == ("printed",)


@pytest.mark.parametrize(
    ("number", "version"),
    [(7005, "7.0.5"), (7605, "7.6.5"), (8902, "8.9.2"), (90100, "9.1.0"), (91002, "9.10.2")],
)
def test_cudnn_numbers_are_versions(number: int, version: str) -> None:
    assert parse_cudnn_version(number) == version


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (-11, "SIGSEGV"),
        (-6, "SIGABRT"),
        (-9, "memory"),
        (-250, "250"),
        (3, "status 3"),
        (0xC0000005, "0xc0000005 (access violation)"),
        (0xC0000135, "a DLL was not found"),
        (0xDEADBEEF, "0xdeadbeef"),
    ],
)
def test_exit_statuses_are_named(status: int, told: str) -> None:
    assert told in describe_status(status)
