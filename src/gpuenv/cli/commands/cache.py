"""`gpuenv cache dir`, `size`, `clean`."""

from __future__ import annotations

import os
import shlex
from typing import Any

from gpuenv.cache import manage as cache
from gpuenv.cli.options import Common
from gpuenv.cli.output import (
    check_terminal,
    confirm,
    envelope,
    note,
    print_data,
    print_json,
    print_warnings,
    working,
)
from gpuenv.cli.table import render_table
from gpuenv.i18n.messages import N_, tr
from gpuenv.model.amounts import render_size
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.plan import PlanWarning

_COLUMNS = {"name": N_("part"), "shown": N_("size"), "use": N_("what it is")}


def directory(common: Common) -> int:
    """Print where the cache is."""
    root = cache.cache_place(os.environ)
    if common.as_json:
        print_json(envelope("cache dir", {"dir": str(root), "exists": root.is_dir()}))
    else:
        print_data(str(root))
    return 0


def size(common: Common) -> int:
    """Print what is in the cache."""
    with working(tr("examining"), quiet=common.quiet):
        content = cache.read_cache(os.environ)
        of_uv = cache.render_uv(os.environ)
    if common.as_json:
        print_json(envelope("cache size", {**_data(content), "uv": of_uv}))
        return 0
    print_data(_table(content))
    if of_uv is not None and not common.quiet:
        amount = tr(", {size}", size=render_size(of_uv["size"])) if of_uv["size"] is not None else ""
        note(
            tr(
                "uv's own cache, shared with uv, is not included: {dir}{size}",
                dir=of_uv["dir"],
                size=amount,
            )
        )
    return 0


def clean(common: Common, *, with_uv: bool, yes: bool) -> int:
    """Remove what is in the cache, after a yes."""
    with working(tr("examining"), quiet=common.quiet):
        content = cache.read_cache(os.environ)
        of_uv = cache.render_uv(os.environ) if with_uv else None
    if content.parts and not common.as_json:
        note(_table(content))
    if not yes and (content.parts or with_uv):
        _ask(content, of_uv, with_uv=with_uv)
    of_uv = _clean_uv(of_uv, common) if with_uv else None
    with working(tr("removing"), quiet=common.quiet):
        cleaned = cache.clean(content)
    warnings = tuple(_in_use(part.part.name) for part in cleaned.in_use)
    removed = sum(part.size for part in cleaned.removed)
    data = {
        "dir": str(content.root),
        "size": removed,
        "removed": cache.render_parts(cleaned.removed),
        "kept": [{"name": part.part.name, "reason": cache.IN_USE} for part in cleaned.in_use]
        + [{"name": not_removed.name, "reason": not_removed.reason} for not_removed in cleaned.failed],
        "uv": of_uv,
    }
    print_warnings(() if common.as_json else warnings)
    if cleaned.failed:
        raise UsageError(
            tr("some files could not be removed: {reason}", reason=cleaned.failed[0].reason),
            code="cache-unwritable",
            fixes=(Fix(tr("see who owns it"), f"ls -la {shlex.quote(str(content.root))}"),),
            data=data,
        )
    if common.as_json:
        print_json(envelope("cache clean", data, warnings=warnings))
    elif not common.quiet:
        note(_said(content, removed))
    return 0


def _data(content: cache.CacheContent) -> dict[str, Any]:
    return {
        "dir": str(content.root),
        "exists": content.root.is_dir(),
        "size": content.size,
        "freed": content.freed,
        "parts": cache.render_parts(content.parts),
    }


def _table(content: cache.CacheContent) -> str:
    rows = [{**row, "shown": render_size(row["size"])} for row in cache.render_parts(content.parts)]
    total = tr("{size} in {path}", size=render_size(content.size), path=content.root)
    return "\n".join([render_table(rows, _COLUMNS), total] if rows else [total])


def _ask(content: cache.CacheContent, of_uv: dict[str, Any] | None, *, with_uv: bool) -> None:
    check_terminal(assume="--yes", data={**_data(content), "uv": of_uv})
    if content.freed < content.size:
        note(
            tr(
                "{size} of it is freed: the rest is hard-linked into environments",
                size=render_size(content.freed),
            )
        )
    if with_uv:
        note(tr("uv's cache is cleaned as well: {dir}", dir=of_uv["dir"] if of_uv else "uv cache dir"))
    confirm(tr("remove {size}?", size=render_size(content.size)), assume="--yes")


def _clean_uv(of_uv: dict[str, Any] | None, common: Common) -> dict[str, Any] | None:
    with working(tr("uv cache clean"), quiet=common.quiet):
        printed = cache.clean_uv(os.environ)
    if not common.quiet and not common.as_json:
        note(f"uv: {printed}")
    return of_uv


def _in_use(name: str) -> PlanWarning:
    return PlanWarning(cache.IN_USE, tr("`{name}` is kept: another gpuenv is using the cache", name=name))


def _said(content: cache.CacheContent, removed: int) -> str:
    if not content.parts:
        return tr("nothing to remove in {path}", path=content.root)
    return tr("removed {size} from {path}", size=render_size(removed), path=content.root)
