"""The fewest changes of packages beside the torch stack, with a resolver in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.version import Version

from gpuenv.adapt.minimal_upgrades import Ask, Moves, Settlement, count_moves, settle_others
from gpuenv.installers.uv_compile import Resolved, ResolvedFile
from gpuenv.installers.uv_compile_preferring import parse_pins
from gpuenv.installers.uv_failure import Unresolvable


@dataclass
class Index:
    """Releases by project, whether each has a fitting wheel, and pairs that exclude each other."""

    releases: Mapping[str, Mapping[str, bool]]
    excluded: frozenset[frozenset[tuple[str, str]]] = frozenset()
    asked: list[Ask] = field(default_factory=list)

    def compile(self, ask: Ask) -> Resolved | Unresolvable:
        self.asked.append(ask)
        wanted = [Requirement(text) for text in ask.requirements]
        preferred = {
            parsed.name: str(next(iter(parsed.specifier)).version)
            for parsed in map(Requirement, ask.preferred)
        }
        options = []
        for requirement in wanted:
            if requirement.name not in self.releases:
                return Unresolvable(
                    f"Because {requirement.name} was not found in the package registry and you", ()
                )
            fitting = [
                version
                for version, has_wheel in self.releases[requirement.name].items()
                if requirement.specifier.contains(version)
                and (has_wheel or requirement.name not in ask.wheels_only)
            ]
            if not fitting:
                text = (
                    f"Because {requirement.name} has no usable wheels and you require {requirement}. "
                    "Wheels are required"
                )
                return Unresolvable(f"{text} for `{requirement.name}` because building is disabled", ())
            fitting.sort(key=Version, reverse=not ask.lowest)
            fitting.sort(key=lambda version, name=requirement.name: preferred.get(name) != version)
            options.append([(requirement.name, version) for version in fitting])
        for chosen in product(*options):
            if not any(pair <= set(chosen) for pair in self.excluded):
                return Resolved(tuple(file(*item) for item in chosen))
        names = " and ".join(str(parsed) for parsed in wanted)
        return Unresolvable(f"Because {names} are incompatible", ())

    def has_wheels(self, project: str, release: Version) -> bool:
        return (project, str(release)) not in self.sources

    @property
    def sources(self) -> set[tuple[str, str]]:
        return set()


class Sources(Index):
    """An index where `old` releases were only ever published as sources."""

    @property
    def sources(self) -> set[tuple[str, str]]:
        return {("future", "0.18")}


def file(name: str, version: str) -> ResolvedFile:
    return ResolvedFile(name, version, None, None, None, None, None)


def settle(index: Index, *texts: str, foreign: frozenset[str] = frozenset()) -> Settlement:
    wanted = tuple(map(Requirement, texts))
    settlement = settle_others(wanted, index.compile, index.has_wheels, foreign)
    assert isinstance(settlement, Settlement), settlement
    return settlement


def moved(settlement: Settlement) -> dict[str, str]:
    return {upgrade.project: str(upgrade.new) for upgrade in settlement.moved}


def test_what_resolves_as_it_stands_is_asked_for_once() -> None:
    index = Index({"numpy": {"1.19": True, "2.0": True}})
    assert settle(index, "numpy==1.19") == Settlement(Resolved((file("numpy", "1.19"),)))
    assert len(index.asked) == 1


def test_a_pin_without_a_wheel_becomes_the_nearest_newer_release_that_has_one() -> None:
    index = Index({"numpy": {"1.19": False, "1.21": True, "2.0": True}, "tqdm": {"4.1": True, "4.9": True}})
    settlement = settle(index, "numpy==1.19", "tqdm==4.1")
    assert moved(settlement) == {"numpy": "1.21"}
    assert settlement.moved[0].because is not None
    assert {resolved_file.name: resolved_file.version for resolved_file in settlement.resolved.files} == {
        "numpy": "1.21",
        "tqdm": "4.1",
    }


def test_what_was_only_ever_published_as_sources_is_built_not_moved() -> None:
    index = Sources({"future": {"0.18": False, "1.0": True}})
    settlement = settle(index, "future==0.18")
    assert (settlement.moved, settlement.built) == ((), ("future",))


def test_a_project_that_no_index_has_is_left_out_and_told() -> None:
    index = Index({"numpy": {"1.19": True}})
    settlement = settle(index, "numpy==1.19", "pkg-of-ours==0.0.0")
    assert (settlement.absent, moved(settlement)) == (("pkg-of-ours",), {})


def test_one_of_two_that_exclude_each_other_moves() -> None:
    pair = frozenset({frozenset({("a", "1"), ("b", "1")})})
    index = Index({"a": {"1": True, "2": True}, "b": {"1": True, "2": True}}, pair)
    assert len(settle(index, "a==1", "b==1").moved) == 1


def test_a_range_moves_only_where_nothing_in_it_fits() -> None:
    index = Index({"numpy": {"1.19": False, "1.21": True}, "scipy": {"1.4": True, "1.9": True}})
    settlement = settle(index, "numpy<1.20", "scipy<1.5")
    assert moved(settlement) == {"numpy": "1.21"}


def test_nothing_helps_where_even_free_projects_exclude_each_other() -> None:
    index = Index({"a": {"1": True}, "b": {"1": True}}, frozenset({frozenset({("a", "1"), ("b", "1")})}))
    wanted = (Requirement("a==1"), Requirement("b==1"))
    assert isinstance(settle_others(wanted, index.compile, index.has_wheels), Unresolvable)
    assert count_moves(wanted, index.compile, index.has_wheels) is None


def test_of_equally_many_moves_the_shorter_is_less() -> None:
    def moves(**releases: bool) -> Moves | None:
        index = Index({"numpy": {name[1:].replace("_", "."): has for name, has in releases.items()}})
        return count_moves((Requirement("numpy==1.19.2"),), index.compile, index.has_wheels)

    near, far = moves(v1_19_2=False, v1_19_3=True, v2_1_0=True), moves(v1_19_2=False, v2_1_0=True)
    assert near is not None
    assert far is not None
    assert (near.count, far.count) == (1, 1)
    assert near < far
    assert moves(v1_19_2=True) == Moves()


VERSIONS = ("1", "2", "3")
PROJECTS = ("a", "b", "c")


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Index, tuple[str, ...]]:
    releases = {name: {version: draw(st.booleans()) for version in VERSIONS} for name in PROJECTS}
    strategy = st.tuples(st.sampled_from(PROJECTS), st.sampled_from(VERSIONS))
    pairs = draw(st.lists(st.frozensets(strategy, min_size=2, max_size=2), max_size=4))
    pins = tuple(f"{name}=={draw(st.sampled_from(VERSIONS))}" for name in PROJECTS)
    return Index(releases, frozenset(pairs)), pins


@given(worlds())
def test_no_change_can_be_undone_alone_and_what_is_resolved_is_what_is_wanted(
    world: tuple[Index, tuple[str, ...]],
) -> None:
    index, pins = world
    settlement = settle_others(tuple(map(Requirement, pins)), index.compile, index.has_wheels)
    if isinstance(settlement, Unresolvable):
        return
    wanted = dict(pin.split("==") for pin in pins) | moved(settlement)
    assert {
        resolved_file.name: resolved_file.version for resolved_file in settlement.resolved.files
    } == wanted
    for upgrade in settlement.moved:
        back = wanted | {upgrade.project: dict(pin.split("==") for pin in pins)[upgrade.project]}
        ask = Ask(tuple(f"{name}=={version}" for name, version in back.items()), PROJECTS)
        assert isinstance(index.compile(ask), Unresolvable)


@given(st.text())
def test_whatever_uv_writes_pins_are_read_and_nothing_else(text: str) -> None:
    assert all(resolved_file.name and resolved_file.version for resolved_file in parse_pins(text))


def test_pins_of_uv_are_read() -> None:
    text = (
        "numpy==1.26.4\nclip @ https://example.com/clip-1.0-py3-none-any.whl\n    # via x\ntqdm==4.1  # via\n"
    )
    assert [(resolved_file.name, resolved_file.version) for resolved_file in parse_pins(text)] == [
        ("numpy", "1.26.4"),
        ("tqdm", "4.1"),
    ]
