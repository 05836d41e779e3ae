"""`detect` of accelerators that are not NVIDIA's: by trees of files and programs that answer as recorded."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuenv.cli.main import run
from gpuenv.host.detect import detect_machine
from gpuenv.host.remote import parse_told
from gpuenv.model.errors import UsageError
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import parse_machine, render_machine
from gpuenv.node.facts import gather_facts
from gpuenv.planning.detect import detect_in, hardware_knowledge

FIXTURES = Path(__file__).parents[1] / "fixtures" / "accelerators"


class Tree:
    """A machine made of files below `root`, and programs in `bin`."""

    def __init__(self, folder: Path) -> None:
        self.root, self.bin = folder / "root", folder / "bin"
        self.bin.mkdir()
        self.root.mkdir()
        self.environ = {"PATH": str(self.bin), "HOME": str(folder / "home")}

    def write(self, place: str, text: str | bytes = "") -> None:
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def program(self, name: str, fixture: str, status: int = 0) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n/bin/cat '{FIXTURES / fixture}'; exit {status}\n")
        path.chmod(0o755)

    def pci(
        self, vendor: str, device: str, bus: str, klass: str = "0x030000", revision: str = "0x00", **more: str
    ) -> None:
        files = {"vendor": f"0x{vendor}", "device": f"0x{device}", "class": klass, "revision": revision}
        for name, text in (files | more).items():
            self.write(f"sys/bus/pci/devices/{bus}/{name}", f"{text}\n")

    def kfd(self, number: int, fixture: str) -> None:
        text = (FIXTURES / fixture).read_text()
        self.write(f"sys/class/kfd/kfd/topology/nodes/{number}/properties", text)

    def detect(self) -> Machine:
        machine = detect_machine(self.environ, hardware_knowledge, root=self.root)
        assert parse_machine(json.loads(json.dumps(render_machine(machine)))) == machine
        return machine

    def told(self) -> Machine:
        """The machine as it is read elsewhere, by what the node program gathers."""
        facts = gather_facts(self.environ, str(self.root))
        return parse_told(json.loads(json.dumps(facts)), hardware_knowledge)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    return Tree(tmp_path)


def shown(machine: Machine) -> list[tuple[Any, ...]]:
    return [(item.kind, item.name, item.architecture, item.discrete) for item in machine.accelerators]


XTX = ("rocm", "AMD Radeon RX 7900 XTX", "gfx1100", True)


def test_a_card_is_read_from_the_kernel_without_any_rocm(tree: Tree) -> None:
    tree.pci("1002", "744c", "0000:03:00.0", revision="0xc8", mem_info_vram_total="25753026560")
    tree.kfd(0, "kfd-cpu.txt")
    tree.kfd(1, "kfd-navi31.txt")
    tree.write("sys/module/amdgpu/version", "6.12.12\n")
    tree.environ["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"

    machine = tree.detect()

    assert shown(machine) == [XTX]
    card = machine.accelerators[0]
    assert (card.vendor, card.index, card.memory_mib, card.pci_id, card.revision) == (
        "AMD", 0, 24560, "744c", "c8",
    )  # fmt: skip
    assert machine.amdgpu == "6.12.12"
    assert machine.source_of("accelerators.0.architecture") == "/sys/class/kfd/kfd/topology/nodes"
    assert machine.source_of("accelerators.0.name") == "matrix: PCI id `744c`"
    assert machine.source_of("amdgpu") == "/sys/module/amdgpu/version"
    assert (machine.kind, machine.without_gpu) == ("rocm", True)
    assert tree.told().accelerators == machine.accelerators


def test_a_card_without_a_driver_is_known_by_its_id_and_revision(tree: Tree) -> None:
    tree.pci("1002", "744c", "0000:03:00.0", revision="0xcc")
    machine = tree.detect()
    name, architecture = machine.accelerators[0].name, machine.accelerators[0].architecture
    assert (name, architecture) == ("AMD Radeon RX 7900 XT", "gfx1100")
    assert machine.source_of("accelerators.0.architecture") == "matrix: PCI id `744c`"


def test_a_card_that_no_table_has_is_known_by_the_kernel(tree: Tree) -> None:
    tree.pci("1002", "fff0", "0000:03:00.0", product_name="AMD Instinct of tomorrow")
    tree.kfd(1, "kfd-navi31.txt")
    assert shown(tree.detect()) == [("rocm", "AMD Instinct of tomorrow", "gfx1100", None)]


def test_the_order_is_the_kernels_and_those_that_can_not_compute_come_last(tree: Tree) -> None:
    tree.pci("1002", "164e", "0000:02:00.0", revision="0xc9")
    tree.pci("1002", "74a1", "0003:c0:00.0", klass="0x120000")
    tree.pci("1002", "744c", "0000:03:00.0", revision="0xc8")
    tree.kfd(2, "kfd-mi300x.txt")
    tree.kfd(10, "kfd-navi31.txt")

    machine = tree.detect()

    architectures = [(item.index, item.architecture) for item in machine.accelerators]
    assert architectures == [(0, "gfx942"), (1, "gfx1100"), (2, "gfx1036")]
    assert tree.told().accelerators == machine.accelerators


@pytest.mark.parametrize(
    ("variables", "visible"),
    [
        ({}, [True, True]),
        ({"HIP_VISIBLE_DEVICES": "1"}, [False, True]),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"}, [False, True]),
        ({"ROCR_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "1"}, [False, False]),
        ({"CUDA_VISIBLE_DEVICES": ""}, [False, False]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-1234567890abcdef"}, [True, True]),
    ],
)
def test_variables_hide_devices_each_by_the_numbers_that_are_left(
    tree: Tree, variables: dict[str, str], visible: list[bool]
) -> None:
    tree.pci("1002", "74a1", "0003:c0:00.0", klass="0x120000")
    tree.pci("1002", "744c", "0000:03:00.0", revision="0xc8")
    tree.kfd(1, "kfd-mi300x.txt")
    tree.kfd(2, "kfd-navi31.txt")
    tree.environ |= variables
    assert [item.visible for item in tree.detect().accelerators] == visible


def test_a_container_without_the_device_of_the_kernel_is_told(tree: Tree) -> None:
    tree.pci("1002", "744c", "0000:03:00.0", revision="0xc8")
    tree.kfd(1, "kfd-navi31.txt")
    tree.write("dev/null")
    machine = tree.detect()
    assert [problem.code for problem in machine.problems] == ["kfd-missing"]
    assert machine.without_gpu
    tree.write("dev/kfd")
    assert tree.detect().problems == ()


def test_intels_graphics_are_known_by_their_id(tree: Tree) -> None:
    tree.pci("8086", "e20b", "0000:03:00.0")
    tree.pci("8086", "9a49", "0000:00:02.0")
    tree.pci("8086", "0000", "0000:04:00.0")
    tree.pci("8086", "7d1d", "0000:00:0b.0", klass="0x120000")  # the NPU of a Core Ultra

    machine = tree.detect()

    assert [(item.kind, item.architecture) for item in machine.accelerators] == [
        ("xpu", "12.0.0"), ("xpu", "20.1.0"), ("xpu", None),
    ]  # fmt: skip
    assert machine.accelerators[1].name == "Intel Arc B580"
    assert machine.kind == "xpu"
    assert tree.told().accelerators == machine.accelerators


def test_one_file_of_the_kernel_that_has_all_ids_is_enough(tree: Tree) -> None:
    modalias = "pci:v00008086d0000E20Bsv00001849sd00001100bc03sc00i00\n"
    tree.write("sys/bus/pci/devices/0000:03:00.0/modalias", modalias)
    tree.write("sys/bus/pci/devices/0000:00:00.0/modalias", modalias.replace("bc03sc00", "bc06sc00"))
    assert [item.name for item in tree.detect().accelerators] == ["Intel Arc B580"]


def test_npus_have_the_names_of_npu_smi_and_the_release_of_cann(tree: Tree) -> None:
    tree.pci("19e5", "d802", "0000:c1:00.0", klass="0x120000")
    tree.pci("19e5", "d802", "0000:c2:00.0", klass="0x120000")
    tree.pci("19e5", "1711", "0000:06:00.0")  # the console of the server
    tree.program("npu-smi", "npu-smi-910b4.txt")
    tree.write(
        "opt/cann/aarch64-linux/ascend_toolkit_install.info", "package_name=toolkit\nversion=8.2.RC1\n"
    )
    tree.environ["ASCEND_TOOLKIT_HOME"] = "/opt/cann"

    machine = tree.detect()

    assert shown(machine) == [("npu", "Ascend 910B4", "Ascend910B", True)] * 2
    assert [item.memory_mib for item in machine.accelerators] == [32768, 32768]
    assert (machine.cann, machine.kind) == ("8.2.RC1", "npu")
    assert machine.source_of("cann") == "/opt/cann/aarch64-linux/ascend_toolkit_install.info"


def test_chips_that_npu_smi_does_not_tell_apart_are_known_by_their_id(tree: Tree) -> None:
    for bus in ("0000:9d:00.0", "0000:9f:00.0"):
        tree.pci("19e5", "d803", bus, klass="0x120000")
    tree.program("npu-smi", "npu-smi-a3.txt")
    assert [item.architecture for item in tree.detect().accelerators] == ["Ascend910_93"] * 2
    tree.program("npu-smi", "npu-smi-a3.txt", status=1)
    assert [item.architecture for item in tree.detect().accelerators] == ["Ascend910_93"] * 2


@pytest.mark.parametrize(
    ("vendor", "device", "klass", "name"),
    [
        ("1da3", "1020", "0x120000", "Intel Gaudi 2"),
        ("1ae0", "0063", "0x120000", "Google TPU v5e"),
        ("1ed5", "0222", "0x030000", "Moore Threads MTT"),
        ("cabc", "0370", "0x120000", "Cambricon MLU"),
        ("1d94", "54b7", "0x038000", "Hygon DCU"),
    ],
)
def test_what_nothing_is_planned_for_is_named(
    tree: Tree, vendor: str, device: str, klass: str, name: str
) -> None:
    tree.pci(vendor, device, "0000:01:00.0", klass=klass)
    machine = tree.detect()
    assert [(item.kind, item.name) for item in machine.accelerators] == [(None, name)]
    assert machine.kind == "cpu"


def test_the_network_card_of_a_cloud_is_no_tpu(tree: Tree) -> None:
    tree.pci("1ae0", "0042", "0000:00:04.0", klass="0x020000")
    tree.pci("1ae0", "001f", "0000:00:05.0", klass="0x010802")
    assert tree.detect().accelerators == ()


def mac(tree: Tree, monkeypatch: pytest.MonkeyPatch, sysctl: str, release: str = "14.5") -> Machine:
    monkeypatch.setattr(sys, "platform", "darwin")
    plist = (
        f"<dict><key>ProductName</key><string>macOS</string>\n<key>ProductVersion</key>\n<string>{release}"
    )
    tree.write("System/Library/CoreServices/SystemVersion.plist", f"{plist}</string></dict>")
    tree.program("sysctl", sysctl)
    return tree.detect()


def test_a_mac_has_its_chip_and_its_release(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = mac(tree, monkeypatch, "sysctl-m1.txt")
    assert shown(machine) == [("mps", "Apple M1 Pro", "M1", False)]
    assert (machine.system.os, machine.system.arch, machine.system.macos) == ("macos", "aarch64", "14.5")
    assert machine.accelerators[0].memory_mib == 16384
    assert machine.problems == ()


def test_a_python_under_rosetta_is_told_and_the_machine_is_what_it_is(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tree.bin / "sw_vers"
    program.write_text('#!/bin/sh\n[ "$SYSTEM_VERSION_COMPAT" = 0 ] && echo 15.6.1\n')
    program.chmod(0o755)

    machine = mac(tree, monkeypatch, "sysctl-rosetta.txt", release="10.16")

    assert [problem.code for problem in machine.problems] == ["rosetta-python"]
    assert (machine.system.arch, machine.system.macos) == ("aarch64", "15.6.1")
    assert machine.source_of("system.macos") == "sw_vers"
    assert machine.kind == "mps"


def test_windows_names_its_cards(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    tree.environ["PROCESSOR_ARCHITECTURE"] = "AMD64"
    tree.program("powershell", "controllers.json")
    machine = tree.detect()
    assert XTX in shown(machine)
    assert [(item.vendor, item.index, item.architecture) for item in machine.accelerators] == [
        ("AMD", 0, "gfx1036"), ("AMD", 1, "gfx1100"), ("Intel", 0, "20.1.0"),
    ]  # fmt: skip
    assert machine.kind == "rocm"


@pytest.mark.parametrize(
    "junk", [b"", b"\xff\xfe\x00simd_count 1", b"simd_count 99999999999999999999\n" * 500, b"\x00" * 70_000]
)
def test_garbled_files_give_no_devices_and_no_failure(tree: Tree, junk: bytes) -> None:
    tree.pci("1002", "744c", "0000:03:00.0", revision="\u0664")
    tree.write("sys/class/kfd/kfd/topology/nodes/1/properties", junk)
    tree.write("sys/module/amdgpu/version", junk)
    tree.write("sys/bus/pci/devices/0000:03:00.0/mem_info_vram_total", junk)
    tree.write("sys/bus/pci/devices/0000:09:00.0/modalias", junk)
    machine = tree.detect()
    assert [item.architecture for item in machine.accelerators] == ["gfx1100"]
    assert (machine.amdgpu, machine.accelerators[0].memory_mib) == (None, None)


def test_jetson_linux_is_named_by_its_release(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.uname", lambda: type("Uname", (), {"machine": "aarch64"}))
    tree.write("proc/device-tree/compatible", b"nvidia,p3737-0000+p3701-0005\0nvidia,tegra234\0")
    tree.write("etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic\n")
    machine = tree.detect()
    assert (machine.l4t, machine.source_of("l4t")) == ("36.4.3", "/etc/nv_tegra_release")


def test_a_tree_is_read_in_place_of_this_machine(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    tree.pci("19e5", "d802", "0000:c1:00.0", klass="0x120000")
    tree.pci("19e5", "d802", "0000:c2:00.0", klass="0x120000")
    tree.write("proc/sys/kernel/osrelease", "5.10.0-60.18.0.50.oe2203.aarch64\n")
    tree.write("lib/ld-linux-aarch64.so.1")
    tree.bin = tree.root / "bin"
    tree.bin.mkdir()
    tree.program("npu-smi", "npu-smi-910b4.txt")

    assert run(["detect", "--json", "--root", str(tree.root)]) == 0

    machine = parse_machine(json.loads(capsys.readouterr().out))
    assert [item.name for item in machine.accelerators] == ["Ascend 910B4"] * 2
    assert (machine.system.arch, machine.system.kernel) == ("aarch64", "5.10.0-60.18.0.50.oe2203.aarch64")
    assert (machine.pythons, machine.managers, machine.gpus) == ((), (), ())


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("proc/sys/kernel/arch", "aarch64\n"),
        ("proc/sys/kernel/osrelease", "5.10.0-60.18.0.50.oe2203.aarch64\n"),
        ("proc/version", "Linux version 5.10.0 (abuild@oe) (gcc 10.3.1) #1 SMP Wed aarch64\n"),
    ],
)
def test_the_kernel_of_a_tree_tells_the_architecture(tree: Tree, place: str, text: str) -> None:
    tree.write(place, text)
    machine = detect_in(tree.root, {})
    assert (machine.system.arch, machine.source_of("system.arch")) == ("aarch64", f"/{place}")


@pytest.mark.parametrize(
    ("told", "architecture"),
    [
        ("aarch64", "aarch64"),
        ("riscv64", "riscv64"),
        ("Linux x86_64-build 5.15.148-tegra #1 SMP PREEMPT aarch64 aarch64 aarch64 GNU/Linux", "aarch64"),
    ],
)
def test_a_recorded_uname_is_read_whatever_it_was_asked(tree: Tree, told: str, architecture: str) -> None:
    tree.bin = tree.root / "bin"
    tree.bin.mkdir()
    (tree.bin / "uname").write_text(f"#!/bin/sh\necho '{told}'\n")
    (tree.bin / "uname").chmod(0o755)
    machine = detect_in(tree.root, {})
    assert (machine.system.arch, machine.source_of("system.arch")) == (architecture, "uname")


@pytest.mark.parametrize(
    ("chip", "release", "board", "capability"),
    [
        ("tegra264", "R38 (release), REVISION: 2.0", "Jetson Thor", "11.0"),
        ("tegra234", "R36 (release), REVISION: 4.3", "Jetson Orin", "8.7"),
    ],
)
def test_a_board_has_the_gpu_of_its_chip_where_no_program_names_one(
    tree: Tree, chip: str, release: str, board: str, capability: str
) -> None:
    tree.write("proc/sys/kernel/arch", "aarch64\n")
    tree.write("proc/device-tree/compatible", f"nvidia,p3971-0089\0nvidia,{chip}\0")
    tree.write("etc/nv_tegra_release", f"# {release}, GCID: 41844464, BOARD: generic, EABI: aarch64\n")
    machine = detect_in(tree.root, {})
    assert [(gpu.name, str(gpu.compute_capability)) for gpu in machine.gpus] == [(board, capability)]
    assert machine.source_of("gpus.0.compute_capability") == "/proc/device-tree/compatible"


def test_a_tree_of_a_mac_or_of_windows_is_one(tree: Tree) -> None:
    tree.write("System/Library/CoreServices/SystemVersion.plist", "<dict/>")
    tree.bin = tree.root / "bin"
    tree.bin.mkdir()
    tree.program("sysctl", "sysctl-m1.txt")
    machine = detect_in(tree.root, {})
    assert (machine.system.os, machine.system.arch, machine.kind) == ("macos", "aarch64", "mps")
    (tree.root / "System/Library/CoreServices/SystemVersion.plist").unlink()
    (tree.root / "System/Library/CoreServices").rmdir()
    tree.write("Windows/System32/kernel32.dll")
    tree.program("powershell", "controllers.json")
    machine = detect_in(tree.root, {})
    assert (machine.system.os, machine.kind) == ("windows", "rocm")


def test_a_tree_that_is_not_there_is_a_usage_error(tree: Tree) -> None:
    with pytest.raises(UsageError, match="is not a directory"):
        detect_in(tree.root / "missing", {})


def test_the_kernels_topology_alone_tells_of_amd(tree: Tree) -> None:
    tree.write(
        "sys/class/kfd/kfd/topology/nodes/1/properties",
        "simd_count 192\ngfx_target_version 110000\nvendor_id 4098\ndevice_id 29772\nlocation_id 768\n",
    )
    (device,) = detect_in(tree.root, {}).accelerators
    assert (device.kind, device.architecture, device.pci_id) == ("rocm", "gfx1100", "744c")


def test_a_mac_is_told_by_its_programs_alone(tree: Tree) -> None:
    tree.bin = tree.root / "bin"
    tree.bin.mkdir()
    for name, answer in (
        ("sw_vers", "14.5"),
        ("system_profiler", "      Chip: Apple M2 Pro\n      Memory: 16 GB"),
    ):
        (tree.bin / name).write_text(f"#!/bin/sh\necho '{answer}'\n")
        (tree.bin / name).chmod(0o755)
    machine = detect_in(tree.root, {})
    assert (machine.system.os, machine.system.arch, machine.system.macos) == ("macos", "aarch64", "14.5")
    assert [item.architecture for item in machine.accelerators] == ["M2"]


def test_the_driver_of_an_npu_alone_tells_how_many_there_are(tree: Tree) -> None:
    for name in ("davinci_manager", "davinci0", "davinci1"):
        tree.write(f"dev/{name}", "")
    assert [item.kind for item in detect_in(tree.root, {}).accelerators] == ["npu", "npu"]


def fixed(tree: Tree, **programs: str) -> Machine:
    """The machine of a tree whose programs print fixtures."""
    tree.bin = tree.root / "bin"
    tree.bin.mkdir(exist_ok=True)
    for name, fixture in programs.items():
        tree.program(name.replace("_", "-"), fixture)
    return detect_in(tree.root, {})


@pytest.mark.parametrize("place", ["dev/kfd", "opt/rocm/lib/librocdxg.so"])
def test_where_no_file_shows_amds_gpus_rocminfo_tells_them(tree: Tree, place: str) -> None:
    """In a container without the host's /sys, and under WSL."""
    tree.write(place)
    if "rocdxg" in place:
        tree.write("dev/dxg")
        tree.write("proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
    machine = fixed(tree, rocminfo="rocminfo.txt")
    assert shown(machine) == [XTX]
    assert (machine.system.wsl, machine.problems) == ("rocdxg" in place, ())
    assert machine.source_of("accelerators.0.architecture") == "rocminfo"


def test_rocminfo_is_not_believed_where_an_override_is_set(tree: Tree) -> None:
    tree.program("rocminfo", "rocminfo.txt")
    text = (FIXTURES / "rocminfo.txt").read_text().replace("gfx1100", "gfx1030")
    (tree.bin / "rocminfo").write_text(f"#!/bin/sh\n/bin/cat <<'END'\n{text}\nEND\n")
    assert [item.architecture for item in tree.detect().accelerators] == ["gfx1030"]
    tree.environ["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"
    assert shown(tree.detect()) == [XTX]
    tree.environ["HIP_VISIBLE_DEVICES"] = "-1"
    assert [item.visible for item in tree.detect().accelerators] == [False]


@pytest.mark.parametrize(
    ("program", "fixture", "device"),
    [
        ("sycl_ls", "sycl-ls.txt", ("xpu", "Intel Arc B580", "20.1.0", True)),
        ("xpu_smi", "xpu-smi.txt", ("xpu", "Intel Arc A770", "12.55.8", True)),
    ],
)
def test_where_no_file_shows_intels_gpus_its_programs_tell_them(
    tree: Tree, program: str, fixture: str, device: tuple[Any, ...]
) -> None:
    assert shown(fixed(tree, **{program: fixture})) == [device]


@pytest.mark.parametrize("junk", ["", "Name: gfx1100", "[level_zero:gpu] x", "Device Name: Intel"])
def test_programs_that_say_little_give_no_devices(tree: Tree, junk: str) -> None:
    for name in ("rocminfo", "sycl-ls", "xpu-smi"):
        (tree.bin / name).write_text(f"#!/bin/sh\necho '{junk}'\n")
        (tree.bin / name).chmod(0o755)
    assert [item for item in tree.detect().accelerators if item.kind == "rocm"] == []


def test_the_displays_of_a_mac_name_its_chip(tree: Tree) -> None:
    tree.bin = tree.root / "bin"
    tree.bin.mkdir()
    (tree.bin / "sw_vers").write_text(
        "#!/bin/sh\nprintf 'ProductName:\\t\\tmacOS\\nProductVersion:\\t\\t13.6\\n'\n"
    )
    (tree.bin / "sw_vers").chmod(0o755)
    tree.program("system_profiler", "system-profiler.json")
    machine = detect_in(tree.root, {})
    assert (machine.system.os, machine.system.arch, machine.system.macos) == ("macos", "aarch64", "13.6")


@pytest.mark.parametrize(
    ("mask", "seen"),
    [("1", [False, True]), ("0.1", [True, False]), ("", [False, False]), ("x", [True, True])],
)
def test_masks_of_intel_and_huawei_hide_devices(tree: Tree, mask: str, seen: list[bool]) -> None:
    tree.pci("8086", "e20b", "0000:03:00.0")
    tree.pci("8086", "56a0", "0000:04:00.0")
    tree.environ["ZE_AFFINITY_MASK"] = mask
    machine = tree.detect()
    assert [item.visible for item in machine.accelerators] == seen
    hidden = "ZE_AFFINITY_MASK" if False in seen else "not stated"
    assert machine.source_of("accelerators.0.visible") == hidden


def test_a_mask_hides_npus(tree: Tree) -> None:
    tree.write("dev/davinci_manager")
    for number in range(3):
        tree.write(f"dev/davinci{number}")
    tree.environ["ASCEND_RT_VISIBLE_DEVICES"] = "2,0"
    assert [item.visible for item in tree.detect().accelerators] == [True, False, True]
