"""What is installed in an environment, by its metadata alone: nothing of it is run."""

from __future__ import annotations

import re
from email.parser import HeaderParser
from pathlib import Path

from gpuenv.on_disk.directories import read_regular

_METADATA = 16 << 20  # bytes; it holds a whole README


def site_packages(environment: Path) -> tuple[Path, ...]:
    """Return where an environment keeps its packages."""
    if (environment / "Lib" / "site-packages").is_dir():
        return (environment / "Lib" / "site-packages",)
    return tuple(sorted(environment.glob("lib/*/site-packages")))


def installed_versions(environment: Path) -> dict[str, str]:
    """Map the normalized names of all installed distributions to their versions."""
    versions: dict[str, str] = {}
    infos = (info for path in site_packages(environment) for info in _infos(path))
    for name, version in map(_identity, infos):
        if name and version:
            versions.setdefault(normalized(name), version)
    return versions


def normalized(name: str) -> str:
    """Normalize a project's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _infos(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix in {".dist-info", ".egg-info"}]
    except OSError:
        return []


def _identity(info: Path) -> tuple[str | None, str | None]:
    # Not importlib.metadata, which waits for ever where there is a pipe in place of METADATA.
    for file in (info / "METADATA", info / "PKG-INFO", info):
        try:
            headers = HeaderParser().parsestr(
                read_regular(file, _METADATA, follow_links=True).decode("utf-8")
            )
        except OSError:
            continue
        except ValueError:  # not UTF-8, or not a file
            return None, None
        return headers.get("Name"), headers.get("Version")
    return None, None
