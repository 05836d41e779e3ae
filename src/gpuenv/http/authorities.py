"""The certificates of authorities, read once for all connections: a bundle of 140 takes 60 ms to read."""

from __future__ import annotations

import ssl
import threading

from urllib3.exceptions import SSLError
from urllib3.util.ssl_ import create_urllib3_context

_contexts: dict[tuple[str | None, str | None], ssl.SSLContext] = {}
_reading = threading.Lock()


def trusting(bundle: str | None, folder: str | None) -> ssl.SSLContext:
    """Return the context that trusts the authorities of a file and a folder; raise SSLError."""
    with _reading:
        context = _contexts.get((bundle, folder))
        if context is None:
            context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED)
            try:
                context.load_verify_locations(bundle, folder)
            except OSError as error:
                raise SSLError(error) from error
            _contexts[bundle, folder] = context
        return context
