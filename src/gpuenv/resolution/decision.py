"""A decision: the builds that work, in order of preference, and those that do not; judged as looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, overload

from msgspec import Struct
from packaging.version import Version

from gpuenv.knowledge.records import KnownBad
from gpuenv.model.python import PythonOffer
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.candidate import Candidate, Failure, IndexedFile
from gpuenv.resolution.target import TargetGpu

_NO_CUDA = CudaVersion(0, 0)


class Solution(Struct, frozen=True):
    """A build that passes every rule, with its Python and companions."""

    candidate: Candidate
    python: PythonOffer
    torch: IndexedFile
    companions: tuple[IndexedFile, ...]
    native: bool
    through_ptx: tuple[TargetGpu, ...]
    known_bad: tuple[KnownBad, ...]
    left_out: tuple[Failure, ...] = ()  # why an optional companion does not come along

    @property
    def files(self) -> tuple[IndexedFile, ...]:
        """The files of the torch stack, torch's first."""
        return (self.torch, *self.companions)

    @property
    def is_assumed(self) -> bool:
        """Whether no page that was read lists one of the files."""
        return any(item.file.assumed for item in self.files)


class RejectedCandidate(Struct, frozen=True):
    """A build that fails, with all that is wrong with it."""

    candidate: Candidate
    failures: tuple[Failure, ...]


class Decision(Struct, frozen=True):
    """Choices, the best first, and the builds that came into question and fail, newest first.

    Both are judged as far as they are looked at: `choices[0]`, `if choices` and a loop that ends early cost
    less than `len(choices)`.
    """

    choices: Sequence[Solution]
    rejected: Sequence[RejectedCandidate]

    def with_build(self, candidate: Candidate) -> tuple[Solution, ...]:
        """Return the choices with a build, of which one has been looked at."""
        return tuple(choice for choice in _judged(self.choices) if choice.candidate is candidate)

    def rejected_down_to(self, torch: Version) -> tuple[RejectedCandidate, ...]:
        """Return the rejected builds of newer releases and of this, of which a choice has been looked at."""
        return tuple(judged for judged in _judged(self.rejected) if judged.candidate.torch >= torch)

    def rejected_above(self, torch: Version) -> tuple[RejectedCandidate, ...]:
        """Return the rejected builds of newer releases than one of which a choice has been looked at."""
        return tuple(judged for judged in _judged(self.rejected) if judged.candidate.torch > torch)


_T = TypeVar("_T")
Block = tuple[Sequence[Solution], Sequence[RejectedCandidate]]


class _Judging:
    """Blocks of builds, judged when something of them is looked at."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._blocks = iter(blocks)
        self.choices: list[Solution] = []
        self.rejected: list[RejectedCandidate] = []

    def judge_more(self) -> bool:
        """Judge the next block; whether there was one."""
        for solutions, rejected in self._blocks:
            self.choices += solutions
            self.rejected += rejected
            return True
        return False


class _AsJudged(Sequence[_T], Generic[_T]):
    """What has been judged so far, and what comes when it is looked at."""

    def __init__(self, judging: _Judging, items: list[_T]) -> None:
        self._judging, self._items = judging, items

    @property
    def so_far(self) -> Sequence[_T]:
        """What has been judged."""
        return self._items

    def __iter__(self) -> Iterator[_T]:
        at = 0
        while at < len(self._items) or self._judging.judge_more():
            yield from self._items[at : (at := len(self._items))]

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def __len__(self) -> int:
        while self._judging.judge_more():
            pass
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        ends = index.stop if isinstance(index, slice) else index + 1
        while (ends is None or ends <= 0 or len(self._items) < ends) and self._judging.judge_more():
            pass
        return self._items[index]


def _judged(items: Sequence[_T]) -> Sequence[_T]:
    """Those that have been judged: nothing more is looked at."""
    return items.so_far if isinstance(items, _AsJudged) else items


def decision_of(blocks: Iterable[Block]) -> Decision:
    """Return the decision of which one block after another is judged."""
    judging = _Judging(blocks)
    return Decision(_AsJudged(judging, judging.choices), _AsJudged(judging, judging.rejected))


def newest_first(rejected: Iterable[RejectedCandidate]) -> list[RejectedCandidate]:
    """Sort by torch, then by CUDA."""
    return sorted(
        rejected, key=lambda item: (item.candidate.torch, item.candidate.cuda or _NO_CUDA), reverse=True
    )


def in_order_of_preference(
    solutions: list[Solution], offers: tuple[PythonOffer, ...], *, offline: bool
) -> tuple[Solution, ...]:
    """Sort: newest torch, with what is optional, listed before assumed, native, newest CUDA, Python, index.

    Of the Pythons, those with which nothing is known to go wrong come first. Where a torch is here, in a
    wheelhouse, those that are only assumed come last; offline, it comes before all that lie elsewhere.

    Sorts are stable, so the criteria are applied from the least to the most important.
    """
    ordered = sorted(solutions, key=lambda solution: solution.torch.order)
    ordered.sort(key=lambda solution: offers.index(solution.python))
    ordered.sort(key=lambda solution: any(row.avoid for row in solution.known_bad))
    ordered.sort(key=lambda solution: solution.candidate.cuda or _NO_CUDA, reverse=True)
    ordered.sort(key=lambda solution: not solution.native)
    ordered.sort(key=lambda solution: solution.is_assumed)
    ordered.sort(key=lambda solution: len(solution.left_out))
    ordered.sort(key=lambda solution: solution.candidate.torch, reverse=True)
    if any(is_local(solution.torch) for solution in solutions):
        ordered.sort(
            key=lambda solution: solution.torch.file.assumed or (offline and not is_local(solution.torch))
        )
    return tuple(ordered)


def is_local(item: IndexedFile) -> bool:
    """Whether a file lies in a wheelhouse."""
    return item.listing.source.kind == "directory"
