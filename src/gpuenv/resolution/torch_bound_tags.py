"""What the local version of a wheel tells of the torch that it was made for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.ecosystem import Minor
from gpuenv.model.variant import Variant

_PYG = re.compile(r"pt(\d)(\d{1,2})(cpu|cu\d{2,3})")
_FLASH = re.compile(r"(cu\d{2,3})torch(\d{1,2})\.(\d{1,3})(?:cxx11abi(true|false))?(?:git[0-9a-f]+)?")
_PLAIN = re.compile(r"cpu|cu\d{2,3}")
_MAJOR_ALONE = re.compile(r"cu(1\d)")  # `cu92` is CUDA 9.2, `cu12` is any CUDA 12


@dataclass(frozen=True, slots=True)
class Binding:
    """The torch that a wheel was made for, None where its name does not tell; `cxx11` is the C++ ABI."""

    torch: Minor | None
    variant: str
    cxx11: bool | None = None


def parse_binding(local: str) -> Binding:
    """Parse the local version of a wheel bound to torch, in lower case; raise ValueError for any other.

    pt211cu128                        torch_scatter-2.1.2+pt211cu128-cp312-cp312-linux_x86_64.whl
    cu12torch2.8cxx11abitrue          flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl
    cu121                             dgl-2.4.0+cu121-cp312-cp312-manylinux1_x86_64.whl
    """
    if match := _PYG.fullmatch(local):
        return Binding((int(match[1]), int(match[2])), match[3])
    if match := _FLASH.fullmatch(local):
        cxx11 = None if match[4] is None else match[4] == "true"
        return Binding((int(match[2]), int(match[3])), match[1], cxx11)
    if _PLAIN.fullmatch(local):
        return Binding(None, local)
    raise ValueError(tr("`{local}` contains neither torch nor CUDA", local=local))


def fits_cuda(bound: str, variant: Variant, *, loose: bool) -> bool:
    """Whether what was made for `bound` goes with torch's variant; `loose`: any CUDA of its major does."""
    if bound == str(variant):
        return True
    if variant.cuda is None:
        return False
    alone = _MAJOR_ALONE.fullmatch(bound)
    if alone:
        return int(alone[1]) == variant.cuda.major
    own = Variant(bound).cuda
    return loose and own is not None and own.major == variant.cuda.major
