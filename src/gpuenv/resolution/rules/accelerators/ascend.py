"""Rule `driver` for NPUs: torch_npu is made for the very CANN that the machine has."""

from __future__ import annotations

from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.target import Target


class CannFailure(Failure, frozen=True, kw_only=True):
    """A plugin for another CANN than the machine's (`subject`), or ("unknown") nobody knows for which."""

    rule: str = "driver"
    plugin: str
    cann: str = ""
    place: str = ""

    def _summarize_several(self, alike: tuple[CannFailure, ...]) -> str:
        plugins = series(dict.fromkeys(failure.plugin for failure in alike))
        if self.kind == "unknown":
            return tr("for which CANN torch_npu {versions} is made is not in the matrix", versions=plugins)
        canns = series(dict.fromkeys(failure.cann for failure in alike))
        return tr(
            "torch_npu is made for CANN {needed}; {place} has CANN {there}",
            needed=canns,
            place=self.place,
            there=self.subject,
        )


def check(candidate: Candidate, target: Target, _knowledge: Knowledge) -> tuple[CannFailure, ...]:
    """Return a failure for each machine whose CANN is known and another."""
    build = candidate.accelerated
    if build is None or build.torch_npu is None:
        return ()
    plugin, there = str(build.torch_npu), target.machine_label
    for machine in target.machines:
        if machine.cann is None:
            continue
        source = f"{candidate.source}; {machine.source_of('cann')}"
        if build.cann is None:
            detail = tr("for which CANN torch_npu {versions} is made is not in the matrix", versions=plugin)
            return (
                CannFailure(
                    kind="unknown", subject=machine.cann, detail=detail, source=source, plugin=plugin
                ),
            )
        if not _is_same(build.cann, machine.cann):
            detail = tr(
                "torch_npu {plugin} is made for CANN {needed}; {place} has CANN {there}",
                plugin=plugin,
                needed=build.cann,
                place=there,
                there=machine.cann,
            )
            return (
                CannFailure(
                    kind="cann",
                    subject=machine.cann,
                    detail=detail,
                    source=source,
                    plugin=plugin,
                    cann=build.cann,
                    place=there,
                ),
            )
    return ()


def _is_same(needed: str, there: str) -> bool:
    """Whether two texts name one release of CANN: `9.0` is `9.0.0`."""
    return _release(needed) == _release(there)


def _release(text: str) -> tuple[str, ...]:
    parts = text.upper().split(".")
    return tuple(parts if len(parts) > 2 else (*parts, "0"))  # noqa: PLR2004 - MAJOR.MINOR.PATCH
