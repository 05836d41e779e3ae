"""Which torch release several variants have in common, and with which Python."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from packaging.version import Version

from gpuenv.planning.make_plan import WheelBasis
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.resolve import ResolutionInput, decide

_Pair = tuple[Version, str]


class Meeting(Struct, frozen=True):
    """A torch release (None: any) and a Python by its tag (`cp312`)."""

    torch: Version | None
    python: str

    def met_by(self, basis: WheelBasis) -> WheelBasis:
        """Return what a plan is decided from, with nothing else to choose."""
        question = basis.question
        request = question.request
        if self.torch is not None:
            request = request.with_requirement(f"torch=={self.torch}")
        pythons = tuple(offer for offer in question.pythons if offer.tag == self.python)
        return replace(basis, question=replace(question, request=request, pythons=pythons))


def meetings(questions: Sequence[ResolutionInput]) -> tuple[Meeting, ...]:
    """Return the releases that all have, newest first, each with the Python that suits all of them best.

    That is the one with which the least is left out, then the one that the first would choose.
    """
    decided = [_by_pair(question) for question in questions]
    shared = [pair for pair in decided[0] if all(pair in others for others in decided[1:])]
    left_out = {pair: sum(len(of_one[pair].left_out) for of_one in decided) for pair in shared}
    best: dict[Version, Meeting] = {}
    for torch, python in sorted(shared, key=lambda pair: left_out[pair]):
        best.setdefault(torch, Meeting(torch, python))
    return tuple(best[torch] for torch in sorted(best, reverse=True))


def _by_pair(question: ResolutionInput) -> dict[_Pair, Solution]:
    """Return the best choice for each release and Python, in order of preference."""
    best: dict[_Pair, Solution] = {}
    for choice in decide(question).choices:
        best.setdefault((choice.candidate.torch, choice.python.tag), choice)
    return best


def shared_pythons(questions: Sequence[ResolutionInput]) -> tuple[str, ...]:
    """Return the tags of the Pythons with which each has some release, as the first prefers them."""
    decided = [dict.fromkeys(python for _, python in _by_pair(question)) for question in questions]
    return tuple(python for python in decided[0] if all(python in others for others in decided[1:]))
