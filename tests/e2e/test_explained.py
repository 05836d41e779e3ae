"""`gpuenv explain`: a message, a file, standard input; the command is of a plan for this machine."""

from __future__ import annotations

import shlex
import sys

import pytest
from fake_nvidia_smi import FakeGpu, broken_nvidia_smi, fake_nvidia_smi
from packaging.version import Version
from running import Program

from gpuenv.matrices import load

TOO_OLD = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."
NO_KERNELS = (
    "NVIDIA GeForce GTX 1080 Ti with CUDA capability sm_61 is not compatible with the current PyTorch "
    "installation. The current PyTorch install supports CUDA capabilities sm_75 sm_80 sm_90."
)
SHAPES = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x73728 and 400x120)"
CPU_ONLY = "AssertionError: Torch not compiled with CUDA enabled"


def matches(program: Program, *arguments: str, stdin: str | None = None) -> list[dict[str, object]]:
    return list(program.run("explain", "--json", *arguments, stdin=stdin).data["matches"])


def test_a_message_is_told_in_a_few_lines(program: Program) -> None:
    done = program.run("explain", SHAPES)
    assert (done.status, done.err) == (0, "")
    cause, *rest = done.out.splitlines()
    assert cause.startswith("code: ")
    assert any("73728" in line for line in rest)
    assert any("another environment does not help" in line for line in rest)
    assert any(line.startswith("  fix: ") for line in rest)


def test_a_message_need_not_be_quoted(program: Program) -> None:
    (match,) = matches(program, *SHAPES.split())
    assert match["id"] == "matmul-shape"
    assert match["command"] is None


def test_json_has_all_that_is_known(program: Program) -> None:
    (match,) = matches(program, SHAPES)
    assert {"id", "class", "cause", "fix", "command", "facts", "confidence", "lines"} <= set(match)
    assert match["class"] == "code"
    assert match["facts"] == {"left": "1x73728", "right": "400x120"}
    assert match["lines"] == [{"number": 1, "text": SHAPES}]


def test_a_log_is_read_from_a_file_or_standard_input(program: Program) -> None:
    log = program.root / "work" / "train.log"
    log.write_text(f"epoch 1\nepoch 2\n{SHAPES}\n", encoding="utf-8")
    (from_file,) = matches(program, "train.log")
    assert from_file["lines"] == [{"number": 3, "text": SHAPES}]
    assert matches(program, "-", stdin=log.read_text()) == [from_file]
    assert matches(program, stdin=log.read_text()) == [from_file]


def test_an_unknown_text_is_no_failure_and_points_to_doctor(program: Program) -> None:
    done = program.run("explain", "the price went up")
    assert done.status == 0
    assert "gpuenv doctor" in done.err
    assert program.run("explain", "--json", "the price went up").data == {"matches": []}


def test_a_text_that_only_looks_like_an_error_is_told_as_that(program: Program) -> None:
    line = "tests/test_a.py::test_told[no kernel image is available] PASSED"
    assert line in program.run("explain", line).out
    (told,) = program.run("explain", "--json", line).data["no_errors"]
    assert (told["number"], told["text"]) == (1, line)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("absent.log",), "text-unreadable"), ((".",), "text-unreadable"), ((), "no-text")],
)
def test_what_can_not_be_read_is_told(program: Program, arguments: tuple[str, ...], code: str) -> None:
    if code == "no-text":
        done = program.run("explain", "--json", stdin="")
        assert done.data == {"matches": []}
        return
    done = program.run("explain", "--json", *arguments)
    assert (done.status, done.error["code"]) == (2, code)


@pytest.mark.parametrize(
    ("driver", "gpu", "text", "torch"),
    [
        ("470.199.02", FakeGpu("NVIDIA A100", "8.0"), TOO_OLD, "2.7.1+cu118"),
        ("580.95.05", FakeGpu("NVIDIA GeForce GTX 1080 Ti", "6.1"), NO_KERNELS, "2.14.1+cu126"),
        ("570.133.07", FakeGpu("NVIDIA GeForce RTX 3080 Ti", "8.6"), CPU_ONLY, "2.14.1+cu126"),
    ],
)
def test_the_command_is_of_a_plan_for_this_machine(
    program: Program, driver: str, gpu: FakeGpu, text: str, torch: str
) -> None:
    fake_nvidia_smi(program.bin, driver, gpu)
    command = shlex.split(str(matches(program, text)[0]["command"]))
    assert command[:2] == ["gpuenv", "create"]
    assert f"torch=={torch}" in command
    again = program.run("plan", "--offline", "--json", *command[3:])
    assert again.torch == torch


@pytest.mark.slow
def test_the_request_that_failed_is_answered_with_the_nearest_that_its_python_has(program: Program) -> None:
    """What pip offers tells the Python of the text, which has no wheel of the release that was asked for."""
    fake_nvidia_smi(program.bin, "570.133.07", FakeGpu("NVIDIA GeForce RTX 3080 Ti", "8.6"))
    text = "Could not find a version that satisfies the requirement torch==1.7.1+cu101 (from versions: 2.5.0)"
    match = matches(program, text)[0]
    assert "`pip install torch==2.5.0+cu" in match["fix"]
    command = shlex.split(str(match["command"]))
    assert command[:2] == ["gpuenv", "create"]
    assert "--offline" not in command
    nearest = "1." if sys.version_info < (3, 12) else "2."  # the first torch for Python 3.12 is 2.2
    assert program.run("plan", "--offline", "--json", *command[3:]).torch.startswith(nearest)


@pytest.mark.slow
def test_a_name_that_is_taken_is_not_proposed(program: Program) -> None:
    fake_nvidia_smi(program.bin, "570.133.07", FakeGpu("NVIDIA GeForce RTX 3080 Ti", "8.6"))
    first = str(matches(program, CPU_ONLY)[0]["command"]).split()[2]
    (program.environments / first).mkdir(parents=True)
    assert str(matches(program, CPU_ONLY)[0]["command"]).split()[2] == f"{first}-2"


@pytest.mark.slow
def test_without_a_gpu_the_one_that_the_text_names_is_planned_for(program: Program) -> None:
    assert "--gpu 'NVIDIA GeForce GTX 1080 Ti'" in str(matches(program, NO_KERNELS)[0]["command"])
    done = program.run("explain", "--json", CPU_ONLY)
    assert done.data["matches"][0]["command"] is None
    assert [warning["code"] for warning in done.envelope["warnings"]] == ["no-gpu-here"]


@pytest.mark.slow
def test_a_broken_driver_is_named_where_no_plan_is_made(program: Program) -> None:
    broken_nvidia_smi(program.bin, "Failed to initialize NVML: Driver/library version mismatch", 18)
    done = program.run("explain", "--json", CPU_ONLY)
    assert done.status == 0
    assert done.data["matches"][0]["command"] is None
    assert [warning["code"] for warning in done.envelope["warnings"]] == ["no-plan"]


@pytest.mark.slow
def test_other_projects_that_a_text_names_are_not_proposed(program: Program) -> None:
    fake_nvidia_smi(program.bin, "570.133.07", FakeGpu("NVIDIA GeForce RTX 3080 Ti", "8.6"))
    assert matches(program, "ModuleNotFoundError: No module named 'spconv'")[0]["command"] is None
    command = matches(program, "ModuleNotFoundError: No module named 'torchaudio'")[0]["command"]
    assert "torchaudio==" in str(command)


@pytest.mark.slow
def test_the_machine_is_asked_once_for_all_that_a_text_tells(program: Program) -> None:
    smi = fake_nvidia_smi(program.bin, "580.95.05", FakeGpu("NVIDIA H100", "9.0"))
    calls = program.root / "calls"
    first, rest = smi.read_text(encoding="utf-8").split("\n", 1)
    smi.write_text(f"{first}\necho called >> '{calls}'\n{rest}", encoding="utf-8")
    another = "user@node:~$ python sound.py\nModuleNotFoundError: No module named 'torchaudio'"
    told = matches(program, f"{NO_KERNELS}\n{another}")
    assert len({match["command"] for match in told} - {None}) > 1
    assert calls.read_text(encoding="utf-8").splitlines() == ["called"]


SESSION = """\
$ python
Python 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] on linux
>>> torch.__version__
'{torch}'
>>> torch.cuda.is_available()
False
$ nvidia-smi
| NVIDIA-SMI {driver}    Driver Version: {driver}   CUDA Version: 12.2     |
|   0  {gpu}        Off | 00000000:01:00.0 Off |                  N/A |
"""
RTX_3090 = "NVIDIA GeForce RTX 3090"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("torch", "driver", "gpu", "wanted"),
    [
        ("2.3.0+cpu", "535.129.03", RTX_3090, "2.3.0+cu121"),
        pytest.param("2.5.1", "570.133.07", "GeForce RTX 5090", "2.7.0+cu128", marks=pytest.mark.slow),
        pytest.param("2.10.0+cu130", "535.129.03", RTX_3090, "2.10.0+cu129", marks=pytest.mark.slow),
        pytest.param("2.5.1+cu124", "470.182.03", "Tesla V100", "2.5.1+cu118", marks=pytest.mark.slow),
        pytest.param("2.5.1+cpu", "570.133.07", "GeForce RTX 5090", "2.7.0+cu128", marks=pytest.mark.slow),
    ],
)
def test_the_command_for_the_machine_of_a_pasted_session_changes_least_and_holds(
    program: Program, torch: str, driver: str, gpu: str, wanted: str
) -> None:
    first = matches(program, "-", stdin=SESSION.format(torch=torch, driver=driver, gpu=gpu))[0]
    command = shlex.split(str(first["command"]))
    assert command[:3] == ["gpuenv", "plan", f"torch=={wanted}"]
    assert command[command.index("--python") + 1] == "3.10"
    assert command[command.index("--driver") + 1] == driver
    assert program.run(*command[1:], "--offline", "--json").torch == wanted


@pytest.mark.slow
def test_the_sessions_own_lines_tell_why_torch_has_no_gpu(program: Program) -> None:
    text = SESSION.format(torch="2.3.0+cpu", driver="535.129.03", gpu="NVIDIA GeForce RTX 3090")
    first = matches(program, "-", stdin=text)[0]
    assert (first["id"], first["confidence"]) == ("torch-not-compiled-with-cuda", "high")
    assert "2.3.0+cpu" in str(first["cause"])
    assert first["lines"] == [{"number": 4, "text": "'2.3.0+cpu'"}]


@pytest.mark.slow
def test_a_machine_that_the_text_does_not_name_gets_no_command_of_another(program: Program) -> None:
    fake_nvidia_smi(program.bin, "580.95.05", FakeGpu("NVIDIA H100", "9.0"))
    text = CPU_ONLY + "\nNvidia driver version: 470.182.03\n"
    done = program.run("explain", "--json", "-", stdin=text)
    assert done.data["matches"][0]["command"] is None
    assert [warning["code"] for warning in done.envelope["warnings"]] == ["another-machine"]


def test_a_session_that_does_not_tell_why_says_so(program: Program) -> None:
    (match,) = matches(program, "-", stdin=">>> torch.cuda.device_count()\n0\n")
    assert (match["id"], match["confidence"]) == ("cuda-not-available-app", "low")
    assert match["lines"] == [{"number": 2, "text": "0"}]


@pytest.mark.slow
def test_of_a_mac_no_plan_for_cuda_is_made(program: Program) -> None:
    fake_nvidia_smi(program.bin, "580.95.05", FakeGpu("NVIDIA H100", "9.0"))
    text = f'  File "/Users/jo/v/lib/python3.11/site-packages/torch/cuda/__init__.py", line 4\n{CPU_ONLY}\n'
    assert matches(program, "-", stdin=text)[0]["command"] is None


INSTALLED = """\
torch                    {torch}
torchaudio               2.6.0
GPU 0: NVIDIA GeForce RTX 2070 (UUID: GPU-0)
"""


def test_where_the_installed_build_runs_no_command_brings_it_again(program: Program) -> None:
    text = (
        INSTALLED.format(torch="2.6.0+cu126") + "RuntimeError: CUDA error: no kernel image is available for"
    )
    assert matches(program, "-", stdin=text + " execution on the device\n")[0]["command"] is None


@pytest.mark.slow
def test_the_companions_that_the_text_has_come_along(program: Program) -> None:
    text = INSTALLED.format(torch="2.6.0+cpu") + CPU_ONLY
    command = shlex.split(str(matches(program, "-", stdin=text)[0]["command"]))
    assert "torch==2.6.0+cu126" in command
    assert "torchaudio==2.6.0+cu126" in command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("torch", "driver", "gpu"),
    [
        ("2.1.0+cu118", "570.133.07", "NVIDIA GeForce RTX 5090"),
        ("2.2.0+cpu", "580.95.05", "NVIDIA H100 80GB HBM3"),
        ("2.13.0+cu130", "535.129.03", "NVIDIA GeForce GTX 1080 Ti"),
    ],
)
def test_no_release_between_that_of_the_text_and_the_planned_one_runs_there(
    program: Program, torch: str, driver: str, gpu: str
) -> None:
    text = SESSION.format(torch=torch, driver=driver, gpu=gpu)
    command = shlex.split(str(matches(program, "-", stdin=text)[0]["command"]))
    planned = program.run(*command[1:], "--offline", "--json").torch
    own, release = (Version(Version(item).public) for item in (torch, planned))
    known = {Version(row["torch"]) for row in load("torch")}
    between = [item for item in known if min(own, release) <= item <= max(own, release) and item != release]
    machine = command[command.index("--python") :]
    done = [program.run("plan", f"torch=={item}", *machine, "--offline") for item in sorted(between)]
    assert [item.status for item in done] == [3] * len(done)


@pytest.mark.slow
def test_of_the_nearest_release_the_variant_of_the_text_is_kept(program: Program) -> None:
    """Torch 2.4.0 of Windows lacks a library, as a row of known-bad says: 2.4.1 has it."""
    text = 'File "C:\\ml\\run.py"\n' + INSTALLED.format(torch="2.4.0+cu121") + CPU_ONLY
    command = shlex.split(str(matches(program, "-", stdin=text)[0]["command"]), posix=False)
    assert "torch==2.4.1+cu121" in command


def test_a_pack_that_is_left_out_tells_nothing(program: Program) -> None:
    (match,) = matches(program, SHAPES)
    assert match["pack"] == "own-code"
    assert matches(program, SHAPES, "--pack", "own-code", "--pack", "core") == [match]
    assert matches(program, SHAPES, "--without-pack", "own-code") == []
    assert matches(program, SHAPES, "--pack", "core") == []


def test_a_pack_that_there_is_not_is_a_usage_error(program: Program) -> None:
    done = program.run("explain", "--pack", "cores", SHAPES)
    assert (done.status, done.out) == (2, "")
    assert "`cores`" in done.err
    assert "own-code" in done.err
