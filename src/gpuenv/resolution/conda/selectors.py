"""Selectors in an environment.yml: comments such as `# [linux]` that keep a line for some platforms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from gpuenv.model.wheel import Platform

_SELECTOR = re.compile(r"#\s*\[(?P<condition>[^\]]+)\]")
_TRUE = {
    "linux-64": frozenset({"linux", "unix", "linux64", "linux-64", "x86_64", "x86"}),
    "linux-aarch64": frozenset({"linux", "unix", "linux-aarch64", "aarch64"}),
    "win-64": frozenset({"win", "win64", "win-64", "x86_64", "x86"}),
    "osx-arm64": frozenset({"osx", "unix", "osx-arm64", "arm64"}),
    "osx-64": frozenset({"osx", "unix", "osx-64", "x86_64", "x86"}),
}
_KNOWN = frozenset().union(*_TRUE.values(), {"win32", "linux32"})


def selected(listed: Any, platform: Platform, tell: Callable[[str], None]) -> Iterator[Any]:
    """Yield the items of a list of ruamel's whose selector fits, and those without; `tell` of odd ones."""
    for position, item in enumerate(listed):
        if is_selected(listed, position, platform, tell):
            yield item


def is_selected(holder: Any, location: Any, platform: Platform, tell: Callable[[str], None]) -> bool:
    """Whether the comment behind an item of a list, or behind a key, keeps it."""
    comments = getattr(getattr(holder, "ca", None), "items", {}).get(location)
    # what stands behind an item in its own line; ruamel adds the lines below it
    own = (token for token in comments or () if hasattr(token, "value"))
    match = _SELECTOR.search(next((str(token.value).partition("\n")[0] for token in own), ""))
    if match is None:
        return True
    fits = judge(match["condition"], platform)
    if fits is None:
        tell(match["condition"])
    return fits is not False


def judge(condition: str, platform: Platform) -> bool | None:
    """Judge a selector as conda-build knows them: `linux`, `not win`, `linux and x86_64`; None: not known."""
    choices = [re.split(r"\s+and\s+", part.strip()) for part in re.split(r"\s+or\s+", condition.strip())]
    words = {word.removeprefix("not ").strip() for choice in choices for word in choice}
    if not words <= _KNOWN:
        return None
    return any(all(_holds(word, platform) for word in choice) for choice in choices)


def _holds(word: str, platform: Platform) -> bool:
    name = word.removeprefix("not ").strip()
    return (name in _TRUE[platform]) == (name == word)
