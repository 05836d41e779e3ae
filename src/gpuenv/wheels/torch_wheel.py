"""What a torch wheel on disk says of itself, read from one small member; nothing is ever unpacked."""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path

from gpuenv.i18n.messages import tr
from gpuenv.model.variant import CPU, Variant

_MEMBER = "torch/version.py"
_LONGEST = 1 << 16
_TOLD = re.compile(r"^(cuda|hip|xpu)\b[^=\n]*=[ \t]*(?:None|['\"]([^'\"\n]*)['\"])[ \t\r]*$", re.MULTILINE)
_MAJOR_MINOR = re.compile(r"(\d+)\.(\d+)")


def read_torch_variant(wheel: Path) -> Variant:
    """Return the variant of a torch wheel; ValueError for what is no such wheel, OSError from the disk."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(_MEMBER) as member:
            text = member.read(_LONGEST + 1)
    except KeyError:
        raise ValueError(tr("has no {member}", member=_MEMBER)) from None
    except (zipfile.BadZipFile, zlib.error, EOFError):
        raise ValueError(tr("is not a readable wheel")) from None
    except (RuntimeError, NotImplementedError):  # encrypted; a compression that zipfile does not know
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
    facts = dict(_TOLD.findall(text))
    if "cuda" not in facts:
        raise ValueError(tr("does not contain its CUDA version"))
    if facts["cuda"]:
        return Variant("cu" + "".join(_version(facts["cuda"])))
    if facts.get("hip"):
        return Variant("rocm" + ".".join(_version(facts["hip"])))
    return Variant("xpu") if facts.get("xpu") else CPU


def _version(text: str) -> tuple[str, str]:
    match = _MAJOR_MINOR.match(text)
    if not match:
        raise ValueError(tr("does not contain its CUDA version"))
    return match[1], match[2]
