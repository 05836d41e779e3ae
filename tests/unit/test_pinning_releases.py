"""Of the releases of a project that pins torch as few are read as do, and the newest that runs is found."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache

import pytest
from deciding import Asked, machine
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from sampling import every

from gpuenv.indexes.link import Link
from gpuenv.indexes.wheel_files import parse_wheel_link
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.wheel import WheelFile
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.pinning.releases import pinning_projects, releases_of
from gpuenv.resolution.pinning.search import JointSearch, ReleaseSearch
from gpuenv.resolution.resolve import ResolutionInput, decide

TORCHES = ("2.6.0", "2.7.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.13.0", "2.14.0", "2.14.1")
EACH = 6  # releases for one torch


def asked(driver: str, *words: str) -> ResolutionInput:
    return Asked((machine({"driver": driver, "gpus": ["9.0"]}),), ("torch", *words)).question()


class Shop:
    """Sixty releases, six for each torch, a week apart; `read` are those whose metadata was wanted."""

    def __init__(self, operator: str = "==") -> None:
        self.pins = {f"1.{number}.0": TORCHES[number // EACH] for number in range(EACH * len(TORCHES))}
        self.operator = operator
        self.read: list[str] = []

    def listing(self) -> Listing:
        source = IndexSource("pypi", "https://pypi.test/simple", "test")
        name = canonicalize_name("vllm")
        files = tuple(self._file(version) for version in self.pins)
        return Listing(source, name, files, source.url)

    def _file(self, version: str) -> WheelFile:
        filename = f"vllm-{version}-cp38-abi3-manylinux_2_28_x86_64.whl"
        day = date(2026, 11, 1) - timedelta(days=7 * (len(self.pins) - Version(version).minor))
        link = Link(f"https://pypi.test/{filename}", filename, uploaded=day.isoformat(), has_metadata=True)
        return parse_wheel_link(link, "https://pypi.test/simple/vllm/")

    def requires(self, file: WheelFile) -> tuple[Requirement, ...]:
        self.read.append(str(file.version))
        return (Requirement(f"torch{self.operator}{self.pins[str(file.version)]}"), Requirement("numpy>=1"))

    def search(self, question: ResolutionInput) -> ReleaseSearch:
        (project,) = pinning_projects(question.request, question.target, question.pythons, question.knowledge)
        releases = releases_of((self.listing(),), question.request.specifier("vllm"), question)
        return ReleaseSearch(project, releases, self.requires)


@cache
def cuda_of_pypi(torch: str) -> int:
    variant = load_knowledge().pypi_variant(Version(torch), "linux-64")
    assert variant is not None
    assert variant.cuda is not None
    return variant.cuda.major


def runs(torch: str, question: ResolutionInput) -> bool:
    """Whether one of the builds of a torch runs, for the CUDA major of PyPI's."""
    exact = Requirement(f"torch=={torch}")
    request = replace(question.request, requirements=(*question.request.requirements, exact))
    choices = decide(question.with_request(request)).choices
    return any(item.candidate.cuda.major == cuda_of_pypi(torch) for item in choices if item.candidate.cuda)


@pytest.mark.slow
@pytest.mark.parametrize("driver", every(3, ["570.133.07", "535.104.05", "580.95.05"]))
@pytest.mark.parametrize(
    "words",
    [
        ("vllm",),
        ("vllm", "torch<2.8"),
        pytest.param(("vllm<1.20",), marks=pytest.mark.slow),
        pytest.param(("vllm", "torch==2.9.1"), marks=pytest.mark.slow),
    ],
)
def test_the_newest_release_that_runs_is_found_by_few_looks(driver: str, words: tuple[str, ...]) -> None:
    question = asked(driver, *words)
    shop = Shop()
    search = shop.search(question)
    found = next(iter(JointSearch(question, (search,))))
    looks = len(shop.read)
    pins = {
        version: torch
        for version, torch in shop.pins.items()
        if question.request.admits("vllm", Version(version))
    }
    newest = max((version for version in pins if runs(pins[version], question)), key=Version)
    assert str(found.chosen[0].release.version) == newest
    assert found.question.bounds[0].endswith(f",<={newest}")
    assert {str(solution.candidate.torch) for solution in decide(found.question).choices} == {pins[newest]}
    assert looks <= 12
    assert len(shop.read) == len(set(shop.read))


def test_a_release_more_than_a_year_older_than_the_newest_is_told_from_the_others() -> None:
    question = asked("535.104.05", "vllm")
    found = list(JointSearch(question, (Shop().search(question),)))
    newest = date(2026, 11, 1) - timedelta(days=7)
    for item in found:
        (chosen,) = item.chosen
        assert chosen.release.uploaded is not None
        assert bool(item.too_old) == (newest - chosen.release.uploaded > timedelta(days=365))
    assert {bool(item.too_old) for item in found} == {True, False}


def test_an_upper_bound_is_met_by_the_newest_torch_below_it() -> None:
    question = asked("580.95.05", "vllm")
    shop = Shop("<=")
    found = next(iter(JointSearch(question, (shop.search(question),))))
    assert str(found.chosen[0].release.version) == "1.59.0"
    assert str(decide(found.question).choices[0].candidate.torch) == "2.14.1"
    assert shop.read == ["1.59.0"]


def test_a_project_whose_metadata_cannot_be_read_is_left_to_the_resolver() -> None:
    question = asked("580.95.05", "vllm")
    shop = Shop()
    shop.requires = lambda _: None  # type: ignore[method-assign,assignment]
    (found,) = JointSearch(question, (shop.search(question),))
    assert found.question is question


def test_on_a_cpu_no_build_for_cuda_is_wanted() -> None:
    question = Asked((machine({}),), ("torch", "vllm"), cuda="cpu").question()
    found = next(iter(JointSearch(question, (Shop().search(question),))))
    assert all(item.candidate.variant.is_cpu for item in decide(found.question).choices)
