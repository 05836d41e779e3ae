"""`--preview variants`: what detect says of two kinds of GPU, what inspect reads of a release."""

from __future__ import annotations

import json
from pathlib import Path

from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from running import Program
from tiny_wheels import tiny_wheel

RELEASE = {
    "default-priorities": {"namespace": ["nvidia"]},
    "variants": {"hopper": {"nvidia": {"sm_arch": ["90_real"]}}, "null": {}},
}


def two_kinds(program: Program) -> None:
    fake_nvidia_smi(program.bin, "570.133.07", FakeGpu("Tesla T4", "7.5"), FakeGpu("NVIDIA H100", "9.0"))


def test_detect_tells_what_uv_has_to_be_told(program: Program) -> None:
    two_kinds(program)
    done = program.run("detect", "--preview", "variants", "--json")
    assert done.status == 0, done.err
    told = json.loads(done.out)["data"]["wheel_variants"]
    assert [(item["name"], item["value"]) for item in told["force"]] == [
        ("NV_VARIANT_PROVIDER_FORCE_SM_ARCH", "7.5")
    ]
    assert told["properties"]["nvidia"]["sm_arch"] == []
    text = program.run("detect", "--preview", "variants").out
    assert "    export NV_VARIANT_PROVIDER_FORCE_SM_ARCH=7.5\n" in text
    assert "wheel_variants" not in json.loads(program.run("detect", "--json").out)["data"]


def test_inspect_judges_a_release_and_a_wheel_by_every_gpu(program: Program, tmp_path: Path) -> None:
    two_kinds(program)
    file = tmp_path / "torch-2.15.0-variants.json"
    file.write_text(json.dumps(RELEASE), encoding="utf-8")
    done = program.run("matrix", "inspect", file, "--preview", "variants", "--json")
    assert done.status == 0, done.err
    told = json.loads(done.out)["data"]
    assert [(item["label"], item["fits"]) for item in told["variants"]] == [("null", True), ("hopper", False)]
    assert "Tesla T4" in told["variants"][1]["why_not"]
    one = {**RELEASE, "variants": {"hopper": RELEASE["variants"]["hopper"]}}
    files = {"torch/__init__.py": "", "torch-2.15.0.dist-info/variant.json": json.dumps(one)}
    wheel = tiny_wheel(tmp_path, "torch", "2.15.0", tag="py3-none-any-hopper", files=files)
    done = program.run("matrix", "inspect", wheel, "--preview", "variants")
    assert done.status == 0, done.err
    assert done.out.startswith("hopper does not fit this machine: Tesla T4 does not support")
    renamed = wheel.rename(tmp_path / "torch-2.15.0-py3-none-any-null.whl")
    done = program.run("matrix", "inspect", renamed, "--preview", "variants")
    assert done.status == 2
    assert "`null`" in done.err
