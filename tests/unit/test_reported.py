"""What a text reports of its machine and environment, and what doctor's checks make of that."""

from __future__ import annotations

from typing import Any

import pytest
from sampling import every

from gpuenv import matrices
from gpuenv.explanation.judge_reported import judge
from gpuenv.explanation.load_tables import load_reports, load_signatures
from gpuenv.explanation.reported_machine import machine_of
from gpuenv.explanation.text_facts import facts_of
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.signatures.cases import holds
from gpuenv.signatures.catalogue import Language
from gpuenv.signatures.match import examine
from gpuenv.signatures.reported import Reported, is_without_gpu, parse_report, read_reported, uses_other_gpu
from gpuenv.signatures.settle import settled

ROWS = matrices.load("reports")
SMI = """\
| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |
|   0  NVIDIA GeForce RTX 3090        Off | 00000000:01:00.0 Off |                  N/A |
|   1  Tesla V100-SXM2-16GB           On  | 00000000:02:00.0 Off |                    0 |
"""
SEES_NONE = ">>> torch.__version__\n'{torch}'\n>>> torch.cuda.is_available()\nFalse\n"


def read(text: str) -> Reported:
    return read_reported(text, load_reports())


def judged(text: str) -> list[tuple[str, str]]:
    reported, knowledge = read(text), load_knowledge()
    found = judge(reported, machine_of(reported, knowledge), knowledge)
    return [(item.verdict.id, item.signature) for item in found]


@pytest.mark.parametrize("row", every(8, ROWS), ids=lambda row: f"{row['program']}: {row['sample'][:30]}")
def test_each_row_reads_its_sample(row: dict[str, Any]) -> None:
    matches = parse_report(row).pattern.finditer(row["sample"])
    facts = [{name: value for name, value in match.groupdict().items() if value} for match in matches]
    assert row["facts"] in facts


def test_of_each_fact_the_last_counts_and_has_its_line() -> None:
    reported = read("PyTorch version: 2.1.0\nlater\nPyTorch version: 2.3.0+cpu\n")
    assert reported.value("torch") == "2.3.0+cpu"
    assert reported.facts["torch"].line == 3


def test_gpus_are_those_of_the_table_in_its_order() -> None:
    reported = read(SMI + SMI)
    assert [gpu.value for gpu in reported.gpus] == ["NVIDIA GeForce RTX 3090", "Tesla V100-SXM2-16GB"]
    machine = machine_of(reported, load_knowledge())
    assert machine.driver == "535.129.03"
    assert machine.gpus == ("NVIDIA GeForce RTX 3090", "Tesla V100-SXM2-16GB")


def test_of_a_long_text_its_beginning_and_its_end_are_read() -> None:
    middle = "step 1 loss 0.5\n" * 100_000
    reported = read(
        "PyTorch version: 2.1.0\n" + middle + "Nvidia driver version: 535.129.03\n" + middle + SMI
    )
    assert reported.value("torch") == "2.1.0"
    assert len(reported.gpus) == 2


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ('File "/v/lib/python3.10/site-packages/torch/x.py"', "3.10"),
        ('File "C:\\Python311\\Lib\\site-packages\\torch\\x.py"', "3.11"),
        ("Using CPython 3.13.1 interpreter", "3.13"),
        ("nothing of a Python", None),
    ],
)
def test_the_python_is_read_as_it_is_written(text: str, python: str | None) -> None:
    assert machine_of(read(text), load_knowledge()).python == python


def test_the_least_driver_of_a_cuda_stands_for_the_driver_that_supports_it() -> None:
    text = "Tesla V100-SXM2-16GB with CUDA capability sm_70 ... too old (found version 11040)."
    machine = machine_of(read(text), load_knowledge())
    assert (machine.gpus, machine.driver) == (("Tesla V100-SXM2-16GB",), "470.82.01")


@pytest.mark.parametrize(
    ("text", "check"),
    [
        (SEES_NONE.format(torch="2.3.0+cpu"), "D01"),
        (SEES_NONE.format(torch="2.3.0+cpu") + SMI, "D01"),
        (SEES_NONE.format(torch="2.10.0+cu130") + SMI, "D02"),
        ("torch==2.5.1+cu124\nNVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible", "D16"),
        ("torch 2.4.0+cu121\ntorchvision 0.20.1+cu124\n", "D40"),
        ("torch==2.1.0+cu121\nnumpy==2.0.1\n", "D41"),
    ],
)
def test_doctors_checks_find_in_a_text_what_they_find_on_a_machine(text: str, check: str) -> None:
    assert judged(text)[0][0] == check


def test_a_build_whose_ptx_torch_refused_has_no_code_for_the_card() -> None:
    text = (
        "NVIDIA GeForce RTX 3060 with CUDA capability sm_86 is not compatible with the current "
        "PyTorch installation.\n"
        "The current PyTorch install supports CUDA capabilities sm_37 sm_70 sm_75 compute_37.\n"
        "torch 1.7.1+cu101\n"
    )
    assert judged(text)[0][0] == "D16"


def test_a_driver_is_judged_though_the_card_is_not_named() -> None:
    driver = "| NVIDIA-SMI 470.86    Driver Version: 470.86    CUDA Version: 11.4     |\n"
    text = f"torch              2.1.0+cu121\n{driver}"
    assert judged(text)[0][0] == "D02"


def test_a_build_for_the_cpu_put_in_later_uses_no_other_gpu() -> None:
    works = '$ python -c "import torch; print(torch.xpu.is_available())"\nTrue\n'
    assert uses_other_gpu(read(works))
    later = (
        '$ python -c "import torch; print(torch.__version__, torch.xpu.is_available())"\n2.12.0+cpu False\n'
    )
    assert not uses_other_gpu(read(works + later))


@pytest.mark.parametrize(
    "text", [SEES_NONE.format(torch="2.5.1+cu124"), "torch 2.5.1+cu121\ntorchvision 0.20.1+cu121\n", SMI, ""]
)
def test_where_the_facts_settle_nothing_no_check_tells_anything(text: str) -> None:
    assert judged(text) == []


def test_a_text_shows_torch_without_a_gpu_where_torch_says_so() -> None:
    assert is_without_gpu(read(">>> torch.cuda.device_count()\n0\n"))
    assert not is_without_gpu(
        read(">>> torch.cuda.is_available()\nFalse\n>>> torch.cuda.is_available()\nTrue\n")
    )
    assert not is_without_gpu(read("print(torch.cuda.is_available())"))


@pytest.mark.parametrize(
    ("wanted", "facts", "is_so"),
    [
        ("*", {"numpy": "2.0"}, True),
        ("*", {}, False),
        ("-", {}, True),
        ("-", {"numpy": "2.0"}, False),
        (">=2", {"numpy": "2.0.1+local"}, True),
        ("<2", {"numpy": "2.0.1"}, False),
        ("<2", {}, False),
        ("<{other}", {"numpy": "0xf", "other": "0x10"}, True),
        ("<{other}", {"numpy": "0x10", "other": "0xf"}, False),
        ("<{absent}", {"numpy": "1"}, False),
        (r"\+cpu$", {"numpy": "2.0+CPU"}, True),
        ("<2", {"numpy": "no version"}, False),
    ],
)
def test_a_condition_of_a_case_holds_by_the_facts(wanted: str, facts: dict[str, str], *, is_so: bool) -> None:
    assert holds("numpy", wanted, facts) is is_so


CASES = [(row["id"], case) for row in matrices.load("signatures") for case in row.get("cases", ())]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("identifier", "case"), every(16, CASES))
def test_each_case_is_told_of_its_sample(identifier: str, case: dict[str, Any], language: Language) -> None:
    signatures = load_signatures(language)
    asked = {name for name, _ in case["when"]} if isinstance(case["when"], list) else set(case["when"])
    reported = facts_of(read(case["sample"]), None, asked)
    matches = examine(case["sample"], signatures, lambda: 0.0).matches
    told = [settled(match, reported) for match in matches]
    own = [match for match in told if match.id == identifier] or told  # else another of its group
    text = case[f"fix_{language}"]
    assert any(match.fix == text.format_map({**reported, **dict(match.facts)}) for match in own)


def test_of_what_a_text_says_in_several_ways_the_name_is_kept() -> None:
    asked = ">>> torch.cuda.is_available()\n"
    assert read(f"{asked}False\n{asked}True\n").values["varied"] == "available"
    assert "varied" not in read(f"{asked}False\n{asked}False\n").values


def test_what_the_text_says_that_the_build_has_code_for_outweighs_what_is_known_of_it() -> None:
    text = "torch==2.5.1+cu124\nNVIDIA GeForce RTX 3090 with CUDA capability sm_86 is not compatible with\n"
    assert judged(text) == []
    assert (
        judged(f"{text}The current PyTorch install supports CUDA capabilities sm_37 sm_70.\n")[0][0] == "D16"
    )


def test_what_belongs_to_a_torch_follows_from_its_version() -> None:
    facts = facts_of(read("Python 3.10.12\nPyTorch version: 2.6.0+cu124\n"))
    assert (facts["torch_release"], facts["torch_minor"], facts["torch_build"]) == ("2.6.0", "2.6", "cu124")
    assert (facts["python_minor"], facts["python_tag"]) == ("3.10", "cp310")
    assert (facts["torchvision_of_torch"], facts["triton_below"]) == ("0.21.0", "3.3")


def test_nothing_follows_from_what_is_not_reported() -> None:
    assert facts_of(read("nothing")) == {}


@pytest.mark.parametrize(
    ("text", "lacks_one"),
    [
        ("", True),
        ("Post job cleanup.\n", False),
        ("The server has no GPU.\n", False),
        ("GPU 0: NVIDIA A10 (UUID: GPU-1)\nPost job cleanup.\n", True),
    ],
)
def test_a_runner_or_machine_that_is_to_have_no_gpu_lacks_none(text: str, *, lacks_one: bool) -> None:
    asked = ">>> torch.cuda.is_available()\nFalse\n"
    assert is_without_gpu(read(f"{asked}{text}")) is lacks_one


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("RTX 5070, driver 576.02. Python 3.11", {"driver": "576.02", "python": "3.11"}),
        ("Driver Version: 550.54.15 \nwith driver 560.94", {"driver": "550.54.15"}),
        ("CUDA 12 requires driver 525.60.13 or newer", {}),
        ("it needs Python 3.9 or newer", {}),
        ("(win10, py3.9)", {"platform": "win10", "python": "3.9"}),
        ("Windows 11 with WSL2", {}),
    ],
)
def test_what_a_person_says_counts_where_no_program_prints_it(text: str, told: dict[str, str]) -> None:
    facts = read_reported(text, load_reports()).facts
    names = ("driver", "python", "platform")
    assert {name: facts[name].value for name in names if name in facts} == told


def test_the_ranks_before_the_lines_of_a_traceback_hide_nothing() -> None:
    error = (
        '  File "/v/lib/python3.11/site-packages/causal_conv1d/ops.py", line 27, in fwd',
        "    causal_conv1d_cuda.fwd(",
        "torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device",
    )
    for process in ("[rank0]: ", "(EngineCore_0 pid=41) ERROR 09-30 12:01:50 [core.py:632] "):
        text = "(EngineCore_0 pid=41) INFO started\n" + "\n".join(process + line for line in error)
        assert read(text).value("kernel_package") == "causal_conv1d"
        assert read(text).value("vllm_engine")
