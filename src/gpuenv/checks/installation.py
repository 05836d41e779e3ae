"""Checks of the installation: which Python runs, and which torch it imports."""

from __future__ import annotations

from packaging.version import Version

from gpuenv.checks import queries
from gpuenv.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

_BITS = 64
_CONDA_TORCH = ("pytorch", "pytorch-gpu", "pytorch-cpu", "libtorch")


@check("D39")  # the wrong interpreter: one that can't be run or may not be read, or one that has no torch
def interpreter(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the Python runs, has a torch, and is the one that `python` means."""
    python = findings.python
    read = f"{python.path} ({python.version or '?'})"
    if python.problem and findings.conda and not queries.conda_of(findings, "python"):
        return problem("no-python", python.problem)
    if python.problem:
        return problem("broken", python.problem, reason=python.problem, path=python.path)
    if findings.unread and not queries.works(findings):
        return problem("closed", findings.unread[0], path=findings.unread[0])
    there = queries.has_torch(findings) or queries.conda_of(findings, "pytorch") or queries.works(findings)
    if not there:
        return problem("no-torch", read, path=python.path)
    first = findings.first_python
    active = queries.variable(findings, "VIRTUAL_ENV") or queries.variable(findings, "CONDA_PREFIX")
    if not findings.named and first and active and not _lies_in(first, active):
        return warning("another-first", first, active=active, first=first)
    return ok(read)


def _lies_in(path: str, folder: str) -> bool:
    location = folder.replace("\\", "/").rstrip("/").lower() + "/"
    return path.replace("\\", "/").lower().startswith(location)


@check("D43")  # a Python that torch has no wheels for
def python_version(findings: Findings, knowledge: Knowledge) -> Outcome:
    """Compare the Python with the tags of all known builds for this platform."""
    python, platform = findings.python, queries.platform_of(findings)
    version = queries.version_of(python.version)
    if version is None or platform is None:
        return skipped(tr("the Python's version, or this platform's builds, are not known"))
    if python.bits is not None and python.bits != _BITS:
        return problem("bits", tr("{bits} bits", bits=python.bits), bits=python.bits)
    if queries.has_torch(findings):
        return ok(tr("Python {version} has a torch", version=version))
    tag = f"cp{version.major}{version.minor}{'t' if python.free_threaded else ''}"
    builds = [build for build in knowledge.builds_of(platform) if tag in build.pythons]
    if not builds and knowledge.builds_of(platform):
        return problem("no-wheel", tag, tag=tag, version=version, newest=_newest(knowledge, platform))
    return ok(tag)


def _newest(knowledge: Knowledge, platform: str) -> str:
    tags = {tag for build in knowledge.builds if build.platform == platform for tag in build.pythons}
    versions = [Version(f"{tag[2]}.{tag[3:]}") for tag in tags if tag[3:].isdigit() and tag.startswith("cp3")]
    return str(max(versions, default="?"))


@check("D36")  # torch from pip and torch from conda in one environment
def mixed_installers(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for conda's record of torch beside metadata that another installer wrote."""
    if not findings.conda:
        return skipped(tr("this is not a conda environment"))
    record = next((item for name in _CONDA_TORCH if (item := queries.conda_of(findings, name))), None)
    own = (dist for dist in queries.dists_of(findings, "torch") if dist.place in findings.python.packages)
    foreign = [dist for dist in own if (dist.installer or "conda") != "conda"]
    if record and foreign:
        dist = foreign[0]
        read = f"{record.name} {record.version} {record.build}; torch {dist.version} ({dist.installer})"
        facts = {"pip": f"torch {dist.version}", "tool": dist.installer}
        return problem("both", read, conda=f"{record.name} {record.version}", **facts)
    return ok(f"{record.name} {record.version}" if record else tr("torch is installed by pip or uv only"))


@check("D38")  # another torch is imported than the one that is installed here
def shadowed_modules(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for a torch in the user site, on PYTHONPATH and in the current directory."""
    for path, why in findings.foreign_torch:
        own = queries.torch_label(findings) if findings.torch else tr("no torch")
        return problem(why, path, path=path, own=own)
    if findings.here:
        return problem("here", findings.here[0], file=findings.here[0])
    return ok(findings.torch.place if findings.torch else tr("no other torch is on the path"))


@check("D01")  # a build of torch without GPU code
def cpu_build(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Read `cuda` in torch/version.py, where there is a GPU for it."""
    variant = queries.variant_of(findings)
    if not queries.has_torch(findings):
        return skipped(tr("torch is not installed"))
    if variant is None:
        return skipped(tr("nothing records which variant torch is"))
    read = queries.torch_label(findings)
    if not variant.is_cpu or not queries.sees_hardware(findings):
        return ok(read)
    gpu = next((gpu.name for gpu in findings.machine.gpus if gpu.name), tr("an NVIDIA GPU"))
    if findings.cpu_requested:
        return warning("requested", read, torch=read, gpu=gpu)
    if queries.conda_of(findings, "pytorch"):
        return skipped(tr("conda chose this build: see the check for it"))
    return problem("cpu", read, torch=read, gpu=gpu)


@check("D47")  # conda chose a CPU build
def conda_cpu(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for `cpu` in the build string of conda's torch, and for `cpuonly`."""
    record = queries.conda_of(findings, "pytorch") or queries.conda_of(findings, "pytorch-cpu")
    if record is None:
        return skipped(tr("torch was not installed by conda here"))
    read = f"{record.name} {record.version} {record.build}"
    if not record.build.startswith("cpu") and "_cpu" not in record.build and record.name != "pytorch-cpu":
        return ok(read)
    if findings.cpu_requested or not queries.sees_hardware(findings):
        return ok(read)
    case = "cpuonly" if queries.conda_of(findings, "cpuonly") else "cpu"
    driver = findings.machine.driver
    return problem(case, read, build=record.build, cuda=driver.cuda if driver and driver.cuda else "12.6")
