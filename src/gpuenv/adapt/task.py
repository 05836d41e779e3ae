"""What an adaptation begins with: the project, the machine, who installs, where torch comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.adapt.model import Project
from gpuenv.adapt.nearest.cuda_lines import named_channel
from gpuenv.adapt.nearest.index_line_changes import channel_in
from gpuenv.adapt.nearest.request import python_of, request_of
from gpuenv.adapt.pip_part import pip_part
from gpuenv.concurrency.background import BackgroundTask
from gpuenv.installers import CONDA_MANAGERS
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.machine import Machine
from gpuenv.model.python import PythonOffer
from gpuenv.planning.conda.choose import AUTO, FORGE, WHEELS
from gpuenv.planning.machines import locate
from gpuenv.planning.make_plan import PlanRequest, choose_installer, plan_request
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pythons import offer_pythons
from gpuenv.process import interruption
from gpuenv.resolution.rules.python import counts_patches
from gpuenv.resolution.target import Target

_OF_TORCH = (FORGE, "pytorch")  # channels whose builds of torch are known


class Task(Struct, frozen=True):
    """All that the adaptation of a project depends on; `channels` are conda's to try, none for wheels.

    `partial`: what was found until Ctrl-C is an answer, too.
    """

    project: Project
    plan_request: PlanRequest
    machine_target: Target
    channels: tuple[str, ...]
    pythons: BackgroundTask[tuple[PythonOffer, ...]]
    knowledge: Knowledge
    environ: Mapping[str, str]
    target: str
    before: str | None
    tell: Callable[[int], None]
    partial: bool = False

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C came, and what is known by then is to be told."""
        return self.partial and interruption.came()


def begin(
    project: Project,
    options: PlanOptions,
    machines: tuple[Machine, ...],
    knowledge: Knowledge,
    environ: Mapping[str, str],
    *,
    target: str,
    before: str | None,
    tell: Callable[[int], None],
) -> Task:
    """Return what is to be decided; raise UsageError, or Unsatisfiable for a machine that nothing runs on."""
    installer = choose_installer(options, environ)
    wanted = plan_request(options, installer, machines[0])
    location = locate(machines, wanted.options, wanted.request.accelerator, knowledge)
    manager = wanted.request.manager
    channels = _channels(project, options, manager, installer.channel)
    asked = project if channels else pip_part(project, knowledge, has_conda=manager in CONDA_MANAGERS)
    wanted = replace(wanted, request=request_of(asked, wanted.request))
    asking = _asking_for_patches(wanted.options, project, machines)
    pythons = BackgroundTask(lambda: offer_pythons(asking, manager, location, knowledge, environ))
    return Task(project, wanted, location, channels, pythons, knowledge, environ, target, before, tell)


def _asking_for_patches(options: PlanOptions, project: Project, machines: tuple[Machine, ...]) -> PlanOptions:
    """Return the options that list Pythons by their patch releases where the project names one.

    What several machines have is known by minor releases alone.
    """
    lines = (line for line in project.declared if line.project == "python" and not line.hint)
    patches = (wanted for line in lines if (wanted := python_of(line)) and counts_patches(wanted))
    named = next(patches, None)
    if options.python or named is None or len(machines) > 1:
        return options
    return replace(options, python=str(named))


def torch_is_condas(project: Project) -> bool:
    """Whether a file asks conda for torch."""
    lines = (line for line in project.declared if line.project == "torch" and not line.hint)
    return any(line.notation == "conda" for line in lines)


def _channels(project: Project, options: PlanOptions, manager: str, chosen: str) -> tuple[str, ...]:
    """Return the channels to look for torch in: the one asked for, else all that have it, the file's first.

    What the spec of torch itself names (`pytorch::pytorch`) comes before the file's order.
    """
    if manager not in CONDA_MANAGERS or (chosen == WHEELS and not torch_is_condas(project)):
        return ()
    if chosen != WHEELS or options.channel != AUTO:
        return () if chosen == WHEELS else (chosen,)
    own, named = named_channels(project)
    return tuple(dict.fromkeys((*(name for name in (*own, *named) if name in _OF_TORCH), *_OF_TORCH)))


def named_channels(project: Project) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the channels that the specs of torch name, and those that the file lists."""
    lines = [line for line in project.declared if line.notation == "conda" and not line.hint]
    own = (named_channel(line) for line in lines if line.project == "torch")
    listed = (channel_in(line) for line in lines if line.project == "index")
    return tuple(filter(None, own)), tuple(listed)
