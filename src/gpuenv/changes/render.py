"""What changes in an environment, for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from gpuenv.formats.shell import one_line
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import tr


class SizedChange(Protocol):
    """One package: `before` is None for a new one, `after` for one that is taken out; `size` in bytes."""

    @property
    def name(self) -> str:
        """The package."""

    @property
    def before(self) -> str | None:
        """What is there."""

    @property
    def after(self) -> str | None:
        """What comes."""

    @property
    def size(self) -> int | None:
        """How much is fetched, or given back."""


def render_changes(
    changes: tuple[SizedChange, ...], *, torch: str | None, moved: str | None, why: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return a line a package, before them what becomes of torch, and behind them the sum."""
    return tuple(one_line(line) for line in _lines(changes, torch, moved, why))


def _lines(
    changes: tuple[SizedChange, ...], torch: str | None, moved: str | None, why: tuple[str, ...]
) -> Iterator[str]:
    if not changes:
        yield tr("nothing to change")
        return
    if moved is not None and moved != torch:
        yield tr("torch changes from {before} to {after}", before=torch or "-", after=moved)
        yield from (tr("because {reason}", reason=item) for item in why)
    elif torch is not None:
        yield tr("torch {version} stays", version=torch)
    yield from map(_line, changes)
    yield _sum(changes)


def _line(change: SizedChange) -> str:
    size = f" ({render_size(change.size)})" if change.size else ""
    if change.before is None:
        return f"+ {change.name} {change.after}{size}"
    if change.after is None:
        return f"- {change.name} {change.before}{size}"
    return f"~ {change.name} {change.before} -> {change.after}{size}"


def _sum(changes: tuple[SizedChange, ...]) -> str:
    new = sum(change.before is None for change in changes)
    gone = sum(change.after is None for change in changes)
    text = tr(
        "{new} to add, {other} to change, {gone} to remove",
        new=new,
        gone=gone,
        other=len(changes) - new - gone,
    )
    fetched = sum(change.size or 0 for change in changes if change.after)
    return f"{text}; {tr('{size} to fetch', size=render_size(fetched))}" if fetched else text
