"""Bounds that untrusted text must keep before it is parsed: parsers recurse and convert digits."""

from __future__ import annotations

import math
import re

from gpuenv.i18n.messages import tr

_MOST_DIGITS = 400  # CPython refuses to convert 4,300; the longest real versions have 14
_MOST_PARTS = 100  # of a version
_MOST_BRACKETS = 50
_LONGEST = 20_000  # letters
_LONGEST_NAME = 255  # letters of a file's name
_MOST_TAGS = 1000
_FEW_DOTS = 27  # nine in each of three parts make no more tags than that
_SHOWN = 200
_LONGEST_WORD = 1000  # of a message: an address that was signed, a path
_SMALL = 64 << 20  # bytes that any file may swell to
_MOST_SWELLING = 200  # times; repodata swells to some 15 times
_LARGEST_UNPACKED = 4 << 30  # conda-forge's repodata has some 500 MB
_DIGITS = re.compile(rf"\d{{{_MOST_DIGITS + 1}}}")
_PARTS = re.compile(rf"(?:\d{{1,9}}\.){{{_MOST_PARTS}}}")
_NO_VERSION = re.compile(r"===[ \t]{0,9}(?:$|[,;)])")


def check_bounds(text: str) -> str:
    """Return a text that may be parsed; raise ValueError for one that would keep a parser busy."""
    if len(text) > _LONGEST:
        raise ValueError(tr("it is longer than {count} characters", count=_LONGEST))
    if _DIGITS.search(text):
        raise ValueError(tr("it has a number of more than {count} digits", count=_MOST_DIGITS))
    if _PARTS.search(text):
        raise ValueError(tr("it has a version of more than {count} parts", count=_MOST_PARTS))
    if _NO_VERSION.search(text):  # which the grammar lets pass
        raise ValueError(tr("a version is missing after `{operator}`", operator="==="))
    if text.count("(") > _MOST_BRACKETS:
        raise ValueError(tr("its brackets are nested too deeply"))
    return text


def check_wheel_name(filename: str) -> str:
    """Return a wheel's name; raise ValueError for one that is too long or expands to too many tags."""
    if len(filename) <= _LONGEST_NAME and filename.count(".") <= _FEW_DOTS:
        return filename
    tags = math.prod(part.count(".") + 1 for part in filename.rsplit("-", 3)[1:])
    if len(filename) > _LONGEST_NAME or tags > _MOST_TAGS:
        raise ValueError(tr("`{filename}` is not a valid wheel name", filename=shortened(filename)))
    return filename


def check_swelling(packed: int, unpacked: int) -> None:
    """Raise ValueError for a compressed file that was made to keep its reader busy."""
    if unpacked > _LARGEST_UNPACKED or (unpacked > _SMALL and unpacked > packed * _MOST_SWELLING):
        raise ValueError(tr("it swells to more than {size} MB", size=unpacked >> 20))


def without_long_words(text: str) -> str:
    """Return a message with its longest words, such as paths, shortened."""
    return re.sub(r"\S+", lambda match: shortened(match[0], _LONGEST_WORD), text)


def shortened(text: str, most: int = _SHOWN) -> str:
    """Return a text as a message quotes it."""
    return text if len(text) <= most else f"{text[:most]}\N{HORIZONTAL ELLIPSIS}"
