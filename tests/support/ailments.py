"""Environments and machines that are broken in one way each, with the id of the check that names it."""

from __future__ import annotations

import sys
from collections.abc import Callable

from patients import CU126, CU130, GTX_1080, H100, KERNEL, L4, RTX_5090, Patient

from gpuenv.model.findings import Proof

CUDNN = "nvidia/cudnn/lib/libcudnn.so.9"
NO_GPU = Proof(ok=False, gpus=0, codes=("no-gpu",), errors=("no GPU available to test",))
Break = Callable[[Patient], Patient]


def _failing(error: str, code: str = "test-failed") -> Proof:
    return Proof(ok=False, gpus=1, codes=(code,), errors=(error,))


def cpu_build(p: Patient) -> Patient:
    return p.with_gpu(L4).with_torch("2.7.1+cpu", None)


def cpu_build_of_pypi(p: Patient) -> Patient:
    return p.with_gpu(L4).with_torch("2.7.1", None)


def driver_below_the_floor(p: Patient) -> Patient:
    return p.with_gpu(L4, driver="535.104.05").with_torch("2.14.1+cu130", "13.0", CU130)


def no_kernels_for_a_new_gpu(p: Patient) -> Patient:
    return p.with_gpu(RTX_5090).with_torch("2.6.0+cu126", "12.6", CU126)


def no_kernels_for_an_old_gpu(p: Patient) -> Patient:
    return p.with_gpu(GTX_1080, driver="580.65.06").with_torch("2.14.1+cu130", "13.0", CU130)


def ptx_that_the_driver_cannot_compile(p: Patient) -> Patient:
    return p.with_gpu(RTX_5090).with_torch("2.9.0+cu129", "12.9", "sm_80 sm_90 compute_90")


def vision_of_another_torch(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch("2.7.1+cu126")
    return p.with_dist("torchvision", "0.19.0+cu126", requires=("torch==2.4.0",))


def audio_of_another_cuda(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch("2.7.1+cu126")
    return p.with_dist("torchaudio", "2.7.1+cpu", requires=("torch==2.7.1",))


def numpy_2_with_an_old_torch(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch("2.1.2+cu118", "11.8", "sm_50 sm_80 sm_86 sm_90")
    return p.with_dist("numpy", "2.1.0")


def two_generations_that_overwrite_each_other(p: Patient) -> Patient:
    shared = "nvidia/nccl/lib/libnccl.so.2"
    p.with_gpu(L4).with_torch("2.7.1+cu126", requires=("nvidia-nccl-cu12==2.21.5",))
    p.with_dist("nvidia-nccl-cu12", "2.21.5", files={shared: b"twelve"})
    return p.with_dist("nvidia-nccl-cu13", "2.27.7", files={shared: b"twelve"})


def cuda_packages_missing(p: Patient) -> Patient:
    requires = (
        'nvidia-cudnn-cu12==9.5.1.17; platform_system == "Linux"',
        'nvidia-nccl-cu12==2.21.5; platform_system == "Linux"',
    )
    return p.with_gpu(L4).with_torch(requires=requires).with_dist("nvidia-nccl-cu12", "2.21.5")


def a_library_that_torch_is_linked_with_missing(p: Patient) -> Patient:
    return p.with_gpu(L4).with_torch(needs=("libcudnn_of_nobody.so.9", "libcuda.so.1", "libc.so.6"))


def an_old_cudnn_of_the_system_first(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch(requires=("nvidia-cudnn-cu12==9.5.1.17",))
    p.with_dist("nvidia-cudnn-cu12", "9.5.1.17", files={CUDNN: b"x"})
    p.write("opt/cudnn/libcudnn.so.9.1.0")
    (p.root / "opt/cudnn/libcudnn.so.9").symlink_to("libcudnn.so.9.1.0")
    return p.with_variable("LD_LIBRARY_PATH", p.root / "opt/cudnn")


def an_old_cudnn_before_one_that_only_a_runpath_leads_to(p: Patient) -> Patient:
    an_old_cudnn_of_the_system_first(p)
    requires = ("nvidia-cudnn-cu12==9.5.1.17",)
    return p.with_torch(needs=("libcudnn.so.9",), tag_of_path=29, requires=requires)


def the_user_site_first(p: Patient) -> Patient:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    home = p.folder / "home"
    p.with_gpu(L4).with_conda("python-3.12.4-h1_0").with_torch(installer="pip")
    p.with_variable("HOME", home)
    return p.with_torch("2.1.0+cpu", None, place=home / f".local/lib/python{version}/site-packages")


def pythonpath_first(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch().with_torch("2.1.0+cpu", None, place=p.folder / "checkout")
    return p.with_variable("PYTHONPATH", p.folder / "checkout")


def a_script_called_torch(p: Patient) -> Patient:
    (p.work / "torch.py").write_text("import torch\n")
    return p.with_gpu(L4).with_torch()


def pip_over_conda(p: Patient) -> Patient:
    p.with_gpu(L4).with_conda("pytorch-2.4.0-cuda126_generic_py312_h1_1")
    return p.with_torch("2.7.1+cu126", installer="pip")


def driver_and_library_differ(p: Patient) -> Patient:
    p.with_broken_smi("Failed to initialize NVML: Driver/library version mismatch", 18)
    p.with_pci(driver="nvidia").with_module("535.104.05").with_library("535.183.01")
    return p.with_nodes("nvidia0", "nvidiactl", "nvidia-uvm").with_torch()


def module_not_loaded(p: Patient) -> Patient:
    words = (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the "
        "latest NVIDIA driver is installed and running."
    )
    return p.with_broken_smi(words).with_pci().with_library().with_torch()


def module_not_built_for_a_new_kernel(p: Patient) -> Patient:
    p.write(f"lib/modules/{KERNEL}/kernel/fs/ext4.ko")
    p.write("lib/modules/6.8.0-40-generic/updates/dkms/nvidia.ko.zst")
    return module_not_loaded(p)


def secure_boot_refuses(p: Patient) -> Patient:
    name = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    p.write(f"sys/firmware/efi/efivars/{name}", b"\6\0\0\0\1")
    p.write(f"lib/modules/{KERNEL}/updates/dkms/nvidia.ko")
    return module_not_loaded(p)


def nouveau_has_it(p: Patient) -> Patient:
    p.write("proc/modules", "nouveau 1 0 - Live\n")
    return p.with_pci(driver="nouveau").with_torch()


def laptop_gpu_switched_off(p: Patient) -> Patient:
    p.write("lib/modprobe.d/blacklist-nvidia.conf", "# Generated by nvidia-prime\nblacklist nvidia\n")
    p.write(f"lib/modules/{KERNEL}/kernel/nvidia-570/nvidia.ko")
    return p.with_pci().with_library().with_torch()


def no_driver(p: Patient) -> Patient:
    return p.with_pci().with_torch()


def no_device_nodes(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch()
    for node in (p.root / "dev").glob("nvidia*"):
        node.unlink()
    return p


def container_without_gpu(p: Patient) -> Patient:
    p.write(".dockerenv")
    return p.with_pci(driver="nvidia").with_module().with_torch()


def container_that_asks_for_none(p: Patient) -> Patient:
    p.write(".dockerenv")
    return p.with_variable("NVIDIA_VISIBLE_DEVICES", "void").with_torch()


def container_without_uvm(p: Patient) -> Patient:
    p.write("run/.containerenv")
    p.with_gpu(L4).with_torch()
    (p.root / "dev/nvidia-uvm").unlink()
    return p


def container_that_lost_its_gpu(p: Patient) -> Patient:
    p.write(".dockerenv")
    p.with_broken_smi("Failed to initialize NVML: Unknown Error", 255)
    return p.with_module().with_library().with_nodes("nvidia0", "nvidiactl", "nvidia-uvm").with_torch()


def wsl_with_a_linux_driver(p: Patient) -> Patient:
    p.write("proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
    p.with_nodes("dxg").with_library("535.183.01").with_library("566.36", "usr/lib/wsl/lib").with_torch()
    return p.with_broken_smi("Failed to initialize NVML: GPU access blocked by the operating system", 17)


def wsl_without_windows_driver(p: Patient) -> Patient:
    p.write("proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
    return p.with_nodes("dxg").with_torch()


def mig_without_instance(p: Patient) -> Patient:
    p.with_gpu(H100).with_torch()
    script = (p.bin / "nvidia-smi").read_text()
    (p.bin / "nvidia-smi").write_text(script.replace("value='[N/A]'", "value=Enabled"))
    p.proof = NO_GPU
    return p


def fabric_manager_not_running(p: Patient) -> Patient:
    p.with_gpu(H100, H100).with_pci(device="22a3", kind="068000").with_torch()
    p.proof = _failing("Error 802: system not yet initialized")
    return p


def every_device_hidden(p: Patient) -> Patient:
    return p.with_gpu(L4).with_torch().with_variable("CUDA_VISIBLE_DEVICES", "1")


def a_stub_of_the_driver_first(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch().write("usr/local/cuda/lib64/stubs/libcuda.so.1")
    return p.with_variable("LD_LIBRARY_PATH", p.root / "usr/local/cuda/lib64/stubs")


def files_missing(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch()
    (p.site / "torch/lib/libtorch_python.so").unlink()
    return p


def only_the_metadata_left(p: Patient) -> Patient:
    return p.with_gpu(L4).with_dist("torch", "2.7.1+cu126")


def no_torch(p: Patient) -> Patient:
    return p.with_gpu(L4).with_dist("requests", "2.32.0")


def a_python_that_is_gone(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch()
    p.python.unlink()
    p.python.symlink_to("/nowhere/python3")
    return p


def conda_chose_the_cpu(p: Patient) -> Patient:
    p.with_gpu(L4).with_conda("pytorch-2.4.0-cpu_generic_py312_h1_0")
    return p.with_torch("2.4.0", None, installer="conda")


def mkl_lost_a_symbol(p: Patient) -> Patient:
    p.with_gpu(L4).with_conda("pytorch-2.2.0-py3.12_cuda12.1_cudnn8.9.2_0", "mkl-2024.1.0-intel_691")
    return p.with_torch("2.2.0", "12.1", "sm_50 sm_80 sm_86 sm_90", installer="conda")


def slurm_gave_none(p: Patient) -> Patient:
    return p.with_torch().with_variable("SLURM_JOB_ID", "4711")


def a_login_node(p: Patient) -> Patient:
    return with_srun(p.with_torch())


def a_pod_without_gpu(p: Patient) -> Patient:
    return p.with_torch().with_variable("KUBERNETES_SERVICE_HOST", "10.0.0.1")


def colab_without_gpu(p: Patient) -> Patient:
    p.write(".dockerenv")
    return p.with_torch().with_variable("COLAB_RELEASE_TAG", "release-colab")


def a_cuda_build_without_nvidia(p: Patient) -> Patient:
    return p.with_pci(vendor="1002", device="744c").with_torch()


def an_extension_of_another_torch(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch()
    return p.with_dist("flash-attn", "2.7.4+cu12torch2.4cxx11abiFALSE")


def both_onnxruntimes(p: Patient) -> Patient:
    return p.with_gpu(L4).with_torch().with_dist("onnxruntime", "1.20").with_dist("onnxruntime-gpu", "1.20")


def a_blackwell_with_closed_modules(p: Patient) -> Patient:
    p.with_broken_smi("No devices were found", 6).with_pci().with_module().with_library().with_torch()
    p.with_nodes("nvidia0", "nvidiactl", "nvidia-uvm")
    line = "NVRM: installed in this system requires use of the NVIDIA open kernel modules."
    (p.bin / "dmesg").write_text(f"#!/bin/sh\necho '[ 7.1] {line}'\n")
    (p.bin / "dmesg").chmod(0o755)
    return p


def a_gpu_that_can_not_be_started(p: Patient) -> Patient:
    p.with_broken_smi("No devices were found", 6).with_pci().with_module().with_library().with_torch()
    return p.with_nodes("nvidia0", "nvidiactl", "nvidia-uvm")


def work_that_fails_without_a_cause_in_the_files(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch()
    p.proof = _failing("`matmul` failed on GPU 0: RuntimeError: CUDA error: an illegal memory access")
    return p


def with_srun(p: Patient) -> Patient:
    (p.bin / "srun").write_text("#!/bin/sh\n")
    (p.bin / "srun").chmod(0o755)
    return p


def driver_and_library_differ_where_jobs_run(p: Patient) -> Patient:
    return with_srun(driver_and_library_differ(p))


def driver_and_library_differ_in_a_job(p: Patient) -> Patient:
    driver_and_library_differ(p).with_variable("SLURM_JOB_ID", 7)
    return p.with_variable("SLURM_JOB_GPUS", "0")


def module_not_loaded_where_jobs_run(p: Patient) -> Patient:
    return with_srun(module_not_loaded(p))


def no_driver_where_jobs_run(p: Patient) -> Patient:
    return with_srun(no_driver(p))


def nvidia_smi_fails_where_jobs_run(p: Patient) -> Patient:
    return with_srun(
        p.with_broken_smi("NVIDIA-SMI has failed because you do not have permissions", 4).with_torch()
    )


def a_job_that_may_open_no_gpu_of_the_node(p: Patient) -> Patient:
    p.with_broken_smi("No devices were found", 6).with_pci().with_module().with_library().with_torch()
    p.with_nodes("nvidia0", "nvidiactl", "nvidia-uvm")
    return p.with_variable("SLURM_JOB_ID", 7).with_variable("SLURM_GPUS_ON_NODE", "0")


def a_container_without_gpu_in_a_job_that_has_one(p: Patient) -> Patient:
    p.write(".dockerenv")
    return p.with_torch().with_variable("SLURM_JOB_ID", 7).with_variable("SLURM_JOB_GPUS", "0")


def the_wrong_library_in_a_container(p: Patient) -> Patient:
    p.write(".dockerenv")
    words = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183"
    return p.with_broken_smi(words, 18).with_torch()


def a_container_that_nvidia_smi_says_lost_its_gpu(p: Patient) -> Patient:
    p.write(".dockerenv")
    return p.with_broken_smi("Failed to initialize NVML: Unknown Error", 255).with_torch()


def a_driver_that_can_not_be_reached_from_a_container(p: Patient) -> Patient:
    module_not_loaded(p).write(".dockerenv")
    return p


def nvidia_smi_of_an_image_without_its_library(p: Patient) -> Patient:
    p.write(".dockerenv")
    words = "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system."
    return p.with_broken_smi(words, 12).with_torch()


def vision_of_pypi_beside_a_torch_of_another_cuda(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch("2.7.1+cu118", "11.8", "sm_80 sm_89")
    return p.with_dist("torchvision", "0.22.1", requires=("torch==2.7.1",))


def every_device_hidden_beside_two_onnxruntimes(p: Patient) -> Patient:
    return both_onnxruntimes(p).with_variable("CUDA_VISIBLE_DEVICES", "-1")


def every_device_hidden_beside_an_extension(p: Patient) -> Patient:
    return an_extension_of_another_torch(p).with_variable("CUDA_VISIBLE_DEVICES", "")


BROKEN: tuple[tuple[str, Break], ...] = (
    ("D01", cpu_build), ("D01", cpu_build_of_pypi), ("D02", driver_below_the_floor),
    ("D16", no_kernels_for_a_new_gpu), ("D16", no_kernels_for_an_old_gpu),
    ("D16", ptx_that_the_driver_cannot_compile), ("D40", vision_of_another_torch),
    ("D40", audio_of_another_cuda), ("D41", numpy_2_with_an_old_torch),
    ("D32", two_generations_that_overwrite_each_other), ("D30", cuda_packages_missing),
    ("D30", a_library_that_torch_is_linked_with_missing), ("D31", an_old_cudnn_of_the_system_first),
    ("D31", an_old_cudnn_before_one_that_only_a_runpath_leads_to),
    ("D38", the_user_site_first), ("D38", pythonpath_first), ("D38", a_script_called_torch),
    ("D36", pip_over_conda), ("D13", driver_and_library_differ), ("D04", module_not_loaded),
    ("D20", module_not_built_for_a_new_kernel), ("D18", secure_boot_refuses), ("D19", nouveau_has_it),
    ("D19", laptop_gpu_switched_off), ("D03", no_driver), ("D05", no_device_nodes),
    ("D08", container_without_gpu), ("D08", container_that_asks_for_none), ("D56", container_without_uvm),
    ("D15", container_that_lost_its_gpu), ("D17", wsl_with_a_linux_driver),
    ("D17", wsl_without_windows_driver), ("D10", mig_without_instance),
    ("D12", fabric_manager_not_running), ("D07", every_device_hidden), ("D14", a_stub_of_the_driver_first),
    ("D44", files_missing), ("D44", only_the_metadata_left), ("D39", no_torch),
    ("D39", a_python_that_is_gone), ("D47", conda_chose_the_cpu), ("D33", mkl_lost_a_symbol),
    ("D09", slurm_gave_none), ("D09", a_login_node), ("D08", a_pod_without_gpu),
    ("D57", colab_without_gpu), ("D53", a_cuda_build_without_nvidia),
    ("D29", an_extension_of_another_torch), ("D60", both_onnxruntimes),
    ("D21", a_blackwell_with_closed_modules), ("D22", a_gpu_that_can_not_be_started),
    ("D54", work_that_fails_without_a_cause_in_the_files),
    ("D13", driver_and_library_differ_where_jobs_run), ("D13", driver_and_library_differ_in_a_job),
    ("D04", module_not_loaded_where_jobs_run), ("D03", no_driver_where_jobs_run),
    ("D04", nvidia_smi_fails_where_jobs_run), ("D09", a_job_that_may_open_no_gpu_of_the_node),
    ("D08", a_container_without_gpu_in_a_job_that_has_one), ("D13", the_wrong_library_in_a_container),
    ("D15", a_container_that_nvidia_smi_says_lost_its_gpu),
    ("D04", a_driver_that_can_not_be_reached_from_a_container),
    ("D08", nvidia_smi_of_an_image_without_its_library),
    ("D40", vision_of_pypi_beside_a_torch_of_another_cuda),
    ("D07", every_device_hidden_beside_two_onnxruntimes), ("D07", every_device_hidden_beside_an_extension),
)  # fmt: skip
