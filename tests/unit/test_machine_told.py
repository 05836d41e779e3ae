"""What a node tells is a machine, or a ValueError that names what is wrong: whatever it sends."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.host.nvidia.smi_csv import FIELDS
from gpuenv.host.remote import parse_told
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import parse_machine, render_machine
from gpuenv.node import facts
from gpuenv.planning.detect import hardware_knowledge

QUERY = [f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"]
ROW = "0, NVIDIA H100, 535.183.01, GPU-0, 00000000:01:00.0, 0x233010DE, 81559, Disabled, 9.0\n"


def call(arguments: list[str], stdout: str, returncode: int | None = 0) -> dict[str, Any]:
    return {
        "arguments": arguments, "returncode": returncode, "stdout": stdout, "stderr": "", "timed_out": False,
        "error": None,
    }  # fmt: skip


def told(**changed: Any) -> dict[str, Any]:
    usual = {
        "platform": "linux", "architecture": "x86_64", "libc": "glibc 2.31", "musl": None, "environ": {},
        "files": {"proc/sys/kernel/osrelease": "5.15.0"}, "links": {},
        "nvidia_smi": {"program": "/usr/bin/nvidia-smi", "limit_s": 30.0, "calls": [call(QUERY, ROW)]},
        "toolkit": None, "tools": {},
        "pythons": [
            {"implementation": "cpython", "version": "3.11.2", "release": True, "path": "/usr/bin/python3.11",
             "free_threaded": False, "virtual": False, "venv": True, "ensurepip": True}
        ],
    }  # fmt: skip
    return {**usual, **changed}


def read(**changed: Any) -> Machine:
    return parse_told(told(**changed), hardware_knowledge)


def python(**changed: Any) -> dict[str, Any]:
    return {**told()["pythons"][0], **changed}


def test_a_machine_is_read_with_its_sources() -> None:
    machine = read()
    assert str(machine.driver and machine.driver.version) == "535.183.01"
    assert (machine.system.libc, machine.system.libc_version) == ("glibc", "2.31")
    assert [found_python.version for found_python in machine.pythons] == ["3.11.2"]
    assert machine.source_of("system.arch") == "uname"
    assert machine.source_of("gpus.0.compute_capability") == "nvidia-smi --query-gpu"
    assert parse_machine(json.loads(json.dumps(render_machine(machine)))) == machine


def test_the_node_asks_the_query_that_gpuenv_reads() -> None:
    assert facts.FIELDS == FIELDS


def test_musl_is_read_from_what_its_loader_says() -> None:
    loader = {
        "loader": "/lib/ld-musl-x86_64.so.1",
        "ended": {**call([], ""), "stderr": "musl libc\nVersion 1.2.4"},
    }
    machine = read(libc=None, musl=loader)
    assert (machine.system.libc, machine.system.libc_version) == ("musl", "1.2")


@pytest.mark.parametrize(
    "changed",
    [
        {"implementation": "pypy"}, {"release": False}, {"virtual": True}, {"venv": False},
        {"ensurepip": False},
    ],
)  # fmt: skip
def test_a_python_that_makes_no_environments_is_none(changed: dict[str, Any]) -> None:
    assert read(pythons=[python(**changed)]).pythons == ()


def test_uv_makes_environments_of_any_python() -> None:
    machine = read(tools={"uv": "/usr/bin/uv"}, pythons=[python(venv=False, ensurepip=False)])
    assert [found_python.path for found_python in machine.pythons] == ["/usr/bin/python3.11"]
    assert machine.problems == ()


def test_a_machine_without_gpu_is_one_whatever_its_pythons() -> None:
    machine = read(
        nvidia_smi=None, pythons=[python(ensurepip=False), {"path": "/x/python3", "version": None}]
    )
    assert machine.without_gpu
    assert len(machine.problems) == 2


def test_a_hanging_nvidia_smi_is_a_problem() -> None:
    hung = {**call(QUERY, "", None), "timed_out": True}
    machine = read(nvidia_smi={"program": "/usr/bin/nvidia-smi", "limit_s": 7.5, "calls": [hung]})
    assert "7.5 s" in machine.problems[0].message
    assert not machine.without_gpu


def test_an_nvidia_smi_that_was_not_asked_is_no_machine_without_gpu() -> None:
    machine = read(nvidia_smi={"program": "/usr/bin/nvidia-smi", "limit_s": 30, "calls": []})
    assert not machine.without_gpu


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"platform": None}, "platform"),
        ({"architecture": 1}, "architecture"),
        ({"files": []}, "files"),
        ({"files": {"proc/version": 1}}, "files.proc/version"),
        ({"links": {"a": ["b"]}}, "links.a"),
        ({"environ": {"CUDA_VISIBLE_DEVICES": 0}}, "environ.CUDA_VISIBLE_DEVICES"),
        ({"nvidia_smi": {"limit_s": 30, "calls": [{"stdout": ""}]}}, "nvidia_smi.calls[0].arguments"),
        ({"nvidia_smi": {"limit_s": 1e9, "calls": []}}, "nvidia_smi.limit_s"),
        ({"nvidia_smi": {"limit_s": True, "calls": []}}, "nvidia_smi.limit_s"),
        ({"nvidia_smi": {"limit_s": 3, "calls": [call(QUERY, "", "0")]}}, "returncode"),  # type: ignore[arg-type]
        ({"pythons": {}}, "pythons"),
        ({"pythons": [{}]}, "pythons[0].path"),
        ({"pythons": [python(version="3")]}, "pythons[0].version"),
        ({"pythons": [python(version="3.11.2; rm")]}, "pythons[0].version"),
        ({"toolkit": {"nvcc": 1, "folder": "", "texts": {}}}, "toolkit.nvcc"),
        ({"files": {f"proc/{number}": None for number in range(20_001)}}, "20001"),
    ],
)
def test_what_is_wrong_is_named(changed: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        read(**changed)
    assert named in str(raised.value)


PATHS = st.sampled_from(
    [
        "proc/driver/nvidia/version", "proc/driver/nvidia/gpus/x/information", "dev/nvidiactl", "dev/dxg", "",
        "sys/bus/pci/devices/0000:01:00.0/vendor", "sys/bus/pci/devices/0000:01:00.0/class", "/", "../../etc",
        "sys/bus/pci/devices/0000:01:00.0/device", "proc/version", "usr/lib/wsl/drivers/nv", "proc/1/cgroup",
    ]
)  # fmt: skip
TEXTS = (
    st.none() | st.text() | st.sampled_from(["0x10de", "0x030000", "0x2208", "Model: Tesla T4", "microsoft"])
)
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
                    max_leaves=8)  # fmt: skip


@given(st.dictionaries(PATHS, TEXTS), st.dictionaries(PATHS, st.text()), st.text(), st.booleans())
def test_any_texts_are_a_machine(
    files: dict[str, str | None], links: dict[str, str], printed: str, smi: bool
) -> None:
    answered = {"program": "/x", "limit_s": 30, "calls": [call(QUERY, printed), call([], printed, 9)]}
    machine = read(files=files, links=links, nvidia_smi=answered if smi else None)
    assert parse_machine(render_machine(machine)) == machine


@given(st.sampled_from(sorted(told())), JSON)
def test_any_document_is_a_machine_or_a_value_error(field: str, value: Any) -> None:
    with suppress(ValueError):
        read(**{field: value})


@given(JSON)
def test_what_is_no_object_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_told(value, hardware_knowledge)
