"""Where an installer finds what a build for an accelerator requires beside torch.

PyPI's packages of these names are stubs, or are for CUDA: triton comes from the index that torch is from.
From ROCm 7.14 on torch brings no libraries of its own but requires them (`rocm[libraries]`): then the whole
index is named, with torch pinned to its local version, so that no other index can serve it.
https://github.com/pytorch/pytorch/pull/191688
"""

from __future__ import annotations

from msgspec.structs import replace

from gpuenv.model.plan import Sources
from gpuenv.resolution.accelerators import jetson
from gpuenv.resolution.decision import Solution

_POOLING = "pip"
_UNBUNDLED = (7, 14)  # the ROCm from which on its libraries are packages of their own


def with_required(sources: Sources, solution: Solution, manager: str) -> Sources:
    """Return the sources with the page of triton, or with the index that has all that torch requires."""
    build, source = solution.candidate.accelerated, solution.torch.listing.source
    if build is None or source.kind in ("directory", "flat"):
        return sources
    if build.index == jetson.INDEX:
        return _without_rivals(sources, solution, manager)
    variant = f"/{build.variant}"
    if build.kind == "rocm" and build.variant.release >= _UNBUNDLED:
        is_folder = build.index != "pytorch" or source.url.endswith(variant)
        index = source.url if is_folder else f"{source.url}{variant}"
        return replace(sources, extra_index_urls=(index, *sources.extra_index_urls))
    if build.triton and build.index == "pytorch":
        page = f"{source.url}/{build.triton}/"
        return replace(sources, find_links=tuple(dict.fromkeys((*sources.find_links, page))))
    return sources


def _without_rivals(sources: Sources, solution: Solution, manager: str) -> Sources:
    """Return the sources of a board's build so that PyPI's file of the same version can't be taken for it.

    What has an address is named by it. Else its index goes first for uv, which takes a project from the first
    index that has it, and alone for pip, which takes the best file of all indexes.
    """
    own = {item.listing.page for item in solution.files}
    sources = replace(sources, find_links=tuple(page for page in sources.find_links if page not in own))
    if all(jetson.is_by_address(item, solution.candidate) for item in solution.files):
        return sources
    index = solution.torch.listing.source.url
    if manager == _POOLING:
        return replace(sources, index_url=index, extra_index_urls=())
    return replace(sources, extra_index_urls=(index, *sources.extra_index_urls))
