"""Parse the dry runs of installers."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from packaging.utils import canonicalize_name, parse_wheel_filename

from gpuenv.i18n.messages import tr
from gpuenv.untrusted.bounds import check_wheel_name
from gpuenv.untrusted.documents import load_json

_LINE = re.compile(
    r"^\s*([-+~])\s+([A-Za-z0-9][\w.-]*)(?:==(\S+)(?: \(from (\S+)\))?| @ (\S+))", re.MULTILINE
)
UNKNOWN = "?"  # the version of what has to be built to know it


class PackageChange(Struct, frozen=True):
    """A change of one package: `before` is None for a new one, `after` for a removed one, `size` in bytes."""

    name: str
    before: str | None
    after: str | None
    url: str | None = None
    size: int | None = None


def parse_uv_changes(text: str) -> tuple[PackageChange, ...]:
    """Parse what `uv pip install --dry-run` prints, by name.

    Sample:
         - torch==2.7.1+cpu
         + torch==2.7.1+cu126
         + flash-attn @ https://example.org/flash_attn-2.8.3-cp312-cp312-linux_x86_64.whl#sha256=5d1f
    """
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    urls: dict[str, str] = {}
    for sign, name, answer, source, address in _LINE.findall(text):
        version = answer or _version_in(address)
        if sign in "-~":
            before[canonicalize_name(name)] = version
        if sign in "+~":
            after[canonicalize_name(name)] = version
            urls[canonicalize_name(name)] = source or address
    names = sorted({*before, *after})
    return tuple(
        PackageChange(name, before.get(name), after.get(name), urls.get(name) or None) for name in names
    )


def _version_in(address: str) -> str:
    """Return the version in a wheel's URL, `?` for any other URL."""
    name = unquote(urlsplit(address).path).rpartition("/")[2]
    try:
        return str(parse_wheel_filename(check_wheel_name(name))[1])
    except ValueError:
        return UNKNOWN


def parse_pip_report(text: str, installed: dict[str, str]) -> tuple[PackageChange, ...]:
    """Parse what `pip install --dry-run --report -` prints; raise ValueError for anything else.

    Sample: `{"version": "1", "install": [{"metadata": {"name": "torch", "version": "2.7.1+cu126"}, ...}]}`
    """
    try:
        rows = load_json(text)["install"]
        facts = {canonicalize_name(row["metadata"]["name"]): str(row["metadata"]["version"]) for row in rows}
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(tr("pip's report has an unexpected format")) from error
    return tuple(PackageChange(name, installed.get(name), facts[name]) for name in sorted(facts))
