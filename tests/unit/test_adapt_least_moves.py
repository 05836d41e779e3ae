"""The least moves of conda's packages, with a solver that is a rule."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.adapt.channels.conflict_words import demands, sentences, why_not
from gpuenv.adapt.channels.least_moves import SolverConflict, SolverResult, SpecMoves, least_moves
from gpuenv.model.match_spec import as_specifier, parse_match_spec

NAMES = ("one", "two", "three")
RELEASES = tuple(Version(f"{major}.{minor}") for major in range(1, 5) for minor in range(3))
Solver = Callable[[tuple[str, ...]], SolverResult | SolverConflict]


def solver(*, allowed: dict[str, tuple[int, int]], asked: list[tuple[str, ...]] | None = None) -> Solver:
    """The newest release of each package within a span of positions; a conflict names what is outside."""

    def solve(specs: tuple[str, ...]) -> SolverResult | SolverConflict:
        if asked is not None:
            asked.append(specs)
        versions, broken = {}, []
        for text in specs:
            spec = parse_match_spec(text)
            least, most = allowed.get(spec.name, (0, len(RELEASES) - 1))
            wanted = SpecifierSet(as_specifier(spec))
            fitting = [version for version in RELEASES[least : most + 1] if version in wanted]
            if fitting:
                versions[spec.name] = str(fitting[-1])
            else:
                broken.append(text)
        return (
            SolverConflict("\n".join(f"{text} cannot be installed" for text in broken))
            if broken
            else SolverResult(versions)
        )

    return solve


def moves(outcome: SpecMoves | SolverConflict) -> dict[str, str]:
    assert isinstance(outcome, SpecMoves), outcome
    return {move.name: move.version for move in outcome.moved}


spans = st.tuples(st.integers(0, len(RELEASES) - 1), st.integers(0, len(RELEASES) - 1)).map(
    lambda pair: (min(pair), max(pair))
)


@given(
    st.fixed_dictionaries(dict.fromkeys(NAMES, spans)), st.lists(st.integers(0, 11), min_size=3, max_size=3)
)
def test_what_can_stay_stays_and_the_rest_moves_to_the_nearest_release(
    allowed: dict[str, tuple[int, int]], pins: list[int]
) -> None:
    asked = tuple(f"{name} =={RELEASES[pin]}" for name, pin in zip(NAMES, pins, strict=True))
    found = moves(least_moves((), asked, solver(allowed=allowed), lambda _: RELEASES))
    for name, pin in zip(NAMES, pins, strict=True):
        least, most = allowed[name]
        nearest = min(max(pin, least), most)
        assert found.get(name) == (None if nearest == pin else str(RELEASES[nearest]))


def test_a_conflict_that_names_nothing_lets_all_give_way() -> None:
    def solve(specs: tuple[str, ...]) -> SolverResult | SolverConflict:
        return (
            SolverConflict("it did not work")
            if "one ==1.0" in specs
            else SolverResult({"one": "2.0", "two": "1.0"})
        )

    outcome = least_moves((), ("one ==1.0", "two ==1.0"), solve, lambda _: RELEASES)
    assert moves(outcome) == {"one": "2.0"}


def test_what_is_fixed_is_never_loosened_and_a_conflict_of_it_is_the_answer() -> None:
    asked: list[tuple[str, ...]] = []
    solve = solver(allowed={"torch": (0, 3)}, asked=asked)
    outcome = least_moves(("torch ==4.0",), ("one ==1.0",), solve, lambda _: RELEASES)
    assert isinstance(outcome, SolverConflict)
    assert "torch" in outcome.message
    assert all(specs[0] == "torch ==4.0" for specs in asked)


def test_without_time_what_gave_way_stays_where_the_solver_has_it() -> None:
    solve = solver(allowed={"one": (0, 8)})
    outcome = least_moves((), ("one ==4.2", "two ==1.0"), solve, lambda _: RELEASES, lambda: False)
    assert moves(outcome) == {"one": "3.2", "two": "4.2"}


RATTLER = """\
Cannot solve the request because of: widget 1.0.* cannot be installed because there are no viable options:
└─ widget 1.0 would require
   └─ helper >=1.1,<1.3, for which no candidates were found.
"""
MAMBA = """\
The following packages are incompatible
├─ cuda-version =11.8 * is requested and can be installed;
└─ pytorch ==2.9.1 cuda* is not installable because there are no viable options
   ├─ pytorch 2.9.1 would require
   │  └─ cuda-version >=12.8,<13 *, which conflicts with any installable versions previously reported;
   └─ pytorch 2.9.1 would require
      └─ cuda-version >=13.0,<14 *, which conflicts with any installable versions previously reported.
"""
CHAIN = """\
The following package could not be installed
└─ pytorch-gpu =* * is not installable because it requires
   └─ pytorch ==2.4.1 cuda*, which requires
      └─ __cuda =* *, which is missing on the system.
"""


def test_a_conflict_is_told_as_who_requires_what() -> None:
    assert demands(RATTLER) == (("widget 1.0", "helper >=1.1,<1.3"),)
    assert demands(MAMBA) == (
        ("pytorch 2.9.1", "cuda-version >=12.8,<13"),
        ("pytorch 2.9.1", "cuda-version >=13.0,<14"),
    )
    assert demands(CHAIN) == (
        ("pytorch-gpu =*", "pytorch ==2.4.1 cuda*"),
        ("pytorch ==2.4.1 cuda*", "__cuda =*"),
    )
    assert sentences(RATTLER) == ("widget 1.0 requires helper >=1.1,<1.3",)
    assert sentences("nothing of the kind") == ("nothing of the kind",)


def test_why_a_package_moves_is_what_is_required_of_it_or_by_it() -> None:
    assert why_not("helper", RATTLER) == "widget 1.0 requires helper >=1.1,<1.3"
    assert why_not("cuda-version", MAMBA) == "pytorch 2.9.1 requires cuda-version >=12.8,<13"
    assert why_not("openssl", "openssl 1.1.1k, for which no candidates were found.") == (
        "openssl 1.1.1k, for which no candidates were found"
    )
