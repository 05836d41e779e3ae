"""The companions of torch that come along because what is asked for pins them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from gpuenv.resolution.request import Request

if TYPE_CHECKING:
    from gpuenv.knowledge.knowledge import Knowledge


def pinned_companions(request: Request, knowledge: Knowledge) -> tuple[str, ...]:
    """Return the companions of torch that are not asked for, but pinned by what is asked for."""
    projects = (knowledge.ecosystem.project(canonicalize_name(item.name)) for item in request.to_resolve)
    names = dict.fromkeys(name for project in projects if project for name in project.pins)
    return tuple(name for name in names if name not in ("torch", *request.companions))
