"""Commands as text that can be pasted into a shell: nothing in them reaches the shell unquoted."""

from __future__ import annotations

import re
import shlex
from string import ascii_letters, digits
from typing import TYPE_CHECKING

from gpuenv.i18n.messages import tr
from gpuenv.model.errors import UsageError

if TYPE_CHECKING:  # `detect` quotes nothing for a platform, and loads no more than it needs
    from gpuenv.model.wheel import Platform

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


def here_document_end(name: str, lines: list[str]) -> str:
    """Return a line that can end a here-document of these lines; raise UsageError, with `name`, if none can.

    None of the lines is the same, nor begins like it and goes on with a letter beyond ASCII: of that letter
    dash 0.5.12 loses a byte.
    """
    ends = (f"{mark}ND_OF_FILE" for mark in f"E_{digits}{ascii_letters}")
    end = next((end for end in ends if not any(_disturbs(line, end) for line in lines)), None)
    if end is None:
        raise UsageError(tr("{value} cannot be written into a script", value=name), code="unprintable")
    return end


def _disturbs(line: str, end: str) -> bool:
    alike = max((at for at in range(1, len(end) + 1) if line[:at] == end[:at]), default=0)
    return line == end or (alike > 0 and line[alike : alike + 1] > "\x7f")
