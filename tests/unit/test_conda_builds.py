"""What is known of torch's builds on conda channels without asking one."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv import matrices
from gpuenv.model.python import PythonOffer, parse_python_tag
from gpuenv.model.wheel import CUDA_PLATFORMS, Platform
from gpuenv.planning.conda.choose import conda_builds, conda_pythons
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.conda.builds import (
    CondaBuild,
    knowledge_of_channel,
    known_packages,
    parse_conda_build,
    platform_tag,
    python_tag,
)
from gpuenv.resolution.conda.records import pattern_of, variant_of
from gpuenv.resolution.rules.python import runs_on

ROW: dict[str, Any] = {
    "channel": "pytorch", "torch": "2.5.1", "variant": "cu124", "cuda": "12.4", "platform": "linux-64",
    "pythons": ["cp311", "cp312"], "architectures": ["sm_80", "sm_90"], "cudnn": "9.1.0", "glibc": None,
    "build": "py{python}_cuda12.4*", "requires": ["pytorch-cuda 12.4.*"],
    "channels": ["pytorch", "nvidia", "conda-forge"], "torchvision": ["0.20.1"], "torchaudio": [],
    "source": "the test", "evidence": "matrix",
}  # fmt: skip
FORGE = ROW | {
    "channel": "conda-forge", "build": "cuda124*", "requires": ["cuda-version 12.4.*"], "glibc": "2.28",
    "channels": ["conda-forge"], "torchvision": [],
}  # fmt: skip
STACK = tuple(map(canonicalize_name, ("torch", "torchvision", "torchaudio")))
PLACE = "https://conda.example.com/pytorch"
ROWS = matrices.load("conda")


def listed(*rows: dict[str, Any], platform: Platform = "linux-64") -> dict[str, set[str]]:
    builds = tuple(parse_conda_build(row) for row in rows)
    listings = known_packages(builds, STACK, platform, load_knowledge(), PLACE)
    return {str(listing.project): {file.filename for file in listing.files} for listing in listings}


def test_a_row_is_a_build_with_what_a_solver_is_told_beside() -> None:
    build = parse_conda_build(ROW)
    assert (build.build.torch, str(build.build.variant), build.build.index) == (
        Version("2.5.1"),
        "cu124",
        "conda",
    )
    assert build.pattern_for("3.12") == "py3.12_cuda12.4*"
    assert build.requires == ("pytorch-cuda 12.4.*",)
    assert build.channels == ("pytorch", "nvidia", "conda-forge")
    assert build.companions == (("torchvision", (Version("0.20.1"),)),)


@pytest.mark.parametrize(
    "change",
    [
        {"torch": "two"}, {"pythons": None}, {"architectures": ["sm_x"]},
        {"platform": "freebsd-64"}, {"torchvision": ["x"]}, {"cuda": "12"},
    ],
)  # fmt: skip
def test_a_bad_row_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        parse_conda_build(ROW | change)


@pytest.mark.parametrize("missing", sorted(set(ROW) - {"evidence", "source", "glibc"}))
def test_a_row_without_a_field_is_refused(missing: str) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        parse_conda_build({key: value for key, value in ROW.items() if key != missing})


def test_each_python_has_its_package_named_by_a_pattern() -> None:
    fields = listed(ROW)
    assert fields["torch"] == {"torch-2.5.1-py3.11_cuda12.4*", "torch-2.5.1-py3.12_cuda12.4*"}
    assert fields["torchvision"] == {"torchvision-0.20.1-*"}


def test_companions_that_the_row_leaves_open_are_those_of_the_release() -> None:
    fields = listed(FORGE)
    assert fields["torchvision"] == {"torchvision-0.20.1-*"}
    assert fields["torchaudio"] == {"torchaudio-2.5.1-*"}


def test_another_platform_has_nothing() -> None:
    assert listed(ROW, platform="linux-aarch64") == {}


def test_known_packages_are_assumed_and_no_page_lists_them() -> None:
    (torch, *_) = known_packages((parse_conda_build(FORGE),), STACK, "linux-64", load_knowledge(), PLACE)
    assert torch.source.kind == "conda"
    assert (torch.source.name, torch.page) == ("conda-forge", PLACE)
    assert all(file.assumed and not file.url and file.build == "cuda124*" for file in torch.files)
    assert {tag.platform for file in torch.files for tag in file.tags} == {"manylinux_2_28_x86_64"}
    assert runs_on(torch.files[0], PythonOffer("3.11"))
    assert not runs_on(torch.files[0], PythonOffer("3.12"))


@pytest.mark.parametrize(
    ("platform", "glibc", "tag"),
    [
        ("linux-64", "2.17", "manylinux_2_17_x86_64"),
        ("linux-64", None, "linux_x86_64"),
        ("linux-aarch64", "2.28", "manylinux_2_28_aarch64"),
        ("win-64", None, "win_amd64"),
        ("win-64", "2.28", "win_amd64"),
    ],
)
def test_a_platform_has_the_tag_of_wheels(platform: str, glibc: str | None, tag: str) -> None:
    assert platform_tag(platform, glibc) == tag


def test_a_free_threaded_python_is_an_abi_of_the_same_interpreter() -> None:
    tag = python_tag("cp313t", "linux_x86_64")
    assert (tag.interpreter, tag.abi) == ("cp313", "cp313t")


def test_the_builds_of_a_channel_stand_in_for_wheels() -> None:
    known = knowledge_of_channel(load_knowledge(), (ROW, FORGE), "pytorch")
    (build,) = known.builds
    assert (build.index, build.variant.cuda) == ("conda", build.cuda)
    assert known.cuda_rows == load_knowledge().cuda_rows


# the rows that gpuenv ships


@pytest.fixture(scope="module")
def builds() -> tuple[CondaBuild, ...]:
    return tuple(parse_conda_build(row) for row in ROWS)


def test_each_row_that_is_shipped_can_be_read(builds: tuple[CondaBuild, ...]) -> None:
    assert len(builds) == len(ROWS)
    keys = {(build.channel, build.build.torch, build.build.variant, build.build.platform) for build in builds}
    assert len(keys) == len(ROWS)


def test_a_pattern_names_the_variant_of_its_row(builds: tuple[CondaBuild, ...]) -> None:
    """Whatever the row is for, its pattern takes no CPU build for a CUDA one."""
    for build in builds:
        for tag in build.build.pythons:
            pattern = build.pattern_for(parse_python_tag(tag).version)
            assert pattern.endswith("*")
            assert "{" not in pattern
            assert variant_of(pattern.removesuffix("*")) == build.build.variant
            assert pattern_of(pattern.removesuffix("*")) == pattern


def test_a_pattern_takes_no_build_of_another_variant_of_its_release(builds: tuple[CondaBuild, ...]) -> None:
    for build in builds:
        mine = build.pattern_for("3.9")
        for other in builds:
            if (other.channel, other.build.torch) == (build.channel, build.build.torch):
                same = other.build.variant == build.build.variant
                assert fnmatchcase(other.pattern_for("3.9").replace("*", "_0"), mine) == same


def test_what_is_required_are_specs_of_two_fields_at_most(builds: tuple[CondaBuild, ...]) -> None:
    for build in builds:
        assert all(1 <= len(spec.split()) <= 2 and "=" not in spec for spec in build.requires)
        assert build.channel in build.channels
        assert build.channels[-1] == "conda-forge"


def test_a_cuda_build_has_code_for_some_gpu_and_a_cpu_build_has_none(builds: tuple[CondaBuild, ...]) -> None:
    for build in builds:
        assert bool(build.build.architectures) == (not build.build.variant.is_cpu)
        assert build.build.cuda == build.build.variant.cuda


def test_libraries_on_nvidias_channel_are_asked_of_it(builds: tuple[CondaBuild, ...]) -> None:
    for build in builds:
        if any(spec.startswith("pytorch-cuda ") for spec in build.requires):
            assert build.channels == ("pytorch", "nvidia", "conda-forge")


@pytest.mark.parametrize("platform", CUDA_PLATFORMS)
def test_a_platform_has_the_builds_of_a_channel_and_pythons_for_them(platform: Platform) -> None:
    result = conda_builds("conda-forge", platform)
    assert result
    assert {build.build.platform for build in result} == {platform}
    offered = [offer.short for offer in conda_pythons(platform)]
    assert {parse_python_tag(tag).short for build in result for tag in build.build.pythons} == set(offered)
    assert offered == sorted(offered, key=Version, reverse=True)
