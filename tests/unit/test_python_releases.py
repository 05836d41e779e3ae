"""Which Python is preferred: one that is there, else one that packages had a year to build wheels for."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from deciding import gpu_machine
from msgspec.structs import replace

from gpuenv.knowledge.python_releases import brought_by_uv, with_ages
from gpuenv.model.machine import FoundPython, Machine
from gpuenv.model.python import PythonOffer
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pythons import offer_pythons
from gpuenv.resolution.request import parse_python
from gpuenv.resolution.rules.python import admitted
from gpuenv.resolution.target import choose_target

RELEASES = load_knowledge().python_releases
AUTUMN = date(2026, 11, 22)  # 3.15 is seven weeks old, 3.14 a year


def order(*offers: PythonOffer, today: date = AUTUMN, asked: str | None = None) -> list[str]:
    chosen = admitted(with_ages(offers, RELEASES, today), parse_python(asked) if asked else None)
    return [offer.version for offer in chosen]


def brought(*versions: str) -> tuple[PythonOffer, ...]:
    return tuple(PythonOffer(version) for version in versions)


def test_a_release_less_than_a_year_old_comes_last() -> None:
    assert order(*brought("3.12", "3.15", "3.14", "3.16")) == ["3.14", "3.12", "3.15", "3.16"]


@pytest.mark.parametrize(
    ("today", "first"),
    [(date(2026, 10, 6), "3.13"), (date(2026, 10, 7), "3.14"), (date(2027, 10, 1), "3.15")],
)
def test_the_day_a_release_is_a_year_old_it_is_preferred(today: date, first: str) -> None:
    assert order(*brought("3.12", "3.13", "3.14", "3.15"), today=today)[0] == first


def test_one_that_is_there_goes_before_a_newer_one_that_would_be_brought() -> None:
    here = PythonOffer("3.11", "/usr/bin/python3.11", installed=True)
    newest = PythonOffer("3.15", "/usr/bin/python3.15", installed=True)
    assert order(*brought("3.14"), newest, here) == ["3.11", "3.15", "3.14"]


def test_what_was_asked_for_may_be_recent() -> None:
    assert order(*brought("3.12", "3.14", "3.15"), asked=">=3.15") == ["3.15"]


def test_a_patch_release_is_as_old_as_its_minor_release() -> None:
    assert order(*brought("3.15.2", "3.14.10", "3.13.18")) == ["3.14.10", "3.13.18", "3.15.2"]


def test_a_free_threaded_one_is_never_taken_unasked() -> None:
    assert order(PythonOffer("3.14", free_threaded=True), *brought("3.10")) == ["3.10"]


def described(platform: str = "linux-64") -> Machine:
    """Make a machine described by hand: what it has besides is what is here."""
    machine = gpu_machine("570.133.07", "8.6", platform=platform)
    return replace(machine, pythons=(FoundPython("3.9", "/usr/bin/python3.9"),))


def offered(options: PlanOptions, machine: Machine, **environ: str) -> tuple[PythonOffer, ...]:
    target = choose_target((machine,), (), cpu=False)
    return offer_pythons(options, options.manager, target, load_knowledge(), environ)


DESCRIBED = PlanOptions(driver="570.133.07", gpus=("8.6",), manager="uv", offline=True)


@pytest.mark.parametrize("platform", ["linux-64", "linux-aarch64", "win-64"])
def test_another_machine_gets_what_uv_brings_and_not_what_is_here(platform: str) -> None:
    offers = offered(DESCRIBED, described(platform), PATH="", UV_OFFLINE="1", UV_PYTHON_DOWNLOADS="never")
    assert {offer.version for offer in offers} == {f"3.{minor}" for minor in range(8, 16)}
    assert not any(offer.path or offer.installed for offer in offers)


def test_another_machine_that_pip_serves_may_have_any_python_that_torch_is_built_for() -> None:
    offers = offered(replace(DESCRIBED, manager="pip"), described(), PATH="")
    assert {"3.9", "3.15"} < {offer.version for offer in offers}
    assert not any(offer.path for offer in offers)


def test_a_patch_release_for_another_machine_is_not_refused_for_want_of_downloads_here(
    tmp_path: Path,
) -> None:
    options = replace(DESCRIBED, python="3.12.4")
    offers = offered(options, described(), PATH="", HOME=str(tmp_path), UV_PYTHON_DOWNLOADS="never")
    assert "3.12.4" in {offer.version for offer in offers}


def test_an_environment_that_is_made_here_for_another_gpu_is_made_with_what_is_here() -> None:
    offers = offered(replace(DESCRIBED, made_here=True), described(), PATH="", UV_PYTHON_DOWNLOADS="never")
    assert any(offer.path == "/usr/bin/python3.9" for offer in offers)


def test_uv_brings_nothing_where_it_has_no_builds() -> None:
    assert {offer.version for offer in brought_by_uv(RELEASES, "win-64")}.isdisjoint({"3.6", "3.7"})
