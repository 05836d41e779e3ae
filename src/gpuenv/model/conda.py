"""Conda channels, the packages in them, and what a conda tool is to create."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class CondaChannel(Struct, frozen=True):
    """A channel: its name (`conda-forge`) and the addresses it can be read at, in the order to try them.

    Each address holds a folder for each platform: `https://conda.anaconda.org/conda-forge`.
    """

    name: str
    urls: tuple[str, ...]


class CondaRecord(Struct, frozen=True):
    """One package of a channel, as its repodata tells; `size` in bytes, unknown parts None."""

    name: str
    version: str
    build: str
    build_number: int
    subdir: str
    channel: str  # the channel's name
    filename: str
    url: str
    sha256: str | None = None
    md5: str | None = None
    size: int | None = None
    depends: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()


class ChannelListing(Struct, frozen=True):
    """What a channel holds for one platform, of the names that were asked for.

    `url` is the channel's address that was read, None where none could be: then `problem` says why, and
    `absent` whether they all answered that there is no such folder. `passed_over` are the addresses tried
    before `url`, each with the reason. `garbled` names files whose entries could not be understood.
    """

    channel: str
    subdir: str
    records: tuple[CondaRecord, ...]
    url: str | None
    problem: str | None = None
    absent: bool = False
    passed_over: tuple[tuple[str, str], ...] = ()
    garbled: tuple[str, ...] = ()


class CondaPin(Struct, frozen=True):
    """What must come out of a solve: a name, an exact version and a pattern for the build (`cuda126*`)."""

    name: str
    version: str
    build: str = "*"

    @property
    def spec(self) -> str:
        """The three fields that every conda tool reads alike: `pytorch 2.8.0 cuda126*`."""
        return f"{self.name} {self.version} {self.build}"


class CondaPlan(Struct, frozen=True):
    """The conda part of a plan.

    `channels` are in order of priority, without addresses where conda's own configuration leads to them;
    `specs` all that is asked of them (Python and the pins among it), `pins` what the solve must give;
    `mixed` tells that torch comes as a wheel, beside conda's Python.
    """

    channels: tuple[CondaChannel, ...]
    specs: tuple[str, ...]
    pins: tuple[CondaPin, ...]
    subdir: str
    cuda: str | None = None  # what the driver supports; None: no GPU
    mixed: bool = False
    kept: tuple[tuple[str, Any], ...] = ()  # what else stood in the user's environment.yml


class CondaWanted(Struct, frozen=True):
    """What a conda tool is to create.

    `specs` are match specs of up to three fields, `pins` what the solve must give (their specs are among
    `specs`). `cuda` is the CUDA that the driver supports (`12.8`), None for a machine without a GPU. `subdir`
    is the platform (`linux-64`). `prefix` is the absolute path of the environment.
    """

    channels: tuple[CondaChannel, ...]
    specs: tuple[str, ...]
    pins: tuple[CondaPin, ...]
    cuda: str | None
    subdir: str
    prefix: str


class EnvironmentFile(Struct, frozen=True):
    """What an environment.yml asks for.

    `stack` and `pip` are PEP 508 requirements of the torch stack and of its pip part, `specs` conda's others;
    `python` is a specifier and `cuda` a wish as of `--cuda`, None where it names none. `kept` are keys that
    gpuenv does not read, the name among them; `warnings` tell what was passed over.
    """

    stack: tuple[str, ...] = ()
    specs: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    python: str | None = None
    cuda: str | None = None
    kept: tuple[tuple[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
