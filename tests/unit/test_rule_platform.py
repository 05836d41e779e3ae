"""Rule `platform`: tags against systems."""

from __future__ import annotations

from typing import Any

import pytest
from building import case, on, target
from deciding import machine
from hypothesis import given
from hypothesis import strategies as st
from published import wheel

from gpuenv.resolution.rules import platform_tags

MINORS = st.integers(5, 45)


@pytest.mark.parametrize(
    ("tag", "short", "fits"),
    [
        ("manylinux_2_28_x86_64", {"glibc": "2.28"}, True),
        ("manylinux_2_28_x86_64", {"glibc": "2.27"}, False),
        ("manylinux2014_x86_64", {"glibc": "2.17"}, True),
        ("manylinux2014_x86_64", {"glibc": "2.12"}, False),
        ("manylinux2010_x86_64", {"glibc": "2.12"}, True),
        ("manylinux2010_x86_64", {"glibc": "2.11"}, False),
        ("manylinux1_x86_64", {"glibc": "2.5"}, True),
        ("manylinux1_x86_64", {"glibc": "2.4"}, False),
        ("manylinux_2_17_x86_64.manylinux2014_x86_64", {"glibc": "2.17"}, True),
        ("linux_x86_64", {"glibc": "2.5"}, True),
        ("linux_x86_64", {"libc": "musl", "glibc": "1.2"}, False),
        ("manylinux_2_28_x86_64", {"libc": "musl", "glibc": "1.2"}, False),
        ("musllinux_1_2_x86_64", {"libc": "musl", "glibc": "1.2"}, False),  # no torch is built so
        ("manylinux_2_28_aarch64", {}, False),
        ("manylinux_2_28_aarch64", {"platform": "linux-aarch64"}, True),
        ("win_amd64", {}, False),
        ("win_amd64", {"platform": "win-64"}, True),
        ("any", {"platform": "win-64"}, True),
        ("any", {"libc": "musl", "glibc": "1.2"}, True),
        ("macosx_11_0_arm64", {}, False),
        ("manylinux_2_28_x86_64", {"wsl": True}, True),
        ("manylinux_2_28_x86_64", {"glibc": None}, True),  # unknown is taken to be new enough, and said
    ],
)
def test_a_tag_fits_a_system(tag: str, short: dict[str, Any], fits: bool) -> None:
    file = wheel(f"torch-2.7.1-cp312-cp312-{tag}.whl")
    assert platform_tags.fits(file, target(machine(short))) is fits


@given(MINORS, MINORS)
def test_what_fits_a_glibc_fits_every_newer_one(one: int, other: int) -> None:
    file = wheel(f"torch-2.7.1-cp312-cp312-manylinux_2_{one}_x86_64.whl")
    assert platform_tags.fits(file, on(glibc=f"2.{other}")) is (other >= one)


def test_a_file_must_fit_every_machine() -> None:
    file = wheel("torch-2.7.1-cp312-cp312-manylinux_2_28_x86_64.whl")
    assert not platform_tags.fits(file, target(machine({}), machine({"glibc": "2.17"})))


def test_the_failure_names_the_least_glibc_and_the_one_there() -> None:
    build = case("2.7.1", "cu126", "sm_80", "torch-2.7.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl")
    (failure,) = platform_tags.check(build, on(glibc="2.17"))
    assert failure.detail == "torch 2.7.1+cu126 needs glibc 2.28 or newer; this machine has glibc 2.17"
    (failure,) = platform_tags.check(build, target(machine({}), machine({"glibc": "2.17"})))
    assert failure.detail.endswith("one of the machines has glibc 2.17")
    (failure,) = platform_tags.check(build, on(libc="musl", glibc="1.2"))
    assert failure.detail == "torch 2.7.1+cu126 has no file that runs with musl 1.2"


def test_builds_of_several_floors_are_told_in_one_sentence() -> None:
    here = on(glibc="2.5")
    failures = tuple(
        platform_tags.check(
            case(torch, "cu126", "sm_80", f"torch-{torch}+cu126-cp312-cp312-{tag}.whl"), here
        )[0]
        for torch, tag in (("2.4.1", "manylinux2014_x86_64"), ("2.7.1", "manylinux_2_28_x86_64"))
    )
    assert failures[0].summarize(failures) == (
        "builds of torch 2.4.1 to 2.7.1 need at least glibc 2.17; this machine has glibc 2.5"
    )


def test_a_build_without_files_is_not_this_rules_business() -> None:
    assert not platform_tags.check(case(), on(glibc="2.5"))


@pytest.mark.parametrize(
    ("tag", "needed"),
    [
        ("manylinux1_x86_64", (2, 5)),
        ("manylinux_2_28_aarch64", (2, 28)),
        ("linux_x86_64", None),
        ("any", None),
    ],
)
def test_a_tag_tells_its_glibc(tag: str, needed: tuple[int, int] | None) -> None:
    assert platform_tags.least_glibc(tag) == needed


@pytest.mark.parametrize(
    ("filename", "fits"),
    [
        ("torch-2.7.1-cp312-cp312-manylinux_2_28_x86_64.whl", True),
        ("torch-2.7.1-cp312-cp312-win_amd64.whl", False),
        ("torch-2.7.1.tar.gz", True),  # built on the machine
        ("torch-2.7.1.whl", True),  # uv reads more names than the specification has
    ],
)
def test_a_file_is_excluded_by_the_tags_in_its_name_alone(filename: str, fits: bool) -> None:
    assert platform_tags.fits_name(filename, on(glibc="2.35")) is fits
