"""Tells each step to whoever listens: with `-vv` that is stderr, otherwise nobody, which costs nothing."""

from __future__ import annotations

from collections.abc import Callable

Listener = Callable[[str], None]
_listeners: list[Listener] = []


def listen(listener: Listener | None) -> None:
    """Tell steps to `listener` from now on, in whichever thread they are taken; None: to nobody."""
    _listeners[:] = [listener] if listener else []


def step(describe: Callable[[], str]) -> None:
    """Tell a step; it is only described where somebody listens."""
    for listener in _listeners:
        listener(describe())
