"""Let a conda tool create an environment from the first mirror that has its packages, each of them whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from gpuenv.environments.conda.create import CondaRunning, create_environment
from gpuenv.environments.conda.package_cache import package_files, unpacked
from gpuenv.i18n.messages import series, tr
from gpuenv.installers.conda.solve import Solved, solve_somewhere, without_url
from gpuenv.installers.conda.tool import CondaTool
from gpuenv.model.errors import Because, Fix, GpuenvError, InstallFailed, Unreachable

_SHOWN = 3
_UNKNOWN = frozenset({"other", "usage", None})  # None: it did something else than it was told to


def create_somewhere(
    tool: CondaTool, solved: Solved, running: CondaRunning, system: str, check: Callable[[Solved], None]
) -> None:
    """Create what was solved; where a package cannot be had, or is corrupt, all again from the next URL.

    `check` looks at what is solved anew. Where the tool fails with a list of packages for a reason that is
    not known, it solves again, once. Raises as `create_environment` and `solve_somewhere`.
    """
    first: GpuenvError | None = None
    while True:
        try:
            return create_environment(tool, solved, running, system)
        except (Unreachable, InstallFailed) as error:
            data = error.data or {}
            if running.lists and data.get("kind") in _UNKNOWN:
                facts = {"tool": tool.tool, "problem": error.message}
                running.calling.tell(
                    tr("{problem} from a list of packages; {tool} selects them once more", **facts)
                )
                running = replace(running, lists=False)
                continue
            if data.get("kind") == "corrupt":
                _name_packages(error, tool, solved, running)
            channels = without_url(solved.wanted.channels, str(data.get("url") or ""))
            elsewhere = channels != solved.wanted.channels and not running.calling.offline
            if data.get("kind") not in {"channel", "corrupt"} or not elsewhere:
                raise _cause(error, first, tool) from None
            running.calling.tell(tr("{problem}; trying the next mirror", problem=error.message))
            first = first or error
        try:
            solved = solve_somewhere(tool, replace(solved.wanted, channels=channels), running.calling)
        except Unreachable as error:
            raise _cause(error, first, tool) from None
        check(solved)


def _cause(error: GpuenvError, first: GpuenvError | None, tool: CondaTool) -> GpuenvError:
    """Return what went wrong first where the mirrors behind it cannot be read.

    Last stands the official channel, which many machines do not reach: that is not the cause.
    """
    if first is None or not isinstance(error, Unreachable):
        return error
    first.because += (Because(error.message, tool.path),)
    return first


def _name_packages(error: GpuenvError, tool: CondaTool, solved: Solved, running: CondaRunning) -> None:
    """Say which packages may be at fault, as micromamba does not, and which cache holds a broken one."""
    caches = tuple(map(Path, running.caches))
    suspects = [record for record in solved.fetch if not unpacked(record, caches)]
    url = str((error.data or {}).get("url") or "")
    named = [record for record in suspects if url.endswith(f"/{record.filename}")] or suspects
    names = series(record.filename for record in named[:_SHOWN])
    if names:
        error.message = tr("{tool} got a corrupt package: {names}", tool=tool.tool, names=names)
    error.fixes = (Fix(tr("choose another source with --mirror"), "gpuenv mirrors list"), *error.fixes)
    for record in named:
        for file in package_files(record, caches):
            if record.size and file.stat().st_size != record.size:
                error.because += (Because(tr("`{file}` is not whole", file=file), str(file.parent)),)
                fix = Fix(tr("clean the cache that holds it"), f"{tool.tool} clean --packages --tarballs")
                error.fixes = tuple(dict.fromkeys((*error.fixes, fix)))
