"""`detect` against fake programs on an otherwise empty PATH, a fake file system and a fake NVML."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpuenv.host.detect import detect_machine
from gpuenv.host.remote import parse_told
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import UsageError
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import parse_machine, render_machine
from gpuenv.node.facts import gather_facts
from gpuenv.planning.detect import detect

FIXTURES = Path(__file__).parents[1] / "fixtures" / "nvidia-smi"

CUDA = (
    {"kind": "branch", "os": "linux", "branch": 418, "cuda": "10.1", "source": "test"},
    {"kind": "branch", "os": "linux", "branch": 525, "cuda": "12.0", "source": "test"},
    {"kind": "branch", "os": "linux", "branch": 535, "cuda": "12.2", "source": "test"},
    {"kind": "branch", "os": "windows", "branch": 545, "cuda": "12.3", "source": "test"},
)
GPUS = tuple(
    {
        "name": name,
        "compute_capability": capability,
        "pci_ids": pci,
        "preferred": True,
        "source": "test",
        **more,
    }
    for name, capability, pci, more in (
        ("Tesla K80", "3.7", ["102d"], {}),
        ("Tesla V100-SXM2-16GB", "7.0", ["1db1"], {}),
        ("NVIDIA GeForce RTX 3080 Ti", "8.6", ["2208"], {}),
        ("NVIDIA A100-SXM4-40GB", "8.0", ["20b0"], {}),
        ("GeForce GT 730", "3.5", ["1287"], {"note": "same name also sold with compute capability 2.1"}),
        ("Tesla T4", "7.5", ["1eb8"], {}),
    )
)


def knowledge() -> Knowledge:
    return Knowledge(cuda_rows=CUDA, gpu_rows=GPUS)


class FakeNvmlError(Exception):
    pass


@pytest.fixture(autouse=True)
def nvml(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Stand in for the driver's library: absent, until a test says otherwise."""

    def init() -> None:
        raise FakeNvmlError("NVML Shared Library Not Found")

    module = types.ModuleType("pynvml")
    module.NVMLError = FakeNvmlError  # type: ignore[attr-defined]
    module.nvmlInit = init  # type: ignore[attr-defined]
    module.nvmlShutdown = lambda: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pynvml", module)
    return module


def answer_by_nvml(module: types.ModuleType, name: str, capability: tuple[int, int], uuid: str) -> None:
    pci = types.SimpleNamespace(busId=b"00000000:86:00.0", pciDeviceId=0x102D10DE)
    answers: dict[str, Callable[..., object]] = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlSystemGetDriverVersion": lambda: b"470.223.02",
        "nvmlSystemGetCudaDriverVersion_v2": lambda: 11040,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetName": lambda _: name,
        "nvmlDeviceGetUUID": lambda _: uuid,
        "nvmlDeviceGetPciInfo": lambda _: pci,
        "nvmlDeviceGetMemoryInfo": lambda _: types.SimpleNamespace(total=11441 * 1024 * 1024),
        "nvmlDeviceGetCudaComputeCapability": lambda _: capability,
        "nvmlDeviceGetMigMode": _refuse,
    }
    for call, answer in answers.items():
        setattr(module, call, answer)


def _refuse(_handle: object) -> object:
    raise FakeNvmlError("Not Supported")


@dataclass
class Fake:
    """A machine made of files: `root` holds /proc, /sys and the like, `bin` is all of PATH."""

    root: Path
    bin: Path
    environ: dict[str, str] = field(default_factory=dict)

    def program(self, name: str, body: str, folder: Path | None = None) -> None:
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho \"$*\" >> '{self.bin}/calls'\n{body}\n")
        path.chmod(0o755)

    def smi(self, *cases: tuple[str, str, int], otherwise: tuple[str, int] = ("", 1)) -> None:
        """Answer arguments that fit a shell pattern with a fixture (a file name) and an exit status."""
        arms = [f"{pattern}) {_show(name)}; exit {status};;" for pattern, name, status in cases]
        self.program(
            "nvidia-smi",
            f'case "$*" in {" ".join(arms)} *) {_show(otherwise[0])}; exit {otherwise[1]};; esac',
        )

    def write(self, place: str, text: str = "") -> None:
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def pci(
        self, device: str, klass: str = "0x030000", vendor: str = "0x10de", bus: str = "0000:01:00.0"
    ) -> None:
        for name, text in (("vendor", vendor), ("device", device), ("class", klass)):
            self.write(f"sys/bus/pci/devices/{bus}/{name}", f"{text}\n")

    def proc(self, version: str = "535.104.05", model: str | None = None) -> None:
        line = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Sat Aug 19 01:15:15 UTC 2023\n"
        self.write("proc/driver/nvidia/version", line)
        if model:
            self.write(
                "proc/driver/nvidia/gpus/0000:01:00.0/information",
                f"Model: \t\t {model}\nIRQ:   \t\t 139\n"
                "GPU UUID: \t GPU-????????-????-????-????-????????????\nBus Location: \t 0000:01:00.0\n",
            )

    def detect(self, timeout_s: float = 30.0) -> Machine:
        machine = detect_machine(self.environ, knowledge, root=self.root, timeout_s=timeout_s)
        assert parse_machine(json.loads(json.dumps(render_machine(machine)))) == machine
        if "NVML" not in str(machine) and "SYSTEMROOT" not in self.environ:  # which nodes know nothing of
            assert _without_software(self.told(timeout_s)) == _without_software(machine)
        return machine

    def told(self, timeout_s: float = 30.0) -> Machine:
        """The machine as it is read elsewhere, from what the node program tells; leaves no calls."""
        calls, log = self.calls, self.bin / "calls"
        facts = gather_facts(self.environ, str(self.root), timeout_s)
        log.write_text("".join(f"{call}\n" for call in calls))
        return parse_told(json.loads(json.dumps(facts)), knowledge)

    @property
    def calls(self) -> list[str]:
        log = self.bin / "calls"
        return log.read_text().splitlines() if log.exists() else []


def _without_software(machine: Machine) -> Machine:
    """A node asks its Pythons themselves, and looks for managers on PATH alone."""
    problems = tuple(problem for problem in machine.problems if not problem.code.startswith("python-"))
    return replace(machine, pythons=(), managers=(), problems=problems)


def _show(name: str) -> str:
    return f"/bin/cat '{FIXTURES / name}'" if name else ":"


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    (tmp_path / "bin").mkdir()
    (tmp_path / "root").mkdir()
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}
    return Fake(tmp_path / "root", tmp_path / "bin", environ)


def codes(machine: Machine) -> list[str]:
    return [problem.code for problem in machine.problems]


def capabilities(machine: Machine) -> list[str | None]:
    return [gpu.compute_capability and str(gpu.compute_capability) for gpu in machine.gpus]


# nvidia-smi answers


def test_one_call_is_enough_for_a_driver_of_today(fake: Fake) -> None:
    fake.smi(("--query-gpu=*", "query-535-h100.csv", 0))

    machine = fake.detect()

    assert len(fake.calls) == 1
    assert capabilities(machine) == ["9.0"]
    assert str(machine.driver and machine.driver.cuda) == "12.2"
    assert machine.source_of("driver.cuda") == "matrix: driver branch 535"
    assert machine.source_of("gpus.0.compute_capability") == "nvidia-smi --query-gpu"
    assert machine.problems == ()


def test_a_driver_before_510_is_asked_again_without_the_capability(fake: Fake) -> None:
    fake.smi(("*compute_cap*", "refused-compute_cap.txt", 2), ("--query-gpu=*", "query-470-k80-no-cc.csv", 0))

    machine = fake.detect()

    assert len(fake.calls) == 2
    assert capabilities(machine) == ["3.7", "3.7"]
    assert machine.source_of("gpus.1.compute_capability") == "matrix: product name `Tesla K80`"
    assert machine.problems == ()


def test_a_driver_before_450_is_asked_again_without_mig_and_capability(fake: Fake) -> None:
    fake.smi(("*mig.mode*", "refused-mig.txt", 2), ("--query-gpu=*", "query-418-t4-no-mig.csv", 0))

    machine = fake.detect()

    assert len(fake.calls) == 2
    assert capabilities(machine) == ["7.5"]
    assert str(machine.driver and machine.driver.cuda) == "10.1"


def test_nvml_comes_before_the_matrix(fake: Fake, nvml: types.ModuleType) -> None:
    answer_by_nvml(nvml, "Tesla K80", (3, 7), "GPU-4f3e2d1c-0b9a-4817-a6b5-c4d3e2f10a9b")
    fake.smi(("*compute_cap*", "refused-compute_cap.txt", 2), ("--query-gpu=*", "query-470-k80-no-cc.csv", 0))

    machine = fake.detect()

    assert machine.source_of("gpus.0.compute_capability") == "NVML"
    assert machine.source_of("gpus.1.compute_capability") == "matrix: product name `Tesla K80`"
    assert machine.source_of("driver.cuda") == "NVML"


def test_nvml_of_other_gpus_is_not_believed(fake: Fake, nvml: types.ModuleType) -> None:
    answer_by_nvml(nvml, "NVIDIA H100", (9, 0), "GPU-of-another-machine")
    fake.smi(("*compute_cap*", "refused-compute_cap.txt", 2), ("--query-gpu=*", "query-470-k80-no-cc.csv", 0))

    assert capabilities(fake.detect()) == ["3.7", "3.7"]


@pytest.mark.parametrize(
    "cases",
    [(("'' ", "table-535-v100.txt", 0),), (("*", "table-535-v100.txt", 0),)],
    ids=["plain only", "whatever is asked"],
)
def test_the_plain_table_is_enough(fake: Fake, cases: tuple[tuple[str, str, int], ...]) -> None:
    fake.smi(*cases)

    machine = fake.detect()

    assert capabilities(machine) == ["7.0"]
    assert machine.source_of("driver.cuda") == "nvidia-smi"
    assert str(machine.driver and machine.driver.cuda) == "12.2"
    assert machine.problems == ()


def test_a_driver_that_the_query_does_not_tell_is_asked_for(fake: Fake) -> None:
    row = 'echo "Tesla V100-SXM2-16GB, 7.0"'
    table = _show("table-535-v100.txt")
    fake.program("nvidia-smi", f'case "$*" in --query*) {row};; *) {table};; esac')
    machine = fake.detect()
    assert (str(machine.driver and machine.driver.cuda), codes(machine)) == ("12.2", [])
    fake.program("nvidia-smi", row)
    assert codes(fake.detect()) == ["driver-unknown"]


def test_every_field_may_be_refused(fake: Fake) -> None:
    """An nvidia-smi that knows names and drivers only is asked until it answers."""
    refuse = 'echo "Field \\"$field\\" is not a valid field to query."; exit 2'
    body = (
        'case "$1" in --query-gpu=*) ;; *) exit 1;; esac; fields="${1#--query-gpu=}"; IFS=,; row=; '
        "for field in $fields; do case $field in name) value='Tesla T4';; driver_version) value=525.60.13;; "
        f'*) {refuse};; esac; row="$row, $value"; done; echo "${{row#, }}"'
    )
    fake.program("nvidia-smi", body)

    machine = fake.detect()

    assert capabilities(machine) == ["7.5"]
    assert machine.problems == ()


def test_names_that_the_table_cuts_are_asked_for(fake: Fake) -> None:
    fake.smi(("-L", "list-460.txt", 0), otherwise=("table-460-cut.txt", 0))

    machine = fake.detect()

    assert [gpu.name for gpu in machine.gpus] == ["GeForce RTX 3080 Ti", "A100-SXM4-40GB"]
    assert capabilities(machine) == ["8.6", "8.0"]
    assert codes(machine) == ["mig"]


def test_the_bus_tells_what_a_cut_name_does_not(fake: Fake) -> None:
    fake.smi(otherwise=("table-460-cut.txt", 0))
    fake.pci("0x2208")

    machine = fake.detect()

    assert capabilities(machine)[0] == "8.6"
    assert machine.source_of("gpus.0.compute_capability") == "matrix: PCI id `2208`"


def test_under_wsl_the_drivers_cuda_is_windows(fake: Fake) -> None:
    fake.write("proc/sys/kernel/osrelease", "5.15.133.1-microsoft-standard-WSL2\n")
    fake.write("usr/lib/wsl/lib/nvidia-smi")
    fake.program("nvidia-smi", _show("table-546-wsl.txt"), fake.root / "usr/lib/wsl/lib")

    machine = fake.detect()

    assert machine.system.wsl
    assert str(machine.driver and machine.driver.cuda) == "12.3"
    assert codes(machine) == ["capability-unknown"]


def test_windows_places_are_looked_into(fake: Fake, tmp_path: Path) -> None:
    fake.environ["SYSTEMROOT"] = str(tmp_path / "Windows")
    fake.program("nvidia-smi.exe", _show("query-531-windows.csv"), tmp_path / "Windows" / "System32")

    assert capabilities(fake.detect()) == ["8.6"]


def test_broken_gpus_do_not_hide_the_others(fake: Fake) -> None:
    fake.smi(("--query-gpu=*", "query-525-lost.csv", 0))
    lost = fake.detect()
    fake.smi(("--query-gpu=*", "query-515-err.csv", 0))
    broken = fake.detect()

    assert (capabilities(lost), codes(lost)) == (["8.6"], ["gpu-lost"])
    assert codes(broken) == ["gpu-error", "capability-unknown"]
    assert len(broken.gpus) == 2


def test_mig_and_vgpu_are_said(fake: Fake) -> None:
    fake.smi(("--query-gpu=*", "query-535-a100-mig.csv", 0))
    assert codes(fake.detect()) == ["mig"]
    fake.smi(("--query-gpu=*", "query-535-vgpu.csv", 0))
    assert codes(fake.detect()) == ["vgpu"]


def test_hidden_devices_are_said(fake: Fake) -> None:
    fake.environ["CUDA_VISIBLE_DEVICES"] = "1"
    fake.smi(("--query-gpu=*", "query-535-v100-a100.csv", 0))

    machine = fake.detect()

    assert [gpu.visible for gpu in machine.gpus] == [False, True]
    assert codes(machine) == ["devices-hidden"]
    assert not machine.without_gpu


def test_an_ambiguous_name_is_asked_about_unless_the_bus_tells(fake: Fake) -> None:
    fake.program("nvidia-smi", 'echo "0, GeForce GT 730, 418.226.00, 2002"')
    assert codes(fake.detect()) == ["capability-ambiguous"]
    fake.program("nvidia-smi", 'echo "0, GeForce GT 730, 418.226.00, 00000000:01:00.0, 0x128710DE, 2002"')
    assert capabilities(fake.detect()) == ["3.5"]


# nvidia-smi fails


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("failed-not-loaded.txt", 9, "driver-not-loaded"),
        ("failed-mismatch.txt", 18, "driver-mismatch"),
        ("failed-no-devices.txt", 6, "no-devices"),
        ("failed-no-devices.txt", 0, "no-devices"),
        ("failed-lost.txt", 15, "gpu-lost"),
        ("failed-unknown.txt", 255, "nvidia-smi-failed"),
        ("failed-wsl-blocked.txt", 255, "nvidia-smi-failed"),
        ("failed-no-library.txt", 12, "nvidia-smi-failed"),
        ("failed-localised.txt", 9, "nvidia-smi-failed"),
        ("failed-localised.txt", 0, "nvidia-smi-unreadable"),
        ("", 0, "nvidia-smi-unreadable"),
        ("", 1, "nvidia-smi-failed"),
    ],
)
def test_a_failing_nvidia_smi_is_never_a_machine_without_gpu(
    fake: Fake, name: str, status: int, code: str
) -> None:
    fake.smi(otherwise=(name, status))
    fake.proc("535.161.08")

    machine = fake.detect()

    assert codes(machine) == [code]
    assert ": " in machine.problems[0].message
    assert not machine.without_gpu
    assert machine.gpus == ()
    assert machine.source_of("driver.version") == "/proc/driver/nvidia"


def test_complaints_on_stderr_count(fake: Fake) -> None:
    fake.program("nvidia-smi", f"{_show('failed-mismatch.txt')} >&2; exit 18")

    assert codes(fake.detect()) == ["driver-mismatch"]
    assert len(fake.calls) == 1


def test_a_hanging_nvidia_smi_is_ended_and_said(fake: Fake) -> None:
    fake.program("nvidia-smi", (FIXTURES / "hang.sh").read_text())

    machine = fake.detect(timeout_s=0.5)

    assert codes(machine) == ["nvidia-smi-timeout"]
    assert not machine.without_gpu


def test_an_nvidia_smi_that_cannot_start_is_said(fake: Fake) -> None:
    path = fake.bin / "nvidia-smi"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)

    assert codes(fake.detect()) == ["nvidia-smi-failed"]


@pytest.mark.parametrize(
    "body", ["/usr/bin/yes 'x, y, z' | /usr/bin/head -n 20000", "printf '\\377\\376\\000, \\200'"]
)
def test_hostile_output_is_a_problem_and_no_crash(fake: Fake, body: str) -> None:
    fake.program("nvidia-smi", body)

    assert codes(fake.detect()) == ["nvidia-smi-unreadable"]


# no nvidia-smi


def test_nothing_of_nvidia_is_a_machine_without_gpu(fake: Fake) -> None:
    fake.pci("0x9a49", vendor="0x8086")
    fake.pci("0x10f0", klass="0x040300", bus="0000:01:00.1")  # the sound function of an NVIDIA card

    machine = fake.detect()

    assert machine.without_gpu
    assert machine.problems == ()


def test_hardware_without_driver_is_said_with_its_name(fake: Fake) -> None:
    fake.pci("0x2208", klass="0x030200")
    nouveau = fake.root / "sys/bus/pci/drivers/nouveau"
    nouveau.mkdir(parents=True)
    (fake.root / "sys/bus/pci/devices/0000:01:00.0/driver").symlink_to(nouveau)

    machine = fake.detect()

    assert codes(machine) == ["no-driver"]
    assert "RTX 3080 Ti" in machine.problems[0].message
    assert "nouveau" in machine.problems[0].message
    assert not machine.without_gpu


def test_nvml_alone_is_enough(fake: Fake, nvml: types.ModuleType) -> None:
    answer_by_nvml(nvml, "Tesla K80", (3, 7), "GPU-4f3e2d1c-0b9a-4817-a6b5-c4d3e2f10a9b")
    fake.proc("470.223.02")

    machine = fake.detect()

    assert capabilities(machine) == ["3.7"]
    assert machine.source_of("gpus") == "NVML"
    assert str(machine.driver and machine.driver.cuda) == "11.4"
    assert machine.problems == ()


def test_nvml_can_complain(fake: Fake, nvml: types.ModuleType) -> None:
    def init() -> None:
        raise FakeNvmlError("Driver/library version mismatch")

    nvml.nvmlInit = init  # type: ignore[attr-defined]
    fake.proc()

    assert codes(fake.detect()) == ["driver-mismatch"]


def test_the_kernel_module_alone_is_enough(fake: Fake) -> None:
    fake.proc(model="Tesla T4")
    fake.write("dev/nvidiactl")

    machine = fake.detect()

    assert capabilities(machine) == ["7.5"]
    assert machine.source_of("gpus.0.name") == "/proc/driver/nvidia"
    assert machine.problems == ()


def test_a_container_without_the_gpu_handed_in_is_said(fake: Fake) -> None:
    fake.write(".dockerenv")
    fake.proc(model="Tesla T4")

    machine = fake.detect()

    assert codes(machine) == ["nvidia-smi-missing"]
    assert "--gpus all" in machine.problems[0].message
    assert not machine.without_gpu


@pytest.mark.parametrize(
    ("drivers", "found"),
    [
        (("nv_dispi.inf_amd64_1a2b",), ["nvidia-smi-missing"]),
        (("iigd_dch.inf_amd64_3c4d",), []),
        ((), ["nvidia-smi-missing"]),
    ],
)
def test_wsl_shows_by_windows_drivers_whether_there_is_a_gpu(
    fake: Fake, drivers: tuple[str, ...], found: list[str]
) -> None:
    fake.write("proc/sys/kernel/osrelease", "5.15.133.1-microsoft-standard-WSL2\n")
    fake.write("dev/dxg")
    for name in drivers:
        fake.write(f"usr/lib/wsl/drivers/{name}/x.inf")

    machine = fake.detect()

    assert codes(machine) == found
    assert machine.without_gpu is not bool(found)


def test_device_files_without_tools_are_said(fake: Fake) -> None:
    fake.write("dev/nvidiactl")

    assert codes(fake.detect()) == ["nvidia-smi-missing"]


# the rest of the machine


def test_a_toolkit_is_read_from_its_files(fake: Fake) -> None:
    fake.program("nvcc", "exit 1", fake.root / "usr/local/cuda/bin")
    fake.write("usr/local/cuda/version.json", '{"cuda": {"name": "CUDA SDK", "version": "12.4.20240301"}}')

    toolkit = fake.detect().toolkit

    assert str(toolkit and toolkit.cuda) == "12.4"
    assert fake.calls == []


def test_a_toolkit_without_files_is_asked(fake: Fake) -> None:
    fake.program("nvcc", "echo 'Cuda compilation tools, release 11.5, V11.5.119'")
    assert str((toolkit := fake.detect().toolkit) and toolkit.cuda) == "11.5"
    fake.program("nvcc", "exit 1")
    machine = fake.detect()
    assert codes(machine) == ["toolkit-unreadable"]
    assert machine.without_gpu


def test_conda_tools_are_found_and_not_started(fake: Fake, tmp_path: Path) -> None:
    prefix = tmp_path / "home" / "miniforge3"
    for name in ("conda", "mamba"):
        fake.program(name, "exit 1", prefix / "bin")
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / "conda-24.11.3-py312h7900ff3_0.json").write_text("{}")
    (prefix / "conda-meta" / "conda-libmamba-solver-24.9.0-pyhd8ed1ab_0.json").write_text("{}")
    fake.program("micromamba", "exit 1", tmp_path / "tools")
    fake.environ["MAMBA_EXE"] = str(tmp_path / "tools" / "micromamba")

    managers = {manager.name: manager for manager in fake.detect().managers}

    assert managers["conda"].version == "24.11.3"
    assert managers["mamba"].version is None
    assert managers["micromamba"].path == str(tmp_path / "tools" / "micromamba")
    assert fake.calls == []


def interpreter(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF")
    path.chmod(0o755)


def test_pythons_are_found_and_not_started(fake: Fake, tmp_path: Path) -> None:
    home = tmp_path / "home"
    interpreter(home / ".pyenv/versions/3.9.18/bin/python3.9")
    interpreter(home / ".local/share/uv/python/cpython-3.13.0+freethreaded-linux-x86_64-gnu/bin/python3.13t")
    interpreter(home / "miniconda3/bin/python")
    (home / "miniconda3/lib/python3.8").mkdir(parents=True)
    (home / "miniconda3/conda-meta").mkdir()
    (home / "miniconda3/conda-meta/python-3.8.19-h955ad1f_0.json").write_text("{}")
    interpreter(tmp_path / "opt/python3.10")
    (fake.bin / "python3").symlink_to(tmp_path / "opt/python3.10")
    fake.program("python3.7", "exit 1")  # a pyenv shim

    pythons = fake.detect().pythons
    results = {(python.version, python.free_threaded) for python in pythons}

    assert pythons[0].version == ".".join(map(str, sys.version_info[:3]))
    assert {("3.10", False), ("3.9.18", False), ("3.13.0", True), ("3.8.19", False)} <= results
    assert not any(version.startswith("3.7") for version, _ in results)


def test_a_virtual_environment_counts_as_its_origin(fake: Fake, tmp_path: Path) -> None:
    interpreter(tmp_path / "base/bin/python3.10")
    interpreter(tmp_path / "venv/bin/python")
    (tmp_path / "venv/pyvenv.cfg").write_text(f"home = {tmp_path / 'base/bin'}\nversion = 3.10.4\n")
    fake.environ["PATH"] = os.pathsep.join([str(tmp_path / "venv/bin"), "relative/bin"])

    paths = [python.path for python in fake.detect().pythons]

    assert str(tmp_path / "base/bin/python3.10") in paths
    assert str(tmp_path / "venv/bin/python") not in paths


def test_a_jetson_before_thor_is_refused_beside_its_gpu(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    uname = os.uname()
    arm = os.uname_result((uname.sysname, uname.nodename, uname.release, uname.version, "aarch64"))
    monkeypatch.setattr(os, "uname", lambda: arm)
    fake.write("proc/device-tree/compatible", "nvidia,p3737-0000+p3701-0005\0nvidia,tegra234\0")
    assert codes(fake.detect()) == ["tegra"]
    fake.write("proc/device-tree/compatible", "nvidia,p4071-0000+p3834-0008\0nvidia,tegra264\0")
    assert codes(fake.detect()) == []


def test_a_bad_time_limit_is_a_usage_error() -> None:
    for text in ("soon", "-1", "nan", "0"):
        with pytest.raises(UsageError):
            detect({"GPUENV_NVIDIA_SMI_TIMEOUT": text})


def test_detect_starts_light() -> None:
    """A machine without GPU needs no matrix, and no machine needs the network, YAML or a drawing library."""
    heavy = (
        "requests",
        "rich",
        "yaml",
        "ruamel",
        "pynvml",
        "uv",
        "typer",
        "gpuenv.knowledge.knowledge",
        "sysconfig",
    )
    code = (
        f"import sys; import gpuenv.planning.detect; print([name for name in {heavy} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path}; {code}"],
                          capture_output=True, text=True, check=True)  # fmt: skip

    assert done.stdout.strip() == "[]"
