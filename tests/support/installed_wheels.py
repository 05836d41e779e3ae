"""Wheels of gpuenv and all that it needs, made again from what is installed where the tests run."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tiny_wheels import tiny_wheel

import gpuenv
from gpuenv import matrices
from gpuenv.untrusted.documents import load_toml

_ROOT = Path(__file__).parents[2]
_SCRIPTS = ("bin", "Scripts")


def write_wheels(directory: Path) -> tuple[Path, ...]:
    """Write gpuenv's wheel, and those of its dependencies as they are installed here."""
    project = load_toml((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = tuple(project["dependencies"])
    return (_own(directory, needs), *(_again(distribution, directory) for distribution in _closure(needs)))


def _own(directory: Path, needs: tuple[str, ...]) -> Path:
    package = Path(gpuenv.__file__).parent
    files = {
        f"gpuenv/{path.relative_to(package).as_posix()}": path.read_text(encoding="utf-8")
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    for path in matrices.directory().glob("*.json"):
        files[f"gpuenv/matrices/data/{path.name}"] = path.read_text(encoding="utf-8")
    return tiny_wheel(directory, "gpuenv", gpuenv.__version__, requires=needs, files=files)


def _closure(needs: tuple[str, ...]) -> Iterator[metadata.Distribution]:
    """Yield each distribution once; requirements that do not count here are left out."""
    wanted = [(text, "") for text in needs]
    seen: set[str] = set()
    while wanted:
        text, extra = wanted.pop()
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        distribution = metadata.distribution(requirement.name)
        for item in ("", *requirement.extras):
            wanted += [(below, item) for below in distribution.requires or ()]
        name = canonicalize_name(requirement.name)
        if name not in seen:
            seen.add(name)
            yield distribution


def _again(distribution: metadata.Distribution, directory: Path) -> Path:
    stem = f"{re.sub('[-.]+', '_', distribution.metadata['Name'])}-{distribution.version}"
    tags = re.findall(r"^Tag: (\S+)$", distribution.read_text("WHEEL") or "", re.MULTILINE)
    wheel = directory / f"{stem}-{_joined(tags)}.whl"
    shims = {point.name for point in distribution.entry_points if point.group == "console_scripts"}
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in distribution.files or ():
            name = file.as_posix()
            if file.name in shims or "__pycache__" in file.parts or file.name in ("INSTALLER", "REQUESTED"):
                continue
            if name.startswith(".."):
                if file.parent.name not in _SCRIPTS:
                    continue
                name = f"{stem}.data/scripts/{file.name}"
            archive.write(str(file.locate()), name)
    return wheel


def _joined(tags: list[str]) -> str:
    parts = zip(*(tag.split("-") for tag in tags), strict=True)
    return "-".join(".".join(dict.fromkeys(part)) for part in parts)
