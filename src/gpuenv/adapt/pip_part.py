"""What of a project pip or uv is asked for: what stands in conda's part of an environment.yml is conda's.

A name means one project on a channel and may mean another one on PyPI, or nothing.
"""

from __future__ import annotations

from collections.abc import Container

from msgspec.structs import replace

from gpuenv.adapt.model import NO_PROJECTS, Project
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.planning.load_knowledge import load_built_releases
from gpuenv.resolution.request import STACK


def pip_part(project: Project, knowledge: Knowledge, *, has_conda: bool) -> Project:
    """Return the project without the lines of conda's part that are no business of pip's.

    The torch stack and what is made for it are judged as wheels. Without a conda tool, projects that are
    known to have one name on both sides come from the index.
    """
    if not any(line.notation == "conda" for line in project.declared):
        return project
    names: set[str] = {*STACK, *knowledge.ecosystem.made_for_torch}
    if not has_conda:
        names |= load_built_releases().same
    declared = (
        item for item in project.declared if item.notation != "conda" or _is_kept(item.project, names)
    )
    return replace(project, declared=tuple(declared))


def _is_kept(project: str, names: Container[str]) -> bool:
    return project in names or project in NO_PROJECTS
