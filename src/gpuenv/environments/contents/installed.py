"""What is installed in an environment, with what it requires and how large it is; nothing is run."""

from __future__ import annotations

from pathlib import Path

from gpuenv.environments.contents.dists import parse_headers, parse_record
from gpuenv.host.executables import is_there, read_text
from gpuenv.model.installed import Installed
from gpuenv.on_disk.installed import site_packages
from gpuenv.secrets.url_credentials import without_userinfo
from gpuenv.untrusted.documents import load_json

_METADATA = 1 << 20  # bytes
_RECORD = 32 << 20
_DIRECT = 65536


def read_installed(environment: Path) -> tuple[Installed, ...]:
    """Return the distributions of an environment by name; what has no readable metadata is left out."""
    packages: dict[str, Installed] = {}
    for path in site_packages(environment):
        for info in sorted(path.glob("*.dist-info")):
            package = _read(info)
            if package is not None and not info.name.startswith("~"):
                packages.setdefault(package.name, package)
    return tuple(packages[name] for name in sorted(packages))


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
        url=parse_direct_url(read_text(info / "direct_url.json", _DIRECT) or ""),
        size=sum(size or 0 for _, size in parse_record(read_text(info / "RECORD", _RECORD) or "")),
    )


def parse_direct_url(text: str) -> str | None:
    """Return the address in a direct_url.json as a requirement names it; None for a folder, and for no text.

    https://packaging.python.org/en/latest/specifications/direct-url-data-structure/

    {"url": "https://example.org/x.git", "vcs_info": {"vcs": "git", "commit_id": "5d1f..."}}
    {"url": "https://example.org/x-1.0-py3-none-any.whl", "archive_info": {"hashes": {"sha256": "5d1f..."}}}
    """
    try:
        answer = load_json(text)
        url, vcs, archive = str(answer["url"]), answer.get("vcs_info"), answer.get("archive_info")
        if isinstance(vcs, dict):
            return f"{vcs['vcs']}+{without_userinfo(url)}@{vcs['commit_id']}"
        if not isinstance(archive, dict) or url.startswith("file:"):
            return None
        digest = (archive.get("hashes") or {}).get("sha256")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return without_userinfo(url) + (f"#sha256={digest}" if isinstance(digest, str) else "")
