"""The lines of an environment.yml that say for which CUDA conda's torch is: what chooses its build."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from gpuenv.adapt.model import DeclaredRequirement, RequirementChange, changed_line
from gpuenv.adapt.nearest.reasons import Reasons
from gpuenv.adapt.nearest.request import Wishes, variant_in
from gpuenv.adapt.nearest.resolves_to import is_condas
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because
from gpuenv.model.match_spec import parse_match_spec
from gpuenv.model.variant import Variant
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.conda.builds import CondaBuild
from gpuenv.resolution.decision import Solution

BY_PIP = "matrix torch.json"
_CHOSEN_BY = "pytorch-cuda"  # on the channel `pytorch` alone, from torch 1.13 on
_FIRST_CHOSEN = Version("1.13")
_TOOLKIT, _VERSION = "cudatoolkit", "cuda-version"
_MUTEX = "pytorch-mutex"  # keeps the builds of the channel `pytorch` for a CPU and for a GPU apart
_FORGE = "conda-forge"
_LAST_TOOLKIT = 11  # the CUDA major whose libraries are one package, `cudatoolkit`


def cuda_changes(
    solution: Solution, wishes: Wishes, build: CondaBuild | None, reasons: Reasons, *, moved: bool
) -> Iterator[RequirementChange]:
    """Yield the changes of conda's lines that name another CUDA, or that nothing needs any more.

    What is written is what a row of matrices/conda.json is chosen by: `pytorch-cuda=12.4`, but
    `cuda-version=12.9` for a build of conda-forge's. `moved`: whether the stack changes.
    """
    if not is_condas(wishes):
        return
    candidate = solution.candidate
    if candidate.kind != "conda":
        for line in wishes.lines.get("cuda", ()) if moved else ():
            text = tr("torch wheels bring the CUDA that they need")
            yield changed_line(line, None, Because(text, BY_PIP))
        return
    new = chooser(candidate, build)
    written: set[str] = set()
    for line in wishes.lines.get("cuda", ()):
        if line.requirement is None:
            if channel_of(candidate) == _FORGE and parse_match_spec(line.text).name == _MUTEX:
                yield changed_line(line, None, Because(_elsewhere(candidate), candidate.source))
            continue
        if is_right(line, candidate, build):
            written.add(new)
            continue
        because = reasons.for_variant()
        yield changed_line(line, None if new in written else _as_said(line, new), because)
        written.add(new)


def chooser(candidate: Candidate, build: CondaBuild | None) -> str:
    """Return the spec that chooses a build by its CUDA, as in an environment.yml: `pytorch-cuda=12.4`."""
    if candidate.cuda is None:
        return "cpu"
    if build is not None and build.requires:
        spec = parse_match_spec(build.requires[0])
        return f"{spec.name}={spec.release}" if spec.release else spec.name
    if channel_of(candidate) == _FORGE:
        name = _TOOLKIT if candidate.cuda.major <= _LAST_TOOLKIT else _VERSION
    else:
        name = _CHOSEN_BY if candidate.torch >= _FIRST_CHOSEN else _TOOLKIT
    return f"{name}={candidate.cuda}"


def _elsewhere(candidate: Candidate) -> str:
    return tr("{build} is on the channel `{channel}`", build=candidate.label, channel=channel_of(candidate))


def channel_of(candidate: Candidate) -> str | None:
    """Return the name of the channel that a build is on."""
    return candidate.files[0].listing.source.name if candidate.files else None


def named_channel(line: DeclaredRequirement) -> str | None:
    """Return the name of the channel that a line of conda's names: `https://conda.anaconda.org/pytorch::a`."""
    channel = parse_match_spec(line.text).channel if line.notation == "conda" else None
    return channel.rstrip("/").rpartition("/")[2] if channel else None


def is_right(line: DeclaredRequirement, candidate: Candidate, build: CondaBuild | None) -> bool:
    """Whether a line leads to a build as it stands."""
    named = variant_in(line)
    plain = parse_match_spec(line.text).name
    if plain == _CHOSEN_BY and channel_of(candidate) == _FORGE:
        return False  # it is not there, and what is elsewhere asks for another torch
    return named == candidate.variant or _is_later(named, candidate, build)


def _is_later(named: Variant | None, candidate: Candidate, build: CondaBuild | None) -> bool:
    """Whether a build takes the CUDA libraries of a later release: conda-forge's of CUDA 11 do."""
    cuda = named.cuda if named else None
    if build is None or build.requires or cuda is None or candidate.cuda is None:
        return False
    return cuda.major == candidate.cuda.major == _LAST_TOOLKIT and cuda >= candidate.cuda


def _as_said(line: DeclaredRequirement, new: str) -> str:
    """Return the release alone where the line has the right name already."""
    name, _, release = new.partition("=")
    return release if release and parse_match_spec(line.text).name == name else new
