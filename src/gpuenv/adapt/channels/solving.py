"""Lets a solver of conda's look for the packages of an adapted project."""

from __future__ import annotations

import time

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.adapt.channels.least_moves import SolverConflict, SolverResult
from gpuenv.adapt.task import Task
from gpuenv.installers import rattler
from gpuenv.installers.conda import tool as conda_tool
from gpuenv.installers.conda.solve import Solved, solve_somewhere
from gpuenv.installers.conda.tool import Calling, CondaTool
from gpuenv.model.conda import CondaWanted
from gpuenv.model.errors import Unsatisfiable, UsageError
from gpuenv.process.surroundings import cache_root

_LIMIT_S = 40.0  # of looking for the nearest set; a solve that has begun is waited for…
_LONGEST_S = 60.0  # …as long as this: whoever adapts wants an answer, a solve or not


class Solver(Struct):
    """A solver for one plan: `tool` is None for py-rattler. Counts its runs."""

    wanted: CondaWanted
    calling: Calling
    task: Task
    tool: CondaTool | None
    runs: int = 0
    began: float = 0.0

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.tool.tool if self.tool else "py-rattler"

    def __call__(self, specs: tuple[str, ...]) -> SolverResult | SolverConflict:
        """Return what is found for specs. Raises Unreachable and InstallFailed."""
        self.runs += 1
        self.began = self.began or time.monotonic()
        self.task.tell(self.runs)
        wanted = replace(self.wanted, specs=specs)
        try:
            solved = self._solved(wanted)
        except Unsatisfiable as error:
            return SolverConflict(error.because[0].text if error.because else error.message)
        return SolverResult({record.name: record.version for record in solved.records})

    def may_go_on(self) -> bool:
        """Whether there is time for another look."""
        return time.monotonic() - self.began < _LIMIT_S and not self.task.is_interrupted

    def _solved(self, wanted: CondaWanted) -> Solved:
        if self.tool is None:
            return rattler.solve_somewhere(wanted, self.calling)
        return solve_somewhere(self.tool, wanted, self.calling)


def find_solver(wanted: CondaWanted, task: Task, ca_bundle: str | None) -> Solver | None:
    """Return the solver that is here: py-rattler, which starts no program, else the plan's tool; or None."""
    calling = Calling(
        task.environ,
        cache_root(task.environ),
        ca_bundle=ca_bundle,
        offline=task.plan_request.options.offline,
        solve_limit_s=_LONGEST_S,
    )
    if rattler.is_there():
        return Solver(wanted, calling, task, None)
    manager = task.plan_request.request.manager
    if calling.offline or manager not in conda_tool.TOOLS:
        return None
    try:
        return Solver(wanted, calling, task, conda_tool.find(manager, task.environ))
    except UsageError:  # whoever writes a patch need not have it
        return None
