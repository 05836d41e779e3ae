"""How py-rattler reads channels: proxies, certificates, passwords, what is kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gpuenv import __version__
from gpuenv.model.conda import CondaChannel, CondaWanted

if TYPE_CHECKING:
    from rattler import Client, Gateway


_RETRIES = 3
_TIMEOUT_S = 30
_BUNDLE = "SSL_CERT_FILE"


class RattlerSession(Struct, frozen=True):
    """What all calls share: the cache folder, whether it alone is read, the CA bundle."""

    cache: Path
    offline: bool = False
    ca_bundle: str | None = None

    @property
    def packages(self) -> Path:
        """The cache of packages."""
        return self.cache / "rattler" / "packages"


def gateway(wanted: CondaWanted, session: RattlerSession) -> Gateway:
    """Return py-rattler's reader of channels, with the session's cache."""
    import rattler  # noqa: PLC0415

    config = rattler.SourceConfig(cache_action="force-cache-only" if session.offline else "cache-or-fetch")
    folder = session.cache / "rattler" / "repodata"
    return rattler.Gateway(cache_dir=folder, default_config=config, client=client(wanted.channels, session))


def client(channels: tuple[CondaChannel, ...], session: RattlerSession) -> Client:
    """Return a client with all URLs of the channels; it trusts the bundle, the system, or at last certifi."""
    lists = {channel.urls[0]: list(channel.urls) for channel in channels if len(channel.urls) > 1}
    mirrors = "".join(f"{json.dumps(first)} = {json.dumps(urls)}\n" for first, urls in lists.items())
    try:
        return _client_trusting(session.ca_bundle, f"[mirrors]\n{mirrors}")
    except ValueError:  # `builder error`: no certificates
        import certifi  # noqa: PLC0415

        return _client_trusting(certifi.where(), f"[mirrors]\n{mirrors}")


def _client_trusting(bundle: str | None, configuration: str) -> Client:
    """Create a client, which reads the variable of its CA bundle only now."""
    from rattler.config import Config  # noqa: PLC0415
    from rattler.networking import Client  # noqa: PLC0415

    before = os.environ.get(_BUNDLE)
    try:
        if bundle:
            os.environ[_BUNDLE] = bundle
        return Client.from_config(
            Config.from_toml(configuration),
            max_retries=_RETRIES,
            user_agent=f"gpuenv/{__version__}",
            timeout=_TIMEOUT_S,
        )
    finally:
        if before is not None:
            os.environ[_BUNDLE] = before
        elif bundle:
            del os.environ[_BUNDLE]
