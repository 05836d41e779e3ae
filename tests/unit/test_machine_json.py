"""A machine's JSON form: what was rendered is parsed back, and what is wrong is named by its field."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuenv.model.accelerator import ACCELERATOR_KINDS, Accelerator
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.machine import (
    Driver,
    DriverVersion,
    FoundManager,
    FoundPython,
    Gpu,
    Machine,
    Problem,
    System,
    Toolkit,
)
from gpuenv.model.machine_json import parse_driver, parse_machine, render_machine
from gpuenv.model.variant import CudaVersion

NUMBERS = st.integers(0, 99)
CUDA = st.builds(CudaVersion, NUMBERS, NUMBERS)
CAPABILITIES = st.builds(ComputeCapability, NUMBERS, st.integers(0, 9))
DRIVERS = st.builds("{}.{}.{:02d}".format, st.integers(10, 999), st.integers(0, 999), NUMBERS).map(
    DriverVersion
)
MAYBE_TEXT = st.none() | st.text()
SYSTEMS = st.builds(
    System, st.text(), st.text(), MAYBE_TEXT, st.none() | st.builds("{}.{}".format, NUMBERS, NUMBERS),
    st.booleans(), MAYBE_TEXT, st.none() | st.builds("{}.{}".format, NUMBERS, NUMBERS), MAYBE_TEXT,
)  # fmt: skip
ACCELERATORS = st.builds(
    Accelerator, st.none() | st.sampled_from(ACCELERATOR_KINDS), st.text(), NUMBERS, MAYBE_TEXT, MAYBE_TEXT,
    st.none() | st.integers(0), st.none() | st.sampled_from(["744c", "1586"]),
    st.none() | st.sampled_from(["c8", "00"]), st.none() | st.booleans(), st.booleans(),
)  # fmt: skip
GPUS = st.builds(
    Gpu, NUMBERS, MAYBE_TEXT, st.none() | CAPABILITIES, st.none() | st.integers(0), MAYBE_TEXT, MAYBE_TEXT,
    st.none() | st.booleans(), st.booleans(),
)  # fmt: skip
MACHINES = st.builds(
    Machine,
    system=SYSTEMS,
    driver=st.none() | st.builds(Driver, DRIVERS, st.none() | CUDA),
    gpus=st.lists(GPUS, max_size=3, unique_by=lambda gpu: gpu.index).map(tuple),
    toolkit=st.none() | st.builds(Toolkit, st.none() | CUDA, st.text()),
    managers=st.lists(st.builds(FoundManager, st.text(), st.text(), MAYBE_TEXT), max_size=2).map(tuple),
    pythons=st.lists(
        st.builds(FoundPython, st.sampled_from(["3.9", "3.12.4"]), st.text(), st.booleans()), max_size=2
    ).map(tuple),
    facts=st.dictionaries(st.text(), st.text(), max_size=3).map(lambda facts: tuple(facts.items())),
    problems=st.lists(st.builds(Problem, st.text(), st.text()), max_size=2).map(tuple),
    accelerators=st.lists(
        ACCELERATORS, max_size=3, unique_by=lambda accelerator: (accelerator.vendor, accelerator.index)
    ).map(tuple),
    amdgpu=st.none() | st.sampled_from(["6.12.12", "5.18.13", "6.16.13"]),
    l4t=st.none() | st.sampled_from(["36.4.3", "39.2", "35.4.1"]),
    cann=st.none() | st.sampled_from(["8.2.RC1", "8.0.0", "8.3.RC1.alpha003", "7.0.1"]),
)
H100 = Machine(
    System("linux", "x86_64", "glibc", "2.35"),
    Driver(DriverVersion("450.80.02"), CudaVersion(11, 0)),
    (Gpu(0, "NVIDIA H100", ComputeCapability(9, 0), 81559),),
)


@given(MACHINES)
def test_what_was_rendered_is_parsed_back(machine: Machine) -> None:
    data = json.loads(json.dumps(render_machine(machine)))

    assert parse_machine(data) == machine
    assert (
        parse_machine({"schema_version": 1, "command": "detect", "ok": True, "data": data, "error": None})
        == machine
    )


def test_the_form_is_the_documented_one() -> None:
    data = render_machine(H100)

    assert list(data) == [
        "system", "driver", "gpus", "toolkit", "managers", "pythons", "facts", "problems",
        "accelerators", "amdgpu", "l4t", "cann",
    ]  # fmt: skip
    assert data["driver"] == {"version": "450.80.02", "cuda": "11.0"}
    assert data["gpus"][0] == {
        "index": 0, "name": "NVIDIA H100", "compute_capability": "9.0", "memory_mib": 81559,
        "uuid": None, "pci_id": None, "mig": None, "visible": True,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["450.80.02", "570.133.07", "531.79", "418.226.00", "390.87"])
def test_drivers_are_written_as_nvidia_does(text: str) -> None:
    assert str(parse_driver(text)) == text


def test_missing_and_unknown_keys_are_no_error() -> None:
    machine = parse_machine(
        {"system": {"os": "linux", "arch": "x86_64"}, "gpus": [{"index": 3}], "colour": "green"}
    )

    assert machine.gpus == (Gpu(3, None, None),)
    assert machine.system.libc_version is None


def changed(**fields: Any) -> dict[str, Any]:
    return {**render_machine(H100), **fields}


def gpu(**fields: Any) -> dict[str, Any]:
    return changed(gpus=[{"index": 0, **fields}])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gpu(compute_capability=8.6), 'gpus[0].compute_capability: expected text such as "8.6", got 8.6'),
        (
            gpu(compute_capability="sm_86"),
            'gpus[0].compute_capability: expected text such as "8.6", got "sm_86"',
        ),
        (gpu(index=None), "gpus[0].index: expected a whole number, got nothing"),
        (gpu(index=True), "gpus[0].index: expected a whole number, got true"),
        (gpu(index=-1), "gpus[0].index: expected a whole number, got -1"),
        (gpu(visible="yes"), 'gpus[0].visible: expected true or false, got "yes"'),
        (changed(gpus=[{"index": 0}, {"index": 0}]), "gpus[1].index: 0 is a duplicate"),
        (changed(gpus={}), "gpus: expected a list, got an object"),
        (changed(gpus=["H100"]), 'gpus[0]: expected an object, got "H100"'),
        (changed(driver="535"), 'driver: expected an object, got "535"'),
        (changed(driver={}), 'driver.version: expected text such as "535.104.05", got nothing'),
        (changed(driver={"version": "new"}), 'driver.version: expected text such as "535.104.05", got "new"'),
        (changed(system=None), "system: expected an object, got nothing"),
        (changed(system={"os": "linux"}), "system.arch: expected text, got nothing"),
        (changed(facts={"a": 1}), "facts.a: expected text, got 1"),
        (
            changed(accelerators=[{"index": 0, "vendor": "AMD", "kind": "hip"}]),
            'accelerators[0].kind: expected text such as "rocm", got "hip"',
        ),
        (changed(accelerators=[{"index": 0}]), "accelerators[0].vendor: expected text, got nothing"),
        (
            changed(accelerators=[{"index": 0, "vendor": "AMD"}, {"index": 0, "vendor": "AMD"}]),
            "accelerators[1].index: 0 is a duplicate",
        ),
        (
            changed(accelerators=[{"index": 0, "vendor": "AMD", "pci_id": "0x744c"}]),
            'accelerators[0].pci_id: expected text such as "744c", got "0x744c"',
        ),
        (changed(amdgpu="new"), 'amdgpu: expected text such as "6.12.12", got "new"'),
        (changed(l4t=36), 'l4t: expected text such as "36.4.3", got 36'),
        (changed(cann="latest"), 'cann: expected text such as "8.2.RC1", got "latest"'),
        (
            changed(system={"os": "macos", "arch": "aarch64", "macos": "Sonoma"}),
            'system.macos: expected text such as "14.5", got "Sonoma"',
        ),
        ([], "the document: expected an object, got a list"),
        ("x" * 1000, f'the document: expected an object, got "{"x" * 56}...'),
        ({"schema_version": 2, "data": {}}, "schema_version: expected 1, got 2"),
        (
            {"schema_version": 1, "command": "plan", "data": {}},
            'command: expected the output of `gpuenv detect --json`, got "plan"',
        ),
        (
            {"schema_version": 1, "command": "detect", "data": None},
            "the document: expected an object, got nothing",
        ),
    ],
)
def test_what_is_wrong_is_named(data: object, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_machine(data)

    assert str(caught.value) == message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["system", "gpus", "driver", "index", "os", "arch", "version", "facts"]), inner
        )
    ),
)


@given(JSON)
def test_any_json_is_a_machine_or_a_value_error(data: object) -> None:
    with suppress(ValueError):
        assert isinstance(parse_machine(data), Machine)


@given(st.sampled_from(sorted(render_machine(H100))), JSON)
def test_any_json_in_any_field_is_a_machine_or_a_value_error(key: str, value: object) -> None:
    with suppress(ValueError):
        assert isinstance(parse_machine(changed(**{key: value})), Machine)


INTEGRATED = Accelerator("xpu", "Intel", 0, discrete=False)
CARD = Accelerator("rocm", "AMD", 0, discrete=True)
NPU = Accelerator(None, "Google", 0)


@pytest.mark.parametrize(
    ("machine", "kinds"),
    [
        (H100, ("cuda",)),
        (replace(H100, accelerators=(CARD,)), ("cuda", "rocm")),
        (replace(H100, gpus=(replace(H100.gpus[0], visible=False),), accelerators=(CARD,)), ("rocm",)),
        (replace(H100, gpus=(), accelerators=(INTEGRATED, CARD, CARD)), ("rocm", "xpu")),
        (replace(H100, gpus=(), accelerators=(replace(CARD, visible=False), INTEGRATED)), ("xpu",)),
        (replace(H100, gpus=(), accelerators=(NPU,)), ()),
    ],
)
def test_the_kinds_are_those_that_programs_see_the_likeliest_first(
    machine: Machine, kinds: tuple[str, ...]
) -> None:
    assert machine.kinds == kinds
    assert machine.kind == (kinds[0] if kinds else "cpu")
