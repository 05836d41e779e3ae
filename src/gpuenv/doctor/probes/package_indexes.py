"""What pip and uv are told of indexes, with what is known to be wrong with it: for doctor."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from gpuenv.indexes.configuration.read import read_configuration
from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.indexes.mirrors.lookup import correction, is_bogus, mirror_of_url
from gpuenv.model.errors import UsageError
from gpuenv.model.findings import ConfiguredIndex
from gpuenv.model.index import IndexSource
from gpuenv.model.mirror import Mirror
from gpuenv.secrets.url_credentials import redact_credentials

_RETIRED = "retired"
_CERTIFICATES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


def read_indexes(
    environ: Mapping[str, str], *, prefix: Path | None, root: Path, here: Path
) -> tuple[ConfiguredIndex, ...]:
    """Return the indexes and wheelhouses that pip's and uv's variables and files name, passwords hidden."""
    try:
        mirrors = load_mirrors(environ).all
    except UsageError:  # told by every command that takes --mirror
        mirrors = ()
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or os.path.expanduser("~"))  # noqa: PTH111 - one that can't be told stays `~`
    read = read_configuration(environ, home=home, cwd=here, root=root, prefix=prefix)
    first = (read.index_url,) if read.index_url else ()
    return tuple(_judged(item, mirrors) for item in (*first, *read.extra_index_urls, *read.find_links))


def _judged(source: IndexSource, mirrors: tuple[Mirror, ...]) -> ConfiguredIndex:
    mirror = mirror_of_url(source.url, mirrors)
    known = ConfiguredIndex(redact_credentials(source.url), source.origin, mirror.name if mirror else None)
    if mirror is not None and mirror.status == _RETIRED:
        return replace(known, fault=_RETIRED)
    right = correction(source.url, mirrors)
    if right is not None:
        return replace(known, fault="wrong", instead=right)
    return known if is_bogus(source.url, mirrors) is None else replace(known, fault="bogus")


def lost_certificates(environ: Mapping[str, str], here: Path) -> tuple[tuple[str, str], ...]:
    """Return the variables that name a file of certificates which is not there."""
    named = ((variable, environ.get(variable, "")) for variable in _CERTIFICATES)
    return tuple((variable, path) for variable, path in named if path and not _exists(here / path))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long, a folder that may not be looked into
        return True
