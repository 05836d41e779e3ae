"""Rows of dependencies.json, made of what was read from a wheel."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.knowledge.dependencies import ANY
from gpuenv.matrix_checks.keys import Row
from gpuenv.matrix_checks.refresh_targets import WheelTarget
from gpuenv.model.wheel import Platform, WheelFile
from gpuenv.wheels.archive import WheelArchive
from gpuenv.wheels.metadata import WheelMetadata, requirements_on

_TAG = re.compile(r"cp(\d)(\d+)t?")
# a wheel beside torch speaks for all Pythons that are maintained; triton asks for more only below 3.10
_PYTHONS = tuple(f"3.{minor}" for minor in range(10, 21))


class Sizes(Struct, frozen=True):
    """The bytes of a wheel that was read: of the file, and of all members by its directory."""

    packed: int | None
    unpacked: int


def sizes_of(archive: WheelArchive) -> Sizes:
    """Read how large a wheel is; the directory is read first, as servers tell the length then."""
    unpacked = archive.unpacked
    return Sizes(archive.length, unpacked)


def build_row(target: WheelTarget, torch: Row, metadata: WheelMetadata, sizes: Sizes) -> Row:
    """Make the row of a build of torch: what it asks for on its platform, and its size.

    `torch` is its row of torch.json, or as much of one as tells its variant and source.
    """
    pythons = tuple(f"{match[1]}.{match[2]}" for tag in target.pythons if (match := _TAG.fullmatch(tag)))
    return {
        "kind": "build",
        "torch": str(target.version),
        "variant": torch["variant"],
        "platform": target.platform,
        "index": target.index,
        "requires": _texts(requirements_on(metadata, target.platform, pythons=pythons or _PYTHONS)),
        "size": sizes.packed,
        "installed": sizes.unpacked,
        "source": torch["source"],
        "evidence": "wheel",
    }


def file_row(
    file: WheelFile,
    platform: Platform,
    metadata: WheelMetadata,
    sizes: Sizes,
    source: str,
    extras: Iterable[str] = (),
) -> Row:
    """Make the row of a wheel that a build depends on; with the `extras`, what these bring too."""
    anywhere = any(tag.platform == ANY for tag in file.tags)
    return {
        "kind": "file",
        "project": str(file.name),
        "version": str(file.version),
        "platform": ANY if anywhere else platform,
        "requires": _texts(requirements_on(metadata, platform, extras=extras, pythons=_PYTHONS)),
        "size": sizes.packed,
        "installed": sizes.unpacked,
        "source": source,
        "evidence": "wheel",
    }


def _texts(requirements: Iterable[Requirement]) -> list[str]:
    """Return requirements without their markers, by name."""
    texts = set()
    for requirement in requirements:
        extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
        texts.add(f"{canonicalize_name(requirement.name)}{extras}{requirement.specifier}")
    return sorted(texts)
