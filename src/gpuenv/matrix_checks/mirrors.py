"""The rows of mirrors.json against each other, and what a row says twice against itself."""

from __future__ import annotations

from urllib.parse import urlsplit

from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.lookup import correction, is_bogus
from gpuenv.indexes.mirrors.records import parse_mirror
from gpuenv.matrix_checks.keys import Complaints, Row, Rows, compares

_ANY_VARIANT = "cpu"  # what stands in an address in place of the variant's folder


@compares("mirrors")
def _words_mean_one_mirror(mirrors: Rows) -> Complaints:
    owners: dict[str, str] = {}
    for row in mirrors:
        for word in (row["name"], *row["aliases"], *row["hosts"], *row.get("intranet", ())):
            owner = owners.get(word.lower())
            if owner is not None:
                yield row, tr("`{word}` already means `{mirror}`", word=word, mirror=owner)
            owners.setdefault(word.lower(), row["name"])


@compares("mirrors")
def _addresses_are_encrypted(mirrors: Rows) -> Complaints:
    addresses = [(row, address) for row in mirrors for address in _addresses(row)]
    encrypted = {_host(address) for _, address in addresses if _scheme(address) == "https"}
    for row, address in addresses:
        if _scheme(address) == "http" and _host(address) in encrypted:
            yield row, tr("`{address}` is not encrypted, and its host has https", address=address)


@compares("mirrors")
def _addresses_lie_on_the_hosts(mirrors: Rows) -> Complaints:
    for row in mirrors:
        known = {host.lower() for host in row["hosts"]}
        for host in dict.fromkeys(_host(address) for address in _wheel_addresses(row)):
            if host not in known:
                yield row, tr("`{host}` is not one of its hosts", host=host)


@compares("mirrors")
def _right_addresses_are_not_wrong(mirrors: Rows) -> Complaints:
    for row in mirrors:
        itself = (parse_mirror(row),)
        for address in _wheel_addresses(row):
            requested = address.replace("{variant}", _ANY_VARIANT)
            if correction(requested, itself) or is_bogus(requested, itself):
                yield row, tr("`{address}` is right and wrong", address=address)


def _wheel_addresses(row: Row) -> tuple[str, ...]:
    """The addresses of a mirror's copy of PyPI and of its torch wheels."""
    pypi, torch = row.get("pypi", {}), row.get("torch", {})
    values = (pypi.get("simple"), *pypi.get("aliases", ()), torch.get("address"))
    return tuple(address for address in values if address)


def _addresses(row: Row) -> tuple[str, ...]:
    conda = row.get("conda", {})
    return (*_wheel_addresses(row), *filter(None, [conda.get("root")]), *conda.get("elsewhere", {}).values())


def _scheme(address: str) -> str:
    return urlsplit(address).scheme


def _host(address: str) -> str | None:
    return urlsplit(address).hostname
