"""Wheelhouses that have all that is needed: then no index can hold anything up."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.installers import uv_compile as resolver
from gpuenv.installers.uv_compile import CompileInput, Resolved
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.errors import GpuenvError
from gpuenv.model.plan import Plan

_LIMIT_S = 20.0  # for an index that hangs or drips, where a wheelhouse has everything
_IMPATIENT = {"UV_HTTP_TIMEOUT": "5", "UV_HTTP_RETRIES": "0"}


def compile_requirements(
    question: CompileInput, environ: Mapping[str, str], unread: GpuenvError | None = None
) -> Resolved | Unresolvable:
    """Resolve; where wheelhouses alone suffice, an index that does not answer is ignored.

    An index that answers is used: it may have something newer. Raises what the resolver raises; with `unread`
    no index is contacted, and it is raised where the wheelhouses alone do not suffice.
    """
    alone = _from_wheelhouses(question, environ)
    if unread is not None:
        if alone is None:
            raise unread
        return alone
    if alone is None:
        return resolver.compile_requirements(question, environ)
    if question.offline or question.sources.no_index:
        return alone
    try:
        return resolver.compile_requirements(question, {**environ, **_IMPATIENT}, limit_s=_LIMIT_S)
    except GpuenvError:
        return alone


def _from_wheelhouses(question: CompileInput, environ: Mapping[str, str]) -> Resolved | None:
    folders = tuple(link for link in question.sources.find_links if not is_remote(link))
    if not folders:
        return None
    sources = replace(question.sources, find_links=folders, no_index=True)
    try:
        outcome = resolver.compile_requirements(replace(question, sources=sources, offline=True), environ)
    except GpuenvError:
        return None
    return outcome if isinstance(outcome, Resolved) and not outcome.left_out else None


def from_wheelhouses(plan: Plan) -> Plan:
    """Return the plan without any index where all files are in wheelhouses; an index may be local, too."""
    folders = tuple(link for link in plan.sources.find_links if not is_remote(link))
    paths = {local_path(folder) for folder in folders}
    urls = [package.url or "" for package in plan.packages]
    if not plan.is_whole or not all(
        url and not is_remote(url) and local_path(url).parent in paths for url in urls
    ):
        return plan
    return replace(plan, sources=replace(plan.sources, find_links=folders, no_index=True))
