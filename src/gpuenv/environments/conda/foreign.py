"""Conda environments that gpuenv did not make: what is in one, and the export kept before it is replaced."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from io import StringIO
from pathlib import Path
from typing import Any

from gpuenv.environments.record import read_record
from gpuenv.environments.store import write_own_file
from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import tr
from gpuenv.on_disk.installed import installed_versions, normalized
from gpuenv.on_disk.places import EnvironmentPaths

_INFO = re.compile(r"/([^/]+?)-[^-/]+(?:-py[\d.]+)?\.(?:dist|egg)-info(?:/|$)")
_TOLD = ("python", "pytorch", "torch", "tensorflow", "jax", "numpy")


def is_foreign(path: Path) -> bool:
    """Tell whether a directory is a conda environment that has no record of gpuenv's."""
    return (path / "conda-meta").is_dir() and read_record(path) is None


def what_is_in(path: Path) -> tuple[str, ...]:
    """Return what a person needs to know of an environment before it goes: packages, its size."""
    from gpuenv.environments.conda.meta import installed_names  # noqa: PLC0415 - rarely needed
    from gpuenv.environments.contents.size import count_bytes  # noqa: PLC0415

    names, others = installed_names(path), _of_pip(path)
    versions = {**installed_versions(path), **{name: record.version for name, record in names.items()}}
    told = ", ".join(f"{name} {versions[name]}" for name in _TOLD if name in versions)
    lines = [tr("it has {conda} packages of conda and {pip} of pip", conda=len(names), pip=len(others))]
    lines += [tr("among them {packages}", packages=told)] if told else []
    with suppress(OSError):
        lines.append(tr("it takes {size}", size=render_size(count_bytes(path))))
    return tuple(lines)


@contextmanager
def exporting(environment: EnvironmentPaths) -> Iterator[Path | None]:
    """Keep an environment.yml of what gpuenv did not make while it is replaced, and after it; its file.

    It goes where the environment comes back. Raises UsageError where it can't be written.
    """
    if not is_foreign(environment.path):
        yield None
        return
    file = environment.export(datetime.now(timezone.utc))
    write_own_file(file, render_export(environment.path))
    try:
        yield file
    finally:
        if is_foreign(environment.path):
            file.unlink(missing_ok=True)


def render_export(path: Path) -> str:
    """Return the environment.yml that makes an environment anew: each build, what pip brought, variables."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where such a file is written

    from gpuenv.environments.conda.meta import installed_names, read_record  # noqa: PLC0415
    from gpuenv.secrets.url_credentials import without_userinfo  # noqa: PLC0415

    channels: dict[str, None] = {}
    dependencies: list[Any] = []
    for record in installed_names(path).values():
        dependencies.append(f"{record.name}={record.version}={record.build}")
        with suppress(ValueError):
            url = read_record(path, record).url.rsplit("/", 2)[0]
            channels.setdefault(without_userinfo(url) if "://" in url else "", None)
    pip = list(_of_pip(path).values())
    document: dict[str, Any] = {
        "name": path.name,
        "channels": [channel for channel in channels if channel],
        "dependencies": [*dependencies, {"pip": pip}] if pip else dependencies,
    }
    if variables := _variables(path):
        document["variables"] = variables
    text = StringIO()
    yaml = YAML()
    yaml.width = 100_000  # a spec is one line
    yaml.dump(document, text)
    return text.getvalue()


def _of_pip(path: Path) -> dict[str, str]:
    """Map what no package of conda's brought to the requirement that brings it again."""
    from gpuenv.environments.contents.installed import read_installed  # noqa: PLC0415 - rarely needed

    condas = _of_conda(path)
    packages = (item for item in read_installed(path) if not item.is_condas and item.name not in condas)
    return {
        item.name: f"{item.name} @ {item.url}" if item.url else f"{item.name}=={item.version}"
        for item in packages
    }


def _of_conda(path: Path) -> set[str]:
    """Return the projects that conda's packages brought, by their names and files: `pytorch` brings torch."""
    from gpuenv.environments.conda.meta import LARGEST, installed_names  # noqa: PLC0415 - rarely needed

    names = {normalized(name) for name in installed_names(path)}
    for file in path.glob("conda-meta/*.json"):
        with suppress(OSError, ValueError, RecursionError, AttributeError, TypeError):
            files = json.loads(read_limited_text(file, LARGEST)).get("files", ())
            names |= {normalized(match[1]) for item in files if (match := _INFO.search(item))}
    return names


def _variables(path: Path) -> dict[str, str]:
    """Return what `conda env config vars set` has set."""
    with suppress(OSError, ValueError, RecursionError):
        document = json.loads(read_limited_text(path / "conda-meta" / "state"))
        variables = document.get("env_vars") if isinstance(document, dict) else None
        if isinstance(variables, dict):
            return {str(name): str(value) for name, value in variables.items()}
    return {}
