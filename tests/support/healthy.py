"""Environments and machines with nothing wrong, however odd."""

from __future__ import annotations

from ailments import CUDNN, Break, an_old_cudnn_of_the_system_first
from fake_nvidia_smi import fake_nvidia_smi
from patients import GTX_1080, H100, L4, Patient, elf

from gpuenv.model.findings import Proof

SOUND = Proof(ok=True, gpus=1)


def a_gpu_that_works(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch().with_dist("numpy", "2.1.0")
    return p.with_dist("torchvision", "0.22.1+cu126", requires=("torch==2.7.1",))


def all_of_cuda_as_packages(p: Patient) -> Patient:
    requires = (
        "nvidia-cudnn-cu12==9.5.1.17; platform_system == 'Linux'",
        "triton==3.3.1",
        "numpy; extra == 'opt'",
    )
    p.with_gpu(L4, L4).with_torch("2.7.1", "12.6", requires=requires, needs=("libcudnn.so.9",))
    p.with_dist("nvidia-cudnn-cu12", "9.5.1.17", files={CUDNN: b"x"})
    p.proof = SOUND
    return p.with_dist("triton", "3.3.1")


def a_cpu_build_without_gpu(p: Patient) -> Patient:
    return p.with_torch("2.7.1+cpu", None).with_dist("numpy", "2.1.0")


def a_conda_environment(p: Patient) -> Patient:
    p.with_gpu(L4).with_conda("pytorch-2.7.1-cuda126_mkl_py312_h1_300", "mkl-2024.2.2-ha957f24_16")
    return p.with_torch("2.7.1", "12.6", installer="conda")


def an_old_gpu_with_a_build_for_it(p: Patient) -> Patient:
    return p.with_gpu(GTX_1080, driver="580.65.06").with_torch("2.7.1+cu126")


def a_container_with_a_gpu(p: Patient) -> Patient:
    p.write(".dockerenv")
    return p.with_gpu(L4).with_torch().with_variable("NVIDIA_VISIBLE_DEVICES", "all")


def wsl_with_windows_driver(p: Patient) -> Patient:
    p.write("proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
    fake_nvidia_smi(p.bin, "566.36", L4)
    return p.with_nodes("dxg").with_library("566.36", "usr/lib/wsl/lib").with_torch()


def a_job_with_a_gpu(p: Patient) -> Patient:
    p.with_gpu(L4, L4).with_torch().with_variable("SLURM_JOB_ID", 7).with_variable("SLURM_JOB_GPUS", "0")
    return p.with_variable("CUDA_VISIBLE_DEVICES", "0")


def a_toolkit_and_the_libraries_of_another_cuda_on_the_path(p: Patient) -> Patient:
    p.write("usr/local/cuda-12.1/version.json", '{"cuda": {"version": "12.1.0"}}')
    nvcc = p.write("usr/local/cuda-12.1/bin/nvcc", "#!/bin/sh\nexit 1\n")
    nvcc.chmod(0o755)
    p.write("usr/local/cuda-11.8/lib64/libcudart.so.11.0")
    p.with_variable("PATH", f"{p.bin}:{nvcc.parent}")
    p.with_variable("LD_LIBRARY_PATH", p.root / "usr/local/cuda-11.8/lib64")
    p.with_gpu(L4).with_torch(requires=("nvidia-cuda-runtime-cu12==12.6.77",))
    return p.with_dist(
        "nvidia-cuda-runtime-cu12", "12.6.77", files={"nvidia/cuda_runtime/lib/libcudart.so.12": b""}
    )


def nvswitch_with_its_manager(p: Patient) -> Patient:
    p.write("proc/815/comm", "nv-fabricmanage\n")
    return p.with_gpu(H100, H100).with_pci(device="22a3", kind="068000").with_torch()


def an_amd_machine_with_a_build_for_it(p: Patient) -> Patient:
    p.with_pci(vendor="1002", device="744c").with_nodes("kfd")
    return p.with_torch("2.7.1+rocm6.3", None, hip="6.3.42131")


def a_loader_path_into_the_environment_itself(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch(requires=("nvidia-cudnn-cu12==9.5.1.17",))
    p.with_dist("nvidia-cudnn-cu12", "9.5.1.17", files={CUDNN: b"x"})
    return p.with_variable("LD_LIBRARY_PATH", p.site / "nvidia/cudnn/lib")


def an_old_cudnn_on_the_path_that_the_loader_passes_over(p: Patient) -> Patient:
    an_old_cudnn_of_the_system_first(p)
    return p.with_torch(needs=("libcudnn.so.9",), requires=("nvidia-cudnn-cu12==9.5.1.17",))


def a_machine_of_which_nvidia_smi_alone_tells(p: Patient) -> Patient:
    fake_nvidia_smi(p.bin, "570.133.07", L4)
    return p.with_torch()


def a_build_with_a_runpath_to_the_toolkit(p: Patient) -> Patient:
    p.write("opt/a toolkit/lib/libcudart.so.12")
    p.with_gpu(L4).with_torch()
    library = elf("libcudart.so.12", path=f"$ORIGIN:{p.root}/opt/a toolkit/lib", tag=29)
    return p.with_dist("libtorch", "1.0", files={"torch/lib/libtorch_cuda.so": library})


def a_build_with_a_runpath_from_its_own_place(p: Patient) -> Patient:
    (p.site / "elsewhere").mkdir()
    (p.site / "elsewhere/libcudart.so.12").write_bytes(b"")
    library = elf("libcudart.so.12", path="${ORIGIN}/../../elsewhere", tag=29)
    p.with_gpu(L4).with_torch()
    return p.with_dist("libtorch", "1.0", files={"torch/lib/libtorch_cuda.so": library})


def libraries_that_the_loader_is_configured_for(p: Patient) -> Patient:
    p.write("opt/cuda/lib64/libcudart.so.12")
    p.write("opt/dnn/libcudnn.so.9")
    p.write("opt/nccl/libnccl.so.2")
    p.write("etc/ld.so.conf", "include /etc/more/*.conf\n/opt/nccl  # by hand\n")
    p.write("etc/ld.so.conf.d/cuda.conf", "# of the package cuda\n/opt/cuda/lib64\n")
    p.write("etc/more/dnn.conf", "/opt/dnn\n")
    return p.with_gpu(L4).with_torch(needs=("libcudart.so.12", "libcudnn.so.9", "libnccl.so.2"))


def a_companion_of_pypi_for_the_same_cuda(p: Patient) -> Patient:
    return p.with_gpu(L4).with_torch().with_dist("torchvision", "0.22.1", requires=("torch==2.7.1",))


def a_companion_of_the_systems_own_build(p: Patient) -> Patient:
    p.with_gpu(L4).with_torch("2.7.1+cu118", "11.8", "sm_80 sm_89")
    return p.with_dist("torchvision", "0.22.1", requires=("torch==2.7.1",), installer="installer")


HEALTHY: tuple[Break, ...] = (
    a_gpu_that_works, all_of_cuda_as_packages, a_cpu_build_without_gpu, a_conda_environment,
    an_old_gpu_with_a_build_for_it, a_container_with_a_gpu, wsl_with_windows_driver, a_job_with_a_gpu,
    a_toolkit_and_the_libraries_of_another_cuda_on_the_path, nvswitch_with_its_manager,
    an_amd_machine_with_a_build_for_it, a_loader_path_into_the_environment_itself,
    an_old_cudnn_on_the_path_that_the_loader_passes_over, a_machine_of_which_nvidia_smi_alone_tells,
    a_build_with_a_runpath_to_the_toolkit, a_build_with_a_runpath_from_its_own_place,
    libraries_that_the_loader_is_configured_for, a_companion_of_pypi_for_the_same_cuda,
    a_companion_of_the_systems_own_build,
)  # fmt: skip
