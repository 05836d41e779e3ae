"""What machines are asked, and what their answers are read as, whatever they send."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import H100, INDEX, cpu_plan, locked, plan

from gpuenv.environments.record import parse_record
from gpuenv.fleet.parse_answers import (
    NodeCreated,
    NodeFailure,
    NodeVerified,
    parse_created,
    parse_detected,
    parse_verified,
)
from gpuenv.fleet.requests import create_request, fingerprint, verify_request
from gpuenv.model.plan import Sources
from gpuenv.operations.verify import VerifyOptions
from gpuenv.verification.describe_verdict import describe_verdict
from gpuenv.verification.report import render_report

# requests


def test_a_lock_is_asked_for_with_its_hashes_from_where_the_plan_has_it() -> None:
    mirror = Sources("https://me:s3cret@mirror.example.com/simple", (), (f"{INDEX}/torch/",))
    made = locked(plan(sources=mirror))
    request = create_request("paper", made, H100)
    lines = request["requirements"].splitlines()
    assert lines[:2] == [f"--index-url {mirror.index_url}", f"--find-links {INDEX}/torch/"]
    assert len(lines) == 2 + len(made.files)
    assert all("--hash=sha256:" in line for line in lines[2:])
    assert lines[2].startswith("torch==2.14.1+cu126 ")
    assert (request["hashed"], request["python"], request["size"]) == (True, "3.12", 2_600_000_000)
    assert request["names"] == [file.name for file in made.files]


def test_without_a_lock_the_plan_is_asked_for() -> None:
    request = create_request("paper", plan(), H100, force=True, check=True)
    wanted = [line for line in request["requirements"].splitlines() if not line.startswith("--")]
    assert wanted == ["torch==2.14.1+cu126", "torchvision==0.29.1+cu126", "numpy>=1.26", "setuptools<82"]
    assert (request["hashed"], request["force"], request["check"]) == (False, True, True)
    assert request["names"] == ["torch", "torchvision", "numpy"]


def test_what_is_kept_is_gpuenvs_record_with_the_hosts_machine_and_no_passwords() -> None:
    sources = Sources("https://me:s3cret@mirror.example.com/simple", (), ())
    step = replace(plan().steps[0], argv=("uv", "--index", str(sources.index_url)))
    record = create_request("paper", plan(machines=(H100, H100), sources=sources, steps=(step,)), H100)[
        "record"
    ]
    parsed = parse_record(json.dumps(record))
    assert "s3cret" not in json.dumps(record)
    assert parsed.package("torch") is not None
    assert (parsed.planned("variant"), len(parsed.plan["machines"]), parsed.verified) == ("cu126", 1, None)
    assert parsed.machine is not None
    assert parsed.machine["gpus"][0]["compute_capability"] == "9.0"


def test_the_fingerprint_is_of_what_is_decided_and_not_of_where_it_is_from() -> None:
    made = locked()
    elsewhere = replace(
        made,
        plan=replace(made.plan, sources=Sources("https://mirror.example.com/simple", (), ()), why=()),
        files=tuple(
            replace(file, url="https://mirror.example.com/x", index=None) for file in made.files[::-1]
        ),
    )
    assert fingerprint(elsewhere) == fingerprint(made)
    others = [
        replace(made, plan=replace(made.plan, python="3.11")),
        replace(made, files=made.files[1:]),
        replace(made, files=(replace(made.files[0], sha256="0" * 64), *made.files[1:])),
        replace(made, files=(replace(made.files[0], version="2.14.0+cu126"), *made.files[1:])),
        made.plan,
        cpu_plan(),
    ]
    assert len({fingerprint(item) for item in (made, *others)}) == len(others) + 1


def test_verify_is_asked_for_with_its_options() -> None:
    request = verify_request("paper", VerifyOptions(devices=(0, 2), compile=True, timeout_s=20.0))
    assert request["name"] == "paper"
    assert request["options"] == {"devices": [0, 2], "compile": True, "nccl": False, "timeout_s": 20.0}


# answers

ENDED = {"returncode": 0, "timed_out": False, "error": None, "limit_s": 300.0}
REPORT = {
    "schema": 1, "python": "3.12.1", "executable": "/e/bin/python", "failure": None, "running": None,
    "warnings": [], "complete": True,
    "torch": {"version": "2.14.1+cu126", "file": None, "cuda": "12.6", "hip": None, "cudnn": 91002,
              "architectures": ["sm_90"], "available": True, "error": None},
    "devices": [{"index": 0, "name": "NVIDIA H100", "compute_capability": "9.0",
                 "tests": [{"id": "matmul", "ok": True, "ms": 1.5, "detail": ""}]}],
}  # fmt: skip


UNFINISHED = {**REPORT, "complete": False}


def answer(**fields: Any) -> dict[str, Any]:
    return {"schema_version": 1, "action": "verify", "ok": True, **fields}


def verified(**changed: Any) -> dict[str, Any]:
    return answer(**{"environment": "/e", "report": REPORT, "ended": ENDED, "printed": [], **changed})


def test_what_a_machine_proved_is_held_against_its_plan() -> None:
    result = parse_verified(verified(), locked(), H100)
    assert isinstance(result, NodeVerified)
    assert result.verdict.ok
    data = render_report(result.report, result.environment)
    assert data["environment"] == "/e"
    assert [test["id"] for test in data["devices"][0]["tests"]] == ["matmul", "architectures"]
    other = parse_verified(verified(), replace(plan(), packages=cpu_plan().packages, variant="cpu"), H100)
    assert isinstance(other, NodeVerified)
    assert not other.verdict.ok


@pytest.mark.parametrize(
    ("ended", "report", "said"),
    [
        ({"returncode": -11}, {**UNFINISHED, "running": {"what": "matmul", "device": 0}}, "SIGSEGV"),
        ({"returncode": -9, "timed_out": True}, UNFINISHED, "300 s"),
        ({"returncode": None, "error": "Exec format error"}, None, "Exec format error"),
        ({"returncode": 1}, {"schema": 7}, "report"),
    ],
)  # fmt: skip
def test_what_did_not_end_well_is_not_proven(ended: dict[str, Any], report: object, said: str) -> None:
    result = parse_verified(verified(ended={**ENDED, **ended}, report=report), plan(), H100)
    assert isinstance(result, NodeVerified)
    assert not result.verdict.ok
    assert said in json.dumps(
        [describe_verdict(result.report, result.verdict), render_report(result.report, "/e")]
    )


def test_what_was_made_is_told() -> None:
    made = parse_created(answer(state="made", changed=True, environment="/data/envs/paper"))
    assert made == NodeCreated("made", changed=True, environment="/data/envs/paper")


def test_a_failure_keeps_its_code_and_is_printable() -> None:
    error = {"code": "install-failed", "message": "`pip\x1b[2J` failed (1)", "because": ["/log\n\ud800"]}
    result = parse_created(answer(ok=False, error=error, log="\x1b[31mred\x1b[0m\r\n50%\r100%\nno"))
    assert isinstance(result, NodeFailure)
    assert (result.code, result.log) == ("install-failed", "red\n100%\nno")
    assert result.message.isprintable()
    assert result.because == ("/log \N{REPLACEMENT CHARACTER}",)
    result.because[0].encode()


def test_what_was_told_is_a_machine() -> None:
    collections = {"platform": "linux", "architecture": "x86_64", "environ": {}, "files": {}, "links": {}}
    machine = parse_detected(answer(told=collections))
    assert not isinstance(machine, NodeFailure)
    assert machine.without_gpu


@pytest.mark.parametrize(
    "broken",
    [
        None, [], "made", {}, {"ok": True}, {"schema_version": 2, "ok": True}, {"schema_version": 1},
        {"schema_version": 1, "ok": "yes"}, {"schema_version": 1, "ok": False},
        {"schema_version": 1, "ok": False, "error": {"code": 1}},
        {"schema_version": 1, "ok": False, "error": {"code": "x", "message": "y", "because": [1]}},
        {"schema_version": 1, "ok": True, "state": "made", "environment": "/"},
        {"schema_version": 1, "ok": True, "environment": "/", "ended": {**ENDED, "limit_s": "5"}},
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_a_value_error(broken: object) -> None:
    for parse in (parse_detected, parse_created, lambda item: parse_verified(item, None, None)):
        with pytest.raises(ValueError, match=r"."):
            parse(broken)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
                    max_leaves=8)  # fmt: skip


@given(st.sampled_from(["ok", "environment", "report", "ended", "printed", "error", "told", "changed"]), JSON)
def test_any_answer_is_read_or_a_value_error(field: str, value: Any) -> None:
    for parse in (parse_detected, parse_created, lambda item: parse_verified(item, plan(), H100)):
        with suppress(ValueError):
            parse({**verified(), field: value})
