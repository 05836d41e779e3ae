"""Every sentence of a refusal and of advice is what the rows of the matrix say: each kind is taken apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import pytest
from deciding import Asked, decided, machine
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv import matrices

ROWS = [row for row in matrices.load("torch") if row["platform"] == "linux-64"]
RELEASES = sorted({Version(row["torch"]) for row in ROWS})
MACHINES = (
    {"gpus": ["Tesla V100-SXM2-16GB"], "driver": "535.104.05"},
    {"gpus": ["RTX 5090"], "driver": "580.95.05"},
    {"gpus": ["GTX 1080 Ti"], "driver": "470.57.02"},
)
PYTHONS = (("3.9",), ("3.8", "3.14"), ("3.6",), tuple(f"3.{minor}" for minor in range(8, 16)))
REQUESTS: tuple[tuple[tuple[str, ...], str | None, str | None], ...] = (
    ((), None, None),
    (("torch<2.13",), None, None),
    ((), "3.9", None),
    ((), "3.8", None),
    (("torch", "torchtext"), None, None),
    (("torch==2.12.0",), "3.8", None),
    (("torch==1.7.1",), "3.14", None),
    (("torch==1.7.1",), None, "12.1"),
    (("torch==0.4.1",), None, None),
    (("torch==0.4.*",), None, None),
    (("torch==9.9",), None, None),
    (("torch==2.3.7",), None, None),
    (("torch>=1.0.5,<1.1",), None, None),
    (("torch==1.4.0",), None, None),
)


def pythons_of(torch: str) -> list[str]:
    """The Pythons that the rows of a release name, oldest first."""
    tags = {tag.removesuffix("t") for row in ROWS if row["torch"] == torch for tag in row["pythons"]}
    minors = sorted(int(tag[3:]) for tag in tags if tag.startswith("cp3"))
    return [f"3.{minor}" for minor in minors]


def spelled(text: str) -> list[str]:
    """Take `3.10 to 3.14`, or a list, apart."""
    first, _, last = text.partition(" to ")
    if not last:
        return text.split(", ")
    return [f"3.{minor}" for minor in range(int(first[2:]), int(last[2:]) + 1)]


def needs_python_or_newer(torch: str, python: str) -> bool:
    return pythons_of(torch)[0] == python


def needs_pythons(torch: str, pythons: str) -> bool:
    return pythons_of(torch) == spelled(pythons)


def have_files_for(first: str, last: str | None, has: str, asked: str) -> bool:
    low, high = Version(first), Version(last or first)
    named = {python for release in RELEASES if low <= release <= high for python in pythons_of(str(release))}
    return set(has.split(", ")) <= named and asked not in has.split(", ")


def is_older(wanted: str, oldest: str) -> bool:
    return _admits_none(wanted) and Version(oldest) == RELEASES[0]


def is_newer(wanted: str, newest: str) -> bool:
    return _admits_none(wanted) and Version(newest) == RELEASES[-1]


def is_between(wanted: str, before: str, after: str) -> bool:
    position = RELEASES.index(Version(before))
    return _admits_none(wanted) and RELEASES[position + 1] == Version(after)


def is_none(wanted: str, oldest: str, newest: str) -> bool:
    return _admits_none(wanted) and [Version(oldest), Version(newest)] == [RELEASES[0], RELEASES[-1]]


def _admits_none(wanted: str) -> bool:
    return not any(SpecifierSet(wanted.removeprefix("torch")).contains(release) for release in RELEASES)


def has_variants(torch: str, variant: str, has: str) -> bool:
    own = {row["variant"] for row in ROWS if row["torch"] == torch}
    return own == set(has.split(", ")) and variant not in own


KINDS: tuple[tuple[str, Callable[..., bool]], ...] = (
    (r"torch (\S+) needs Python (\S+) or newer", needs_python_or_newer),
    (r"torch (\S+) needs Python (3\.\d+(?: to 3\.\d+|(?:, 3\.\d+)*))", needs_pythons),
    (r"builds of torch (\S+)(?: to (\S+))? have files for Python (.+), not for (\S+)", have_files_for),
    (r"`(torch\S+)` is older than all known builds, from torch (\S+) on \(linux-64\)", is_older),
    (r"`(torch\S+)` is newer than all known builds, up to torch (\S+) \(linux-64\)", is_newer),
    (
        r"there is no build of `(torch\S+)`; those beside it are torch (\S+) and (\S+) \(linux-64\)",
        is_between,
    ),
    (r"no known release of torch is `(torch\S+)`; they are (\S+) to (\S+) \(linux-64\)", is_none),
    (r"torch==(\S+) has no build for (\S+) on linux-64; it has (.+)", has_variants),
)


Case = tuple[int, tuple[str, ...], tuple[tuple[str, ...], str | None, str | None]]
FEW: tuple[Case, ...] = (  # one of each kind at least
    (0, ("3.9",), REQUESTS[0]),
    (0, ("3.8", "3.14"), REQUESTS[3]),
    *((0, PYTHONS[3], REQUESTS[number]) for number in (5, 7, 8, 10, 11, 12)),
)
ALL = tuple(product(range(len(MACHINES)), PYTHONS, REQUESTS))


def sentences(cases: tuple[Case, ...]) -> set[str]:
    texts: set[str] = set()
    for number, pythons, (requirements, python, cuda) in cases:
        asked = Asked((machine(MACHINES[number]),), requirements, python, cuda, pythons=pythons)
        outcome = decided(asked)
        if outcome.plan is not None:
            texts |= {advice.text for advice in outcome.plan.advice}
        elif outcome.error is not None:
            texts |= {because.text for because in outcome.error.because}
    return texts


@pytest.fixture(scope="module")
def told() -> set[str]:
    return sentences(FEW)


@pytest.mark.slow
@pytest.mark.campaign
def test_of_all_questions_no_sentence_of_a_known_kind_is_false() -> None:
    texts = sentences(ALL)
    matches = [
        (match, holds) for text in texts for pattern, holds in KINDS if (match := re.fullmatch(pattern, text))
    ]
    assert len(matches) > len(KINDS)
    assert [match[0] for match, holds in matches if not holds(*match.groups())] == []


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "holds"), KINDS, ids=[holds.__name__ for _, holds in KINDS])
def test_a_kind_of_sentence_is_what_the_rows_say(
    pattern: str, holds: Callable[..., bool], told: set[str]
) -> None:
    matches = [match for text in told if (match := re.fullmatch(pattern, text))]
    assert matches
    assert [match[0] for match in matches if not holds(*match.groups())] == []


def test_a_python_that_is_not_here_is_told_with_those_that_torch_has_files_for() -> None:
    """Of Pythons 3.8 and 3.14 torch 2.12 could use 3.14 here, but it is not true that it needs that one."""
    asked = Asked((machine(MACHINES[0]),), ("torch<2.13",), "3.8", pythons=("3.8", "3.14"))
    plan = decided(asked).plan
    assert plan is not None
    assert "torch 2.12.1 needs Python 3.10 to 3.14" in [advice.text for advice in plan.advice]
