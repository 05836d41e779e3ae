"""Lines of other packages, changed by what a resolver found."""

from __future__ import annotations

import pytest
from deciding import machine
from lefts import left
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.adapt.model import Project
from gpuenv.adapt.nearest.request import Wishes, wishes_for
from gpuenv.adapt.nearest.resolver_changes import (
    freed_of_builds,
    least_of,
    moved_changes,
    removed_changes,
    why_moved,
    widened,
)
from gpuenv.model.errors import Because
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.target import choose_target

HERE = choose_target((machine({"gpus": ["NVIDIA GeForce RTX 3090"], "driver": "535.104.05"}),), (), cpu=False)
BECAUSE = Because("it must", "uv pip compile")


def wishes(project: Project) -> Wishes:
    return wishes_for(project, HERE, PythonOffer("3.10"))


@pytest.mark.parametrize(
    ("asked", "version", "becomes"),
    [
        ("==1.19.5", "1.21.6", "==1.21.6"),
        (">=1.16,<1.20", "1.21.6", "<=1.21.6,>=1.16"),
        ("<1.20", "1.21.6", "==1.21.6"),
        ("~=1.19.0", "1.21.6", "==1.21.6"),
        (">=2", "1.26.4", "==1.26.4"),
        (">=1.16,<1.20", "1.21.6+cu11", "<=1.21.6,>=1.16"),
    ],
)
def test_a_pin_moves_and_a_range_reaches_as_far_as_it_must(asked: str, version: str, becomes: str) -> None:
    assert widened(SpecifierSet(asked), Version(version)) == SpecifierSet(becomes)


def test_only_lines_that_do_not_admit_the_release_change_and_keep_extras_and_marker() -> None:
    result = wishes(left("ray[tune]==1.0; python_version>'3'", "numpy>=1.16"))
    changes = moved_changes("ray", Version("2.9"), BECAUSE, result, ())
    assert [(change.old, change.new) for change in changes] == [
        ("ray[tune]==1.0; python_version>'3'", 'ray[tune]==2.9; python_version > "3"')
    ]
    assert moved_changes("numpy", Version("1.26"), BECAUSE, result, ()) == ()


def test_a_line_that_changes_already_gets_the_release_and_no_second_change() -> None:
    result = wishes(left("numpy==1.19.5"))
    first = moved_changes("numpy", Version("1.21"), BECAUSE, result, ())
    second = moved_changes("numpy", Version("1.22"), BECAUSE, result, first)
    assert [change.new for change in second] == ["numpy==1.22"]
    assert len(removed_changes("numpy", BECAUSE, result, second)) == 1


def test_exported_builds_become_least_releases_where_one_is_for_another_python() -> None:
    lines = ("numpy==1.19.2", "libffi==3.3", "six==1.16")
    exported = left(*lines, kind="environment", notation="conda")
    texts = ("numpy=1.19.2=py37h54aff64_0", "libffi=3.3=he6710b0_2", "six=1.16")
    requested = tuple(replace(item, text=text) for item, text in zip(exported.declared, texts, strict=True))
    result = wishes(Project(exported.files, requested))
    changes = freed_of_builds(result, "3.10", (), {"numpy": SpecifierSet("<2")})
    assert [change.new for change in changes] == ["numpy<2,>=1.19.2", "libffi>=3.3"]
    assert freed_of_builds(result, "3.7", (), {}) == ()


@pytest.mark.parametrize(
    ("exact", "least"),
    [
        ("==1.19.2", ">=1.19.2"),
        ("==1.19.*", ">=1.19"),
        ("==1.3.2+ecbda83", ">=1.3.2"),
        ("===1.0-odd", ""),
        ("==1.0,!=1.0.1,<2", ">=1.0,!=1.0.1,<2"),
    ],
)
def test_an_exact_release_becomes_the_least_whatever_it_looks_like(exact: str, least: str) -> None:
    assert least_of(SpecifierSet(exact)) == SpecifierSet(least)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Because numpy==1.19.5 has no usable wheels and you require numpy==1.19.5, we",
            "numpy 1.19.5 has no wheel for Python 3.12",
        ),
        (
            "Because the version (>=3.12) does not satisfy Python<3.11 and numpy==1.19.5 needs Python<3.11",
            "numpy 1.19.5 does not support Python 3.12",
        ),
        (
            "Because there is no version of numpy==1.19.5 and you require numpy==1.19.5, we",
            "numpy 1.19.5 is not on the index",
        ),
    ],
)
def test_the_reason_is_what_uv_says_of_the_project_itself(message: str, expected: str) -> None:
    assert why_moved("numpy", "1.19.5", message, (), "3.12") == expected


def test_what_other_packages_demand_is_the_reason_where_uv_says_so() -> None:
    words = why_moved(
        "tokenizers", "0.7.0", "Because a and b", ("transformers==4 needs tokenizers>0.10",), "3.9"
    )
    assert words == "transformers==4 needs tokenizers>0.10"
