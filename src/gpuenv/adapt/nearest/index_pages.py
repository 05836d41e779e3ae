"""Pages that decide where torch comes from: `-f https://…/torch_stable.html`, `--index-url https://…/whl/cu118`."""

from __future__ import annotations

import re

from gpuenv.model.variant import Variant

_OF_VARIANT = re.compile(r"/(cpu|cu\d{2,3})(?=/|['\"\s]|$)")
_OF_TORCH = re.compile(r"/torch_stable\.html|/whl(?:/|['\"\s]|$)|/pytorch-wheels(?:/|['\"\s]|$)")


def variant_of_page(text: str) -> Variant | None:
    """Return the variant of the builds on a page like PyTorch's: `https://…/whl/cu118/torch/`."""
    match = _OF_VARIANT.search(text)
    return Variant(match[1]) if match and is_page_of_torch(text) else None


def is_page_of_torch(text: str) -> bool:
    """Whether an address is that of the PyTorch index, of a copy of it, or of a page of it."""
    return _OF_TORCH.search(text) is not None
