"""What is installed in an environment, with what it requires and how large it is; nothing is run."""

from __future__ import annotations

from pathlib import Path

from gpuenv.environments.check import site_packages
from gpuenv.environments.dists import parse_headers, parse_record
from gpuenv.machine.executables import is_there, read_text
from gpuenv.values.installed import Installed

_METADATA = 1 << 20  # bytes
_RECORD = 32 << 20


def read_installed(environment: Path) -> tuple[Installed, ...]:
    """Return the distributions of an environment by name; what has no readable metadata is left out."""
    found: dict[str, Installed] = {}
    for place in site_packages(environment):
        for info in sorted(place.glob("*.dist-info")):
            one = _read(info)
            if one is not None and not info.name.startswith("~"):
                found.setdefault(one.name, one)
    return tuple(found[name] for name in sorted(found))


def _read(info: Path) -> Installed | None:
    try:
        name, version, requires = parse_headers(read_text(info / "METADATA", _METADATA) or "")
    except ValueError:
        return None
    return Installed(
        name=name,
        version=version,
        requires=requires,
        installer=(read_text(info / "INSTALLER", 64) or "").strip() or None,
        direct=is_there(info / "direct_url.json"),
        size=sum(size or 0 for _, size in parse_record(read_text(info / "RECORD", _RECORD) or "")),
    )
