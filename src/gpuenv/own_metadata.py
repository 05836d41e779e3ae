"""What gpuenv requires: by its installed metadata, or the pyproject.toml of a source checkout.

https://packaging.python.org/en/latest/specifications/core-metadata/
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from email.parser import HeaderParser
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

PROJECT = "gpuenv"
_PACKAGE = Path(__file__).parent


def requires_of(text: str) -> tuple[str, ...]:
    """Return what a METADATA requires in any case, without what only its extras do; raise ValueError."""
    every = tuple(map(_parse, HeaderParser().parsestr(text).get_all("Requires-Dist") or ()))
    return tuple(str(requirement) for requirement in every if "extra" not in str(requirement.marker or ""))


def install_extra(extra: str) -> str:
    """Return the command that installs beside gpuenv what an extra of it names, for this Python.

    gpuenv is not on any index: with its own name in the command, pip would install what a stranger put there.
    """
    every = metadata_text()
    requested = map(_parse, HeaderParser().parsestr(every).get_all("Requires-Dist") or ())
    of_extra = (
        requirement for requirement in requested if requirement.marker and "extra" in str(requirement.marker)
    )
    wanted = (
        requirement
        for requirement in of_extra
        if requirement.marker and requirement.marker.evaluate({"extra": extra})
    )
    return shlex.join(
        ("pip", "install", *sorted(f"{requirement.name}{requirement.specifier}" for requirement in wanted))
    )


def metadata_text() -> str:
    """Return the METADATA of the gpuenv that runs: in a checkout as its pyproject.toml says now."""
    project = checkout()
    if project is not None:
        return render_metadata(project)
    try:
        return metadata.distribution(PROJECT).read_text("METADATA") or ""
    except metadata.PackageNotFoundError:
        return ""


def checkout() -> Mapping[str, Any] | None:
    """Return the `[project]` of the source checkout that runs, None for what was installed from a wheel."""
    file = _PACKAGE.parents[1] / "pyproject.toml"
    if _PACKAGE.parent.name != "src" or not file.is_file():
        return None
    try:
        project = _load_toml(file.read_text(encoding="utf-8")).get("project")
    except (OSError, ValueError):
        return None
    return project if isinstance(project, dict) and project.get("name") == PROJECT else None


def render_metadata(project: Mapping[str, Any]) -> str:
    """Return the METADATA that a `[project]` stands for, as far as installers read it."""
    from gpuenv import __version__  # noqa: PLC0415 - the package itself, which imports nothing

    return "\n".join(
        ("Metadata-Version: 2.4", f"Name: {PROJECT}", f"Version: {__version__}", *_fields(project), "")
    )


def _fields(project: Mapping[str, Any]) -> Iterator[str]:
    if "description" in project:
        yield f"Summary: {project['description']}"
    if "requires-python" in project:
        yield f"Requires-Python: {project['requires-python']}"
    yield from (f"Requires-Dist: {item}" for item in project.get("dependencies", ()))
    for extra, requirements in project.get("optional-dependencies", {}).items():
        yield f"Provides-Extra: {extra}"
        for requirement in map(_parse, requirements):
            marker = (
                f"({requirement.marker}) and extra == '{extra}'"
                if requirement.marker
                else f"extra == '{extra}'"
            )
            extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            yield f"Requires-Dist: {requirement.name}{extras}{requirement.specifier}; {marker}"


def _parse(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(str(error)) from None


def _load_toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - only in a checkout
    else:
        import tomli as tomllib  # noqa: PLC0415
    return tomllib.loads(text)
