"""Tells whether English sentences are left in what should be Chinese."""

from __future__ import annotations

import re

# names, options, addresses, versions and what stands between quotes stay as they are typed
_TYPED = re.compile(
    r"`[^`]*`|'[^']*'|\"[^\"]*\"|<[^<>]*>|^用法 ： .*|--?[a-zA-Z][\w-]*|\S*[/\\._|@=]\S*|\S*\d\S*"
)
_CITATION = re.compile(r" \[(?!env var|default|required)[^][]*\]$")  # where a fact was read
_SMALL = re.compile(
    r"(?<![\w-])(?:a|an|and|are|as|at|be|but|by|can|can't|for|from|give|has|have|here|if|in|is|it|its|lacks|make|may"
    r"|must|no|not|of|on|or|other|see|such|than|that|the|there|these|they|this|to|was|what|which|while|with|without"
    r"|you|your)(?![\w-])"
)
_THREE = re.compile(r"\b[a-z]{2,}(?: [a-z]{2,}){2,}\b")


def english_in(text: str) -> list[str]:
    """The lines in which English prose is left, as they are."""
    return [line for line in text.splitlines() if _is_prose(line)]


def _is_prose(line: str) -> bool:
    apart = re.sub(r"([（）。，；：、？！])", r" \1 ", _CITATION.sub("", line))  # they are no part of a name
    bare = _TYPED.sub(" · ", apart)
    return bool(_SMALL.search(bare) or _THREE.search(bare))
