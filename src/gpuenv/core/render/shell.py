"""Commands as text that can be pasted into a shell: nothing in them reaches the shell unquoted."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `detect` quotes nothing for a platform, and loads no more than it needs
    from gpuenv.values.build import Platform

_PLAIN = re.compile(r"[\w+:./\\=-]+", re.ASCII)
_ALIVE_IN_QUOTES = frozenset('"$`%!^“”„')  # within double quotes, in PowerShell or in cmd
_SINGLE_QUOTES = re.compile("['‘’‚‛]")  # PowerShell takes typographic quotes for quotes
_ALIVE_IN_COMMENTS = re.compile(r"[&|<>^%]")  # cmd takes a line that starts with # for a command


def render_command(argv: tuple[str, ...], platform: Platform) -> str:
    """Return `argv` quoted for a POSIX shell, on Windows for PowerShell.

    On Windows what has no character that is special within double quotes can be pasted into cmd as well.
    """
    if platform != "win-64":
        return shlex.join(argv)
    words = [_quote_for_windows(word) for word in argv]
    call = "& " if words[0][:1] in "\"'" else ""  # a quoted word alone is a string to PowerShell
    return call + " ".join(words)


def _quote_for_windows(word: str) -> str:
    if _PLAIN.fullmatch(word):
        return word
    if word.isprintable() and not _ALIVE_IN_QUOTES & set(word) and not word.endswith("\\"):
        return f'"{word}"'
    return "'" + _SINGLE_QUOTES.sub(r"\g<0>\g<0>", word) + "'"


def render_comment(text: str, platform: Platform) -> str:
    """Return `text` as a comment line of a shell script, whatever is in it."""
    line = one_line(text)
    return "# " + (line if platform != "win-64" else _ALIVE_IN_COMMENTS.sub(" ", line))


def one_line(text: str) -> str:
    """Return `text` in one line, with a space for each run of characters that do not print."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
