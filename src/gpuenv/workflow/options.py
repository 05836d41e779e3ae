"""What a plan is asked for on the command line, before anything of it is parsed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options of `plan` and its kin as typed; `program` is the command they belong to.

    `excluding` was not typed: names of mirrors and addresses of indexes that turned out to be broken.
    """

    requirements: tuple[str, ...] = ()
    requirement_files: tuple[Path, ...] = ()
    environment_file: Path | None = None
    python: str | None = None
    cuda: str = "auto"
    machines: tuple[Path, ...] = ()
    driver: str | None = None
    gpus: tuple[str, ...] = ()
    platform: str | None = None
    glibc: str | None = None
    devices: tuple[int, ...] = ()
    manager: str = "auto"
    channel: str = "auto"
    mirrors: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    offline: bool = False
    program: tuple[str, ...] = ("gpuenv", "plan")
    excluding: frozenset[str] = frozenset()

    @property
    def as_typed(self) -> tuple[tuple[str, str], ...]:
        """The options that differ from their defaults, to repeat the command in a fix."""
        single = (
            ("--python", self.python),
            ("--cuda", None if self.cuda == "auto" else self.cuda),
            ("--driver", self.driver),
            ("--platform", self.platform),
            ("--glibc", self.glibc),
            ("--manager", None if self.manager == "auto" else self.manager),
            ("--channel", None if self.channel == "auto" else self.channel),
            ("--offline", "" if self.offline else None),
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
