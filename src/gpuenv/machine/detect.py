"""Find out what this machine is; every fact keeps its source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpuenv.machine import problems
from gpuenv.machine.conda_tools import conda_prefixes, detect_managers
from gpuenv.machine.hardware import find_hardware
from gpuenv.machine.join import KnowledgeSource, join
from gpuenv.machine.pythons import detect_pythons
from gpuenv.machine.system import detect_system
from gpuenv.machine.tegra import detect_tegra
from gpuenv.machine.toolkit import detect_toolkit
from gpuenv.machine.visible import VARIABLE
from gpuenv.values.machine import Machine, Problem

NVIDIA_SMI_LIMIT_S = 30.0


def detect_machine(
    environ: Mapping[str, str],
    knowledge: KnowledgeSource,
    *,
    root: Path = Path("/"),
    timeout_s: float = NVIDIA_SMI_LIMIT_S,
) -> Machine:
    """Describe this machine.

    `knowledge` is called only when the matrices are needed: they name the capability that a driver does not
    tell, and the CUDA of a driver. `root` is where /proc, /sys, /dev and /etc are; `timeout_s` (seconds) is
    nvidia-smi's. A field that no source tells is None; what is broken stands in `problems`.
    """
    system, system_facts = detect_system(environ, root)
    hardware = find_hardware(environ, root, system, timeout_s)
    on_windows = system.wsl or system.os == "windows"  # under WSL2 the driver is Windows'
    joined = join(hardware, knowledge, "windows" if on_windows else "linux", environ.get(VARIABLE))
    toolkit, toolkit_source, toolkit_problems = detect_toolkit(environ, root)
    tegra_problems = _tegra_problems(root, system.arch)
    return Machine(
        system=system,
        driver=joined.driver,
        gpus=joined.gpus,
        toolkit=toolkit,
        managers=detect_managers(environ, root),
        pythons=detect_pythons(environ, conda_prefixes(environ, root)),
        facts=(
            *system_facts,
            *joined.facts,
            *((("toolkit.cuda", toolkit_source),) if toolkit_source else ()),
        ),
        problems=(*tegra_problems, *joined.problems, *toolkit_problems),
    )


def _tegra_problems(root: Path, arch: str) -> tuple[Problem, ...]:
    tegra = detect_tegra(root) if arch == "aarch64" else None
    return (problems.tegra_board(tegra),) if tegra and tegra.own_wheels else ()
