"""The parts of a machine, combined; every fact has its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from gpuenv.host.executables import FileTree, RunProgram, find_executable, is_there
from gpuenv.host.merge import Facts, KnowledgeSource, join
from gpuenv.host.nvidia.hardware import Hardware
from gpuenv.host.nvidia.tegra import RELEASE_FILE, detect_tegra
from gpuenv.host.nvidia.visible_devices import VARIABLE
from gpuenv.host.pci import OFF_THE_BUS
from gpuenv.host.software.cuda_toolkit import FoundToolkit, detect_toolkit
from gpuenv.host.software.package_managers import conda_prefixes, detect_managers
from gpuenv.host.software.pythons import detect_pythons
from gpuenv.knowledge.jetson_boards import needs_own_wheels
from gpuenv.model.machine import FoundManager, FoundPython, Machine, System

_OF_BOARDS = ("name", "compute_capability")  # known by the chip, where nothing tells of a GPU
_TELLING = ("rocminfo", "sycl-ls", "xpu-smi")  # what is asked where no file of the kernel shows a GPU
Software = tuple[FoundToolkit, tuple[FoundManager, ...], tuple[FoundPython, ...]]


def detect_software(environ: Mapping[str, str], root: Path) -> Software:
    """Return the CUDA toolkit, the package managers and the Pythons of this machine."""
    pythons = detect_pythons(environ, conda_prefixes(environ, root))
    return detect_toolkit(environ, root), detect_managers(environ, root), pythons


def machine_of(
    described: tuple[System, Facts],
    hardware: Hardware,
    software: Callable[[], Software],
    environ: Mapping[str, str],
    knowledge: KnowledgeSource,
    root: FileTree,
    run: RunProgram,
) -> Machine:
    """Combine the parts of a machine; `software` is called after the hardware has been joined.

    `run` runs a program of the machine, or says that there is none.
    """
    system, system_facts = described
    on_windows = system.wsl or system.os == "windows"  # under WSL2 the driver is Windows'
    joined = join(hardware, knowledge, "windows" if on_windows else "linux", environ.get(VARIABLE))
    (toolkit, toolkit_source, toolkit_problems), managers, pythons = software()
    tegra = detect_tegra(root) if system.arch == "aarch64" else None
    tegra_problems = (needs_own_wheels(tegra.board),) if tegra and tegra.own_wheels else ()
    on_board = tegra.gpu if tegra and not (joined.gpus or joined.driver or joined.problems) else None
    board_facts = (
        tuple((f"gpus.0.{field}", tegra.source) for field in _OF_BOARDS) if tegra and on_board else ()
    )
    toolkit_facts = (("toolkit.cuda", toolkit_source),) if toolkit_source else ()
    l4t_facts = (("l4t", f"/{RELEASE_FILE}"),) if tegra and tegra.release else ()
    machine = Machine(
        system=system,
        driver=joined.driver,
        gpus=joined.gpus or ((on_board,) if on_board else ()),
        toolkit=toolkit,
        managers=managers,
        pythons=pythons,
        facts=(*system_facts, *joined.facts, *board_facts, *toolkit_facts, *l4t_facts),
        problems=(*tegra_problems, *joined.problems, *toolkit_problems),
        l4t=tegra.release if tegra else None,
    )
    if not (
        hardware.others
        or system.os == "macos"
        or (machine.without_gpu and _may_have_others(system, root, environ))
    ):
        return machine
    from gpuenv.host.accelerators.join import with_accelerators  # noqa: PLC0415 - most have none

    return with_accelerators(machine, hardware.others, environ, root, run)


def _may_have_others(system: System, root: FileTree, environ: Mapping[str, str]) -> bool:
    """Whether there may be accelerators that the bus does not show: on Windows, in WSL and in containers."""
    if system.os == "windows" or any(is_there(root / place) for place in OFF_THE_BUS):
        return True
    return system.os == "linux" and any(find_executable(name, environ) for name in _TELLING)
