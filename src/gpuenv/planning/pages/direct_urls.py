"""Name files to uv by address and hash, where it would fetch them whole to make hashes of its own."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.indexes.mirrors.lookup import mirror_at
from gpuenv.indexes.urls import is_remote
from gpuenv.model.plan import FilePlace, Plan, StackFile


def with_direct_urls(plan: Plan, mirrors: Mirrors) -> Plan:
    """Return a plan whose pins are the URLs and hashes of files on mirrors that publish no hashes."""
    hashes = {package.name: package.sha256 for package in plan.packages}
    files = {file.name: _with_hash(file, hashes) for file in plan.stack if _lies_without_hash(file, mirrors)}
    pins = tuple(_address_of(pin, files) or pin for pin in plan.pins)
    pages = {file.page for file in files.values() if file.sha256}
    links = tuple(link for link in plan.sources.find_links if link not in pages)
    return replace(plan, pins=pins, sources=replace(plan.sources, find_links=links))


def _lies_without_hash(file: StackFile, mirrors: Mirrors) -> bool:
    location = file.places[0]
    mirror = mirror_at(location.index, mirrors.all) if is_remote(location.url) else None
    return mirror is not None and mirror.torch is not None and not mirror.torch.hashes


def _with_hash(file: StackFile, hashes: Mapping[str, str | None]) -> FilePlace:
    location = file.places[0]
    messages = (other.sha256 for other in file.places if other.sha256)
    return replace(location, sha256=location.sha256 or hashes.get(file.name) or next(messages, None))


def _address_of(pin: str, files: Mapping[str, FilePlace]) -> str | None:
    requirement = Requirement(pin)
    location = files.get(canonicalize_name(requirement.name))
    if location is None or location.sha256 is None:
        return None
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras} @ {location.url}#sha256={location.sha256}"
