"""The mirror that `gpuenv mirrors use` is to write into configurations."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from gpuenv.i18n.messages import gettext, tr
from gpuenv.indexes.configuration.locations import Scope
from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.indexes.mirrors.lookup import correction, mirror_of_url
from gpuenv.indexes.urls import is_remote
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.mirror import Mirror, PypiPart, Tool


@dataclass(frozen=True, slots=True)
class UseOptions:
    """Which tools' files (none named: of all that are there), at which level."""

    tools: tuple[Tool, ...] = ()
    scope: Scope = "user"
    insecure: str | None = None


def chosen_mirror(name: str, options: UseOptions, mirrors: Mirrors) -> Mirror:
    """Return the mirror of a name or an address; raise UsageError for one that can't be used."""
    mirror = _at(name, mirrors) if is_remote(name) else mirrors.find(name)
    for item in (mirror, mirror_of_url(name, mirrors.all)):
        if item is not None and item.status == "retired":
            raise _retired(item)
    _refuse_plain_http(mirror, options)
    return mirror


def _at(url: str, mirrors: Mirrors) -> Mirror:
    """The copy of PyPI at an address, which is put right where it is known to be wrong."""
    address = (correction(url, mirrors.all) or url).rstrip("/")
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        raise UsageError(
            tr("`{url}` is not a valid URL", url=url),
            code="bad-address",
            fixes=(Fix(tr("write it as https://mirror.example/simple")),),
        )
    return Mirror(address, address, "own", "alive", tr("as given"), hosts=(host,), pypi=PypiPart(address))


def _retired(mirror: Mirror) -> UsageError:
    return UsageError(
        tr("the mirror `{name}` has been shut down", name=mirror.name),
        code="mirror-retired",
        because=tuple(Because(gettext(fault.text), fault.source) for fault in mirror.faults),
        fixes=(Fix(tr("see which ones are alive"), "gpuenv mirrors list"),),
    )


def _refuse_plain_http(mirror: Mirror, options: UseOptions) -> None:
    """Plain http is taken for one mirror, which is named, and never together with pip's trusted-host."""
    simple = mirror.pypi.simple if mirror.pypi else None
    if simple and simple.lower().startswith("http:") and options.insecure not in (mirror.name, *mirror.hosts):
        raise UsageError(
            tr(
                "`{address}` is not encrypted: others on the network can change what is installed",
                address=simple,
            ),
            code="insecure-mirror",
            fixes=(
                Fix(tr("write it as https://")),
                Fix(tr("or, if there is no other way, allow it: --insecure {name}", name=mirror.hosts[0])),
            ),
        )
