"""What sentences say of versions, the last resort: `tested with PyTorch 1.7.1, CUDA 10.1, Python 3.6+`.

Of each project the first sentence counts; a version in a command is not read here.
"""

from __future__ import annotations

import re

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import Collector, ParsedFile

_LONGEST = 200_000  # characters that are looked at
# a name, what may stand between, and a version; `>=1.7`, `1.7+`, `1.7 or later` are lower bounds
_VERSION = (
    r"(?:[\s`*:_(\[|-]|==?|version|v\.?|\(v)*(?P<sign>>=|≥|>|<=|~=|==)?\s*v?(?P<version>{shape})"
    r"(?![\w.]*\d)(?P<later>\s*\+|\s*(?:or|and|及|或)\s*(?:later|newer|above|higher|up|以上)|以上)?"
)
_SHAPES = (
    ("torch", r"(?:py)?torch", r"\d\.\d{1,2}(?:\.\d{1,2})?"),
    ("torchvision", r"torch-?vision", r"0\.\d{1,2}(?:\.\d{1,2})?"),
    ("python", r"python", r"3\.\d{1,2}(?:\.\d{1,2})?"),
    ("cuda", r"cuda(?:\s*toolkit)?", r"\d{1,2}\.\d(?:\.\d{1,3})?"),
)
_PATTERNS = tuple(
    (project, re.compile(rf"(?<![\w/.-]){name}{_VERSION.replace('{shape}', shape)}", re.IGNORECASE))
    for project, name, shape in _SHAPES
)


def read_prose(file: DependencyFile) -> ParsedFile:
    """Read the versions that a text names; nothing is raised."""
    collector = Collector(file, hint=True)
    text = file.text[:_LONGEST]
    for project, pattern in _PATTERNS:
        match = next((item for item in pattern.finditer(text) if not _in_command(text, item.start())), None)
        requirement = _requirement(project, match) if match else None
        if match and requirement:
            collector.take(project, requirement, match.start(), match.end())
    return collector.result()


_COMMAND = re.compile(r"(?:pip3?|conda|mamba)\s+(?:install|create)|^\s*FROM\s|https?://\S*$", re.MULTILINE)


def _in_command(text: str, at: int) -> bool:
    """Whether a place lies in a command or an address, which other readers read."""
    start = text.rfind("\n", 0, at) + 1
    return _COMMAND.search(text[start:at]) is not None


def _requirement(project: str, match: re.Match[str]) -> str | None:
    version, sign = match["version"], match["sign"]
    parts = version.split(".")
    if match["later"] or sign in (">=", "≥", ">"):
        specifier = f">={version}"
    elif sign == "<=":
        specifier = f"<={version}"
    else:
        specifier = f"=={version}" if len(parts) > 2 and project != "python" else f"=={parts[0]}.{parts[1]}.*"  # noqa: PLR2004
    if project == "cuda":
        return f"{parts[0]}.{parts[1]}" if specifier.startswith("==") else None
    return specifier if project == "python" else f"{project}{specifier}"
