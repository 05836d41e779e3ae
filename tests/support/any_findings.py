"""Findings of all kinds: small pools of facts, so that they meet."""

from __future__ import annotations

from hypothesis import strategies as st

from gpuenv.model.capability import ComputeCapability
from gpuenv.model.findings import (
    CondaPackage,
    Dist,
    Findings,
    ForeignLibrary,
    GpuState,
    Interpreter,
    KernelFindings,
    MachineLimits,
    Node,
    PciDevice,
    Proof,
    SharedFile,
    TorchFiles,
    WindowsFacts,
)
from gpuenv.model.machine import Driver, DriverVersion, Gpu, Machine, Problem, System, Toolkit
from gpuenv.model.variant import CudaVersion

FLAGS = st.none() | st.booleans()
ERRORS = st.sampled_from(["WinError 1455", "executable stack", "GLIBCXX", "torchvision::nms"])
FOREIGN = "/x/libcudnn.so.9"
NAMES = st.sampled_from(
    [
        "torch",
        "torchvision",
        "torchaudio",
        "numpy",
        "triton",
        "nvidia-nccl-cu12",
        "nvidia-nccl-cu13",
        "pip",
        "nvidia-cudnn-cu12",
        "flash-attn",
        "onnxruntime",
        "onnxruntime-gpu",
        "xformers",
        "nvidia-x-cu99999",
    ]
)
VERSIONS = st.sampled_from(
    [
        "2.7.1+cu126",
        "2.7.1",
        "2.1.0+cpu",
        "0.22.1",
        "0.19.0+cu121",
        "1.26.4",
        "9.5.1.17",
        "2.21.5",
        "",
        "x",
        "2.6.0a0+nv25.01",
        "2.8.3+cu12torch2.4cxx11abiFALSE",
        "99999999999",
        "1.0+rocm6.3",
        "0.0.34",
    ]
)
TEXTS = st.sampled_from(
    ["", "stubs", "Unknown Error", "999", "802", "libcuda", "{x}", "\x1b[31m", "中文", "a" * 99]
)
REQUIRES = st.sampled_from(
    [
        "torch==2.7.1",
        "torch>=2",
        "nvidia-nccl-cu12==2.21.5",
        "nvidia-cudnn-cu12; python_version > '3'",
        "??",
        "triton",
    ]
)
DISTS = st.builds(
    Dist,
    name=NAMES,
    version=VERSIONS,
    place=st.sampled_from(["/e/site", "/home/u/.local"]),
    installer=st.sampled_from([None, "pip", "uv", "conda"]),
    requires=st.lists(REQUIRES, max_size=3).map(tuple),
    tags=st.lists(
        st.sampled_from(["cp312-cp312-manylinux_2_28_x86_64", "py3-none-any", "x-manylinux2014_x86_64"]),
        max_size=2,
    ).map(tuple),
    missing=st.integers(0, 2),
    changed=st.integers(0, 2),
    example=st.none() | TEXTS,
    problem=st.none() | TEXTS,
)
PYTHONS = st.builds(
    Interpreter,
    path=st.just("/e/bin/python"),
    version=st.sampled_from([None, "3.12.4", "3.99.0", "3.6.8", "2.7.18"]),
    prefix=st.sampled_from([None, "/e", "/usr"]),
    base_prefix=st.sampled_from([None, "/usr"]),
    machine=st.sampled_from([None, "x86_64", "aarch64"]),
    bits=st.sampled_from([None, 32, 64]),
    free_threaded=st.booleans(),
    packages=st.sampled_from([(), ("/e/site",)]),
    user_site=st.none() | st.just("/home/u/.local"),
    locked=st.none() | TEXTS,
    writable=st.booleans(),
    problem=st.none() | TEXTS,
)
TORCHES = st.builds(
    TorchFiles,
    place=st.just("/e/site"),
    version=st.none() | VERSIONS,
    variant=st.sampled_from([None, "cu126", "cu130", "cpu", "rocm6.3", "xpu", "odd"]),
    architectures=st.sampled_from([(), ("sm_50", "sm_90"), ("gfx90a",), ("sm_80", "compute_80"), ("sm_9",)]),
    needs=st.just(()),
    lacking=st.sampled_from([(), ("libcudart.so.12",)]),
    problem=st.none() | TEXTS,
)
CAPABILITIES = st.sampled_from(
    [None, *(ComputeCapability(*pair) for pair in ((3, 5), (8, 6), (12, 0), (99, 9)))]
)
GPUS = st.builds(
    Gpu,
    index=st.integers(0, 1),
    name=st.sampled_from([None, "NVIDIA L4", "NVIDIA GeForce RTX 5090"]),
    compute_capability=CAPABILITIES,
    mig=FLAGS,
    visible=st.booleans(),
)
CODES = (
    "tegra",
    "mig",
    "vgpu",
    "gpu-lost",
    "no-devices",
    "driver-mismatch",
    "driver-not-loaded",
    "no-driver",
    "x",
)
MACHINES = st.builds(
    Machine,
    system=st.builds(
        System,
        os=st.sampled_from(["linux", "windows", "macos"]),
        arch=st.sampled_from(["x86_64", "aarch64", "riscv64"]),
        libc=st.sampled_from([None, "glibc", "musl"]),
        libc_version=st.sampled_from([None, "2.17", "2.39"]),
        wsl=st.booleans(),
        container=st.sampled_from([None, "docker"]),
    ),
    driver=st.sampled_from(
        [None, Driver(DriverVersion("535.104.05")), Driver(DriverVersion("580.65.06"), CudaVersion(13, 0))]
    ),
    gpus=st.lists(GPUS, max_size=2, unique_by=lambda gpu: gpu.index).map(tuple),
    toolkit=st.sampled_from([None, Toolkit(None, "/nvcc"), Toolkit(CudaVersion(11, 8), "/nvcc")]),
    problems=st.lists(st.builds(Problem, st.sampled_from(CODES), TEXTS), max_size=2).map(tuple),
)
KERNELS = st.builds(
    KernelFindings,
    release=st.none() | st.just("6.8.0"),
    modules=st.sampled_from([(), ("nouveau",), ("nvidia", "nvidia_uvm")]),
    nvidia=st.sampled_from([None, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  x"]),
    built=FLAGS,
    built_for=st.sampled_from([(), ("6.7.0",)]),
    blacklists=st.sampled_from([(), ("/etc/x.conf",)]),
    secure_boot=FLAGS,
    libraries=st.sampled_from(
        [(), ("/usr/lib64/libcuda.so.535.104.05",), ("/usr/lib/wsl/lib/libcuda.so.1",)]
    ),
    messages=st.lists(
        st.sampled_from(
            ["NVRM: Xid (PCI:1): 79, GPU has fallen", "RmInitAdapter failed", "Key was rejected by service"]
        ),
        max_size=2,
    ).map(tuple),
    suspended=st.integers(0, 1),
    fabric_manager=FLAGS,
)
VARIABLES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "CUDA_VISIBLE_DEVICES",
                "SLURM_JOB_ID",
                "COLAB_X",
                "CUDA_HOME",
                "VIRTUAL_ENV",
                "NVIDIA_VISIBLE_DEVICES",
            ]
        ),
        st.sampled_from(["", "0", "0,0", "void", "NoDevFiles", "/a:/b", "MIG-x"]),
    ),
    max_size=4,
    unique_by=lambda pair: pair[0],
).map(tuple)
FINDINGS = st.builds(
    Findings,
    environment=st.sampled_from(["/e", "/a b/'c"]),
    machine=MACHINES,
    python=PYTHONS,
    named=st.booleans(),
    torch=st.none() | TORCHES,
    dists=st.lists(DISTS, max_size=5).map(tuple),
    shared_files=st.sampled_from([(), (SharedFile("x.so", ("nvidia-nccl-cu12", "nvidia-nccl-cu13")),)]),
    leftovers=st.sampled_from([(), ("/e/site/~orch",)]),
    conda=st.lists(
        st.builds(
            CondaPackage,
            st.sampled_from(["pytorch", "mkl", "cpuonly", "libtorch"]),
            st.sampled_from(["2.2.0", "2024.1.0", "x"]),
            st.sampled_from(["py3.12_cuda12.1_cudnn8_0", "cpu_x_0", ""]),
        ),
        max_size=3,
    ).map(tuple),
    foreign_torch=st.sampled_from([(), (("/x/torch", "user-site"),), (("/x/torch", "user-only"),)]),
    foreign_libraries=st.sampled_from(
        [
            (),
            (ForeignLibrary("libcudnn.so.9", FOREIGN, "LD_LIBRARY_PATH", "9.1", "9.5"),),
            (ForeignLibrary("libcudnn.so.9", FOREIGN, "LD_LIBRARY_PATH", None, "?"),),
        ]
    ),
    driver_libraries=st.sampled_from(
        [(), (("/x/stubs/libcuda.so.1", "v"),), (("/compat/libcuda.so.1", "v"),)]
    ),
    here=st.sampled_from([(), ("torch.py",)]),
    first_python=st.sampled_from([None, "/usr/bin/python"]),
    variables=VARIABLES,
    nodes=st.lists(
        st.builds(
            Node,
            st.sampled_from(["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dxg", "/dev/kfd"]),
            st.booleans(),
        ),
        max_size=4,
    ).map(tuple),
    pci=st.lists(
        st.builds(
            PciDevice,
            st.sampled_from(["10de", "1002"]),
            st.just("2208"),
            st.sampled_from(["030000", "068000"]),
            st.sampled_from([None, "nvidia", "nouveau", "vfio-pci"]),
        ),
        max_size=2,
    ).map(tuple),
    states=st.lists(
        st.builds(
            GpuState,
            st.integers(0, 1),
            st.sampled_from([None, "Default", "Prohibited", "Exclusive_Process"]),
            st.sampled_from([None, 0, 20000]),
            st.sampled_from([None, 0, 20480]),
            st.sampled_from([None, 0, 3]),
            FLAGS,
        ),
        max_size=2,
    ).map(tuple),
    kernel=KERNELS,
    limits=st.builds(
        MachineLimits,
        st.sampled_from([None, 1 << 26, 1 << 33]),
        st.sampled_from([None, 256, 65536]),
        st.sampled_from([None, 1, 1 << 40]),
        st.none(),
        st.sampled_from([(), ("avx",), ("avx", "avx2")]),
    ),
    windows=st.none() | st.builds(WindowsFacts, st.sampled_from([None, "14.29"]), FLAGS, FLAGS),
    proof=st.none()
    | st.builds(
        Proof,
        st.booleans(),
        st.integers(0, 2),
        st.lists(st.sampled_from(["no-torch", "import-failed", "crashed", "no-gpu"]), max_size=1).map(tuple),
        st.lists(TEXTS | ERRORS, max_size=2).map(tuple),
        st.just(()),
        cause=st.none() | TEXTS,
        fix=st.none() | TEXTS,
    ),
)
