"""Make untrusted text safe to print."""

from __future__ import annotations

import re

# C0 and C1 but tab and line feed; marks and overrides of direction (Unicode UAX 9); separators of lines;
# annotations; tags
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """Return a text with control characters and marks of direction spelled out, as `repr` writes them."""
    return _HARMFUL.sub(lambda match: ascii(match[0])[1:-1], text)
