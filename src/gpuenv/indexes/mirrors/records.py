"""Reading mirrors: rows of mirrors.json, and entries of the user's configuration file, which look alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.schema.field_types import check_fields
from gpuenv.knowledge.schema.mirrors import OWN_FIELDS
from gpuenv.model.mirror import CondaPart, Mirror, MirrorFault, PypiPart, TorchPart

Row = Mapping[str, Any]

_PARTS = ("pypi", "torch", "conda")
_PLACED = (*_PARTS, "bogus")  # what holds addresses
_KEPT = ("title", "kind", "aliases", "bogus", "missing_status", "faults")
_OWN_KIND = "own"


def parse_own_mirror(entry: object, origin: str, shipped: Mirror | None = None) -> Mirror:
    """Read an entry of the configuration file `origin`; raise ValueError.

    Of the `shipped` mirror of the same name, all but its URLs holds unless the entry says otherwise.

    [[mirror]]
    name = "lab"
    pypi = {simple = "https://mirror.lab.example/simple"}
    torch = {address = "https://mirror.lab.example/whl/{variant}", layout = "pep503"}
    """
    if not isinstance(entry, Mapping):
        raise ValueError(tr("a mirror is not a table"))
    facts = {**entry, **{name: _without_slashes(entry[name]) for name in _PLACED if name in entry}}
    for complaint in check_fields(facts, OWN_FIELDS):
        raise ValueError(complaint)
    if not any(part in facts for part in _PARTS):
        parts = series(f"`{part}`" for part in _PARTS)
        raise ValueError(tr("it has none of the parts {parts}", parts=parts))
    made = parse_mirror({"kind": _OWN_KIND, "status": "alive", "source": origin, **facts})
    if shipped is None:
        return made
    return replace(made, **{name: getattr(shipped, name) for name in _KEPT if name not in facts})


def _without_slashes(value: Any) -> Any:
    """Remove the slashes at the end of the URLs in a part of an entry."""
    match value:
        case str():
            return value.rstrip("/")
        case list():
            return [_without_slashes(item) for item in value]
        case Mapping():
            return {name: _without_slashes(item) for name, item in value.items()}
        case _:
            return value


def parse_mirror(row: Row) -> Mirror:
    """Read a row of mirrors.json that passed its checks.

    {"name": "nju", "title": "Nanjing University", "kind": "university", "status": "alive", "aliases": [],
     "hosts": ["mirror.nju.edu.cn"], "pypi": {"simple": "https://…"}, "torch": {"address":
     "https://…/whl/{variant}", "layout": "pep503", "hashes": true}, "missing_status": [], "faults": [],
     "source": "…"}
    """
    pypi, torch, conda = (row.get(part) for part in _PARTS)
    return Mirror(
        name=row["name"],
        title=row.get("title", row["name"]),
        kind=row["kind"],
        status=row["status"],
        source=row["source"],
        aliases=tuple(row.get("aliases", ())),
        hosts=_hosts(row, "hosts") or _hosts_of(row),
        intranet=_hosts(row, "intranet"),
        pypi=_pypi(pypi) if pypi else None,
        torch=_torch(torch) if torch else None,
        conda=_conda(conda) if conda else None,
        bogus=tuple(row.get("bogus", ())),
        missing_status=tuple(row.get("missing_status", ())),
        faults=tuple(MirrorFault(**item) for item in row.get("faults", ())),
    )


def _hosts_of(row: Row) -> tuple[str, ...]:
    """Return the hosts of an entry's URLs, where it names none."""
    fields = (("pypi", "simple"), ("torch", "address"), ("conda", "root"))
    addresses = [(row.get(part) or {}).get(field) for part, field in fields]
    hosts = (urlsplit(address).hostname for address in addresses if address)
    return tuple(dict.fromkeys(host for host in hosts if host))


def _pypi(part: Row) -> PypiPart:
    return PypiPart(part["simple"], _texts(part, "aliases"), _texts(part, "wrong"), _hosts(part, "files"))


def _torch(part: Row) -> TorchPart:
    return TorchPart(
        part["address"],
        part["layout"],
        part.get("hashes", True),
        _hosts(part, "files"),
        _texts(part, "wrong"),
    )


def _conda(part: Row) -> CondaPart:
    return CondaPart(
        part["root"],
        _texts(part, "pkgs"),
        _texts(part, "cloud"),
        _texts(part, "missing"),
        tuple(part.get("elsewhere", {}).items()),
        part.get("shards", False),
    )


def _hosts(part: Row, field: str) -> tuple[str, ...]:
    """Return hosts in lower case."""
    return tuple(host.lower() for host in part.get(field, ()))


def _texts(part: Row, field: str) -> tuple[str, ...]:
    return tuple(part.get(field, ()))
