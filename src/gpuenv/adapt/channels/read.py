"""Reads what the channels of a project have of its packages."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.adapt.channels.judged_lines import conda_lines
from gpuenv.adapt.channels.packages import ChannelPackages, packages_of
from gpuenv.adapt.task import Task
from gpuenv.http import HttpClient
from gpuenv.indexes.conda.repodata import read_channels
from gpuenv.installers import EMBEDDED
from gpuenv.model.conda import ChannelListing, CondaChannel
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.match_spec import parse_match_spec
from gpuenv.planning.conda.choose import FORGE, locate_asked
from gpuenv.resolution.conda.environment_yml import NO_CHANNELS

_ANYWHERE = "noarch"
_BESIDE = {"pytorch": ("nvidia",)}  # where its builds find their CUDA


class ReadChannels(Struct, frozen=True):
    """What was read of channels, of some names."""

    names: frozenset[str]
    places: tuple[CondaChannel, ...]
    answers: tuple[ChannelListing, ...]

    def packages(self, channels: tuple[str, ...] | None = None) -> ChannelPackages:
        """Return what channels have, in the order in which they count; of all that were read without any."""
        wanted = channels or tuple(place.name for place in self.places)
        answers = [answer for answer in self.answers if answer.channel in wanted]
        records = (record for answer in answers for record in answer.records)
        read = {answer.channel for answer in answers if answer.problem is None or answer.absent}
        return packages_of(records, self.names, wanted, complete=read == set(wanted))

    def located(self, channels: tuple[CondaChannel, ...]) -> tuple[CondaChannel, ...]:
        """Return channels with the addresses at which they were read."""
        known = {place.name: place for place in self.places}
        return tuple(known.get(channel.name, channel) for channel in channels)


def read_packages(task: Task, configuration: IndexConfiguration) -> ReadChannels | None:
    """Return what the channels that may be used have of the packages asked for; None where none was read.

    Offline it is what is cached of them.
    """
    lines = conda_lines(task.project.declared)
    names = frozenset(parse_match_spec(line.text).name for line in lines)
    if not names:
        return None
    options = task.plan_request.options
    places = tuple(_place(name, task) for name in _channels(task))
    subdirs = (task.machine_target.platform, _ANYWHERE)
    with HttpClient(task.environ, access=configuration.access, offline=options.offline) as client:
        answers = read_channels(places, subdirs, names, client)
    return ReadChannels(names, places, answers) if any(answer.url for answer in answers) else None


def _channels(task: Task) -> tuple[str, ...]:
    """Return the project's channels, and those that torch may come from with what its builds need beside."""
    lines = (line for line in task.project.declared if line.project == "index" and line.notation == "conda")
    own = [name for line in lines if (name := line.text.strip()) not in NO_CHANNELS]
    of_torch = [name for channel in task.channels for name in (channel, *_BESIDE.get(channel, ()))]
    return tuple(dict.fromkeys((*own, *of_torch, FORGE)))


def _place(name: str, task: Task) -> CondaChannel:
    """Return where a channel is read, whatever leads the conda tool there."""
    options, mirrors = task.plan_request.options, task.plan_request.mirrors
    (channel,) = locate_asked((name,), replace(options, manager=EMBEDDED), mirrors)
    return channel
