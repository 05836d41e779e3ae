"""Pythons: those that are there, those a manager can bring, and the tags that name them."""

from __future__ import annotations

import re

from msgspec import Struct

from gpuenv.i18n.messages import tr

_TAG = re.compile(r"cp(\d)(\d+)(t?)")


class PythonOffer(Struct, frozen=True):
    """A Python that the environment can have: `version` is MAJOR.MINOR or MAJOR.MINOR.PATCH.

    `path` is the interpreter where one is installed, None where the manager would bring it. `recent` is true
    of a release that many packages have no wheels for yet.
    """

    version: str
    path: str | None = None
    installed: bool = False
    free_threaded: bool = False
    recent: bool = False

    @property
    def minor(self) -> tuple[int, int]:
        """MAJOR and MINOR as numbers, so that 3.10 > 3.9."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    @property
    def short(self) -> str:
        """MAJOR.MINOR."""
        return f"{self.minor[0]}.{self.minor[1]}"

    @property
    def tag(self) -> str:
        """The wheel tag: `cp312`, `cp313t`."""
        return f"cp{self.minor[0]}{self.minor[1]}{'t' if self.free_threaded else ''}"


def parse_python_tag(tag: str) -> PythonOffer:
    """Parse `cp312` or `cp313t`; raise ValueError for anything else."""
    match = _TAG.fullmatch(tag)
    if not match:
        raise ValueError(tr("`{tag}` is not a valid CPython tag (example: cp312)", tag=tag))
    return PythonOffer(f"{match[1]}.{match[2]}", free_threaded=bool(match[3]))
