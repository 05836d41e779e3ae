"""Wheel variants: what a machine supports with all its devices, and which variants of a release fit it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.model.accelerator import Accelerator
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.machine import Driver, DriverVersion, Gpu, Machine, System
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.wheel_variants.choose import judge_variants
from gpuenv.resolution.wheel_variants.machine import common_values, forced_values, supported_by
from gpuenv.resolution.wheel_variants.metadata import parse_variant_metadata

LINUX = System("linux", "x86_64")
DRIVER = Driver(DriverVersion("570.133.07"), CudaVersion(12, 8))
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["variants", "a", "namespace"]), inner),
)


def with_gpus(*capabilities: str, hidden: tuple[int, ...] = ()) -> Machine:
    gpus = tuple(
        Gpu(index, f"GPU {index}", ComputeCapability(*map(int, text.split("."))), visible=index not in hidden)
        for index, text in enumerate(capabilities)
    )
    return Machine(LINUX, DRIVER, gpus)


def metadata(variants: dict[str, Any], **priorities: Any) -> Any:
    wanted = {"default-priorities": {"namespace": ["nvidia", "x86_64"], **priorities}, "variants": variants}
    return parse_variant_metadata(wanted)


def fitting(machine: Machine, variants: dict[str, Any], **priorities: Any) -> list[str]:
    judged = judge_variants(metadata(variants, **priorities), supported_by(machine))
    return [item.variant.label for item in judged if item.unfit is None]


def sm(*values: str, lower: str | None = None) -> dict[str, Any]:
    bound = {"cuda_version_lower_bound": [lower]} if lower else {}
    return {"nvidia": {**bound, **({"sm_arch": list(values)} if values else {})}}


@pytest.mark.parametrize(
    ("machine", "value"),
    [
        (with_gpus("9.0"), None),
        (with_gpus("7.5", "7.5"), None),
        (with_gpus("7.5", "9.0"), "7.5"),
        (with_gpus("9.0", "10.0", "8.6"), "8.6"),
        (with_gpus("7.5", "9.0", hidden=(1,)), "7.5"),
        (with_gpus("7.5", "9.0", hidden=(0,)), None),
        (with_gpus("7.5", hidden=(0,)), None),
        (Machine(LINUX), None),
    ],
)
def test_uv_is_told_the_lowest_gpu_where_it_would_take_another(machine: Machine, value: str | None) -> None:
    forced = forced_values(machine)
    wanted = [("NV_VARIANT_PROVIDER_FORCE_SM_ARCH", value)] if value else []
    assert [(item.name, item.value) for item in forced] == wanted
    assert all(item.why for item in forced)


def test_what_a_machine_supports_is_what_all_its_gpus_do() -> None:
    common = common_values(supported_by(with_gpus("8.6", "8.0")))
    assert common["nvidia", "sm_arch"] == ("80_real", "80_virtual")
    assert common["nvidia", "cuda_version_lower_bound"][:2] == ("12.8", "12.7")
    assert common["nvidia", "cuda_version_lower_bound"][-2:] == ("11.0", "11")
    assert common["nvidia", "cuda_version_upper_bound"][-1] == "12.9"
    assert not common_values(supported_by(with_gpus("7.5", "9.0")))["nvidia", "sm_arch"]


def test_other_devices_are_told_in_their_providers_words() -> None:
    devices = (
        Accelerator("rocm", "AMD", 0, architecture="gfx1100"),
        Accelerator("xpu", "Intel", 0, architecture="20.1.0"),
        Accelerator("npu", "Huawei", 0, architecture="Ascend910B"),
    )
    common = common_values(supported_by(Machine(LINUX, accelerators=devices)))
    assert common == {
        ("amd", "gfx_arch"): ("gfx1100",),
        ("intel", "device_ip"): ("20.1.0",),
        ("ascend", "npu_type"): ("910b",),
    }


VARIANTS = {
    "null": {},
    "cu126": sm("70_real", "75_real", "90_real", lower="12.6"),
    "cu128": sm("75_real", "90_real", "100_real", lower="12.8"),
    "cu130": sm("75_real", "90_real", lower="13.0"),
    "hopper": sm("90_real", lower="12.8"),
}


@pytest.mark.parametrize(
    ("machine", "labels"),
    [
        (with_gpus("9.0"), ["cu128", "hopper", "cu126", "null"]),
        (with_gpus("7.5"), ["cu128", "cu126", "null"]),
        (with_gpus("7.5", "9.0"), ["cu128", "cu126", "null"]),
        (with_gpus("7.5", "9.0", hidden=(0,)), ["cu128", "hopper", "cu126", "null"]),
        (with_gpus("7.0"), ["cu126", "null"]),
        (with_gpus("6.1"), ["null"]),
        (Machine(LINUX), ["null"]),
    ],
)
def test_a_variant_fits_where_every_gpu_supports_one_of_its_values(
    machine: Machine, labels: list[str]
) -> None:
    assert fitting(machine, VARIANTS) == labels


def test_the_reason_names_the_device_and_the_property() -> None:
    judged = judge_variants(metadata(VARIANTS), supported_by(with_gpus("7.5", "9.0")))
    reasons = {item.variant.label: item.unfit for item in judged}
    assert reasons["hopper"] == "GPU 0 does not support nvidia :: sm_arch :: 90_real"
    assert reasons["cu130"] == "GPU 0 does not support nvidia :: cuda_version_lower_bound :: 13.0"


def test_the_order_is_that_of_the_release_before_that_of_the_machine() -> None:
    """Of features the release's first, of values its first, and more properties before fewer."""
    machine = with_gpus("9.0")
    assert fitting(machine, {"a": sm(lower="12.6"), "b": sm("90_real")}) == ["a", "b"]
    first = {"feature": {"nvidia": ["sm_arch"]}}
    assert fitting(machine, {"a": sm(lower="12.6"), "b": sm("90_real")}, **first) == ["b", "a"]
    older = {"property": {"nvidia": {"cuda_version_lower_bound": ["12.6"]}}}
    assert fitting(machine, {"a": sm(lower="12.8"), "b": sm(lower="12.6")}, **older) == ["b", "a"]
    assert fitting(machine, {"a": sm(lower="12.8"), "b": sm("90_real", lower="12.8")}) == ["b", "a"]


@pytest.mark.parametrize(
    "document",
    [
        [], {}, {"variants": {}}, {"default-priorities": {"namespace": ["nvidia"]}},
        {"default-priorities": {"namespace": "nvidia"}, "variants": {}},
        {"default-priorities": {"namespace": []}, "variants": {"UPPER": {}}},
        {"default-priorities": {"namespace": []}, "variants": {"a/../b": {}}},
        {"default-priorities": {"namespace": []}, "variants": {"a": {"n": {"f": [1]}}}},
        {"default-priorities": {"namespace": []}, "variants": {"a": {"n": {"f": ["\x1b"]}}}},
    ],
)  # fmt: skip
def test_what_the_draft_does_not_allow_is_refused(document: Any) -> None:
    with pytest.raises(ValueError, match=r"variant|table|list|priorities"):
        parse_variant_metadata(document)


@given(JSONS)
def test_any_json_is_read_or_refused(document: Any) -> None:
    with suppress(ValueError):
        assert parse_variant_metadata(document).variants is not None
