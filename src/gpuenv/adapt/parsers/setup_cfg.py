"""A setup.cfg, with the place of all that it asks for.

[options]
python_requires = >=3.6
install_requires =
    torch==1.7.1
    numpy<1.20; python_version < "3.8"

https://setuptools.pypa.io/en/latest/userguide/declarative_config.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import Collector, ParsedFile
from gpuenv.adapt.parsers.requirements_txt import take_requirement

_SECTION = re.compile(r"\[(?P<name>[^\]\r\n]+)\]")
_OPTION = re.compile(r"(?P<name>[\w-]+)\s*[=:][ \t]*")
_COMMENT = ("#", ";")


def read_setup_cfg(file: DependencyFile) -> ParsedFile:
    """Read a setup.cfg; nothing is raised."""
    collector = Collector(file)
    for name, start, end in _values(file.text):
        if name == "python_requires":
            collector.take("python", file.text[start:end], start, end)
        elif name == "install_requires":
            take_requirement(collector, file.text[start:end], start, end)
    return collector.result()


def _values(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the options of `[options]`, one line of a value each, by the places of the line."""
    at = 1 if text.startswith("\ufeff") else 0
    section, option = "", ""
    for line in re.split(r"(?<=\n)", text[at:]):
        bare, start = line.strip(), at + len(line) - len(line.lstrip())
        at += len(line)
        if not bare or bare.startswith(_COMMENT):
            continue
        header = _SECTION.match(line)
        if header:
            section, option = header["name"].strip(), ""
            continue
        begin = None if line[0].isspace() else _OPTION.match(line)
        if begin:
            option = begin["name"].lower().replace("-", "_")
            start += begin.end()
            bare = line[begin.end() :].strip()
        if section == "options" and bare:
            yield option, start, start + len(bare)
