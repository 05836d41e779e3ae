"""How many bytes something is, as a person reads it."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB")
_KILO = 1000


def render_size(size: int) -> str:
    """Return bytes as a person reads them, in powers of 1000: 2.9 GB."""
    power = 0
    while size >= _KILO ** (power + 1) and power < len(_UNITS) - 1:
        power += 1
    amount = size / _KILO**power
    return f"{amount:.0f} {_UNITS[power]}" if power <= 1 else f"{amount:.1f} {_UNITS[power]}"
