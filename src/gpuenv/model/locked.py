"""A locked set: every file that a plan brings, by its official address and its hash."""

from __future__ import annotations

from msgspec import Struct

from gpuenv.model.plan import Plan, Sources


class LockedFile(Struct, frozen=True):
    """One file of a locked set, as everyone can have it: no address of a mirror.

    `name` is normalized (PEP 503), `version` has its local part. `index` is the simple index or the page of
    wheels that lists the file (a folder for a local one, None for what was asked for by its address).
    `sha256` is in lower-case hex digits, `size` in bytes. Where no page tells the hash and the format needs
    none, it is empty.
    """

    name: str
    version: str
    filename: str
    url: str
    index: str | None
    sha256: str
    size: int | None

    @property
    def is_wheel(self) -> bool:
        """Whether it is installed as it is; else it has to be built (a source distribution)."""
        return self.filename.endswith(".whl")


class Locked(Struct, frozen=True):
    """A plan and all that it installs, the torch stack first, the others by name.

    `sources` are the official places of the files, for tools that look for them by name and hash. `driver` is
    the least NVIDIA driver that torch's build needs, `architectures` are what it has code for (`sm_86`); both
    are empty of a CPU build and of one that nobody knows.
    """

    plan: Plan
    files: tuple[LockedFile, ...]
    sources: Sources
    driver: str | None = None
    architectures: tuple[str, ...] = ()


class LockedVariant(Struct, frozen=True):
    """The locked set of one variant of several: `name` is what its extra is called."""

    name: str
    locked: Locked
