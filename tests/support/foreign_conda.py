"""Conda environments that gpuenv did not make."""

from __future__ import annotations

import json
from pathlib import Path


def conda_environment(path: Path, **records: str) -> Path:
    """Write what a conda tool would have made, with such packages: `numpy="2.1.3 py311_0"`."""
    meta = path / "conda-meta"
    meta.mkdir(parents=True)
    (meta / "history").write_text("==> 2026-11-01 <==\n", encoding="utf-8")
    for name, told in records.items():
        version, build = told.split()
        url = f"https://conda.example/t/abcdefgh-1234/conda-forge/linux-64/{name}-{version}-{build}.conda"
        record = {"name": name, "version": version, "build": build, "url": url}
        (meta / f"{name}-{version}-{build}.json").write_text(json.dumps(record), encoding="utf-8")
    return path
