"""Verify against Pythons and torches that fail in every way: the child is the real one, torch is not."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpuenv.environments.record import read_record
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.errors import UsageError
from gpuenv.model.machine import Gpu, Machine, Problem, System
from gpuenv.model.machine_json import render_machine
from gpuenv.model.plan import PlanWarning
from gpuenv.operations.verify import VerifyOptions, VerifyResult, verify
from gpuenv.verification.locate import locate

pytestmark = pytest.mark.skipif(os.name == "nt", reason="environments are made of links here")

HERE = Path(__file__).parent
LINUX = System("linux", "x86_64")
BARE = Machine(LINUX)
WITH_GPU = Machine(LINUX, gpus=(Gpu(0, "NVIDIA L4", ComputeCapability(8, 9)),))
L4, B200 = ("NVIDIA L4", (8, 9)), ("NVIDIA B200", (10, 0))
CUDA = {
    "version": "2.14.1+cu126",
    "cuda": "12.6",
    "cudnn": 91002,
    "architectures": ["sm_75", "sm_80", "sm_90"],
    "gpus": [L4],
}
BASIC = ["zeros", "first-kernel", "arithmetic", "matmul", "convolution", "reduction", "fp16", "bf16"]


@dataclass(frozen=True)
class Environment:
    """A virtual environment without anything in it; the fakes come by PYTHONPATH."""

    path: Path
    environ: dict[str, str]

    def with_torch(self, *, torchvision: bool = False, **settings: Any) -> Environment:
        places = [HERE / "fake_torch"] + [HERE / "fake_torchvision"] * torchvision
        more = {"PYTHONPATH": os.pathsep.join(map(str, places)), "FAKE_TORCH": json.dumps(settings)}
        return Environment(self.path, {**self.environ, **more})

    def planned(self, torch: str, variant: str, asked: object = None, **more: Any) -> Environment:
        """Note a plan; `more` is the machine that it was for."""
        plan = {"variant": variant, "packages": [{"name": "torch", "version": torch}], "asked": asked}
        record = {"schema_version": 1, "state": "complete", "name": "trial", "created": "", "manager": "uv"}
        (self.path / "gpuenv.json").write_text(json.dumps({**record, "plan": plan, **more}))
        return self

    def verify(self, machine: Machine | None = BARE, **options: Any) -> VerifyResult:
        options = {"timeout_s": 60.0, **options}
        return verify(
            str(self.path), self.environ, lookup=_none, machine=machine, options=VerifyOptions(**options)
        )


def _none(name: str) -> None:
    return None


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    root = tmp_path / "an environment"
    (root / "bin").mkdir(parents=True)
    base = Path(sys._base_executable)  # type: ignore[attr-defined]
    (root / "bin" / "python").symlink_to(base)
    (root / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    return Environment(root, {"PATH": "", "PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"})


@pytest.fixture
def fake_python(tmp_path: Path) -> Callable[[str], Environment]:
    """Make an environment whose Python is a shell script; `$2` is where it is to write its document."""

    def make(script: str) -> Environment:
        python = tmp_path / "fake" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
        return Environment(python.parent.parent, {"PATH": os.defpath})

    return make


def _codes(result: VerifyResult) -> list[str]:
    return [problem.code for problem in result.verdict.problems]


def _tests(device: dict[str, Any]) -> dict[str, bool]:
    return {test["id"]: test["ok"] for test in device["tests"]}


def test_a_cpu_build_is_proven_where_there_is_no_gpu_and_says_so(environment: Environment) -> None:
    result = environment.with_torch().verify()
    assert result.ok
    assert result.error is None
    assert result.verdict.notes == ("no GPU available to test",)
    device = result.data["devices"][0]
    assert (device["index"], device["name"], device["compute_capability"]) == (None, "cpu", None)
    assert list(_tests(device)) == BASIC
    assert device["ok"]
    assert result.data["environment"] == str(environment.path)
    assert result.data["torch"] == "2.14.1+cpu"
    assert result.data["python"] == ".".join(map(str, sys.version_info[:3]))
    assert result.lines[-1] == "no GPU available to test"


def test_every_gpu_is_put_to_work(environment: Environment) -> None:
    gpus = [L4, ("NVIDIA H100", (9, 0))]
    result = environment.with_torch(torchvision=True, **{**CUDA, "gpus": gpus}).verify(WITH_GPU)
    assert result.verdict.problems == ()
    assert [device["index"] for device in result.data["devices"]] == [0, 1]
    assert list(_tests(result.data["devices"][1])) == [*BASIC, "nms", "architectures"]
    assert result.data["cudnn"] == "9.10.2"
    assert result.data["architectures"] == ["sm_75", "sm_80", "sm_90"]
    assert result.data["devices"][0]["compute_capability"] == "8.9"
    assert json.loads(json.dumps(result.data)) == result.data


def test_only_the_devices_asked_for_are_tested(environment: Environment) -> None:
    result = environment.with_torch(**{**CUDA, "gpus": [L4, L4]}).verify(devices=(1,))
    assert [device["index"] for device in result.data["devices"]] == [1]


def test_a_device_that_torch_does_not_see_fails(environment: Environment) -> None:
    result = environment.with_torch(**CUDA).verify(devices=(5,))
    assert _codes(result) == ["test-failed"]
    assert result.data["devices"][0]["index"] == 5


def test_the_optional_tests_run_when_asked_for(environment: Environment) -> None:
    result = environment.with_torch(**{**CUDA, "gpus": [L4, L4]}).verify(compile=True, nccl=True)
    assert result.ok
    assert {"compile", "nccl"} <= _tests(result.data["devices"][0]).keys()


@pytest.mark.parametrize("what", ["matmul", "convolution", "reduction"])
def test_a_wrong_result_fails_its_test(environment: Environment, what: str) -> None:
    result = environment.with_torch(**CUDA, faults=[[what, "cuda:0", "wrong"]]).verify()
    tests = _tests(result.data["devices"][0])
    assert not tests[what]
    assert tests["zeros"]
    assert not result.data["devices"][0]["ok"]


def test_one_broken_test_does_not_end_the_others(environment: Environment) -> None:
    fault = ["matmul", "cuda:0", "CUDA error: no kernel image is available\nCompile with TORCH_USE_CUDA_DSA"]
    result = environment.with_torch(**CUDA, faults=[fault]).verify()
    tests = _tests(result.data["devices"][0])
    assert [name for name, ok in tests.items() if not ok] == ["matmul", "fp16", "bf16"]
    assert "no kernel image is available | Compile with" in result.verdict.problems[0].text
    assert result.error
    assert result.error.exit_code == 6
    assert result.error.data == result.data


def test_a_gpu_without_memory_left_is_told_as_torch_tells_it(environment: Environment) -> None:
    result = environment.with_torch(**CUDA, faults=[["copy", "cuda:0", "out of memory"]]).verify()
    assert "out of memory" in result.verdict.problems[0].text
    assert len(result.verdict.problems) == 1


@pytest.mark.parametrize(
    ("what", "told"), [("SIGSEGV", "SIGSEGV"), ("abort", "SIGABRT"), ("SIGKILL", "memory")]
)
def test_what_was_proven_before_a_crash_is_kept(environment: Environment, what: str, told: str) -> None:
    torch = {**CUDA, "gpus": [L4, L4], "faults": [["matmul", "cuda:1", what]]}
    result = environment.with_torch(**torch).verify()
    first, second = result.data["devices"]
    assert first["ok"]
    assert _tests(second) == {
        "zeros": True,
        "first-kernel": True,
        "arithmetic": True,
        "matmul": False,
        "architectures": True,
    }
    assert _codes(result) == ["crashed"]
    assert told in result.verdict.problems[0].text
    assert "`matmul` on GPU 1" in result.verdict.problems[0].text


@pytest.mark.parametrize("what", ["SIGSEGV", "SIGILL", "abort"])
def test_a_crash_at_import_is_told_apart(environment: Environment, what: str) -> None:
    result = environment.with_torch(faults=[["import", "cpu", what]]).verify()
    assert _codes(result) == ["crashed"]
    assert "`import torch`" in result.verdict.problems[0].text
    assert any("fake_torch" in message for message in result.data["messages"])  # where it crashed


@pytest.mark.slow
def test_a_hang_names_the_test_that_never_ended(environment: Environment) -> None:
    torch = environment.with_torch(**CUDA, faults=[["convolution", "cuda:0", "hang"]])
    result = torch.verify(timeout_s=5.0)
    assert _codes(result) == ["hung"]
    assert "`convolution` on GPU 0: it timed out after 5 s" in result.verdict.problems[0].text
    assert _tests(result.data["devices"][0])["matmul"]


@pytest.mark.slow
def test_a_hang_at_the_start_of_cuda_is_told(environment: Environment) -> None:
    result = environment.with_torch(**CUDA, faults=[["init", "cuda", "hang"]]).verify(timeout_s=5.0)
    assert _codes(result) == ["hung"]
    assert "`CUDA`" in result.verdict.problems[0].text


@pytest.mark.parametrize("what", ["libcudnn.so.9: cannot open shared object file", "exit"])
def test_an_import_that_fails_keeps_its_traceback(environment: Environment, what: str) -> None:
    result = environment.with_torch(faults=[["import", "cpu", what]]).verify()
    assert _codes(result) == ["import-failed"]
    assert result.report.failure
    assert any("harm(what)" in line for line in result.report.failure.lines)
    assert ("has left" if what == "exit" else what) in result.verdict.problems[0].text


def test_the_error_behind_the_error_is_told(environment: Environment, tmp_path: Path) -> None:
    lines = "try:", "    raise OSError('libcublas.so.11 is missing')", "except OSError:", "    unknown"
    (tmp_path / "torch.py").write_text("\n".join(lines))
    here = Environment(environment.path, {**environment.environ, "PYTHONPATH": str(tmp_path)})
    result = here.verify()
    assert "NameError" in result.verdict.problems[0].text
    assert "after OSError: libcublas.so.11 is missing" in result.verdict.problems[0].text
    assert "    unknown" in result.data["messages"]


def test_an_environment_without_torch_says_so(environment: Environment) -> None:
    result = environment.verify()
    assert _codes(result) == ["no-torch"]
    assert result.data["torch"] is None
    assert result.data["devices"] == []


def test_an_empty_directory_called_torch_is_no_torch(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "site" / "torch").mkdir(parents=True)
    here = Environment(environment.path, {**environment.environ, "PYTHONPATH": str(tmp_path / "site")})
    assert _codes(here.verify()) == ["import-failed"]


def test_a_module_that_torch_needs_and_lacks_is_not_taken_for_torch(
    environment: Environment, tmp_path: Path
) -> None:
    (tmp_path / "torch.py").write_text("import typing_extensions_that_is_missing")
    here = Environment(environment.path, {**environment.environ, "PYTHONPATH": str(tmp_path)})
    assert _codes(here.verify()) == ["import-failed"]


def test_nothing_in_the_current_directory_or_beside_the_child_shadows_modules(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise RuntimeError('the stray one')")
    monkeypatch.chdir(tmp_path)
    site = tmp_path / "site"
    site.mkdir()
    (site / "torch.py").write_text("import report")
    assert environment.with_torch().verify().ok
    here = Environment(environment.path, {**environment.environ, "PYTHONPATH": str(site)})
    assert "No module named 'report'" in here.verify().verdict.problems[0].text


def test_what_torch_prints_is_a_message_and_never_the_result(environment: Environment) -> None:
    forged = '{"schema": 1, "complete": true}\n\x1b[31mred\n'
    result = environment.with_torch(print=forged, warn="the driver is too old").verify()
    assert result.ok
    assert '{"schema": 1, "complete": true}' in result.data["messages"]
    assert any("UserWarning: the driver is too old" in line for line in result.data["messages"])
    assert "\x1b" not in "".join(result.data["messages"])


def test_much_output_is_cut_in_the_middle(environment: Environment) -> None:
    result = environment.with_torch(print="first\n" + "x\n" * 5000 + "last\n").verify()
    assert result.data["messages"][0] == "first"
    assert result.data["messages"][-1] == "last"
    assert len(result.data["messages"]) < 60


def test_a_crash_after_the_tests_is_a_note(environment: Environment) -> None:
    result = environment.with_torch(at_exit="abort").verify()
    assert result.ok
    assert "SIGABRT" in result.verdict.notes[-1]


def test_a_companion_that_does_not_fit_fails_nms(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = environment.with_torch(torchvision=True, **CUDA)
    broken.environ["FAKE_TORCHVISION"] = "operator torchvision::nms does not exist"
    result = broken.verify()
    assert not _tests(result.data["devices"][0])["nms"]
    assert "operator torchvision::nms does not exist" in result.verdict.problems[0].text


def test_boxes_kept_wrongly_fail_nms(environment: Environment) -> None:
    torch = environment.with_torch(torchvision=True, **CUDA, faults=[["nms", "cuda:0", "wrong"]])
    assert not _tests(torch.verify().data["devices"][0])["nms"]


def test_bf16_is_skipped_where_the_gpu_has_none(environment: Environment) -> None:
    result = environment.with_torch(**{**CUDA, "gpus": [("Tesla T4", (7, 5))]}).verify()
    skipped = next(test for test in result.data["devices"][0]["tests"] if test["id"] == "bf16")
    assert (skipped["ok"], skipped["ms"], skipped["detail"]) == (
        True,
        None,
        "skipped: not supported by this GPU",
    )


def test_a_build_without_code_for_the_gpu_is_the_cause_that_is_named(environment: Environment) -> None:
    fault = ["kernel", "cuda:0", "CUDA error: no kernel image is available"]
    result = environment.with_torch(**{**CUDA, "gpus": [B200], "faults": [fault]}).verify()
    tests = _tests(result.data["devices"][0])
    assert tests["zeros"]  # only copies memory
    assert not any(tests[name] for name in ("first-kernel", "matmul", "architectures"))
    assert "sm_75 sm_80 sm_90, none of which runs on 10.0" in result.verdict.problems[0].text


def test_where_a_gpu_was_planned_none_is_a_failure(environment: Environment) -> None:
    error = "The NVIDIA driver on your system is too old"
    torch = environment.with_torch(**{**CUDA, "gpus": [], "error": error})
    result = torch.planned("2.14.1+cu126", "cu126").verify()
    assert _codes(result) == ["no-gpu"]
    assert error in result.verdict.problems[0].text
    assert result.data["devices"][0]["name"] == "cpu"


def test_a_cpu_build_where_a_gpu_was_planned_is_a_failure(environment: Environment) -> None:
    result = environment.with_torch().planned("2.14.1+cu126", "cu126").verify()
    assert _codes(result) == ["cpu-build", "wrong-variant"]


def test_a_cpu_build_beside_a_gpu_is_a_failure_unless_it_was_requested(environment: Environment) -> None:
    torch = environment.with_torch()
    assert _codes(torch.verify(WITH_GPU)) == ["cpu-build"]
    assert _codes(torch.planned("2.14.1+cpu", "cpu").verify(WITH_GPU)) == ["cpu-build"]
    requested = torch.planned("2.14.1+cpu", "cpu", asked={"cuda": "cpu"}).verify(WITH_GPU)
    assert requested.ok
    assert requested.lines[-1] == "NVIDIA L4 is not used: a CPU build was requested (--cuda cpu)"
    at_home = torch.planned("2.14.1+cpu", "cpu", asked={"cuda": "cpu"}).verify(BARE)
    assert at_home.lines[-1] == "no GPU available to test"


def test_an_environment_that_moved_to_a_machine_with_a_gpu_is_a_failure(environment: Environment) -> None:
    moved = environment.with_torch().planned("2.14.1+cpu", "cpu", machine=render_machine(BARE))
    assert moved.verify(BARE).ok
    assert _codes(moved.verify(WITH_GPU)) == ["cpu-build"]
    broken = Machine(LINUX, problems=(Problem("driver-mismatch", "reboot"),))
    assert _codes(moved.verify(broken)) == ["cpu-build"]


def test_a_record_from_before_requests_were_kept_tells_by_its_machine(environment: Environment) -> None:
    chosen = environment.with_torch().planned("2.14.1+cpu", "cpu", machine=render_machine(WITH_GPU))
    assert chosen.verify(WITH_GPU).ok


def test_a_cuda_build_that_was_planned_for_the_cpu_needs_a_gpu_only_where_there_is_one(
    environment: Environment,
) -> None:
    torch = environment.with_torch(**{**CUDA, "gpus": []})
    planned = torch.planned("2.14.1", "cu126", machine=render_machine(BARE))
    assert planned.verify(BARE).ok
    assert _codes(planned.verify(WITH_GPU)) == ["no-gpu"]
    beside_gpu = torch.planned("2.14.1", "cu126", machine=render_machine(WITH_GPU))
    assert _codes(beside_gpu.verify(BARE)) == ["no-gpu"]


@pytest.mark.parametrize("machine", [{}, {"gpus": 3}, {"system": None}])
def test_a_damaged_machine_in_the_record_says_nothing(
    environment: Environment, machine: dict[str, object]
) -> None:
    torch = environment.with_torch().planned("2.14.1+cpu", "cpu", machine=machine)
    assert _codes(torch.verify(WITH_GPU)) == ["cpu-build"]


def test_another_torch_than_planned_is_a_failure(environment: Environment) -> None:
    result = environment.with_torch(**CUDA).planned("2.13.0+cu129", "cu129").verify()
    assert _codes(result) == ["wrong-version", "wrong-variant"]


def test_the_result_is_kept_in_the_environment(environment: Environment) -> None:
    torch = environment.with_torch().planned("2.14.1+cpu", "cpu")
    result = torch.verify()
    record = read_record(torch.path)
    assert record
    assert (record.verified, record.verify) == (True, result.data)
    assert record.planned("variant") == "cpu"


def test_an_environment_that_gpuenv_did_not_make_is_left_as_it_is(environment: Environment) -> None:
    before = sorted(environment.path.rglob("*"))
    environment.with_torch().verify()
    assert sorted(environment.path.rglob("*")) == before


def test_a_result_that_cannot_be_kept_is_a_warning(environment: Environment) -> None:
    warning = PlanWarning("not-recorded", "read-only")
    torch = environment.with_torch()
    result = verify(str(torch.path), torch.environ, machine=BARE, remember=lambda *_: warning)
    assert result.ok
    assert result.warnings == (warning,)


def test_an_environment_of_gpuenv_is_found_by_its_name(environment: Environment, tmp_path: Path) -> None:
    torch = environment.with_torch().planned("2.14.1+cpu", "cpu")
    home = tmp_path / "data" / "envs"
    home.mkdir(parents=True)
    (home / "trial").symlink_to(torch.path)
    result = verify("trial", {**torch.environ, "GPUENV_DATA_DIR": str(tmp_path / "data")}, machine=BARE)
    assert result.ok
    assert result.data["environment"] == str(home / "trial")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'bad CPU type' >&2; exit 3", "bad CPU type"),
        ("exit 0", "no message"),
        ('echo \'{"schema": 1\' > "$2"', "no message"),
        ('printf "\\377\\376" > "$2"', "no message"),
        ('echo \'{"schema": 1, "python": 3}\' > "$2"', "cannot be read"),
        ('echo \'{"schema": 2}\' > "$2"; echo hello', "cannot be read"),
        ("kill -SEGV $$", "SIGSEGV"),
    ],
)
def test_a_python_that_is_none_is_told(
    fake_python: Callable[[str], Environment], script: str, told: str
) -> None:
    result = fake_python(script).verify()
    assert _codes(result) == ["no-report"]
    assert told in " ".join(result.lines)
    assert result.error
    assert result.data["devices"] == []


def test_a_python_that_cannot_be_started_is_told(fake_python: Callable[[str], Environment]) -> None:
    fake = fake_python("")
    (fake.path / "bin" / "python").write_bytes(b"#!/nowhere/at/all\n")
    result = fake.verify()
    assert _codes(result) == ["no-report"]
    assert "No such file" in result.verdict.problems[0].text


def test_a_full_disk_is_told(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    assert _codes(environment.with_torch().verify()) == ["no-report"]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs a real torch beside the tests")
def test_a_real_torch_passes() -> None:
    result = verify(sys.executable, os.environ, lookup=_none)
    assert result.report.torch
    assert result.data["devices"][0]["ok"]


def test_an_environment_is_found_by_name_path_or_python(environment: Environment) -> None:
    python = environment.path / "bin" / "python"
    by_name = locate("trial", {}, {"trial": environment.path}.get)
    assert by_name.python == python
    assert by_name.root == environment.path
    assert locate(str(environment.path), {}, _none) == by_name
    assert locate(str(python), {}, _none) == by_name


def test_a_path_is_never_looked_up_as_a_name(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(environment.path.parent)
    relative = os.path.join(".", environment.path.name)  # noqa: PTH118 - pathlib drops the dot
    assert locate(relative, {}, {relative: Path("/elsewhere")}.get).root == environment.path


def test_a_directory_that_is_no_name_is_found(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(environment.path.parent)
    assert locate(environment.path.name, {}, _none).root == environment.path


def test_left_out_it_is_the_active_environment_then_the_python_on_path(environment: Environment) -> None:
    root, bin_directory = str(environment.path), str(environment.path / "bin")
    for environ in ({"VIRTUAL_ENV": root, "PATH": ""}, {"CONDA_PREFIX": root}, {"PATH": bin_directory}):
        assert locate(None, environ, _none).root == environment.path


def test_gpuenvs_own_environment_is_never_chosen(environment: Environment, tmp_path: Path) -> None:
    own, root = tmp_path / "own", str(environment.path)
    (own / "bin").mkdir(parents=True)
    (own / "pyvenv.cfg").touch()
    (own / "bin" / "python").symlink_to(sys.executable)
    path = str(own / "bin")
    for environ in (
        {"VIRTUAL_ENV": str(own), "CONDA_PREFIX": root},
        {"VIRTUAL_ENV": f"{own}/", "PATH": os.pathsep.join((path, str(environment.path / "bin")))},
    ):
        assert locate(None, environ, _none, own=own).root == environment.path
    active = {"VIRTUAL_ENV": str(own), "PATH": path}
    assert locate(None, active, _none, own=own, choose=lambda: environment.path).root == environment.path
    with pytest.raises(UsageError, match="except gpuenv's own"):
        locate(None, active, _none, own=own)
    assert locate(str(own), active, _none, own=own).root == own  # it was named


def test_a_python_outside_environments_is_gpuenvs_own_where_gpuenv_is_installed(tmp_path: Path) -> None:
    for name in ("usr", "opt"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python3").write_text("#!/bin/sh\n")
        (tmp_path / name / "bin" / "python3").chmod(0o755)
    path = os.pathsep.join(str(tmp_path / name / "bin") for name in ("usr", "opt"))
    assert locate(None, {"PATH": path}, _none, own=tmp_path / "usr").python == tmp_path / "opt/bin/python3"


def test_an_active_environment_comes_before_the_only_one(environment: Environment, tmp_path: Path) -> None:
    chosen = tmp_path / "made"
    python = locate(None, {"VIRTUAL_ENV": str(environment.path)}, _none, choose=lambda: chosen)
    assert python.root == environment.path


def test_a_python_outside_environments_stands_for_itself(tmp_path: Path) -> None:
    python = tmp_path / "usr" / "bin" / "python3"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    located = locate(str(python), {}, _none)
    assert located.root is None
    assert located.label == str(python)


def test_on_windows_python_lies_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "python.exe").touch()
    assert locate(str(tmp_path), {}, _none, windows=True).python == tmp_path / "python.exe"
    (tmp_path / "Scripts").mkdir()
    (tmp_path / "Scripts" / "python.exe").touch()
    assert locate(str(tmp_path), {}, _none, windows=True).python == tmp_path / "Scripts" / "python.exe"


@pytest.mark.parametrize(
    "env", ["missing", "", "./missing", "~nobody-of-that-name/x", "a\0b", "x" * 5000, "/dev/null"]
)
def test_an_environment_that_is_not_there_is_bad_usage(
    env: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        locate(env, {}, _none)


def test_a_file_that_cannot_be_executed_is_no_python(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("")
    with pytest.raises(UsageError, match="cannot be executed"):
        locate(str(tmp_path / "python"), {}, _none)


def test_without_any_python_it_is_bad_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no Python on PATH"):
        locate(None, {"PATH": str(tmp_path)}, _none)


ROCM = {"version": "2.13.0+rocm7.2", "hip": "7.2.26015", "gpus": [["AMD Radeon RX 7900 XTX", [11, 0]]]}
GFX = {"gfx": ["gfx1100"], "architectures": ["gfx90a", "gfx1100"]}


def test_a_radeon_is_proved_by_the_same_tests_and_attention(environment: Environment) -> None:
    """ROCm's torch has CUDA's API; what the chip is called must be among what the build has code for."""
    result = environment.planned("2.13.0", "rocm7.2").with_torch(**ROCM, **GFX).verify()
    assert result.ok
    (device,) = result.data["devices"]
    assert (device["kind"], device["architecture"], device["compute_capability"]) == ("rocm", "gfx1100", None)
    assert [test["id"] for test in device["tests"]] == [*BASIC, "attention", "architectures"]
    assert (result.data["accelerator"], result.data["hip"]) == ("rocm", "7.2.26015")


@pytest.mark.parametrize(
    ("fault", "gfx", "code", "text"),
    [
        (["kernel", "cuda:0", "invalid device function"], "gfx1103", "test-failed", "gfx90a gfx1100"),
        (["matmul", "cuda:0", "abort"], "gfx1100", "crashed", "`matmul` on GPU 0"),
        (["attention", "cuda:0", "wrong"], "gfx1100", "test-failed", "`attention`"),
    ],
)
def test_a_radeon_that_fails_is_told(
    environment: Environment, fault: list[str], gfx: str, code: str, text: str
) -> None:
    """No code for the chip; a library without code for it, which aborts; wrong numbers."""
    settings = {**ROCM, **GFX, "gfx": [gfx], "faults": [fault]}
    result = environment.planned("2.13.0", "rocm7.2").with_torch(**settings).verify()
    problem = result.verdict.problems[0]
    assert problem.code == code
    assert text in problem.text
    assert {*BASIC, "attention"} <= {test["id"] for test in result.data["devices"][0]["tests"]}


@pytest.mark.slow
def test_behind_a_crash_and_a_hang_a_radeon_is_tested_on(environment: Environment) -> None:
    """Libraries end the process where they lack code: each test is told, and so is what works beside."""
    faults = [["matmul", "cuda:0", "abort"], ["convolution", "cuda:0", "hang"]]
    settings = {**ROCM, **GFX, "gfx": ["gfx1100"], "faults": faults}
    result = environment.planned("2.13.0", "rocm7.2").with_torch(**settings).verify(timeout_s=9.0)
    (device,) = result.data["devices"]
    assert [test["id"] for test in device["tests"]] == [*BASIC, "attention", "architectures"]
    # fp16 and bf16 are products as well
    assert [name for name, ok in _tests(device).items() if not ok] == [
        "matmul",
        "convolution",
        "fp16",
        "bf16",
    ]
    assert _codes(result) == ["crashed", "hung", "crashed", "crashed"]
    assert "SIGABRT" in result.verdict.problems[0].text
    assert "`convolution` on GPU 0: it timed out after 3 s" in result.verdict.problems[1].text
    assert any("fake_torch" in message for message in result.data["messages"])  # where it crashed


def test_a_radeon_that_ends_the_process_when_it_is_started_fails_once(environment: Environment) -> None:
    """A second process would end there as well."""
    settings = {**ROCM, **GFX, "faults": [["name", "cuda:0", "SIGSEGV"]]}
    result = environment.planned("2.13.0", "rocm7.2").with_torch(**settings).verify()
    assert _codes(result) == ["crashed"]
    assert "`zeros` on GPU 0" in result.verdict.problems[0].text


def test_a_build_for_rocm_that_sees_no_gpu_fails(environment: Environment) -> None:
    """Torch says nothing of it by itself: no rights on /dev/kfd, say."""
    result = environment.with_torch(**{**ROCM, "gpus": []}).verify()
    assert [problem.code for problem in result.verdict.problems] == ["no-gpu"]
    assert "ROCm 7.2" in result.verdict.problems[0].text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "settings", "devices"),
    [
        (
            "xpu",
            {"version": "2.13.0+xpu", "xpu": "20260000", "architectures": ["bmg"]},
            ["Arc B580", "Arc A770"],
        ),
        ("mps", {"version": "2.13.0", "mps": True}, ["MPS"]),
    ],
)
def test_intel_and_apple_are_proved_too(
    environment: Environment, kind: str, settings: dict[str, Any], devices: list[str]
) -> None:
    """Each device of XPU, the one of MPS, against the CPU."""
    gpus = devices if kind == "xpu" else []
    result = environment.planned("2.13.0", kind).with_torch(**settings, gpus=gpus).verify()
    assert result.ok
    assert [(item["kind"], item["name"]) for item in result.data["devices"]] == [
        (kind, name) for name in devices
    ]
    where = "xpu:0" if kind == "xpu" else "mps"
    faults = [["convolution", where, "wrong"], ["matmul", where, "BFloat16 is not supported on this device"]]
    result = environment.with_torch(**settings, gpus=gpus, faults=faults).verify()
    failed = [test["id"] for test in result.data["devices"][0]["tests"] if not test["ok"]]
    assert failed == ["matmul", "convolution"]  # what lacks bfloat16 is passed over


def test_an_npu_is_proved_through_torch_npu(environment: Environment) -> None:
    """The torch is one for the CPU; torch_npu without CANN can't be imported, and that is the problem."""
    settings = {"version": "2.6.0+cpu", "gpus": ["Ascend910B3"]}
    for faults, codes in (
        ([], []),
        ([["import", "npu", "libhccl.so: cannot open"]], ["import-failed", "cpu-build"]),
    ):
        there = environment.planned("2.6.0", "npu").with_torch(**settings, faults=faults)
        there.environ["PYTHONPATH"] += f"{os.pathsep}{HERE / 'fake_torch_npu'}"
        result = there.verify()
        assert [problem.code for problem in result.verdict.problems][:2] == codes
    assert "libhccl.so" in result.verdict.problems[0].text
