"""`gpuenv cache dir`, `size`, `clean`."""

from __future__ import annotations

import os
import shlex
from typing import Any

from gpuenv.cache import manage as cache
from gpuenv.cli.console import Console
from gpuenv.cli.output import check_terminal, confirm, note, print_warnings
from gpuenv.cli.table import render_table, terminal_width
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import N_, tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.plan import PlanWarning

_COLUMNS = {"name": N_("part"), "shown": N_("size"), "use": N_("what it is")}


def directory(console: Console) -> int:
    """Print where the cache is."""
    root = cache.require_cache_root(os.environ)
    return console.print_result("cache dir", {"dir": str(root), "exists": root.is_dir()}, str(root))


def size(console: Console) -> int:
    """Print what is in the cache."""
    with console.working(tr("examining")):
        content = cache.read_cache(os.environ)
        of_uv = cache.render_uv(os.environ)
    console.print_result("cache size", {**_data(content), "uv": of_uv}, _table(content))
    if of_uv is not None and console.is_chatty:
        amount = tr(", {size}", size=render_size(of_uv["size"])) if of_uv["size"] is not None else ""
        text = N_("uv's own cache, shared with uv, is not included: {dir}{size}")
        note(tr(text, dir=of_uv["dir"], size=amount))
    return 0


def clean(console: Console, *, with_uv: bool, yes: bool) -> int:
    """Remove what is in the cache, after a yes."""
    with console.working(tr("examining")):
        content = cache.read_cache(os.environ)
        of_uv = cache.render_uv(os.environ) if with_uv else None
    if content.parts and not console.as_json:
        note(_table(content))
    if not yes and (content.parts or with_uv):
        _ask(content, of_uv, with_uv=with_uv)
    if with_uv:
        with console.working(tr("uv cache clean")):
            printed = cache.clean_uv(os.environ)
        if console.is_chatty:
            note(f"uv: {printed}")
    with console.working(tr("removing")):
        cleaned = cache.clean(content)
    in_use = N_("`{name}` is kept: another gpuenv is using the cache")
    warnings = tuple(PlanWarning(cache.IN_USE, tr(in_use, name=part.part.name)) for part in cleaned.in_use)
    removed = sum(part.size for part in cleaned.removed)
    data = {
        "dir": str(content.root),
        "size": removed,
        "removed": cache.render_parts(cleaned.removed),
        "kept": [{"name": part.part.name, "reason": cache.IN_USE} for part in cleaned.in_use]
        + [{"name": not_removed.name, "reason": not_removed.reason} for not_removed in cleaned.failed],
        "uv": of_uv,
    }
    print_warnings(() if console.as_json else warnings)
    if cleaned.failed:
        raise UsageError(
            tr("some files could not be removed: {reason}", reason=cleaned.failed[0].reason),
            code="cache-unwritable",
            fixes=(Fix(tr("see who owns it"), f"ls -la {shlex.quote(str(content.root))}"),),
            data=data,
        )
    if console.as_json:
        return console.print_json("cache clean", data, warnings)
    text = N_("removed {size} from {path}") if content.parts else N_("nothing to remove in {path}")
    console.note(tr(text, size=render_size(removed), path=content.root))
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
    return "\n".join([render_table(rows, _COLUMNS, width=terminal_width()), total] if rows else [total])


def _ask(content: cache.CacheContent, of_uv: dict[str, Any] | None, *, with_uv: bool) -> None:
    check_terminal({**_data(content), "uv": of_uv})
    if content.freed < content.size:
        freed = render_size(content.freed)
        note(tr("{size} of it is freed: the rest is hard-linked into environments", size=freed))
    if with_uv:
        note(tr("uv's cache is cleaned as well: {dir}", dir=of_uv["dir"] if of_uv else "uv cache dir"))
    confirm(tr("remove {size}?", size=render_size(content.size)))
