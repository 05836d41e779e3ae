"""The variables of a resolver that reads untrusted URLs.

uv expands `${NAME}` in the URLs of a wheel's metadata and requests the result, which leaks the variables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuenv.model.plan import Sources
from gpuenv.secrets.url_credentials import has_userinfo

_SECRET = re.compile(r"PASSWORD|USERNAME|TOKEN|SECRET", re.IGNORECASE)
# What uv itself reads, and programs that it runs to ask for a password.
_OF_UV = re.compile(
    r"(?i:UV_.*|SSL_.*|.*_PROXY|NETRC|HOME|PATH|TMPDIR|TEMP|TMP|LANG|LC_.*|XDG_.*|USERPROFILE|APPDATA|LOCALAPPDATA"
    r"|SYSTEMROOT|SYSTEMDRIVE|PROGRAMDATA|DBUS_SESSION_BUS_ADDRESS|VIRTUAL_ENV|CONDA_PREFIX)"
)


def only_of_uv(environ: Mapping[str, str]) -> dict[str, str]:
    """Return only the variables that uv itself reads."""
    return {name: value for name, value in environ.items() if _OF_UV.fullmatch(name)}


def may_tell_secrets(sources: Sources, environ: Mapping[str, str]) -> bool:
    """Tell whether uv's own variables, or those for the indexes, hold a password."""
    kept = only_of_uv(environ)
    urls = (sources.index_url or "", *sources.extra_index_urls, *sources.find_links)
    return any(map(has_userinfo, (*urls, *kept.values()))) or any(map(_SECRET.search, kept))
