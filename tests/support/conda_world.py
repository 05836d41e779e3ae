"""conda-forge, pytorch and nvidia in small: each build of torch that the matrix knows and what it needs.

The shapes are those of the real channels: `__cuda` behind conda-forge's CUDA builds, `cuda-version` and
`cudatoolkit` that constrain it, `pytorch-cuda` and `pytorch-mutex` of the pytorch channel with libraries on
nvidia's. Builds for newer CUDA have higher build numbers, those for the CPU the lowest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from conda_packages import CondaPackage, abi_of, glibc, module_files, python_package, torch_files
from packaging.version import Version

from gpuenv import matrices

Row = Mapping[str, Any]
Packages = dict[str, tuple[CondaPackage, ...]]

_CUDART = {"11.8": "11.8.89", "12.1": "12.1.105", "12.4": "12.4.127", "12.6": "12.6.77", "12.8": "12.8.90"}
_CUDNN = {7: "7.6.5.32", 8: "8.4.1.50", 9: "9.10.1.4"}
_TOO_NEW = "9.13.0.50"  # for GPUs before Turing
_MUTEX_SINCE = Version("1.8")  # the pytorch channel tells CUDA and CPU apart by pytorch-mutex
_CUDA_PACKAGE_SINCE = Version("1.13")  # …and has pytorch-cuda in the place of cudatoolkit
_VIRTUAL_SINCE = Version("2.0")  # conda-forge's CUDA builds need `__cuda`
_PLAIN = (
    ("filelock", "3.16.1"), ("fsspec", "2024.10.0"), ("jinja2", "3.1.4"), ("networkx", "3.4.2"),
    ("sympy", "1.13.3"), ("typing_extensions", "4.12.2"), ("pip", "24.3.1"), ("setuptools", "75.6.0"),
    ("wheel", "0.45.1"),
)  # fmt: skip


def make_world(
    *,
    keep: Callable[[Row], bool] = lambda _: True,
    subdirs: tuple[str, ...] = ("linux-64",),
    scratch: Path | None = None,
) -> Packages:
    """Return the packages of each channel; `keep` chooses rows of matrices/conda.json.

    With `scratch`, a directory, conda-forge's torch is one that `verify` can put to work.
    """
    rows = [row for row in matrices.load("conda") if row["platform"] in subdirs and keep(row)]
    pythons = sorted({(tag, row["platform"]) for row in rows for tag in row["pythons"]})
    cudas = {row["cuda"] for row in rows if row["cuda"]}
    return {
        "conda-forge": (
            *_base(subdirs, pythons),
            *(library for subdir in subdirs for library in _libraries(sorted(cudas), subdir)),
            *(item for row in rows if row["channel"] == "conda-forge" for item in _conda_forge(row, scratch)),
        ),
        "pytorch": (
            *_pytorch_base(sorted(cudas)),
            *(item for row in rows if row["channel"] == "pytorch" for item in _pytorch(row)),
        ),
        "nvidia": tuple(_nvidia(sorted(cudas))),
    }


def minor_of(tag: str) -> str:
    """`cp312` is 3.12."""
    return f"{tag[2]}.{tag[3:]}"


@cache
def _companions() -> dict[tuple[str, str], str]:
    pairs = (row for row in matrices.load("companions") if row["kind"] == "pair" and row.get("versions"))
    return {(row["torch"], row["project"]): row["versions"][-1] for row in pairs}


def _base(subdirs: tuple[str, ...], pythons: list[tuple[str, str]]) -> Iterator[CondaPackage]:
    for name, version in _PLAIN:
        depends = ("python >=3.6", "setuptools", "wheel") if name == "pip" else ("python >=3.6",)
        files = {
            path.partition("site-packages/")[2]: text
            for path, text in module_files("3", name, version).items()
        }
        yield CondaPackage(
            name, version, "pyhd8ed1ab_0", subdir="noarch",
            depends=depends if name not in ("setuptools", "wheel") else ("python >=3.6",),
            files={f"site-packages/{path}": text for path, text in files.items()}, python=True,
        )  # fmt: skip
    yield CondaPackage(
        "tzdata", "2024b", "hc8b5060_0", subdir="noarch", files={"share/zoneinfo/UTC": b"TZif2"}
    )
    for subdir in subdirs:
        yield CondaPackage("libzlib", "1.3.1", "hb9d3cd8_2", 2, subdir, depends=glibc(subdir))
        yield CondaPackage("mkl", "2024.2.2", "ha957f24_16", 16, subdir)
        yield CondaPackage("mkl", "2023.2.0", "h84fe81f_50496", 50496, subdir)
    for tag, subdir in pythons:
        minor = minor_of(tag)
        yield python_package(f"{minor}.9", subdir)
        yield CondaPackage(
            "python_abi",
            minor,
            f"5_{abi_of(minor)}",
            5,
            "noarch",
            constrains=(f"python {minor}.* *_cpython",),
        )
        yield CondaPackage(
            "numpy", "2.1.3" if minor not in {"3.6", "3.7", "3.8", "3.9"} else "1.19.5", f"py{tag[2:]}h0_0",
            subdir=subdir, depends=_python_needs(tag),
        )  # fmt: skip


def _python_needs(tag: str) -> tuple[str, ...]:
    minor = Version(minor_of(tag))
    following = f"{minor.major}.{minor.minor + 1}"
    return (f"python >={minor},<{following}.0a0", f"python_abi {minor}.* *_{abi_of(str(minor))}")


def _libraries(cudas: list[str], subdir: str) -> Iterator[CondaPackage]:
    """conda-forge's `cuda-version` and libraries; up to 11 they are one package, cudatoolkit."""
    for cuda in cudas:
        release = Version(cuda)
        following = f"{release.major}.{release.minor + 1}"
        if release.major >= 11:
            constrains = (f"__cuda >={release.major}", f"cudatoolkit {cuda}.*")
            yield CondaPackage("cuda-version", cuda, "h0000000_3", 3, "noarch", constrains=constrains)
        if release.major >= 12:
            needs = (f"cuda-version >={cuda},<{following}.0a0",)
            yield CondaPackage("cuda-cudart", _CUDART.get(cuda, f"{cuda}.1"), subdir=subdir, depends=needs)
            yield CondaPackage("libcublas", f"{cuda}.4.1", subdir=subdir, depends=needs)
        else:
            floor = str(release.major) if release.major >= 11 else cuda
            yield CondaPackage(
                "cudatoolkit", f"{cuda}.1", subdir=subdir, depends=glibc(subdir),
                constrains=(f"__cuda >={floor}",), ending=".tar.bz2",
            )  # fmt: skip
    for major in sorted({Version(cuda).major for cuda in cudas}):
        needs = (f"cuda-version >={major},<{major + 1}.0a0",) if major >= 11 else (f"cudatoolkit {major}.*",)
        for cudnn in _CUDNN.values():
            yield CondaPackage("cudnn", cudnn, f"cuda{major}_0", subdir=subdir, depends=needs)
        yield CondaPackage("cudnn", _TOO_NEW, f"cuda{major}_0", subdir=subdir, depends=needs)


def _conda_forge(row: Row, scratch: Path | None) -> Iterator[CondaPackage]:
    torch, cuda, subdir = row["torch"], row["cuda"], row["platform"]
    flavour = f"cuda{cuda.replace('.', '')}" if cuda else "cpu"
    number = 300 + int(cuda.replace(".", "")) if cuda else 100
    needs = (*glibc(subdir, row["glibc"] or "2.17"), *_cuda_needs(torch, cuda), *_cudnn_needs(row))
    for tag in row["pythons"]:
        minor = minor_of(tag)
        build = (
            f"{flavour}_mkl_py{tag[2:]}_h0000000_{number}"
            if cuda or torch >= "2"
            else f"cpu_py{tag[2:]}h0_{number}"
        )
        files: Mapping[str, Any] = {}
        if subdir == "linux-64":
            files = (
                torch_files(minor, torch, cuda, scratch) if scratch else module_files(minor, "torch", torch)
            )
        yield CondaPackage(
            "pytorch", torch, build, number, subdir,
            depends=(*needs, *_python_needs(tag), "filelock", "jinja2", "numpy", "sympy"),
            constrains=("pytorch-cpu <0.0a0",) if cuda else ("pytorch-gpu <0.0a0",), files=files,
        )  # fmt: skip
        for project in ("torchvision", "torchaudio"):
            version = _companions().get((torch, project))
            if version:
                last = 1 if cuda else 0
                yield CondaPackage(
                    project, version, f"{flavour}_py{tag[2:]}_h0000000_{last}", last, subdir,
                    depends=(f"pytorch {torch} {flavour}*", *_python_needs(tag)),
                    files=module_files(minor, project, version) if subdir == "linux-64" else {},
                )  # fmt: skip
    meta = "pytorch-gpu" if cuda else "pytorch-cpu"
    yield CondaPackage(
        meta, torch, f"{flavour}_mkl_h0000000_{number}", number, subdir,
        depends=(f"pytorch {torch} {flavour}*_{number}",),
    )  # fmt: skip


def _cuda_needs(torch: str, cuda: str | None) -> tuple[str, ...]:
    if cuda is None:
        return ()
    release = Version(cuda)
    virtual = ("__cuda",) if Version(torch) >= _VIRTUAL_SINCE else ()
    if release.major >= 12:
        libraries = (
            f"cuda-cudart >={cuda},<{release.major + 1}.0a0",
            f"libcublas >={cuda},<{release.major + 1}.0a0",
        )
        return (*virtual, f"cuda-version >={cuda},<{release.major + 1}", *libraries)
    above = f",<{release.major + 1}" if release >= Version("11.2") else ".*"
    toolkit = f"cudatoolkit >={cuda}{above}" if above.startswith(",") else f"cudatoolkit {cuda}{above}"
    return (*virtual, toolkit)


def _cudnn_needs(row: Row) -> tuple[str, ...]:
    """From the cuDNN that it was built with on, within its major release: the newest of all would come."""
    if row["cuda"] is None:
        return ()
    major = int((row["cudnn"] or "8").partition(".")[0])
    return (f"cudnn >={_CUDNN[major]},<{major + 1}.0a0",)


def _pytorch_base(cudas: list[str]) -> Iterator[CondaPackage]:
    yield CondaPackage("pytorch-mutex", "1.0", "cuda", 100, "noarch", ending=".tar.bz2")
    yield CondaPackage(
        "pytorch-mutex", "1.0", "cpu", 100, "noarch", features="pytorch-mutex", ending=".tar.bz2"
    )
    yield CondaPackage(
        "cpuonly", "2.0", "0", subdir="noarch", depends=("pytorch-mutex 1.0 cpu",), features="cpuonly",
        ending=".tar.bz2",
    )  # fmt: skip
    for cuda in cudas:
        digits, release = cuda.replace(".", ""), Version(cuda)
        if release < Version("11"):
            yield CondaPackage(f"cuda{digits}", "1.0", "0", features=f"cuda{digits}", ending=".tar.bz2")
        else:
            span = f">={cuda},<{release.major}.{release.minor + 1}"
            yield CondaPackage(
                "pytorch-cuda", cuda, f"h{digits}0000_6", 6, ending=".tar.bz2", constrains=("cpuonly <0",),
                depends=(f"cuda-cudart {span}", f"cuda-libraries {span}", f"libcublas {span}"),
            )  # fmt: skip


def _pytorch(row: Row) -> Iterator[CondaPackage]:
    torch, cuda = Version(row["torch"]), row["cuda"]
    cudnn = (row["cudnn"] or "8").split(" ")[0]
    flavour = f"cuda{cuda}_cudnn{cudnn}" if cuda else "cpu"
    for tag in row["pythons"]:
        minor = minor_of(tag)
        yield CondaPackage(
            "pytorch", row["torch"], f"py{minor}_{flavour}_0",
            depends=(*_python_needs(tag)[:1], *_pytorch_needs(torch, cuda)),
            constrains=("cpuonly <0",) if cuda else (), ending=".tar.bz2",
            files=module_files(minor, "torch", row["torch"]),
        )  # fmt: skip
        for project in ("torchvision", "torchaudio"):
            for version in row[project]:
                mark = f"cu{cuda.replace('.', '')}" if cuda else "cpu"
                yield CondaPackage(
                    project, version, f"py{tag[2:]}_{mark}", ending=".tar.bz2",
                    depends=(f"pytorch {row['torch']} py{minor}_{flavour}_0", *_python_needs(tag)[:1]),
                    files=module_files(minor, project, version),
                )  # fmt: skip


def _pytorch_needs(torch: Version, cuda: str | None) -> tuple[str, ...]:
    mutex = (f"pytorch-mutex 1.0 {'cuda' if cuda else 'cpu'}",) if torch >= _MUTEX_SINCE else ()
    plain = ("mkl >=2018", "typing_extensions", *mutex)
    if cuda is None:
        return plain
    release = Version(cuda)
    span = f">={cuda},<{release.major}.{release.minor + 1}"
    if torch >= _CUDA_PACKAGE_SINCE and release >= Version("11.6"):
        return (*plain, f"pytorch-cuda {span}")
    return plain if torch.release[:2] == (1, 0) else (*plain, f"cudatoolkit {span}")


def _nvidia(cudas: list[str]) -> Iterator[CondaPackage]:
    for cuda in cudas:
        for name in ("cuda-cudart", "cuda-libraries", "libcublas"):
            version = _CUDART.get(cuda, f"{cuda}.1") if name == "cuda-cudart" else f"{cuda}.4.1"
            yield CondaPackage(name, version, "0", ending=".tar.bz2")
