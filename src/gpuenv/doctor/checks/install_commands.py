"""Whether an environment can be repaired in place, and the commands for that: its own pip's, else uv's."""

from __future__ import annotations

import shlex

from gpuenv.doctor.checks import queries
from gpuenv.i18n.messages import tr
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
    version = queries.version_of(findings.python.version)
    if hindrance(findings) or version is None:
        return "gpuenv create NAME"
    manager = "pip" if _has_pip(findings) else "uv"
    plan = f"gpuenv plan --python {version.major}.{version.minor} --manager {manager}"
    return f"{plan} --format requirements.txt -o {_FILE} && {install(findings)} -r {_FILE}"


def _has_pip(findings: Findings) -> bool:
    return any(dist.place in findings.python.packages for dist in queries.dists_of(findings, "pip"))


def hindrance(findings: Findings) -> str | None:
    """Return why the packages can't be repaired in place, None where they can."""
    torch = queries.dist_of(findings, "torch")
    if (torch is not None and torch.installer == "conda") or queries.conda_of(findings, "pytorch"):
        return tr("conda installed this torch: repair it with conda, or recreate the environment")
    if findings.python.locked or not findings.python.writable:
        return tr("this Python belongs to the system: create an environment instead")
    if findings.unread:
        return tr("not all of this environment can be read by this user")
    if findings.python.free_threaded:
        return tr("gpuenv does not plan builds for a free-threaded Python")
    return None
