"""pip.conf and pip.ini, as pip's configparser reads them.

[global]
index-url = https://mirror.example/simple
# a comment
extra-index-url =
    https://one.example/simple
    https://two.example/simple

https://pip.pypa.io/en/stable/topics/configuration/
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Mapping
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.config_edit.text import check_only_changed, ended, line_end, without_mark

_SECTION = re.compile(r"\[(?P<name>.+)\]")
_OPTION = re.compile(r"(?P<indent>\s*)(?P<name>[^\s=:][^=:]*?)\s*(?:[=:]\s?|$)")
_COMMENT = ("#", ";")
_DEEPER = "    "  # the further lines of a value


class _Option(Struct, frozen=True):
    """Where an option stands: its first line and the one after its last, its name as it is spelt."""

    section: str
    name: str
    start: int
    end: int


def read_settings(text: str) -> dict[str, str]:
    """Return all options as `section.name`, names as pip spells them; ValueError for what pip can't read."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(without_mark(text)[1])
    except configparser.Error as error:
        raise ValueError(str(error).splitlines()[0]) from None
    options = ((section, *option) for section in parser.sections() for option in parser.items(section))
    return {f"{section}.{_plain(name)}": value for section, name, value in options}


def write_settings(text: str, wanted: Mapping[str, str | None]) -> str:
    """Set options, `section.name`, to values; None takes one out.

    A section is made where there is none, and goes when its last option does if nothing else stands in it.
    Raises ValueError for a text that pip can't read, or that can't be changed without changing more.
    """
    before = read_settings(text)
    mark, rest = without_mark(text)
    for key, value in wanted.items():
        section, _, name = key.rpartition(".")
        if value is None:
            rest = _take_out(rest, section, name)
        elif before.get(key) != value:
            rest = _put(rest, section, name, value)
    changed = mark + rest
    check_only_changed(before, wanted, read_settings(changed))
    return changed


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _put(text: str, section: str, name: str, value: str) -> str:
    lines = text.splitlines(keepends=True)
    option = _find(lines, section, name)
    end = line_end(text)
    value = value.replace("\n", f"{end}{_DEEPER}")
    if option:
        first = lines[option.start]
        match = _OPTION.match(first)
        spelt = first[: match.end()].rstrip("\r\n") if match else f"{name} = "
        spelt = spelt if spelt[-1:] in " \t" or "=" in spelt or ":" in spelt else f"{spelt} ="
        kept = _comments(lines[option.start + 1 : option.end])
        spaced = spelt if spelt.endswith((" ", "\t")) or not spelt.rstrip().endswith(" =") else f"{spelt} "
        ending = first[len(first.rstrip("\r\n")) :]
        lines[option.start : option.end] = [f"{spaced}{value}{ending}", *kept]
        return "".join(lines)
    header = _header(lines, section)
    if header is None:
        return f"{ended(text)}[{section}]{end}{name} = {value}{end}"
    if not lines[header].endswith("\n"):
        lines[header] += end
    lines.insert(header + 1, f"{name} = {value}{end}")
    return "".join(lines)


def _take_out(text: str, section: str, name: str) -> str:
    lines = text.splitlines(keepends=True)
    option = _find(lines, section, name)
    if option is None:
        return text
    lines[option.start : option.end] = _comments(lines[option.start + 1 : option.end])
    header = _header(lines, section)
    body = takewhile(lambda line: not _SECTION.match(line), lines[header + 1 :] if header is not None else [])
    if header is not None and not any(line.strip() for line in body):
        del lines[header]
    return "".join(lines)


def _comments(lines: list[str]) -> list[str]:
    """The comments and blank lines among a value's lines, which stay."""
    return [line for line in lines if not line.strip() or line.lstrip().startswith(_COMMENT)]


def _header(lines: list[str], section: str) -> int | None:
    matches = ((position, _SECTION.match(line)) for position, line in enumerate(lines))
    return next((position for position, match in matches if match and match["name"] == section), None)


def _find(lines: list[str], section: str, name: str) -> _Option | None:
    options = (option for option in _options(lines) if option.section == section)
    return next((option for option in options if _plain(option.name) == name), None)


def _options(lines: list[str]) -> list[_Option]:
    """All options with the lines that belong to them: those that are indented deeper, and blanks between."""
    options: list[_Option] = []
    section, indent = "", None
    for position, line in enumerate(lines):
        bare = line.strip()
        if not bare or bare.startswith(_COMMENT):
            continue
        depth = len(line) - len(line.lstrip())
        if indent is not None and depth > indent:
            options[-1] = replace(options[-1], end=position + 1)
            continue
        indent = None
        if header := _SECTION.match(bare):
            section = header["name"]
        elif match := _OPTION.match(line):
            indent = depth
            options.append(_Option(section, match["name"], position, position + 1))
    return options
