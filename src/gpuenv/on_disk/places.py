"""Where environments lie, and what gpuenv keeps beside them and inside."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gpuenv.on_disk.directories import identity_of
from gpuenv.on_disk.names import key_of

RECORD = "gpuenv.json"


@dataclass(frozen=True)
class EnvironmentStore:
    """The directory in which gpuenv keeps its environments, their locks, journals and logs."""

    root: Path

    @property
    def environments(self) -> Path:
        """The environments, each under its name."""
        return self.root / "envs"

    @property
    def journals(self) -> Path:
        """What is known of the changes under way."""
        return self.root / "journals"

    @property
    def changes(self) -> Path:
        """What proves that a change inside an environment is gpuenv's own."""
        return self.root / "changes"

    @property
    def locks(self) -> Path:
        """One lock per environment."""
        return self.root / "locks"

    @property
    def logs(self) -> Path:
        """What installers printed."""
        return self.root / "logs"

    @property
    def exports(self) -> Path:
        """What was in environments of others that were replaced."""
        return self.root / "exports"

    @property
    def elsewhere(self) -> Path:
        """Notes of the environments that were made at a path of the user's."""
        return self.root / "elsewhere"


@dataclass(frozen=True)
class EnvironmentPaths:
    """Where one environment is or will be; `name` is what the user calls it."""

    store: EnvironmentStore
    name: str
    path: Path

    @property
    def key(self) -> str:
        """A file name that stands for the path, on file systems that fold case too."""
        return key_of(str(self.path))

    @property
    def is_elsewhere(self) -> bool:
        """Whether the user named a path outside the store."""
        return self.path.parent != self.store.environments

    @property
    def journal(self) -> Path:
        """The journal of the change under way."""
        return self.store.journals / f"{self.key}.json"

    @property
    def note(self) -> Path:
        """The note of an environment that lies outside the store: its path as JSON."""
        return self.store.elsewhere / f"{self.key}.json"

    @property
    def log_suffix(self) -> str:
        """How the names of its logs end."""
        return f"-{self.key[:6]}.log"

    def log(self, moment: datetime) -> Path:
        """Return the file in which a change that begins at a moment of UTC is logged."""
        return self.store.logs / f"{self.path.name}-{moment:%Y%m%dT%H%M%SZ}{self.log_suffix}"

    def export(self, moment: datetime) -> Path:
        """Return the file that keeps what was in it, where it is replaced at a moment of UTC."""
        return self.store.exports / f"{self.path.name}-{moment:%Y%m%dT%H%M%SZ}-{self.key[:6]}.yml"


def is_environment(path: Path) -> bool:
    """Tell whether a directory is an environment of any manager."""
    return identity_of(path) is not None and (
        (path / "pyvenv.cfg").is_file() or (path / "conda-meta").is_dir()
    )


def is_free(path: Path) -> bool:
    """Tell whether nothing lies at a path, or an empty directory; raise OSError where it can't be read."""
    if identity_of(path) is not None:
        return not any(path.iterdir())
    return not os.path.lexists(path)
