"""Rule `python`: tags and Requires-Python against the Pythons on offer."""

from __future__ import annotations

import pytest
from building import case, found
from packaging.specifiers import SpecifierSet
from published import wheel

from gpuenv.model.python import PythonOffer
from gpuenv.resolution.request import parse_python
from gpuenv.resolution.rules import python

OFFERS = tuple(PythonOffer(f"3.{minor}") for minor in range(8, 16))


@pytest.mark.parametrize(
    ("tags", "offer", "runs"),
    [
        ("cp312-cp312", PythonOffer("3.12"), True),
        ("cp312-cp312", PythonOffer("3.12.4"), True),
        ("cp312-cp312", PythonOffer("3.13"), False),
        ("cp37-cp37m", PythonOffer("3.7"), True),
        ("cp313-cp313t", PythonOffer("3.13"), False),
        ("cp313-cp313t", PythonOffer("3.13", free_threaded=True), True),
        ("cp313-cp313", PythonOffer("3.13", free_threaded=True), False),
        ("cp39-abi3", PythonOffer("3.12"), True),
        ("cp39-abi3", PythonOffer("3.8"), False),
        ("cp39-abi3", PythonOffer("3.13", free_threaded=True), False),
        ("py3-none", PythonOffer("3.12"), True),
        ("py3-none", PythonOffer("3.14", free_threaded=True), True),
        ("py2.py3-none", PythonOffer("3.12"), True),
        ("py39-none", PythonOffer("3.12"), True),
        ("py312-none", PythonOffer("3.12"), True),
        ("py313-none", PythonOffer("3.12"), False),
        ("py2-none", PythonOffer("3.12"), False),
        ("pp310-pypy310_pp73", PythonOffer("3.10"), False),
        ("cp310-cp310", PythonOffer("3.1"), False),  # 3.10 is not 3.1
    ],
)
def test_a_wheel_runs_on_the_pythons_of_its_tags(tags: str, offer: PythonOffer, runs: bool) -> None:
    assert python.runs_on(wheel(f"torch-2.7.1-{tags}-linux_x86_64.whl"), offer) is runs


@pytest.mark.parametrize(
    ("requires", "version", "runs"),
    [
        (">=3.10,!=3.14.1", "3.14.1", False),
        (">=3.10,!=3.14.1", "3.14", True),  # where the patch is open, the newest is meant
        (">=3.10,!=3.14.1", "3.14.2", True),
        (">=3.15", "3.14", False),
        ("no specifier", "3.14", True),
        ("", "3.14", True),
    ],
)
def test_requires_python_is_heeded(requires: str, version: str, runs: bool) -> None:
    file = wheel("torchvision-0.29.1-cp314-cp314-linux_x86_64.whl", requires_python=requires)
    assert python.runs_on(file, PythonOffer(version)) is runs


def test_what_is_there_comes_first_then_the_newest_and_never_a_free_threaded_one() -> None:
    offers = (
        PythonOffer("3.10"),
        PythonOffer("3.15", free_threaded=True),
        PythonOffer("3.9.2", "/usr/bin/python3", installed=True),
        PythonOffer("3.14"),
        PythonOffer("3.11.4", "/opt/python", installed=True),
    )
    assert [offer.short for offer in python.admitted(offers, None)] == ["3.11", "3.9", "3.14", "3.10"]


def test_every_part_of_a_request_counts() -> None:
    offers = tuple(PythonOffer(f"3.{minor}") for minor in (8, 11, 12))
    assert not python.admitted(offers, SpecifierSet("==3.11.*,==3.12.*"))
    assert [offer.short for offer in python.admitted(offers, SpecifierSet("==3.8.5.*,<3.12"))] == ["3.8"]


@pytest.mark.parametrize(
    ("asked", "admitted"),
    [
        ("3.11", ["3.11"]),
        (">=3.14", ["3.15", "3.14"]),
        ("3.11.4", ["3.11"]),
        ("3", [f"3.{minor}" for minor in range(15, 7, -1)]),
    ],
)
def test_a_request_admits_its_pythons(asked: str, admitted: list[str]) -> None:
    assert [offer.short for offer in python.admitted(OFFERS, parse_python(asked))] == admitted


def test_an_exact_patch_is_not_an_installed_other_one() -> None:
    assert not python.admitted((PythonOffer("3.11.9", installed=True),), parse_python("3.11.4"))


def test_the_failure_names_the_pythons_there_are() -> None:
    names = [f"torch-1.11.0+cu102-cp{tag}-linux_x86_64.whl" for tag in ("310-cp310", "37-cp37m")]
    build = case("1.11.0", "cu102", "sm_70", *names)
    (failure,) = python.check(build, build.files, OFFERS[4:], "3.12 to 3.15", "uv")
    assert failure.detail == "torch 1.11.0+cu102 has files for Python 3.7, 3.10, not for 3.12 to 3.15"
    assert not python.check(build, build.files, OFFERS, "3.8 to 3.15", "uv")
    assert not python.check(build, (), OFFERS, "", "uv")


def test_a_python_that_the_manager_lacks_is_told_as_such() -> None:
    failure = python.not_provided("3.7", OFFERS, "uv")
    assert failure.detail == "uv can provide Python 3.8 to 3.15, not 3.7"
    assert python.not_provided("3.7", (), "pip").detail == "pip can provide no Python"


@pytest.mark.parametrize(
    ("minors", "words"),
    [((11,), "3.11"), ((11, 12), "3.11, 3.12"), ((9, 11), "3.9, 3.11"), ((9, 10, 11), "3.9 to 3.11")],
)
def test_neighbours_are_told_as_a_range(minors: tuple[int, ...], words: str) -> None:
    assert python.in_words(tuple(PythonOffer(f"3.{minor}") for minor in reversed(minors))) == words


def test_pythons_of_files_are_told_oldest_first() -> None:
    names = ("310-cp310", "39-cp39", "27-cp27mu", "313-cp313t")
    files = tuple(found(f"torch-2.7.1-cp{name}-linux_x86_64.whl") for name in names)
    assert python.pythons_of(files) == ("3.9", "3.10")
    assert python.pythons_of((found("torch-2.7.1-py3-none-any.whl"),)) == ("3",)
