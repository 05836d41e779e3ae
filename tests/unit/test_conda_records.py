"""The torch stack in repodata: variants in build strings, Pythons and platforms in what packages need."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.model.conda import CondaRecord
from gpuenv.model.index import IndexSource
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.conda.records import file_of, listings_of_channel, pattern_of, variant_of
from gpuenv.resolution.rules.python import runs_on

TORCH = canonicalize_name("torch")
SOURCE = IndexSource("conda", "https://conda.example.com/conda-forge", "the test", "conda-forge")


def record(build: str = "cuda126_mkl_py312_h5d1f_306", *depends: str, **facts: Any) -> CondaRecord:
    given: dict[str, Any] = {
        "name": "pytorch", "version": "2.8.0", "build_number": 306, "subdir": "linux-64",
        "channel": "conda-forge", "sha256": "a" * 64, "size": 24_512_345, **facts,
    }  # fmt: skip
    filename = f"{given['name']}-{given['version']}-{build}.conda"
    url = f"{SOURCE.url}/{given['subdir']}/{filename}"
    needs = depends or (
        "__cuda",
        "__glibc >=2.28,<3.0.a0",
        "python >=3.12,<3.13.0a0",
        "python_abi 3.12.* *_cp312",
    )
    return CondaRecord(build=build, filename=filename, url=url, depends=needs, **given)


# build string, its variant, the pattern for all builds of that variant (and Python, where it stands before)
BUILDS = (
    ("cuda126_mkl_py312_h5d1f_306", "cu126", "cuda126*"),
    ("cuda130_generic_py314_h12ab34_200", "cu130", "cuda130*"),
    ("cuda112py39h5d1f_1", "cu112", "cuda112*"),
    ("cuda92py36h5d1f_0", "cu92", "cuda92*"),
    ("cuda100py37h1_0", "cu100", "cuda100*"),
    ("py3.12_cuda12.4_cudnn9.1.0_0", "cu124", "py3.12_cuda12.4*"),
    ("py3.7_cuda8.0.61_cudnn7.1.2_1", "cu80", "py3.7_cuda8.0*"),
    ("py3.7_cuda10.1.243_cudnn7.6.3_0", "cu101", "py3.7_cuda10.1*"),
    ("py312_cu124", "cu124", "py312_cu124*"),
    ("cpu_generic_py312_h5d1f_6", "cpu", "cpu*"),
    ("cpu_mkl_py312_h5d1f_106", "cpu", "cpu*"),
    ("cpu_py38h5d1f_0", "cpu", "cpu*"),
    ("py3.12_cpu_0", "cpu", "py3.12_cpu*"),
    ("py312_cpu", "cpu", "py312_cpu*"),
    ("pyhd8ed1ab_0", None, "pyhd8ed1ab_0"),
    ("py39_cudnn8.9.2_0", None, "py39_cudnn8.9.2_0"),
    ("py38h5d1f_0", None, "py38h5d1f_0"),
)


@pytest.mark.parametrize(("build", "variant", "pattern"), BUILDS)
def test_a_build_string_tells_its_variant(build: str, variant: str | None, pattern: str) -> None:
    result = variant_of(build)
    assert (str(result) if result else None) == variant
    assert pattern_of(build) == pattern


PYTHONS = st.sampled_from(["py312_", "py39h", "py3.9_", "py313t_"])
CUDAS = st.tuples(st.integers(8, 14), st.integers(0, 9))


@given(CUDAS, PYTHONS, st.from_regex(r"[a-f0-9]{4,7}_[0-9]{1,3}", fullmatch=True))
def test_a_pattern_takes_all_builds_of_its_variant_and_no_other(
    cuda: tuple[int, int], python: str, digest: str
) -> None:
    major, minor = cuda
    build = f"cuda{major}{minor}_mkl_{python}h{digest}"
    pattern = pattern_of(build)
    assert fnmatchcase(build, pattern)
    assert fnmatchcase(f"cuda{major}{minor}_generic_py314_h0_1", pattern)
    assert not fnmatchcase(f"cuda{major + 1}{minor}_mkl_{python}h{digest}", pattern)
    assert not fnmatchcase(f"cpu_mkl_{python}h{digest}", pattern)


TEXTS = st.text(st.sampled_from("cudapy_.0123456789*[]?-hmkl\n"), max_size=30) | st.text(max_size=20)


@given(TEXTS)
def test_any_text_has_a_variant_or_none(build: str) -> None:
    variant = variant_of(build)
    assert variant is None or variant.is_known


@given(TEXTS)
def test_any_text_has_a_pattern_of_the_same_variant(build: str) -> None:
    pattern = pattern_of(build)
    assert pattern == build or build.startswith(pattern.removesuffix("*"))
    assert variant_of(pattern.removesuffix("*")) == variant_of(build)


# Pythons and platforms

# what it needs, the Python it is for, whether that is a free-threaded one
FOR_PYTHON = (
    (("python >=3.12,<3.13.0a0", "python_abi 3.12.* *_cp312"), "3.12", False),
    (("python >=3.9,<3.10.0a0",), "3.9", False),
    (("python 3.6.*",), "3.6", False),
    (("python >=3.7,<3.8.0a0", "python_abi 3.7.* *_cp37m"), "3.7", False),
    (("python_abi 3.11.* *_cp311",), "3.11", False),
    (("numpy", "python >=3.13,<3.14.0a0", "python_abi 3.13.* *_cp313t"), "3.13", True),
)


@pytest.mark.parametrize(("depends", "python", "free_threaded"), FOR_PYTHON)
def test_a_package_is_for_the_python_it_needs(
    depends: tuple[str, ...], python: str, *, free_threaded: bool
) -> None:
    file = file_of(record("cuda126_h0_0", *depends), TORCH)
    assert file is not None
    offers = [
        PythonOffer(f"3.{minor}", free_threaded=threads)
        for minor in range(6, 15)
        for threads in (False, True)
    ]
    assert [offer for offer in offers if runs_on(file, offer)] == [
        PythonOffer(python, free_threaded=free_threaded)
    ]


def test_a_package_for_any_platform_is_for_each_python_that_it_admits() -> None:
    file = file_of(record("pyhd8ed1ab_0", "python >=3.9,<3.13", subdir="noarch", name="torchdata"), TORCH)
    assert file is not None
    assert [minor for minor in range(6, 15) if runs_on(file, PythonOffer(f"3.{minor}"))] == [9, 10, 11, 12]
    assert {tag.platform for tag in file.tags} == {"any"}


@pytest.mark.parametrize(
    ("subdir", "depends", "platform"),
    [
        ("linux-64", "__glibc >=2.28,<3.0.a0", "manylinux_2_28_x86_64"),
        ("linux-64", "libgcc >=13", "linux_x86_64"),
        ("linux-aarch64", "__glibc >=2.17,<3.0.a0", "manylinux_2_17_aarch64"),
        ("win-64", "ucrt >=10.0.20348.0", "win_amd64"),
    ],
)
def test_a_package_is_for_its_folders_platform_and_the_glibc_it_needs(
    subdir: str, depends: str, platform: str
) -> None:
    file = file_of(record("cuda126_h0_0", depends, "python >=3.12,<3.13.0a0", subdir=subdir), TORCH)
    assert file is not None
    assert {tag.platform for tag in file.tags} == {platform}


@pytest.mark.parametrize(
    "bad",
    [
        record("cuda126_h0_0", "libgcc >=13"),
        record("cuda126_h0_0", "python >=3.9,<3.10.0a0", "python_abi 3.9 *_graalpy"),
        record("cuda126_h0_0", version="not_a_version"),
    ],
)
def test_what_no_rule_can_judge_is_told_as_unparsed(bad: CondaRecord) -> None:
    (listing,) = listings_of_channel(SOURCE, (TORCH,), (bad,))
    assert listing.files == ()
    assert listing.unparsed == (bad.filename,)


def test_a_package_for_pypy_is_for_no_python_on_offer() -> None:
    """There are hundreds on conda-forge: nothing is wrong with them."""
    file = file_of(record("cpu_h0_0", "python >=3.9,<3.10.0a0", "python_abi 3.9 *_pypy39_pp73"), TORCH)
    assert file is not None
    assert not any(runs_on(file, PythonOffer(f"3.{minor}")) for minor in range(6, 15))


def test_a_file_keeps_what_the_channel_tells_of_it() -> None:
    (listing,) = listings_of_channel(SOURCE, (TORCH,), (record(),))
    (file,) = listing.files
    assert (file.name, file.version, str(file.variant)) == ("torch", Version("2.8.0"), "cu126")
    assert (file.sha256, file.size, file.build) == ("a" * 64, 24_512_345, "cuda126_mkl_py312_h5d1f_306")
    assert file.url.endswith("/linux-64/pytorch-2.8.0-cuda126_mkl_py312_h5d1f_306.conda")
    assert (listing.page, listing.problem) == (SOURCE.url, None)


def test_each_project_has_its_listing_and_strangers_none() -> None:
    projects = (TORCH, canonicalize_name("torchvision"), canonicalize_name("torchaudio"))
    records = (record(), record(name="torchvision", version="0.23.0"), record(name="numpy"))
    listings = listings_of_channel(SOURCE, projects, records)
    assert [(listing.project, len(listing.files)) for listing in listings] == [
        ("torch", 1), ("torchvision", 1), ("torchaudio", 0),
    ]  # fmt: skip


@given(TEXTS, st.lists(TEXTS | TEXTS.map(lambda text: f"python {text}"), max_size=3), TEXTS)
def test_any_record_is_a_file_or_unparsed(build: str, depends: list[str], version: str) -> None:
    made = record(build or "0", *depends, version=version)
    (listing,) = listings_of_channel(SOURCE, (TORCH,), (made,))
    assert len(listing.files) + len(listing.unparsed) == 1
