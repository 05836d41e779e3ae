"""pyvenv.cfg: what venv and uv write into an environment."""

from __future__ import annotations


def parse_pyvenv(text: str) -> dict[str, str]:
    """Parse pyvenv.cfg: `include-system-site-packages = false`; keys in lower case."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}
