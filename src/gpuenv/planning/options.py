"""The options of a plan as typed on the command line, before they are parsed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

from gpuenv.model.accelerator import AcceleratorKind
from gpuenv.model.machine import Machine


class Container(Struct, frozen=True):
    """What a container has of its own, instead of the machine that it runs on.

    `pythons` are MAJOR.MINOR, none: any; `glibc` is MAJOR.MINOR, None where it is not known.
    """

    pythons: tuple[str, ...]
    glibc: str | None


class PlanOptions(Struct, frozen=True):
    """The options of a plan as typed; `program` is the command they belong to.

    `from_lock` is a lock that defines all that is installed. Not typed: `excluding`, names of mirrors and
    addresses of indexes that turned out to be broken, `container`, where an image is made, `on_nodes`:
    the machines make their environments themselves, with the Pythons that they have, `made_here`: the
    environment is made on this machine, whatever machine it is for, `only_shown`: the plan is not carried out
    as it is, and `here`: this machine, where it has been detected before.
    """

    requirements: tuple[str, ...] = ()
    requirement_files: tuple[Path, ...] = ()
    environment_file: Path | None = None
    python: str | None = None
    cuda: str = "auto"
    machines: tuple[Path, ...] = ()
    machine_folder: Path | None = None
    driver: str | None = None
    gpus: tuple[str, ...] = ()
    platform: str | None = None
    glibc: str | None = None
    accelerator: AcceleratorKind | Literal["auto"] = "auto"
    macos: str | None = None
    l4t: str | None = None
    jetpack: str | None = None
    cann: str | None = None
    amdgpu: str | None = None
    wsl: bool = False
    devices: tuple[int, ...] = ()
    manager: str = "auto"
    channel: str = "auto"
    mirrors: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    offline: bool = False
    fetch_hashes: bool = False
    only_binary: bool = False
    from_lock: Path | None = None
    program: tuple[str, ...] = ("gpuenv", "plan")
    excluding: frozenset[str] = frozenset()
    container: Container | None = None
    on_nodes: bool = False
    made_here: bool = False
    only_shown: bool = False
    here: Machine | None = None

    @property
    def describes_machine(self) -> bool:
        """Whether an option says something of the machine itself."""
        texts = (self.driver, self.gpus, self.platform, self.glibc, self.macos, self.l4t, self.jetpack)
        return self.wsl or any(texts) or bool(self.cann or self.amdgpu)

    @property
    def _is_manager_chosen(self) -> bool:
        """Whether the user chose it: in a container and on nodes there is no choice."""
        return not (self.manager == "auto" or self.container or self.on_nodes)

    @property
    def as_typed(self) -> tuple[tuple[str, str], ...]:
        """The options that differ from their defaults, to repeat the command in a fix."""
        single = (
            ("--python", self.python),
            ("--cuda", None if self.cuda == "auto" else self.cuda),
            ("--machines", None if self.machine_folder is None else str(self.machine_folder)),
            ("--accelerator", None if self.accelerator == "auto" else self.accelerator),
            ("--driver", self.driver),
            ("--platform", self.platform),
            ("--glibc", self.glibc),
            ("--macos", self.macos),
            ("--l4t", self.l4t),
            ("--jetpack", self.jetpack),
            ("--cann", self.cann),
            ("--amdgpu", self.amdgpu),
            ("--wsl", "" if self.wsl else None),
            ("--manager", self.manager if self._is_manager_chosen else None),
            ("--channel", None if self.channel == "auto" else self.channel),
            ("--offline", "" if self.offline else None),
            ("--fetch-hashes", "" if self.fetch_hashes else None),
            ("--only-binary", "" if self.only_binary else None),
        )
        repeated = (
            ("-r", self.requirement_files),
            ("--machine", self.machines),
            ("--gpu", self.gpus),
            ("--device", self.devices),
            ("--mirror", self.mirrors),
            ("--find-links", self.find_links),
        )
        return (
            *((name, value) for name, value in single if value is not None),
            *((name, str(value)) for name, values in repeated for value in values),
        )


def kind_asked(options: PlanOptions) -> AcceleratorKind | None:
    """Return the kind of accelerator that --accelerator names, None for any."""
    return None if options.accelerator == "auto" else options.accelerator
