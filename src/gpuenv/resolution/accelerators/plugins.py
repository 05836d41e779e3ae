"""Projects that make torch for the CPU use an accelerator: torch_npu, pinned to the release of the build."""

from __future__ import annotations

from gpuenv.i18n.messages import tr
from gpuenv.resolution.accelerators.collect import PLUGINS
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.rules.companion_failures import AvailableCompanions, CompanionMatch


def match(candidate: Candidate, available: AvailableCompanions) -> tuple[CompanionMatch, ...] | Failure:
    """Return the files of the build's plugin, nothing for builds without one, or what is wrong with it."""
    build = candidate.accelerated
    if build is None or build.torch_npu is None:
        return ()
    (project,) = PLUGINS["npu"]
    files = tuple(item for item in available.all_of(project) if item.file.version == build.torch_npu)
    if files:
        return (CompanionMatch(project, files),)
    down = available.down.get(project)
    detail = tr("no index lists {project} {version}", project=project, version=build.torch_npu)
    return Failure(
        rule="companion",
        kind="down" if down else "absent",
        subject=project,
        detail=detail,
        source=candidate.source,
        unread_page=down.page if down else None,
    )
