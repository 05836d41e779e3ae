"""The commands that put packages into an environment: its own pip's where it has one, else uv's."""

from __future__ import annotations

import shlex

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.repairable_in_place import hindrance
from gpuenv.model.findings import Findings

_FILE = "torch.txt"


def install(findings: Findings) -> str:
    """Return what installs; requirements are to follow."""
    python = shlex.quote(findings.python.path)
    return f"{python} -m pip install" if _has_pip(findings) else f"uv pip install --python {python}"


def uninstall(findings: Findings) -> str:
    """Return what takes packages out without asking; their names are to follow."""
    python = shlex.quote(findings.python.path)
    return f"{python} -m pip uninstall -y" if _has_pip(findings) else f"uv pip uninstall --python {python}"


def install_torch(findings: Findings) -> str:
    """Return what puts the torch that fits this machine into the environment, or makes one anew."""
    version = subject.version_of(findings.python.version)
    if hindrance(findings) or version is None:
        return "gpuenv create NAME"
    manager = "pip" if _has_pip(findings) else "uv"
    plan = f"gpuenv plan --python {version.major}.{version.minor} --manager {manager}"
    return f"{plan} --format requirements.txt -o {_FILE} && {install(findings)} -r {_FILE}"


def _has_pip(findings: Findings) -> bool:
    return any(dist.place in findings.python.packages for dist in subject.dists_of(findings, "pip"))
