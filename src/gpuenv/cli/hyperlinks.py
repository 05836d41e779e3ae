"""Hyperlinks on terminals that follow them: addresses, and the paths of files and folders that exist.

The sequence is OSC 8: https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda. Which terminals
follow it is known by their variables, as in https://github.com/chalk/supports-hyperlinks.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import TextIO
from urllib.parse import quote

from gpuenv.cli.color import is_coloured

_PROGRAMS = frozenset({"Hyper", "iTerm.app", "terminology", "WezTerm", "vscode", "ghostty", "zed", "tmux"})
_TERMS = frozenset({"xterm-kitty", "xterm-ghostty", "alacritty", "alacritty-direct", "foot", "contour"})
_VARIABLES = ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM")
_VTE_CRASHED = 5000  # 0.50.0 ended at the first link

_END = r"[^\s`'\"<>()\x1b（）「」，。；：、…]"
_TARGET = re.compile(rf"https?://{_END}+|(?<![\w./:~\\-])/{_END}+")
_CLOSING = ".,:;!?"
_KEPT = "!#$%&'()*+,/:;=?@[]~"  # what an address may have unquoted


def follows_links(stream: TextIO) -> bool:
    """Whether links are written to a stream: FORCE_HYPERLINK, else where a terminal in colours has them."""
    if forced := os.environ.get("FORCE_HYPERLINK"):
        return forced != "0"
    return stream.isatty() and is_coloured(stream) and _has_links(os.environ)


def _has_links(environ: Mapping[str, str]) -> bool:
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    if program in _PROGRAMS or term in _TERMS:
        return True
    if term == "dumb" or term.startswith("screen") or "CI" in environ:
        return False
    version = environ.get("VTE_VERSION", "")
    if version.isdecimal() and int(version) > _VTE_CRASHED:
        return True
    return environ.get("COLORTERM") == "xfce4-terminal" or any(name in environ for name in _VARIABLES)


def linked(text: str) -> str:
    """Return a text in which addresses and existing paths are links."""
    return _TARGET.sub(_link, text)


def _link(match: re.Match[str]) -> str:
    shown = match[0].rstrip(_CLOSING)
    target = _address(shown)
    return f"\x1b]8;;{target}\x1b\\{shown}\x1b]8;;\x1b\\{match[0][len(shown) :]}" if target else match[0]


def _address(shown: str) -> str | None:
    """Return where a link leads; None if a password in it is hidden, or if there is no such file."""
    if not shown.startswith("/"):
        return None if "****" in shown else quote(shown, safe=_KEPT)
    if sys.platform == "win32" or shown.strip("/") == "" or not os.path.exists(shown):  # noqa: PTH110 - a text
        return None
    # with the host's name, so that a terminal that shows another machine does not open its own file
    return f"file://{os.uname().nodename}{quote(shown)}"
