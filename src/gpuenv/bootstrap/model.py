"""A bootstrap script: what it brings to a bare machine, and the environments that it makes there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from gpuenv.model.wheel import Platform


class ScriptPath(Struct, frozen=True):
    """A path that is known only where the script runs.

    `beside` is relative to the script itself, `files` to where the script writes the files that it holds.
    """

    base: Literal["beside", "files"]
    path: str


Word = str | ScriptPath


class HeldFile(Struct, frozen=True):
    """A text file that a script holds, and writes before it makes environments."""

    name: str
    text: str


class ScriptEnvironment(Struct, frozen=True):
    """An environment that a script makes: `arguments` are those of `gpuenv create NAME`, without the name.

    `verified` tells that it has to pass `gpuenv verify` to be left alone, `carried` that all its files lie
    beside the script.
    """

    name: str
    arguments: tuple[Word, ...]
    verified: bool = True
    carried: bool = False
    files: tuple[HeldFile, ...] = ()


class MicromambaFile(Struct, frozen=True):
    """A package of micromamba's on a conda channel; `sha256` is in lower-case hex digits."""

    platform: Platform
    filename: str
    sha256: str


@dataclass(frozen=True, slots=True)
class CarriedWheel:
    """The wheel of gpuenv that a script holds; `requires` are its requirements (PEP 508), without extras."""

    filename: str
    version: str
    sha256: str
    content: bytes = field(repr=False)
    requires: tuple[str, ...]


class LockedWheel(Struct, frozen=True):
    """A wheel that gpuenv needs on some targets, such as `3.12/linux-64`.

    `url` is where it was listed when the script was made, None where no index was read.
    """

    filename: str
    sha256: str
    size: int | None
    targets: tuple[str, ...]
    url: str | None = None

    @property
    def project(self) -> str:
        """Its project, as the name of the file spells it."""
        return self.filename.partition("-")[0]


class BesideFile(Struct, frozen=True):
    """A file that lies beside a script: `urls` are where it may be had, the best first."""

    filename: str
    sha256: str
    size: int | None
    urls: tuple[str, ...]


class Bootstrap(Struct, frozen=True):
    """All that a script is made of.

    `gpuenv` is what it installs, `wheels` are those that gpuenv needs, each by its hash. `indexes` are those
    of the mirrors named, in order, with an empty text for the installer's own default; `channels` are the
    addresses of conda-forge. `pythons` (MAJOR.MINOR) are brought where there is none to run gpuenv with, and
    the first that can runs it; `asked` are brought in any case. `guarded` are the hosts that want a password.
    """

    made_by: str
    gpuenv: CarriedWheel
    wheels: tuple[LockedWheel, ...]
    indexes: tuple[str, ...]
    channels: tuple[str, ...]
    micromamba: tuple[MicromambaFile, ...]
    pythons: tuple[str, ...]
    asked: tuple[str, ...]
    launcher: bool
    environments: tuple[ScriptEnvironment, ...]
    files: tuple[HeldFile, ...] = ()
    guarded: tuple[str, ...] = ()
