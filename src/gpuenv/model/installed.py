"""What an environment has installed."""

from __future__ import annotations

from msgspec import Struct


class Installed(Struct, frozen=True):
    """One distribution; `name` is normalized, `requires` are its Requires-Dist lines, `size` is in bytes.

    `direct` tells that it came from an address or a folder, not from an index, and `url` from which, where
    it can be had elsewhere too; `installer` is what the installer called itself (`uv`, `pip`, `conda`).
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()
    installer: str | None = None
    direct: bool = False
    url: str | None = None
    size: int = 0

    @property
    def is_condas(self) -> bool:
        """Whether a conda tool put it there: it keeps records that pip and uv would make untrue."""
        return self.installer == "conda"
