"""What `--json` prints is what the published schemas and the page of the JSON say."""

from __future__ import annotations

import pytest
from fake_nvidia_smi import FakeGpu, broken_nvidia_smi, fake_nvidia_smi
from json_schemas import SCHEMAS, complaints
from jsonschema import Draft202012Validator
from reference.outputs import OUTPUTS
from reference.schemas import file_name, render_schemas, schema
from running import Program

GPUS = (FakeGpu("NVIDIA H100 PCIe", "9.0"), FakeGpu("Tesla V100-SXM2-16GB", "7.0"))
LOG = "RuntimeError: CUDA error: device-side assert triggered\n[INFO] 0 errors, 0 failed\n"


def test_the_schemas_are_schemas_of_each_command_that_has_one() -> None:
    assert sorted(path.name for path in SCHEMAS.iterdir()) == sorted(render_schemas())
    for command in OUTPUTS:
        Draft202012Validator.check_schema(schema(command))
        assert (SCHEMAS / file_name(command)).is_file()


def test_what_a_schema_does_not_say_is_noticed(program: Program) -> None:
    document = program.run("list", "--json").envelope
    assert complaints(document) == []
    document["data"]["environments"] = [{"name": 1}]
    assert any("'path' is a required property" in text for text in complaints(document))
    document["data"] = {"environments": [], "more": 1}
    assert any("more" in text for text in complaints(document))


@pytest.fixture
def machines(program: Program) -> Program:
    """A machine with GPUs, without a network, and beside it saved machines, files of a paper and a log."""
    fake_nvidia_smi(program.bin, "535.104.05", *GPUS)
    work = program.root / "work"
    (work / "lab").mkdir()
    (work / "lab" / "here.json").write_text(program.run("detect", "--json").out)
    empty = program.with_(PATH=str(program.root / "nothing"))
    (work / "lab" / "there.json").write_text(empty.run("detect", "--json").out)
    (work / "requirements.txt").write_text("torch==1.13.1\n")
    (work / "train.log").write_text(LOG)
    return program.with_(GPUENV_OFFLINE="1")


@pytest.mark.parametrize(
    "line",
    [
        "plan",
        "detect",
        "explain train.log",
        "mirrors list",
        *(
            pytest.param(line, marks=pytest.mark.slow)
            for line in (
                "detect --preview variants",
                "plan --channel conda-forge",
                "plan --adapt .",
                "plan --for cpu --for cu126 --format requirements.txt -o sets",
                "plan --machines lab",
                "plan torch==2.15.0",
                "plan --cuda cpu",
                "plan --gpu gfx1100 --amdgpu 6.16.6",
                "create paper --dry-run",
                "create paper",
                "doctor nowhere",
                "verify nowhere",
                "mirrors check nju",
            )
        ),
    ],
)
def test_what_is_printed_is_what_the_schema_says(machines: Program, line: str) -> None:
    assert complaints(machines.run(*line.split(), "--json").envelope) == []


@pytest.mark.slow
def test_a_machine_with_a_broken_driver_is_what_the_schema_says(program: Program) -> None:
    broken_nvidia_smi(program.bin, "Failed to initialize NVML: Driver/library version mismatch", 18)
    assert complaints(program.run("detect", "--json").envelope) == []
    assert complaints(program.run("plan", "--json").envelope) == []
