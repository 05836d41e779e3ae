"""What environments may be called, and the file name that stands for the path of one."""

from __future__ import annotations

import hashlib
import re
import unicodedata

LONGEST = 100  # bytes: it stands in lock and log names too
_TOO_LONG = "it is longer than {longest} bytes"
_RESERVED = re.compile("(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\\..*)?", re.IGNORECASE)
_UNWANTED = re.compile(r"[^\w.+-]")


def key_of(path: str) -> str:
    """Return a file name that stands for the path, on file systems that fold case too."""
    text = unicodedata.normalize("NFC", path).casefold()
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def problem_of_name(name: str) -> str | None:
    """Return why a name is not valid on every system, or looks like an option; it may have a `{longest}`."""
    problems = (
        (not name.strip(), "it is empty"),
        (_UNWANTED.search(name), "it has characters other than letters, digits and `-_.+`"),
        (name.startswith(("-", "+")), "it starts like an option"),
        (name.endswith("."), "it ends in a dot, which Windows drops"),
        (_RESERVED.fullmatch(name), "Windows keeps that name for itself"),
        (_is_too_long(name), _TOO_LONG),
    )
    return next((problem for is_so, problem in problems if is_so), None)


def problem_of_path(path: str, parent: str, name: str, home: str) -> str | None:
    """Return why an environment may not be at a path, as `problem_of_name` does."""
    if path == parent:
        return "it is the root of a file system"
    if path == home:
        return "it is the home directory"
    return _TOO_LONG if _is_too_long(name) else None


def _is_too_long(name: str) -> bool:
    return len(name.encode("utf-8", "surrogatepass")) > LONGEST


def shown_name(name: str) -> str:
    """Return a name as it can be printed."""
    return name if name.isprintable() and len(name) <= LONGEST else ascii(name[:LONGEST])
