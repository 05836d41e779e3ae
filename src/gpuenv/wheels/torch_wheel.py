"""What a torch wheel on disk says of itself, read from one small member; nothing is ever unpacked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from gpuenv.i18n.messages import tr
from gpuenv.model.variant import CPU, Variant

_MEMBER = "torch/version.py"
_LONGEST = 1 << 16
_STATED = re.compile(r"^(cuda|hip|xpu)\b[^=\n]*=[ \t]*(?:None|['\"]([^'\"\n]*)['\"])[ \t\r]*$", re.MULTILINE)
MAJOR_MINOR = re.compile(r"(\d+)\.(\d+)")


def read_torch_variant(wheel: Path) -> Variant:
    """Return the variant of a torch wheel; ValueError for what is not such a wheel, OSError from the disk."""
    import zipfile  # noqa: PLC0415 - most wheelhouses hold no torch, or one whose name tells
    import zlib  # noqa: PLC0415

    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(_MEMBER) as member:
            text = member.read(_LONGEST + 1)
    except KeyError:
        raise ValueError(tr("has no {member}", member=_MEMBER)) from None
    # the last two: encrypted; a compression that zipfile does not know
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError):
        raise ValueError(tr("is not a readable wheel")) from None
    if len(text) > _LONGEST:
        raise ValueError(tr("has no {member} of a sane size", member=_MEMBER))
    return parse_torch_version(text.decode("utf-8", errors="replace"))


def parse_torch_version(text: str) -> Variant:
    """Read the variant from the text of torch/version.py; ValueError if it does not tell.

    __version__ = '2.13.0+cu126'
    debug = False
    cuda: Optional[str] = '12.6'
    hip: Optional[str] = None
    """
    facts = stated_builds(text)
    if "cuda" not in facts:
        raise ValueError(tr("does not contain its CUDA version"))
    return variant_of(facts)


def stated_builds(text: str) -> dict[str, str]:
    """Return the versions of `cuda`, `hip` and `xpu` that a version.py names, empty for None."""
    return dict(_STATED.findall(text))


def variant_of(builds: Mapping[str, str]) -> Variant:
    """Return the variant; raise ValueError for a version that is none."""
    if builds["cuda"]:
        return Variant("cu" + "".join(major_minor(builds["cuda"])))
    if builds.get("hip"):
        return Variant("rocm" + ".".join(major_minor(builds["hip"])))
    return Variant("xpu") if builds.get("xpu") else CPU


def major_minor(text: str) -> tuple[str, str]:
    """Return the first two parts of a version; raise ValueError for text without."""
    match = MAJOR_MINOR.match(text)
    if not match:
        raise ValueError(tr("does not contain its CUDA version"))
    return match[1], match[2]
