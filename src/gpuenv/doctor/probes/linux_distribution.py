"""Which Linux this is, by /etc/os-release."""

from __future__ import annotations

import shlex

from gpuenv.host.executables import FileTree, read_text

_PLACES = ("etc/os-release", "usr/lib/os-release")


def read_distribution(root: FileTree) -> tuple[str, ...]:
    """Return the name of the distribution and of those that it is like, none where nothing tells it."""
    texts = (read_text(root / location) for location in _PLACES)
    return parse_os_release(next((text for text in texts if text is not None), ""))


def parse_os_release(text: str) -> tuple[str, ...]:
    """Parse `ID=linuxmint` and `ID_LIKE="ubuntu debian"` to names in lower case; others are passed over."""
    pairs = dict(line.strip().partition("=")[::2] for line in text.splitlines() if "=" in line)
    words = " ".join(_unquoted(pairs.get(key, "")) for key in ("ID", "ID_LIKE"))
    return tuple(dict.fromkeys(words.lower().split()))


def _unquoted(value: str) -> str:
    try:
        return " ".join(shlex.split(value, comments=True))
    except ValueError:
        return ""
