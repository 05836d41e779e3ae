"""Rule `kernels` for MPS: the release of macOS has what the build's Metal code needs.

A wheel may install on an older macOS than MPS needs: torch 2.9 to 2.11 do from macOS 11 on, and report that
MPS is not available below macOS 14.
"""

from __future__ import annotations

from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.machine import Machine
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.rules.phrases import range_of_releases
from gpuenv.resolution.rules.platform_tags import parse_glibc as parse_release
from gpuenv.resolution.target import Target


class MetalFailure(Failure, frozen=True, kw_only=True):
    """A build ("none") without MPS, or ("macos") one whose MPS needs a newer macOS (`subject`)."""

    rule: str = "kernels"
    torch: Version
    place: str = ""
    there: str = ""

    def _summarize_several(self, alike: tuple[MetalFailure, ...]) -> str:
        builds = range_of_releases(failure.torch for failure in alike)
        if self.kind == "none":
            return tr("{builds} have no MPS", builds=builds)
        return tr(
            "MPS of {builds} needs macOS {needed} or newer; {place} has macOS {there}",
            builds=builds,
            needed=self.subject,
            place=self.place,
            there=self.there,
        )


def check(candidate: Candidate, target: Target, _knowledge: Knowledge) -> tuple[MetalFailure, ...]:
    """Return a failure where the build has no MPS, and for a macOS that is too old for it."""
    build = candidate.accelerated
    if build is None:
        return ()
    if build.mps is None:
        detail = tr("{build} has no MPS", build=f"torch {candidate.torch}")
        return (MetalFailure(kind="none", detail=detail, source=candidate.source, torch=candidate.torch),)
    needed = ".".join(map(str, build.mps))
    for machine in target.machines:
        if is_older(machine, build.mps):
            facts = {"place": target.machine_label, "there": machine.system.macos or ""}
            detail = tr(
                "MPS of {builds} needs macOS {needed} or newer; {place} has macOS {there}",
                builds=f"torch {candidate.torch}",
                needed=needed,
                **facts,
            )
            source = f"{candidate.source}; {machine.source_of('system.macos')}"
            return (
                MetalFailure(
                    kind="macos", subject=needed, detail=detail, source=source, torch=candidate.torch, **facts
                ),
            )
    return ()


def is_older(machine: Machine, least: tuple[int, ...]) -> bool:
    """Whether a machine's macOS is known, and older."""
    macos = machine.system.macos
    return macos is not None and parse_release(macos) < least
