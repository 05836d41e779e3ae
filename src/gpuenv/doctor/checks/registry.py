"""All checks that look at findings, in order of dependence: what comes first explains what comes after."""

from __future__ import annotations

from collections.abc import Callable

from gpuenv.doctor.checks.build import conda_cpu, cpu_build, driver_floor, interpreter, python_version
from gpuenv.doctor.checks.build import damaged_files as damaged
from gpuenv.doctor.checks.build import glibc as c_library
from gpuenv.doctor.checks.build import gpu_code as kernels
from gpuenv.doctor.checks.build import mixed_installers as mixed
from gpuenv.doctor.checks.build import shadowed_modules as shadowed
from gpuenv.doctor.checks.container import (
    container,
    container_lost,
    container_uvm,
    notebook,
    scheduler,
    shared_memory,
    wsl,
)
from gpuenv.doctor.checks.driver import (
    device_nodes,
    driver_library,
    driver_mismatch,
    fabric_manager,
    nouveau,
    secure_boot,
    unified_memory,
)
from gpuenv.doctor.checks.driver import dkms_build as module_built
from gpuenv.doctor.checks.driver import kernel_modules as modules
from gpuenv.doctor.checks.driver import open_kernel_module as module_kind
from gpuenv.doctor.checks.driver import resume_after_suspend as suspended
from gpuenv.doctor.checks.driver import stray_libcuda as foreign_driver
from gpuenv.doctor.checks.machine import amd, compute_mode, failing_gpu, jetson, macos, mig, old_gpu, vgpu
from gpuenv.doctor.checks.machine import cpu_features as processor
from gpuenv.doctor.checks.machine import gpu_initialisation as initialisation
from gpuenv.doctor.checks.machine import gpu_memory as memory
from gpuenv.doctor.checks.machine import gpu_present as hardware
from gpuenv.doctor.checks.machine import peer_access as between_gpus
from gpuenv.doctor.checks.machine import throttling as slow
from gpuenv.doctor.checks.outcome import Outcome
from gpuenv.doctor.checks.packages import (
    companions,
    cuda_packages,
    extensions,
    long_paths,
    mkl,
    numpy,
    onnxruntime,
    permissions,
    visible_devices,
    windows_libraries,
)
from gpuenv.doctor.checks.packages import cuda_toolkit as toolkit
from gpuenv.doctor.checks.packages import index_configuration as package_sources
from gpuenv.doctor.checks.packages import ld_library_path as foreign_libraries
from gpuenv.doctor.checks.packages import mixed_cuda_majors as two_generations
from gpuenv.doctor.checks.packages import verify_result as works
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

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
