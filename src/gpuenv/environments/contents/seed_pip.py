"""Put pip into an environment that was made without: uv's have none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpuenv.environments.contents.pyvenv import parse_pyvenv
from gpuenv.host.executables import read_text
from gpuenv.installers import uv
from gpuenv.installers.protocol import without
from gpuenv.model.errors import UsageError
from gpuenv.model.plan import Sources
from gpuenv.on_disk.directories import remove_tree
from gpuenv.on_disk.installed import site_packages
from gpuenv.process import subprocesses as process

_LIMIT_S = 120.0
_SHARED_WHEELS = Path("/usr/share/python-wheels")  # where Debian and Fedora keep ensurepip's
_KEPT = ("UV_CACHE_DIR", "UV_LINK_MODE", "UV_NO_CACHE")


def has_pip(root: Path) -> bool:
    """Tell whether `python -m pip` would find a pip in the environment."""
    return any((packages / "pip" / "__init__.py").is_file() for packages in site_packages(root))


def seed_pip(root: Path, python: str, sources: Sources, environ: Mapping[str, str]) -> bool:
    """Install pip: the wheel that the interpreter brings for `ensurepip`, else from the plan's indexes.

    `python` is MAJOR.MINOR as in a plan. Returns whether the environment has a pip now: a whole one, or none.
    """
    if has_pip(root):
        return True
    try:
        program = uv.find()
    except UsageError:  # conda made it, and nothing else is here
        return False
    install = (program, "pip", "install", "--no-config", "--python", str(root))
    plain = without(environ, tuple(name for name in environ if name.startswith("UV_") and name not in _KEPT))
    bundled = bundled_wheels(root, python)
    if bundled is not None:
        local = ("--offline", "--no-index", "--no-deps", "--find-links", str(bundled))
        if process.run((*install, *local, "pip"), timeout_s=_LIMIT_S, environ=plain).ok:
            return has_pip(root)
        _drop(root)
    argv = (*install, *uv.source_options(sources), "pip")
    variables = uv.environment(environ, sources)
    if process.run(argv, timeout_s=_LIMIT_S, environ=variables).ok and has_pip(root):
        return True
    _drop(root)
    return False


def _drop(root: Path) -> None:
    """Remove what an installation of pip that failed has begun, as on a full disk."""
    for packages in site_packages(root):
        for left in (packages / "pip", *packages.glob("pip-*.dist-info")):
            remove_tree(left)
    for command in root.glob("bin/pip*"):
        command.unlink()


def bundled_wheels(root: Path, python: str) -> Path | None:
    """Return the folder in which the interpreter's own wheel of pip lies."""
    home = parse_pyvenv(read_text(root / "pyvenv.cfg") or "").get("home")
    bases = (Path(home), Path(home).parent) if home else (root,)
    inside = (Path("Lib"), Path("lib", f"python{python}"))
    folders = [base / library / "ensurepip" / "_bundled" for base in bases for library in inside]
    return next((folder for folder in (*folders, _SHARED_WHEELS) if any(folder.glob("pip-*.whl"))), None)
