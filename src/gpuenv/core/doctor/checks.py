"""All checks that look at findings, in order of dependence: what comes first explains what comes after."""

from __future__ import annotations

from collections.abc import Callable

from gpuenv.core.doctor import (
    amd,
    between_gpus,
    c_library,
    companions,
    compute_mode,
    conda_cpu,
    container,
    container_lost,
    container_uvm,
    cpu_build,
    cuda_packages,
    damaged,
    device_nodes,
    driver_floor,
    driver_library,
    driver_mismatch,
    extensions,
    fabric_manager,
    failing_gpu,
    foreign_driver,
    foreign_libraries,
    hardware,
    initialisation,
    interpreter,
    jetson,
    kernels,
    long_paths,
    macos,
    memory,
    mig,
    mixed,
    mkl,
    module_built,
    module_kind,
    modules,
    notebook,
    nouveau,
    numpy,
    old_gpu,
    onnxruntime,
    package_sources,
    permissions,
    processor,
    python_version,
    scheduler,
    secure_boot,
    shadowed,
    shared_memory,
    slow,
    suspended,
    toolkit,
    two_generations,
    unified_memory,
    vgpu,
    visible_devices,
    windows_libraries,
    works,
    wsl,
)
from gpuenv.core.doctor.outcome import Outcome
from gpuenv.core.knowledge import Knowledge
from gpuenv.values.findings import Findings

Check = Callable[[Findings, Knowledge], Outcome]

_MODULES = (
    # machine
    jetson, macos, hardware, old_gpu, initialisation, failing_gpu, vgpu, mig, compute_mode, processor, memory,
    between_gpus, slow,
    # container
    wsl, notebook, scheduler, container, container_lost, container_uvm, shared_memory,
    # driver
    driver_mismatch, module_kind, secure_boot, module_built, nouveau, modules, driver_library, device_nodes,
    foreign_driver, fabric_manager, suspended, unified_memory, amd,
    # build
    interpreter, python_version, mixed, shadowed, cpu_build, conda_cpu, damaged, c_library, driver_floor,
    kernels,
    # libraries
    two_generations, cuda_packages, foreign_libraries, mkl, windows_libraries,
    # packages
    companions, numpy, extensions, onnxruntime, toolkit, permissions,
    package_sources, long_paths,
    # environment variables
    visible_devices,
    # running
    works,
)  # fmt: skip

CHECKS: tuple[tuple[str, Check], ...] = tuple((module.ID, module.check) for module in _MODULES)
