"""What torch and packages beside it ask of each other, by exact releases.

    triton==3.0.0    torch 2.5.1 requires triton==3.1.0
    vllm==0.6.3      requires torch==2.4.0

Companions and projects whose wheels are made for one torch have rules of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.adapt.nearest.agreement import pins_of
from gpuenv.adapt.nearest.known_bad_dependencies import ConflictingPin, Settled, with_moved
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.ecosystem import TorchDemand
from gpuenv.model.errors import Because
from gpuenv.model.python import PythonOffer
from gpuenv.model.wheel import Platform
from gpuenv.resolution.by_identity import ByIdentity
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.release_distance import distance, named_releases
from gpuenv.resolution.request import admits
from gpuenv.resolution.requirement_index import index_of
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules.python import full_version

_SYSTEMS: Mapping[Platform, tuple[str, str]] = {
    "linux-64": ("linux", "x86_64"),
    "linux-aarch64": ("linux", "aarch64"),
    "win-64": ("win", "amd64"),
    "osx-arm64": ("macosx", "arm64"),
    "osx-64": ("macosx", "x86_64"),
}
_NARROW = ("==", "~=")  # 3.7.1 alone, or 3.8 and its patches
_SOURCE = "matrix dependencies.json"

Broken = tuple[ConflictingPin, ...]


def with_bonds(settled: Settled, question: ResolutionInput) -> Settled:
    """Return the choice with what has to move of the packages that torch pins, or that pin torch."""
    solution, request = settled.solution, settled.request
    broken = broken_bonds(solution.candidate, solution.python, question)
    for pin in broken:
        request = with_moved(request, pin)
    return replace(settled, request=request, moved=(*settled.moved, *broken))


def broken_bonds(candidate: Candidate, python: PythonOffer, question: ResolutionInput) -> Broken:
    """Return the packages that can't stay beside a build of torch as they are asked for."""
    return _bonds_of(question).broken(candidate, python)


def moved_by_bonds(
    candidate: Candidate, python: PythonOffer, question: ResolutionInput
) -> frozenset[str | None]:
    """Return what the packages become that torch pins, or that pin torch; two builds with one go alike."""
    return frozenset(pin.text for pin in broken_bonds(candidate, python, question) if pin.far)


class _Bonds:
    """Looks at the builds of one question."""

    def __init__(self, question: ResolutionInput) -> None:
        self._question, self._knowledge = question, question.knowledge
        self._platform = question.target.platform
        self._pins_torch = cache(self._has_pins_of_torch)
        self._demands = cache(_demands_in)
        self._of_torch = cache(self._asked_by_torch)
        self._to_torch = cache(self._asked_of_torch)
        self._kept: dict[tuple[int, str], Broken] = {}  # by the identity of builds, which the question keeps

    def broken(self, candidate: Candidate, python: PythonOffer) -> Broken:
        """Return the packages that can't stay as they are asked for, first those that torch asks for."""
        key = id(candidate), str(full_version(python))
        if key not in self._kept:
            self._kept[key] = self._broken(candidate, key[1])
        return self._kept[key]

    def _broken(self, candidate: Candidate, release: str) -> Broken:
        wanted = index_of(self._question.request.others).specifiers(self._platform, release)
        of_torch: Broken = ()
        if wanted and candidate.kind != "conda":  # conda's builds bring packages of conda's
            key = candidate.torch, candidate.variant, self._platform, candidate.kind
            requires = self._knowledge.dependencies.requires_of(*key) or ()
            named = tuple((name, wanted[name]) for name in self._demands(requires) if wanted.get(name))
            of_torch = self._of_torch(candidate.torch, requires, named)
        bound = tuple((name, wanted[name]) for name in wanted if self._pins_torch(name))
        return (*of_torch, *(self._to_torch(candidate.torch, release, bound) if bound else ()))

    def _has_pins_of_torch(self, name: str) -> bool:
        ecosystem = self._knowledge.ecosystem
        return ecosystem.set_of(name) is None and any(item.is_exact for item in ecosystem.demands(name))

    def _asked_by_torch(
        self, torch: Version, requires: tuple[str, ...], wanted: tuple[tuple[str, SpecifierSet], ...]
    ) -> Broken:
        demands = self._demands(requires)
        pins = (self._torch_asks(torch, demands[name], asked) for name, asked in wanted)
        return tuple(chain.from_iterable(pins))

    def _torch_asks(
        self, torch: Version, demand: Requirement, asked: SpecifierSet
    ) -> Iterator[ConflictingPin]:
        name = canonicalize_name(demand.name)
        text = tr("{package} requires {needs}", package=f"torch {torch}", needs=str(demand))
        because = Because(text, _SOURCE)
        named = next((Version(item.version) for item in demand.specifier if item.operator in _NARROW), None)
        outside = any(not demand.specifier.contains(pin, prereleases=True) for pin in pins_of(asked))
        if named is not None and (outside or not admits(asked, named)):
            far = max(1, _far(named, asked, self._knowledge.dependencies.pinned_releases(name)))
            yield ConflictingPin(name, f"{name}{demand.specifier}", because, far)
        elif named is None and outside:
            least = next((item.version for item in demand.specifier if item.operator == ">="), None)
            yield ConflictingPin(name, f"{name}=={least}" if least else f"{name}{demand.specifier}", because)

    def _asked_of_torch(
        self, torch: Version, python: str, wanted: tuple[tuple[str, SpecifierSet], ...]
    ) -> Broken:
        return tuple(pin for name, asked in wanted for pin in self._asks(name, asked, torch, python))

    def _asks(self, name: str, asked: SpecifierSet, torch: Version, python: str) -> Iterator[ConflictingPin]:
        demands = self._knowledge.ecosystem.demands(name)
        fitting = [item for item in demands if self._fits(item, torch, python)]
        named = [item for item in demands if admits(asked, item.version)]
        if not named or any(item in fitting for item in named):
            return
        known = [item.version for item in demands]
        far = {item.version: _far(item.version, asked, known) for item in fitting}
        nearest = min(fitting, key=lambda item: far[item.version], default=None)
        last = named[-1]
        facts = {"package": f"{name} {last.version}", "needs": f"torch{last.torch}"}
        because = Because(tr("{package} requires {needs}", **facts), f"matrix ecosystem.json: {last.source}")
        unknown = named[0] is demands[0] and not pins_of(asked)  # older releases are asked for too
        if unknown or nearest is None:
            yield ConflictingPin(name, None, because, len(demands))
        else:
            yield ConflictingPin(name, f"{name}=={nearest.version}", because, max(1, far[nearest.version]))

    def _fits(self, demand: TorchDemand, torch: Version, python: str) -> bool:
        system, machine = _SYSTEMS[self._platform]
        tags = demand.platforms
        on_system = any(tag == "any" or (system in tag and tag.endswith(machine)) for tag in tags)
        return (
            on_system
            and demand.torch.contains(torch, prereleases=True)
            and demand.python.contains(python, prereleases=True)
            and _has_wheel(demand, python)
        )


def _has_wheel(demand: TorchDemand, python: str) -> bool:
    """Whether there is a wheel for a Python: one for CPython alone is by the stable ABI."""
    tag = "cp" + "".join(python.split(".")[:2])
    return len(demand.pythons) <= 1 or tag in demand.pythons or "py3" in demand.pythons


def _demands_in(requires: tuple[str, ...]) -> Mapping[str, Requirement]:
    return {canonicalize_name(item.name): item for item in map(Requirement, requires)}


def _far(release: Version, asked: SpecifierSet, known: Sequence[Version]) -> int:
    anchors = [version for version in known if admits(asked, version)] or named_releases(asked)
    return distance(release, anchors, sorted({*known, *anchors}))


_bonds_of: ByIdentity[ResolutionInput, _Bonds] = ByIdentity(_Bonds, most=4)
