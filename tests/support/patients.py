"""Environments and machines for doctor, put together from small real pieces in a folder."""

from __future__ import annotations

import base64
import hashlib
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fake_nvidia_smi import FakeGpu, broken_nvidia_smi, fake_nvidia_smi
from msgspec.structs import replace

from gpuenv.checks.diagnosis import Diagnosis
from gpuenv.doctor.examine import judge
from gpuenv.doctor.read_findings import read_findings
from gpuenv.host.detect import detect_machine
from gpuenv.model.findings import Findings, Proof
from gpuenv.planning.detect import hardware_knowledge
from gpuenv.verification.locate import LocatedPython

L4 = FakeGpu("NVIDIA L4", "8.9")
RTX_5090 = FakeGpu("NVIDIA GeForce RTX 5090", "12.0")
GTX_1080 = FakeGpu("NVIDIA GeForce GTX 1080", "6.1")
H100 = FakeGpu("NVIDIA H100 80GB HBM3", "9.0")
DRIVER = "570.133.07"
KERNEL = "6.8.0-60-generic"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
CU126 = "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"
CU130 = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120 compute_120"


@dataclass
class Patient:
    """A virtual environment, and the file system of the machine that it is on."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    proof: Proof | None = None
    named: bool = True

    def __post_init__(self) -> None:
        base = Path(getattr(sys, "_base_executable", sys.executable))
        for path in (
            self.prefix / "bin",
            self.site,
            self.bin,
            self.root / "proc",
            self.root / "dev",
            self.work,
        ):
            path.mkdir(parents=True)
        self.python.symlink_to(base)
        (self.prefix / "pyvenv.cfg").write_text(
            f"home = {base.parent}\ninclude-system-site-packages = false\n"
        )
        self.environ = {"PATH": str(self.bin), "HOME": str(self.folder / "home"), **self.environ}
        self.write("proc/sys/kernel/osrelease", KERNEL + "\n")
        self.write("proc/cpuinfo", "flags\t\t: fpu sse4_2 avx avx2\n")
        self.write("proc/1/comm", "systemd\n")

    @property
    def prefix(self) -> Path:
        return self.folder / "an environment"

    @property
    def python(self) -> Path:
        return self.prefix / "bin" / "python"

    @property
    def site(self) -> Path:
        return self.prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def bin(self) -> Path:
        return self.folder / "programs"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def write(self, path: str, text: str | bytes = "") -> Path:
        """Write a file of the machine."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    # the machine

    def with_pci(
        self, vendor: str = "10de", device: str = "27b8", kind: str = "030000", driver: str = ""
    ) -> Patient:
        """Put a device on the bus."""
        location = f"sys/bus/pci/devices/0000:{self._on_bus() + 1:02x}:00.0"
        for name, value in (("vendor", vendor), ("device", device), ("class", kind)):
            self.write(f"{location}/{name}", f"0x{value}\n")
        if driver:
            (self.root / location / "driver").symlink_to(self.root / "drivers" / driver)
        return self

    def _on_bus(self) -> int:
        path = self.root / "sys/bus/pci/devices"
        return len(list(path.iterdir())) if path.is_dir() else 0

    def with_module(self, driver: str = DRIVER, *, kind: str = "x86_64 Kernel Module") -> Patient:
        """Load the kernel module."""
        line = f"NVRM version: NVIDIA UNIX {kind}  {driver}  Sat Aug 19 01:15:15 UTC 2023\n"
        self.write("proc/driver/nvidia/version", line)
        self.write("proc/modules", "nvidia_uvm 1 0 - Live\nnvidia 1 1 nvidia_uvm, Live\n")
        return self

    def with_library(self, driver: str = DRIVER, place: str = LIBRARIES) -> Patient:
        """Install the driver's library."""
        self.write(f"{place}/libcuda.so.{driver}")
        (self.root / place / "libcuda.so.1").symlink_to(f"libcuda.so.{driver}")
        return self

    def with_nodes(self, *names: str) -> Patient:
        for name in names:
            self.write(f"dev/{name}")
        return self

    def with_gpu(self, *gpus: FakeGpu, driver: str = DRIVER) -> Patient:
        """Put in GPUs, with all that a working driver has."""
        fake_nvidia_smi(self.bin, driver, *gpus)
        for _ in gpus:
            self.with_pci(driver="nvidia")
        nodes = (f"nvidia{index}" for index in range(len(gpus)))
        return self.with_module(driver).with_library(driver).with_nodes("nvidiactl", "nvidia-uvm", *nodes)

    def with_broken_smi(self, words: str, status: int = 9) -> Patient:
        broken_nvidia_smi(self.bin, words, status)
        return self

    def with_variable(self, name: str, value: object) -> Patient:
        self.environ[name] = str(value)
        return self

    # the environment

    def with_dist(
        self,
        name: str,
        version: str,
        *,
        requires: tuple[str, ...] = (),
        files: Mapping[str, bytes] | None = None,
        installer: str = "uv",
        tag: str = "py3-none-any",
        place: Path | None = None,
    ) -> Patient:
        """Install a distribution: its files, METADATA, WHEEL, INSTALLER and RECORD."""
        site = place or self.site
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {require}\n" for require in requires)
        members = {
            **(files or {}),
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}".encode(),
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nTag: {tag}\n".encode(),
            f"{info}/INSTALLER": f"{installer}\n".encode(),
        }
        record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in members.items())
        members[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
        for path, data in members.items():
            file = site / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return self

    def with_torch(
        self,
        version: str = "2.7.1+cu126",
        cuda: str | None = "12.6",
        flags: str = CU126,
        *,
        requires: tuple[str, ...] = (),
        installer: str = "uv",
        tag: str = "cp312-cp312-manylinux_2_17_x86_64",
        needs: tuple[str, ...] = (),
        tag_of_path: int = 15,
        hip: str | None = None,
        place: Path | None = None,
    ) -> Patient:
        """Install a torch: version.py, the flag string, the libraries it is linked with."""
        message = f"__version__ = {version!r}\ndebug = False\ncuda = {cuda!r}\nhip = {hip!r}\n"
        files = {"torch/__init__.py": b"", "torch/version.py": message.encode()}
        if flags and cuda:
            files["torch/lib/libtorch_python.so"] = b"\x7fELF" + b"\0" * 64 + flags.encode() + b"\0"
        if needs:
            files["torch/lib/libtorch_cuda.so"] = elf(*needs, tag=tag_of_path)
        return self.with_dist(
            "torch", version, requires=requires, files=files, installer=installer, tag=tag, place=place
        )

    def with_conda(self, *records: str) -> Patient:
        """Make it a conda environment with these packages (`pytorch-2.4.0-cpu_generic_py312_0`)."""
        (self.prefix / "pyvenv.cfg").unlink(missing_ok=True)
        (self.prefix / "conda-meta").mkdir(exist_ok=True)
        (self.prefix / "conda-meta" / "history").write_text("")
        for record in records:
            (self.prefix / "conda-meta" / f"{record}.json").write_text("{}")
        return self

    # doctor

    def findings(self) -> Findings:
        machine = detect_machine(self.environ, hardware_knowledge, root=self.root)
        located = LocatedPython(self.python, self.prefix)
        read = read_findings(located, machine, self.environ, named=self.named, root=self.root, here=self.work)
        return replace(read, proof=self.proof)

    def diagnosis(self) -> Diagnosis:
        return judge(self.findings(), {"GPUENV_DATA_DIR": str(self.folder / "data")})


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def elf(*needed: str, path: str = "$ORIGIN/../../nvidia/cudnn/lib", tag: int = 29) -> bytes:
    """Return a library of 64 bits that is linked with others and holds nothing else; tag 15 is an RPATH."""
    names, places = b"\0", []
    for name in (*needed, path):
        places.append(len(names))
        names += name.encode() + b"\0"
    dynamic_at, count = 64 + 2 * 56, len(needed) + 3
    names_at = dynamic_at + 16 * count
    entries = [(1, position) for position in places[:-1]] + [(tag, places[-1]), (5, names_at), (0, 0)]
    size = names_at + len(names)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0
    )
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
    dynamic = struct.pack("<IIQQQQQQ", 2, 6, dynamic_at, dynamic_at, dynamic_at, 16 * count, 16 * count, 8)
    return header + load + dynamic + b"".join(struct.pack("<qQ", *entry) for entry in entries) + names
